//! One connection: request after request, until either side has had enough.

use std::{net::TcpStream, time::Duration};

use super::{
    Service, Shared, TICK_MILLISECONDS,
    head::Head,
    inbox::{Ended, Inbox},
    reply::Reply,
};

/// Answers the requests of a connection.
pub(super) fn serve<S: Service>(stream: &TcpStream, shared: &Shared<S>) {
    // Reads come back now and then to look at the clock; an answer is one write, which nothing needs to wait for.
    let prepared = stream
        .set_read_timeout(Some(Duration::from_millis(TICK_MILLISECONDS)))
        .and_then(|()| stream.set_write_timeout(Some(shared.limits.patience)))
        .and_then(|()| stream.set_nodelay(true));
    if prepared.is_err() {
        return;
    }
    let mut inbox = Inbox::new(stream, shared.limits.patience, &shared.is_stopping);
    let mut buffer = Vec::new();
    while exchange(stream, &mut inbox, shared, &mut buffer) {
        if buffer.capacity() > KEPT_BYTES {
            buffer = Vec::new();
        }
    }
}

/// Room for one answer that is kept from one to the next.
const KEPT_BYTES: usize = 64 << 10;

/// One request and its answer; whether another may follow.
fn exchange<S: Service>(
    stream: &TcpStream,
    inbox: &mut Inbox<'_>,
    shared: &Shared<S>,
    buffer: &mut Vec<u8>,
) -> bool {
    let head = match inbox.head() {
        Ok(head) => head,
        Err(Ended::Quietly) => return false,
        Err(Ended::Refused(reply)) => return refuse(stream, inbox, shared, "", &reply),
    };
    let route = match shared.service.check(&head) {
        Ok(route) => route,
        Err(reply) => return refuse(stream, inbox, shared, &head.path, &reply),
    };
    let begun = inbox.begun;
    let reply = match inbox.body(&head) {
        Ok(body) => shared.service.answer(route, &head, body, shared.open()),
        Err(Ended::Quietly) => return false,
        Err(Ended::Refused(reply)) => return refuse(stream, inbox, shared, &head.path, &reply),
    };
    inbox.done(head.body.length);
    let stays_open = head.stays_open && !shared.is_stopping();
    let stays_open = stays_open && !reply.is_stream();
    let written = reply.write(stream, buffer, is_head_only(&head), stays_open);
    shared.service.count(route, reply.status, begun.elapsed());
    if written.is_ok() && !is_head_only(&head) {
        reply.stream(stream, &shared.is_stopping);
    }
    written.is_ok() && stays_open
}

fn is_head_only(head: &Head) -> bool {
    head.method == "HEAD"
}

/// Answers a request whose end is not known, after which nothing on the connection can be understood.
fn refuse<S: Service>(
    stream: &TcpStream,
    inbox: &mut Inbox<'_>,
    shared: &Shared<S>,
    path: &str,
    reply: &Reply,
) -> bool {
    let service = &shared.service;
    service.count(service.route(path), reply.status, inbox.begun.elapsed());
    if reply.write(stream, &mut Vec::new(), false, false).is_ok() {
        inbox.drain();
    }
    false
}

//! One connection: request after request, until either side has had enough.

use std::{net::TcpStream, time::Duration};

use super::{
    Shared, TICK_MILLISECONDS,
    head::Head,
    inbox::{Ended, Inbox},
    reply::Reply,
    route::{self, Route},
};

/// Answers the requests of a connection.
pub(super) fn serve(stream: &TcpStream, shared: &Shared) {
    // Reads come back now and then to look at the clock; an answer is one write, which nothing needs to wait for.
    let prepared = stream
        .set_read_timeout(Some(Duration::from_millis(TICK_MILLISECONDS)))
        .and_then(|()| stream.set_write_timeout(Some(shared.limits.patience)))
        .and_then(|()| stream.set_nodelay(true));
    if prepared.is_err() {
        return;
    }
    let mut inbox = Inbox::new(stream, shared);
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
fn exchange(
    stream: &TcpStream,
    inbox: &mut Inbox<'_>,
    shared: &Shared,
    buffer: &mut Vec<u8>,
) -> bool {
    let head = match inbox.head() {
        Ok(head) => head,
        Err(Ended::Quietly) => return false,
        Err(Ended::Refused(reply)) => return refuse(stream, inbox, shared, Route::Other, &reply),
    };
    let found = route::check(shared, &head);
    let route = match found {
        Ok(route) => route,
        Err(reply) => {
            return refuse(stream, inbox, shared, Route::of(&head.path), &reply);
        }
    };
    let begun = inbox.begun;
    let reply = match inbox.body(&head) {
        Ok(body) => route::answer(shared, route, &head, body),
        Err(Ended::Quietly) => return false,
        Err(Ended::Refused(reply)) => return refuse(stream, inbox, shared, route, &reply),
    };
    inbox.done(head.body.length);
    let stays_open = head.stays_open && !shared.is_stopping();
    let written = reply.write(stream, buffer, is_head_only(&head), stays_open);
    shared.metrics.count(route, reply.status, begun.elapsed());
    written.is_ok() && stays_open
}

fn is_head_only(head: &Head) -> bool {
    head.method == "HEAD"
}

/// Answers a request whose end is not known, after which nothing on the connection can be understood.
fn refuse(
    stream: &TcpStream,
    inbox: &mut Inbox<'_>,
    shared: &Shared,
    route: Route,
    reply: &Reply,
) -> bool {
    shared.metrics.count(route, reply.status, inbox.begun.elapsed());
    if reply.write(stream, &mut Vec::new(), false, false).is_ok() {
        inbox.drain();
    }
    false
}

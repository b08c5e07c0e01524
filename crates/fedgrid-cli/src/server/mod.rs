//! A small HTTP server: HTTP/1.1 with keep-alive, a thread for each connection. It serves the models of a run, or the
//! state of an agent (`command/federation/page/`).
//!
//! ```text
//! accept ─▶ connection: head ─▶ body ─▶ service ─▶ reply ─▶ next head …
//!                                          │
//!                        models ◀── watch: reads a folder that has changed, and swaps it in
//! ```
//!
//! A request holds the models that it began with, so that a swap waits for nobody and nobody for it.

mod reply;
mod head;
mod inbox;
pub(crate) mod prometheus;
mod look;
mod models;
mod metrics;
mod predictions;
mod route;
mod connection;
mod watch;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

#[cfg(feature = "federation")]
pub(crate) use self::reply::EventSource;
pub(crate) use self::{
    head::Head, models::Models, predictions::Predictions, reply::Reply, watch::watch,
};

/// How often a thread that waits looks whether the server stops, in milliseconds.
const TICK_MILLISECONDS: u64 = 200;

/// What the server allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// The largest body of a request, in bytes.
    pub(crate) body_bytes: usize,
    /// The most rows of a request.
    pub(crate) rows: usize,
    /// The most connections at a time.
    pub(crate) connections: usize,
    /// How long the head of a request may take to arrive, and again its body and the reading of the answer.
    pub(crate) patience: Duration,
}

/// What a server answers.
pub(crate) trait Service: Send + Sync + 'static {
    /// What is asked for, as far as answers and counters tell it apart.
    type Route: Copy;

    /// What a path asks for, whether it is allowed or not.
    fn route(&self, path: &str) -> Self::Route;

    /// Refuses a request by its head, before its body is read.
    fn check(&self, head: &Head) -> Result<Self::Route, Reply>;

    /// Answers a request that was not refused by its head, while so many connections are open.
    fn answer(&self, route: Self::Route, head: &Head, body: &[u8], open: usize) -> Reply;

    /// Counts a request, and the time from its first byte until it was answered.
    fn count(&self, _route: Self::Route, _status: u16, _time: Duration) {}
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared<S> {
    pub(crate) service: S,
    pub(crate) limits: Limits,
    open: AtomicUsize,
    is_stopping: AtomicBool,
}

impl<S> Shared<S> {
    pub(crate) fn new(service: S, limits: Limits) -> Self {
        let (open, is_stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { service, limits, open, is_stopping }
    }

    /// Whether no further request is waited for.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// How many connections are open.
    fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

/// A server that accepts connections.
#[derive(Debug)]
pub(crate) struct Server<S> {
    shared: Arc<Shared<S>>,
    address: SocketAddr,
    accepting: thread::JoinHandle<()>,
}

impl<S: Service> Server<S> {
    /// Begins to accept connections.
    pub(crate) fn begin(listener: TcpListener, shared: Arc<Shared<S>>) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let own = shared.clone();
        let accepting =
            thread::Builder::new().name("accept".into()).spawn(move || accept(&listener, &own))?;
        Ok(Self { shared, address, accepting })
    }

    /// Accepts no more connections, answers the requests that have begun, and waits for these as long as they may take; how
    /// many connections are left after that.
    pub(crate) fn stop(self) -> usize {
        let Self { shared, address, accepting } = self;
        shared.is_stopping.store(true, Ordering::Relaxed);
        // What is accepted wakes who waits for it.
        let _ = TcpStream::connect_timeout(&reachable(address), Duration::from_secs(1));
        let _ = accepting.join();
        // Head, body and answer may each take as long as is allowed.
        let until = Instant::now() + 3 * shared.limits.patience;
        while shared.open() > 0 && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        shared.open()
    }
}

/// Where this machine reaches an address that it listens at.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

fn accept<S: Service>(listener: &TcpListener, shared: &Arc<Shared<S>>) {
    while !shared.is_stopping() {
        match listener.accept() {
            Ok((stream, _)) => take(stream, shared),
            // No more files, for instance: connections that end make room.
            Err(_) => thread::sleep(Duration::from_millis(TICK_MILLISECONDS)),
        }
    }
    // Whoever has connected before the stop is heard.
    let _ = listener.set_nonblocking(true);
    while let Ok((stream, _)) = listener.accept() {
        let _ = stream.set_nonblocking(false);
        take(stream, shared);
    }
}

/// A connection that is counted as long as it is there.
struct Counted<S>(Arc<Shared<S>>);

impl<S> Drop for Counted<S> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gives a connection a thread of its own, or refuses it.
fn take<S: Service>(stream: TcpStream, shared: &Arc<Shared<S>>) {
    let open = shared.open.fetch_add(1, Ordering::Relaxed);
    let counted = Counted(shared.clone());
    let most = shared.limits.connections;
    if open >= most {
        let sentence = format!("all {most} connections of the server are in use; try again later");
        refuse(&stream, shared, &Reply::error(429, &sentence));
        return;
    }
    let spare = stream.try_clone();
    let connection = move || connection::serve(&stream, &counted.0);
    if thread::Builder::new().name("connection".into()).spawn(connection).is_err()
        && let Ok(stream) = spare
    {
        let sentence = "the machine gives no thread for another connection; try again later";
        refuse(&stream, shared, &Reply::error(503, sentence));
    }
}

/// Answers without having read anything.
fn refuse<S: Service>(stream: &TcpStream, shared: &Shared<S>, reply: &Reply) {
    let service = &shared.service;
    service.count(service.route(""), reply.status, Duration::ZERO);
    let _ = stream.set_write_timeout(Some(Duration::from_millis(TICK_MILLISECONDS)));
    let _ = reply.write(stream, &mut Vec::new(), false, false);
}

//! A small HTTP server that predicts by the models of a run: HTTP/1.1 with keep-alive, a thread for each connection.
//!
//! ```text
//! accept ─▶ connection: head ─▶ body ─▶ route ─▶ reply ─▶ next head …
//!                                         │
//!                        models ◀── watch: reads a folder that has changed, and swaps it in
//! ```
//!
//! A request holds the models that it began with, so that a swap waits for nobody and nobody for it.

mod reply;
mod head;
mod inbox;
mod look;
mod models;
mod metrics;
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

use self::{metrics::Metrics, reply::Reply};
pub(crate) use self::{models::Models, watch::watch};

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

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) models: Models,
    pub(crate) metrics: Metrics,
    pub(crate) limits: Limits,
    /// What requests must show, if anything.
    pub(crate) token: Option<String>,
    open: AtomicUsize,
    is_stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(models: Models, limits: Limits, token: Option<String>) -> Self {
        let (open, is_stopping) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { models, metrics: Metrics::default(), limits, token, open, is_stopping }
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
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: thread::JoinHandle<()>,
}

impl Server {
    /// Begins to accept connections.
    pub(crate) fn begin(listener: TcpListener, shared: Arc<Shared>) -> io::Result<Self> {
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

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
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
struct Counted(Arc<Shared>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gives a connection a thread of its own, or refuses it.
fn take(stream: TcpStream, shared: &Arc<Shared>) {
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
fn refuse(stream: &TcpStream, shared: &Shared, reply: &Reply) {
    shared.metrics.count(route::Route::Other, reply.status, Duration::ZERO);
    let _ = stream.set_write_timeout(Some(Duration::from_millis(TICK_MILLISECONDS)));
    let _ = reply.write(stream, &mut Vec::new(), false, false);
}

//! `GET /health` on this machine: the status as JSON, and whether the agent's loop still turns.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

use crate::error::{Error, Result};

/// In so many pieces a request is read at most, of 512 bytes and within a second each.
// Eight kilobytes: more than the head of any honest request.
const MOST_PIECES: usize = 16;

/// Gives the status, and whether all is well.
pub(super) type Look = Arc<dyn Fn() -> (bool, String) + Send + Sync>;

/// An endpoint that ends with its owner.
#[derive(Debug)]
pub(super) struct Health {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Health {
    /// Listens on a port of this machine, zero for any that is free.
    pub(super) fn new(port: u16, look: Look) -> Result<Self> {
        let failed = |error: std::io::Error| Error::Transport {
            doing: "listen for health checks",
            reason: format!("port {port}: {error}"),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let serve = move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::Relaxed) {
                    break;
                }
                if let Ok(stream) = stream {
                    // A client that goes away is no one's loss.
                    let _ = answer(stream, &look);
                }
            }
        };
        let thread = Builder::new().name("fedgrid-health".into()).spawn(serve).map_err(failed)?;
        Ok(Self { address, over, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Health {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // The listener wakes up for one last client.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, look: &Look) -> std::io::Result<()> {
    // One client at a time is answered, so none may hold the endpoint.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    stream.set_write_timeout(Some(Duration::from_secs(1)))?;
    let is_health = read_request(&mut stream).starts_with(b"GET /health ");
    let (code, body) = if is_health {
        let (well, body) = look();
        (if well { "200 OK" } else { "503 Service Unavailable" }, body)
    } else {
        ("404 Not Found", "{}".to_string())
    };
    write!(
        stream,
        "HTTP/1.1 {code}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Reads to the end of the request's head: a stream that is closed before is reset, and the answer
/// may be lost.
fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let (mut request, mut piece) = (Vec::new(), [0; 512]);
    for _ in 0..MOST_PIECES {
        match stream.read(&mut piece) {
            // The client has nothing to add: what it has asked is answered.
            Ok(0) | Err(_) => break,
            Ok(size) => request.extend_from_slice(&piece[..size]),
        }
        if request.ends_with(b"\r\n\r\n") {
            break;
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn it_tells_well_from_unwell_and_nothing_else() {
        let well = Arc::new(AtomicBool::new(true));
        let seen = Arc::clone(&well);
        let look: Look = Arc::new(move || (seen.load(Ordering::Relaxed), "{\"round\":3}".into()));
        let health = Health::new(0, look).unwrap();
        let good = ask(health.address(), "GET /health HTTP/1.1\r\n\r\n");
        assert!(good.starts_with("HTTP/1.1 200") && good.ends_with("{\"round\":3}"), "{good}");
        well.store(false, Ordering::Relaxed);
        assert!(ask(health.address(), "GET /health HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 503"));
        for other in ["GET / HTTP/1.1\r\n\r\n", "POST /health HTTP/1.1\r\n\r\n", "\r\n"] {
            assert!(ask(health.address(), other).starts_with("HTTP/1.1 404"), "{other}");
        }
    }

    #[test]
    fn a_request_may_come_in_pieces() {
        let health = Health::new(0, Arc::new(|| (true, "{}".into()))).unwrap();
        let mut stream = TcpStream::connect(health.address()).unwrap();
        for piece in ["GET /health", " HTTP/1.1\r\nhost: ", "here\r\n", "\r\n"] {
            stream.write_all(piece.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

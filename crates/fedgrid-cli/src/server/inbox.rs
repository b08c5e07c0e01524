//! What a connection has sent: read in time and in size, request by request.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::{
    head::{self, HEAD_BYTES, Head},
    reply::Reply,
};

/// An idle connection is kept for so many times what a request may take.
const IDLE_FACTOR: u32 = 6;
/// Room for one request that is kept from one to the next.
const KEPT_BYTES: usize = 64 << 10;
/// How much is read at once.
const READ_BYTES: usize = 8 << 10;
/// What a refused client may still send before the connection ends under it.
const DRAINED_BYTES: usize = 8 << 20;

/// The bytes of a connection that are not yet used.
pub(super) struct Inbox<'a> {
    stream: &'a TcpStream,
    /// How long a head may take to arrive, and a body.
    patience: Duration,
    is_stopping: &'a AtomicBool,
    bytes: Vec<u8>,
    /// When the request that is being read began.
    pub(super) begun: Instant,
}

/// Why there is no request.
pub(super) enum Ended {
    /// The client has gone, or has been silent for long, or the server stops.
    Quietly,
    /// What it sent is no request.
    Refused(Reply),
}

impl<'a> Inbox<'a> {
    pub(super) fn new(
        stream: &'a TcpStream,
        patience: Duration,
        is_stopping: &'a AtomicBool,
    ) -> Self {
        Self { stream, patience, is_stopping, bytes: Vec::new(), begun: Instant::now() }
    }

    /// The next head.
    pub(super) fn head(&mut self) -> Result<Head, Ended> {
        let patience = self.patience;
        self.wait()?;
        self.begun = Instant::now();
        loop {
            if let Some((head, length)) = head::read(&self.bytes).map_err(Ended::Refused)? {
                self.bytes.drain(..length);
                return Ok(head);
            }
            if self.bytes.len() > HEAD_BYTES {
                let sentence = format!("the head of the request is longer than {HEAD_BYTES} bytes");
                return Err(Ended::Refused(Reply::error(413, &sentence)));
            }
            self.read_more(self.begun + patience, "head")?;
        }
    }

    /// The body that a head has told of, which stays here until [`Self::done`].
    pub(super) fn body(&mut self, head: &Head) -> Result<&[u8], Ended> {
        let (length, patience) = (head.body.length, self.patience);
        if head.body.is_asked_for && self.bytes.len() < length {
            let mut stream = self.stream;
            let asked = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
            asked.map_err(|_| Ended::Quietly)?;
        }
        let until = Instant::now() + patience;
        while self.bytes.len() < length {
            self.read_more(until, "body")?;
        }
        Ok(&self.bytes[..length])
    }

    /// The request is answered; what follows it stays.
    pub(super) fn done(&mut self, length: usize) {
        self.bytes.drain(..length);
        if self.bytes.capacity() > KEPT_BYTES {
            self.bytes.shrink_to(KEPT_BYTES);
        }
    }

    /// Waits for the first byte of a request.
    fn wait(&mut self) -> Result<(), Ended> {
        let until = Instant::now() + IDLE_FACTOR * self.patience;
        while self.bytes.is_empty() {
            match self.read() {
                Some(0) => return Err(Ended::Quietly),
                None if self.is_stopping.load(Ordering::Relaxed) || Instant::now() > until => {
                    return Err(Ended::Quietly);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_more(&mut self, until: Instant, part: &str) -> Result<(), Ended> {
        loop {
            match self.read() {
                Some(0) => {
                    let sentence = format!("the request ends before its {part} does");
                    return Err(Ended::Refused(Reply::error(400, &sentence)));
                }
                // Who sends a byte now and then takes too long, too.
                _ if Instant::now() > until => {
                    let sentence = format!("the {part} of the request took too long");
                    return Err(Ended::Refused(Reply::error(408, &sentence)));
                }
                Some(_) => return Ok(()),
                None => {}
            }
        }
    }

    /// Reads some bytes, and says how many, zero at the end; none if there is nothing yet.
    fn read(&mut self) -> Option<usize> {
        let begin = self.bytes.len();
        self.bytes.resize(begin + READ_BYTES, 0);
        let mut stream = self.stream;
        let read = stream.read(&mut self.bytes[begin..]);
        self.bytes.truncate(begin + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(count) => Some(count),
            Err(error) if is_silence(error.kind()) => None,
            // A connection that was reset has ended, too.
            Err(_) => Some(0),
        }
    }

    /// Lets a client whose request was not read read the answer: bytes that nobody takes would make the system end the
    /// connection at once, and the answer with it.
    pub(super) fn drain(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let until = Instant::now() + Duration::from_secs(1).min(self.patience);
        let (mut taken, mut room) = (0, vec![0; READ_BYTES]);
        let mut stream = self.stream;
        while taken < DRAINED_BYTES && Instant::now() < until {
            match stream.read(&mut room) {
                Ok(0) => return,
                Ok(count) => taken += count,
                Err(error) if is_silence(error.kind()) => {}
                Err(_) => return,
            }
        }
    }
}

/// Whether an error says no more than that nothing has come yet.
fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

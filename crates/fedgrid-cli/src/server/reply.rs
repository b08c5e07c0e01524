//! What is answered, as bytes.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Write},
    net::TcpStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use fedgrid_lab::serving::ReadyRun;
use serde_json::json;

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(super) status: u16,
    content: &'static str,
    body: Body,
    /// What the method of a request may be, if it was another.
    allow: Option<&'static str>,
}

/// The bytes of an answer.
#[derive(Debug)]
enum Body {
    Text(Cow<'static, str>),
    /// What a run knows of its nodes.
    Nodes(Arc<ReadyRun>),
    /// The report of a run.
    Page(Arc<ReadyRun>),
    /// Events as they happen, until either side ends.
    #[cfg_attr(not(feature = "federation"), expect(dead_code, reason = "only agents have events"))]
    Events(EventSource),
}

/// Gives the next events, in the format of server-sent events, as soon as there are some, or nothing after some time in
/// which there were none.
pub(crate) struct EventSource(Mutex<Box<dyn FnMut() -> String + Send>>);

impl EventSource {
    #[cfg(feature = "federation")]
    pub(crate) fn new(next: impl FnMut() -> String + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(next)))
    }

    fn next(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)()
    }
}

impl fmt::Debug for EventSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EventSource").finish_non_exhaustive()
    }
}

impl Body {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nodes(run) => &run.nodes,
            Self::Page(run) => run.page.as_deref().unwrap_or_default(),
            Self::Events(_) => "",
        }
    }
}

impl Reply {
    fn new(status: u16, content: &'static str, body: Body) -> Self {
        Self { status, content, body, allow: None }
    }

    /// A page.
    #[cfg(feature = "federation")]
    pub(crate) fn html(text: String) -> Self {
        Self::new(200, "text/html; charset=utf-8", Body::Text(text.into()))
    }

    /// Events as they happen.
    #[cfg(feature = "federation")]
    pub(crate) fn events(source: EventSource) -> Self {
        Self::new(200, "text/event-stream", Body::Events(source))
    }

    /// Whether it goes on until either side ends.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.body, Body::Events(_))
    }

    /// A value as JSON.
    pub(crate) fn json(text: String) -> Self {
        Self::new(200, "application/json", Body::Text(text.into()))
    }

    /// Plain text, in the version of its format that Prometheus names.
    pub(crate) fn metrics(text: String) -> Self {
        Self::new(200, "text/plain; version=0.0.4; charset=utf-8", Body::Text(text.into()))
    }

    /// What a run knows of its nodes.
    pub(super) fn nodes(run: Arc<ReadyRun>) -> Self {
        Self::new(200, "application/json", Body::Nodes(run))
    }

    /// The report of a run.
    pub(super) fn page(run: Arc<ReadyRun>) -> Self {
        Self::new(200, "text/html; charset=utf-8", Body::Page(run))
    }

    /// One sentence about what was wrong.
    pub(crate) fn error(status: u16, sentence: &str) -> Self {
        let text = json!({ "error": sentence }).to_string();
        Self::new(status, "application/json", Body::Text(text.into()))
    }

    /// A method that a path does not have.
    pub(crate) fn wrong_method(path: &str, allow: &'static str) -> Self {
        let sentence = format!("{path} takes {allow}");
        Self { allow: Some(allow), ..Self::error(405, &sentence) }
    }

    /// Writes the answer at once, by way of a buffer that is used again; only its head, if no body was asked for.
    pub(super) fn write(
        &self,
        mut stream: &TcpStream,
        buffer: &mut Vec<u8>,
        is_head_only: bool,
        stays_open: bool,
    ) -> io::Result<()> {
        let body = self.body.text();
        buffer.clear();
        let words = words(self.status);
        let connection = if stays_open { "keep-alive" } else { "close" };
        write!(
            buffer,
            "HTTP/1.1 {} {words}\r\ncontent-type: {}\r\nconnection: {connection}\r\n",
            self.status, self.content,
        )?;
        if self.is_stream() {
            buffer.extend_from_slice(b"cache-control: no-store\r\n");
        } else {
            write!(buffer, "content-length: {}\r\n", body.len())?;
        }
        match self.status {
            401 => buffer.extend_from_slice(b"www-authenticate: Bearer\r\n"),
            429 | 503 => buffer.extend_from_slice(b"retry-after: 1\r\n"),
            _ => {}
        }
        if let Some(allow) = self.allow {
            write!(buffer, "allow: {allow}\r\n")?;
        }
        buffer.extend_from_slice(b"\r\n");
        if !is_head_only {
            buffer.extend_from_slice(body.as_bytes());
        }
        stream.write_all(buffer)
    }
}

impl Reply {
    /// Goes on with what happens, until the client has gone or the server stops.
    pub(super) fn stream(&self, mut stream: &TcpStream, is_stopping: &AtomicBool) {
        let Body::Events(source) = &self.body else { return };
        while !is_stopping.load(Ordering::Relaxed) {
            let mut text = source.next();
            if text.is_empty() {
                // A comment, by which a client that has gone is noticed.
                text = ":\n\n".into();
            }
            if stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// What a status is called.
fn words(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        _ => "Service Unavailable",
    }
}

//! What is answered, as bytes.

use std::{
    borrow::Cow,
    io::{self, Write},
    net::TcpStream,
    sync::Arc,
};

use fedgrid_lab::serving::ReadyRun;
use serde_json::json;

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
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
}

impl Body {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Nodes(run) => &run.nodes,
            Self::Page(run) => run.page.as_deref().unwrap_or_default(),
        }
    }
}

impl Reply {
    fn new(status: u16, content: &'static str, body: Body) -> Self {
        Self { status, content, body, allow: None }
    }

    /// A value as JSON.
    pub(super) fn json(text: String) -> Self {
        Self::new(200, "application/json", Body::Text(text.into()))
    }

    /// Plain text, in the version of its format that Prometheus names.
    pub(super) fn metrics(text: String) -> Self {
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
    pub(super) fn error(status: u16, sentence: &str) -> Self {
        let text = json!({ "error": sentence }).to_string();
        Self::new(status, "application/json", Body::Text(text.into()))
    }

    /// A method that a path does not have.
    pub(super) fn wrong_method(path: &str, allow: &'static str) -> Self {
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
            "HTTP/1.1 {} {words}\r\ncontent-type: {}\r\ncontent-length: {}\r\nconnection: {connection}\r\n",
            self.status,
            self.content,
            body.len()
        )?;
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

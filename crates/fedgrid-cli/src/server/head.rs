//! The head of a request: what is asked for, how long the body is, and what the connection does afterwards.

use super::reply::Reply;

/// A head of more bytes is refused; browsers with many cookies send a tenth of it.
pub(super) const HEAD_BYTES: usize = 16 << 10;
/// More lines of a head than any client sends.
const HEAD_LINES: usize = 64;

/// The head of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) method: String,
    pub(crate) path: String,
    /// What follows the question mark, as it was sent.
    pub(super) query: String,
    pub(super) body: BodyFacts,
    /// What it shows as a token, if anything.
    pub(super) token: Option<String>,
    /// Whether the client sends more requests on this connection.
    pub(super) stays_open: bool,
}

/// What a head says of the body.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BodyFacts {
    pub(super) length: usize,
    /// What it holds, in lower case and without parameters.
    pub(super) content: String,
    /// Whether the client waits until it is asked for it.
    pub(super) is_asked_for: bool,
}

/// Reads the head at the beginning of some bytes, and says how long it is; none if more bytes are needed.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Head, usize)>, Reply> {
    let mut lines = [httparse::EMPTY_HEADER; HEAD_LINES];
    let mut request = httparse::Request::new(&mut lines);
    let refused = |sentence: &str| Reply::error(400, sentence);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(refused(&format!("the request is not HTTP/1.1: {error}"))),
    };
    let target = request.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut head = Head {
        method: request.method.unwrap_or_default().into(),
        path: path.into(),
        query: query.into(),
        body: BodyFacts::default(),
        token: None,
        stays_open: request.version == Some(1),
    };
    let mut told_length = None;
    for line in request.headers.iter() {
        let Ok(value) = std::str::from_utf8(line.value) else {
            return Err(refused(&format!("the header '{}' is not text", line.name)));
        };
        head.take(line.name, value, &mut told_length).map_err(|sentence| refused(&sentence))?;
    }
    head.body.length = told_length.unwrap_or(0);
    Ok(Some((head, length)))
}

impl Head {
    /// Refuses a request that does not show this token.
    pub(crate) fn check_token(&self, token: &str) -> Result<(), Reply> {
        let is_shown =
            self.token.as_ref().is_some_and(|shown| is_same(shown.as_bytes(), token.as_bytes()));
        let sentence = "the request needs the header 'authorization: Bearer TOKEN'";
        if is_shown { Ok(()) } else { Err(Reply::error(401, sentence)) }
    }

    /// Whether a body follows.
    #[cfg(feature = "federation")]
    pub(crate) fn has_body(&self) -> bool {
        self.body.length > 0
    }

    /// Takes note of a line of the head.
    fn take(&mut self, name: &str, value: &str, length: &mut Option<usize>) -> Result<(), String> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        if is("content-length") {
            // Only digits: a sign, or two lengths, are understood differently by different programs on the way.
            let digits = value.bytes().all(|byte| byte.is_ascii_digit());
            let told = value.parse().ok().filter(|_| digits && length.is_none());
            *length = Some(told.ok_or("content-length is not one whole number")?);
        } else if is("transfer-encoding") {
            return Err("the body comes in chunks, expected one with content-length".into());
        } else if is("content-type") {
            let kind = value.split(';').next().unwrap_or_default();
            self.body.content = kind.trim().to_ascii_lowercase();
        } else if is("content-encoding") {
            return Err(format!("the body is encoded as '{value}', expected it as it is"));
        } else if is("expect") {
            self.body.is_asked_for = value.eq_ignore_ascii_case("100-continue");
        } else if is("connection") {
            self.stays_open = match value.to_ascii_lowercase().as_str() {
                "close" => false,
                "keep-alive" => true,
                _ => self.stays_open,
            };
        } else if is("authorization") {
            let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
            self.token = scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().into());
        }
        Ok(())
    }
}

/// Whether two tokens are the same, in a time that does not tell where they differ.
fn is_same(shown: &[u8], token: &[u8]) -> bool {
    let differences = shown.iter().zip(token).fold(0, |found, (a, b)| found | (a ^ b));
    shown.len() == token.len() && std::hint::black_box(differences) == 0
}

/// The parameters of a query, decoded.
pub(super) fn parameters(query: &str) -> Result<Vec<(String, String)>, Reply> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            decoded(name).zip(decoded(value)).ok_or_else(|| {
                Reply::error(400, "the query is not encoded as it should be (%XX of UTF-8)")
            })
        })
        .collect()
}

/// A part of a query as text.
fn decoded(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = 16 * digit(rest.next()?)? + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        read(text.as_bytes()).unwrap().unwrap().0
    }

    #[test]
    fn a_head_says_what_is_asked_for() {
        let text = "POST /predict?use=pooled HTTP/1.1\r\nContent-Length: 7\r\nContent-Type: Text/CSV; charset=utf-8\r\n\
                    Authorization: bearer secret\r\nExpect: 100-continue\r\n\r\n";
        let found = head(text);
        assert_eq!((&*found.method, &*found.path), ("POST", "/predict"));
        assert_eq!(found.query, "use=pooled");
        let body = BodyFacts { length: 7, content: "text/csv".into(), is_asked_for: true };
        assert_eq!(found.body, body);
        assert_eq!(found.token.as_deref(), Some("secret"));
        assert!(found.stays_open);
        // Every part of it needs more.
        for end in 0..text.len() {
            assert_eq!(read(&text.as_bytes()[..end]).unwrap(), None, "{end}");
        }
    }

    #[test]
    fn connections_stay_open_as_their_version_and_their_client_have_it() {
        for (version, line, stays_open) in [
            ("1.1", "", true),
            ("1.0", "", false),
            ("1.1", "connection: close\r\n", false),
            ("1.0", "Connection: Keep-Alive\r\n", true),
        ] {
            let found = head(&format!("GET / HTTP/{version}\r\n{line}\r\n"));
            assert_eq!(found.stays_open, stays_open, "{version} {line}");
        }
    }

    #[test]
    fn lengths_that_two_programs_may_understand_differently_are_refused() {
        for line in [
            "content-length: +3",
            "content-length: 3\r\ncontent-length: 3",
            "content-length: 3, 3",
            "content-length: 99999999999999999999",
            "content-length:",
            "transfer-encoding: chunked",
        ] {
            let text = format!("POST / HTTP/1.1\r\n{line}\r\n\r\n");
            let found = read(text.as_bytes());
            // An empty value has no digit that is none, and is no number either.
            assert_eq!(found.unwrap_err().status, 400, "{line}");
        }
    }

    #[test]
    fn queries_are_decoded_or_refused() {
        let found = parameters("use=a%20b+c&interval=0.9&&x").unwrap();
        let expected = [("use", "a b c"), ("interval", "0.9"), ("x", "")];
        assert_eq!(found, expected.map(|(name, value)| (name.into(), value.into())));
        for query in ["a=%", "a=%4", "a=%zz", "%ff=1"] {
            assert_eq!(parameters(query).unwrap_err().status, 400, "{query}");
        }
    }
}

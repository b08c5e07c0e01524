//! What is no request gets an error, and costs nothing afterwards.

use fedgrid::random::{Purpose, Stream};

use super::{Server, objects};
use crate::common::Folder;

/// So many wrong requests are sent.
const REQUESTS: usize = 10_000;

fn served(arguments: &[&str]) -> (Folder, Server) {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare"]);
    let server = Server::new(&folder, "run", arguments);
    (folder, server)
}

/// A request that is whole but for one thing.
fn wrong(stream: &mut Stream) -> Vec<u8> {
    let good = br#"{"node": "a", "x": 0.5, "z": 0.25}"#;
    let post = |kind: &str, body: &[u8]| {
        let length = body.len();
        let head = format!(
            "POST /predict HTTP/1.1\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        [head.as_bytes(), body].concat()
    };
    let byte = |stream: &mut Stream| u8::try_from(stream.index(256)).unwrap();
    match stream.index(10) {
        // Bytes of chance, which begin with none that a method begins with.
        0 => (0..=stream.index(300)).map(|_| byte(stream) | 0x80).collect(),
        // A body that is cut.
        1 => post("application/json", &good[..stream.index(good.len())]),
        // Bytes that JSON has nowhere outside of quotes.
        2 => {
            let mut body = good.to_vec();
            body.insert([0, 1, 13, 17, 23][stream.index(5)], 0x80 | byte(stream));
            post("application/json", &body)
        }
        // A value of the wrong kind.
        3 => {
            let value =
                ["[1]", "{}", "\"much\"", "null", "1e400", "-", "[[[[", "1e60"][stream.index(8)];
            post(
                "application/json",
                format!("{{\"node\": \"a\", \"x\": {value}, \"z\": 1}}").as_bytes(),
            )
        }
        // A head that is cut.
        4 => {
            let whole = post("application/json", good);
            let end = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
            whole[..=stream.index(end)].to_vec()
        }
        5 => {
            let path = ["/predic", "/../etc/passwd", "//", "/predict/", "*"][stream.index(5)];
            format!("GET {path} HTTP/1.1\r\n\r\n").into_bytes()
        }
        6 => {
            let length = ["-1", "1e3", "99999999999999999999", "3, 3", "0x10"][stream.index(5)];
            format!("POST /predict HTTP/1.1\r\ncontent-length: {length}\r\n\r\n").into_bytes()
        }
        7 => {
            let query =
                ["use=x", "interval=2", "interval=nan", "unknown=x", "x=1", "use=%ff", "a=%"];
            let query = query[stream.index(7)];
            let length = good.len();
            let head = format!(
                "POST /predict?{query} HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
            );
            [head.as_bytes(), good].concat()
        }
        8 => {
            let csv =
                ["node,x\na,1\n", "node,x,z\na,b,c\n", "\"", "PAR1", "\x1f\u{8b}", "a,a\n1,1\n"];
            post("text/csv", csv[stream.index(6)].as_bytes())
        }
        _ => {
            let add = |text: String, line: usize| text + &format!("x-{line}: {line}\r\n");
            let lines = (0..100).fold(String::new(), add);
            format!("GET / HTTP/1.1\r\n{lines}\r\n").into_bytes()
        }
    }
}

#[test]
fn ten_thousand_wrong_requests_get_an_error_each_and_no_memory_grows() {
    let (folder, mut server) = served(&[]);
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let mut before = None;
    for request in 0..REQUESTS {
        let bytes = wrong(&mut stream);
        let mut client = server.connect();
        client.send(&bytes);
        client.end();
        let reply = client.reply();
        let reply = reply.unwrap_or_else(|| panic!("no answer to {request}: {bytes:?}"));
        assert!(
            (400..500).contains(&reply.status),
            "{reply:?} to {}",
            String::from_utf8_lossy(&bytes)
        );
        assert!(!reply.error().is_empty());
        // What is taken once, such as room for threads, is taken by then.
        if request == REQUESTS / 10 {
            before = server.memory();
        }
    }
    assert!(server.is_alive());
    if let (Some(before), Some(after)) = (before, server.memory()) {
        assert!(after < before + 4096, "from {before} kB to {after} kB");
    }
    let list = objects(&folder.read("rows.csv"), &["x", "z"]);
    assert_eq!(server.predict("", &list[0]).status, 200);
}

const JSON: &str = "content-type: application/json";

/// A wrong request: method, path, a line of its head and its body; and the status and the sentence that it gets.
type Refusal = (&'static str, &'static str, &'static str, &'static str, u16, &'static str);

const REFUSALS: &[Refusal] = &[
    (
        "POST",
        "/predict",
        JSON,
        "[1]",
        400,
        "the request: found 1, expected an object from column to value (line 1, character 2)",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "3",
        400,
        "the request: found 3, expected an object from column to value, or a list of such objects (line 1, character 1)",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"node\": \"a\"",
        400,
        "the request: EOF while parsing an object (line 1, character 12)",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"node\": \"a\", \"x\": [1], \"z\": 1}",
        400,
        "the request: row 1, column 'x' is a list, expected a number, text, true, false or null (line 1, character 20)",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"node\": \"a\", \"x\": 1, \"x\": 2}",
        400,
        "the request: row 1 has 'x' twice, expected it once (line 1, character 29)",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"node\": \"a\", \"x\": \"much\", \"z\": 1}",
        400,
        "the request: row 1, column 'x' is 'much', expected a number",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"node\": \"a\", \"x\": 1}",
        400,
        "the request: there is no column 'z'",
    ),
    (
        "POST",
        "/predict",
        JSON,
        "{\"x\": 1, \"z\": 1}",
        400,
        "the request: there is no column 'node'",
    ),
    ("POST", "/predict?use=ditto", JSON, "{}", 400, "use is 'ditto', expected one of network"),
    (
        "POST",
        "/predict?unknown=neighbours",
        JSON,
        "{}",
        400,
        "unknown is 'neighbours', and the server was not told who is near new nodes (--nodes or --edges)",
    ),
    (
        "POST",
        "/predict?alpha=1",
        JSON,
        "{}",
        400,
        "unknown parameter 'alpha'; known are use, interval, unknown",
    ),
    (
        "POST",
        "/predict?interval=9",
        JSON,
        "{}",
        400,
        "interval is '9', expected a share of rows between 0 and 1, such as 0.9",
    ),
    (
        "POST",
        "/predict?unknown=refuse",
        JSON,
        "{\"node\": \"q\", \"x\": 1, \"z\": 1}",
        400,
        "the request: row 1, column 'node' is 'q', which is not a node of the run",
    ),
    (
        "POST",
        "/predict",
        "content-type: application/x-www-form-urlencoded",
        "{}",
        400,
        "content-type is 'application/x-www-form-urlencoded', expected application/json or text/csv",
    ),
    (
        "POST",
        "/predict",
        "content-encoding: gzip",
        "{}",
        400,
        "the body is encoded as 'gzip', expected it as it is",
    ),
    ("GET", "/predict", JSON, "", 405, "/predict takes POST"),
    ("DELETE", "/nodes", JSON, "", 405, "/nodes takes GET, HEAD"),
    (
        "GET",
        "/node",
        JSON,
        "",
        404,
        "there is no /node, expected /predict, /nodes, /metrics or / (the report)",
    ),
];

#[test]
fn every_refusal_says_what_was_found_and_what_would_do() {
    let (_folder, server) = served(&[]);
    for &(method, path, lines, body, status, sentence) in REFUSALS {
        let reply = server.connect().ask(method, path, &[lines], body);
        // Names that are near or known may follow.
        assert!(reply.error().starts_with(sentence), "{path} {body}: {}", reply.error());
        assert_eq!(reply.status, status, "{path} {body}");
    }
}

#[test]
fn a_mistake_in_one_request_does_not_end_the_connection() {
    let (folder, server) = served(&[]);
    let good = &objects(&folder.read("rows.csv"), &["x", "z"])[0];
    let mut client = server.connect();
    let first = client.predict("", good);
    assert_eq!(client.predict("", "nonsense").status, 400);
    assert_eq!(client.predict("", good), first);
    // Two requests at once are answered in their order.
    let length = good.len();
    let one = format!(
        "POST /predict HTTP/1.1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{good}"
    );
    client.send(format!("{one}GET /nodes HTTP/1.1\r\n\r\n{one}").as_bytes());
    assert_eq!(client.reply().unwrap(), first);
    assert!(client.reply().unwrap().body.contains("\"nodes\""));
    assert_eq!(client.reply().unwrap(), first);
}

#[test]
fn bodies_that_wait_to_be_asked_for_are_asked_for() {
    let (folder, server) = served(&[]);
    let good = &objects(&folder.read("rows.csv"), &["x", "z"])[0];
    let mut client = server.connect();
    let length = good.len();
    client.send(
        format!(
            "POST /predict HTTP/1.1\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
             content-length: {length}\r\n\r\n"
        )
        .as_bytes(),
    );
    let mut line = String::new();
    std::io::BufRead::read_line(&mut client.stream, &mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");
    std::io::BufRead::read_line(&mut client.stream, &mut line).unwrap();
    client.send(good.as_bytes());
    assert_eq!(client.reply().unwrap().status, 200);
}

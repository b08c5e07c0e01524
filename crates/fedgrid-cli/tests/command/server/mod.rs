//! `fedgrid serve`, by real requests over the loopback interface.

mod answers;
mod hostile;
mod operation;

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    process::{Child, Command},
    time::Duration,
};

use serde_json::Value;

use crate::common::Folder;

/// A server that ends with its test.
pub(super) struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The one sentence of a refusal.
    pub(super) fn error(&self) -> String {
        let json = self.json();
        assert_eq!(json.as_object().unwrap().len(), 1, "{json}");
        let sentence = json["error"].as_str().unwrap();
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
        sentence.into()
    }
}

impl Server {
    /// Serves a run of a folder at a free port.
    pub(super) fn new(folder: &Folder, run: &str, arguments: &[&str]) -> Self {
        Self::by(folder.command(&[&["serve", run, "--port", "0", "--json"], arguments].concat()))
    }

    /// The same by a command that was prepared.
    pub(super) fn by(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut said = String::new();
            child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
            panic!("the server did not begin: {said}");
        }
        let said: Value = serde_json::from_str(&line).unwrap();
        Self { child, address: said["address"].as_str().unwrap().into() }
    }

    pub(super) fn connect(&self) -> Client {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    /// One request on a connection of its own.
    pub(super) fn get(&self, path: &str) -> Reply {
        self.connect().ask("GET", path, &[], "")
    }

    /// Rows as JSON.
    pub(super) fn predict(&self, query: &str, body: &str) -> Reply {
        self.connect().predict(query, body)
    }

    /// The number behind a name in the metrics.
    pub(super) fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").body;
        let own = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        own.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    /// Asks the server to stop, as a service manager does.
    pub(super) fn ask_to_stop(&self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    }

    /// The exit code, and what was said on standard error.
    pub(super) fn ended(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.as_mut().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }

    /// The memory of the process in kilobytes; none where the system does not tell.
    pub(super) fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.parse().ok()
    }

    pub(super) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

/// A connection that stays open.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(super) fn send(&mut self, bytes: &[u8]) {
        // A server that has refused already may have gone.
        let _ = self.stream.get_mut().write_all(bytes);
    }

    pub(super) fn end(&mut self) {
        let _ = self.stream.get_mut().shutdown(Shutdown::Write);
    }

    pub(super) fn ask(&mut self, method: &str, path: &str, lines: &[&str], body: &str) -> Reply {
        let lines = lines.iter().fold(String::new(), |text, line| text + line + "\r\n");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\n{lines}content-length: {length}\r\n\r\n"
        );
        self.send((head + body).as_bytes());
        self.reply().expect("an answer")
    }

    pub(super) fn predict(&mut self, query: &str, body: &str) -> Reply {
        let path = format!("/predict{query}");
        self.ask("POST", &path, &["content-type: application/json"], body)
    }

    /// The next answer; none if the connection has ended.
    pub(super) fn reply(&mut self) -> Option<Reply> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        self.stream.read_exact(&mut body).ok()?;
        Some(Reply { status, head, body: String::from_utf8(body).ok()? })
    }
}

/// The rows of a CSV file without quotes as JSON objects, whose numbers are written as they stand there.
pub(super) fn objects(csv: &str, numbers: &[&str]) -> Vec<String> {
    let names: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let object = |line: &str| {
        let cell = |(name, cell): (&&str, &str)| {
            let quote = if numbers.contains(name) { "" } else { "\"" };
            format!("\"{name}\": {quote}{cell}{quote}")
        };
        let cells: Vec<String> = names.iter().zip(line.split(',')).map(cell).collect();
        format!("{{{}}}", cells.join(", "))
    };
    csv.lines().skip(1).map(object).collect()
}

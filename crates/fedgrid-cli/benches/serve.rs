//! `fedgrid serve` under load, by a client of its own: single rows over connections that stay open, each sent when the one
//! before is answered. Requests a second, times from the first byte sent to the last byte read, and processor seconds of
//! the server. Then rows in tables of 1,000, and 10,000 wrong requests with the memory before and after.
//! `CONNECTIONS` (default 1,4,16) and `SECONDS` (default 5) may be given.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{
    env,
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fedgrid::random::{Purpose, Stream};

const NODES: usize = 200;
const FEATURES: usize = 20;
const WRONG_REQUESTS: usize = 10_000;
/// So many rows are in a table that is sent whole.
const TABLE_ROWS: usize = 1_000;

fn main() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = trained(folder.path());
    let server = Server::new(folder.path());
    println!(
        "| load | a second | median | 99 % | 99.9 % | processor time of the server, a request |\n|---|---|---|---|---|---|"
    );
    let counts = env::var("CONNECTIONS").unwrap_or_else(|_| "1,4,16".into());
    for count in counts.split(',').filter_map(|count| count.parse().ok()) {
        let bodies: Vec<String> = rows.iter().map(Row::object).collect();
        load(&server, &format!("1 row, {count} connections"), count, 1, &bodies);
    }
    let tables: Vec<String> = rows
        .chunks(TABLE_ROWS)
        .map(|rows| format!("[{}]", rows.iter().map(Row::object).collect::<Vec<_>>().join(",")))
        .collect();
    load(&server, &format!("{TABLE_ROWS} rows, 2 connections"), 2, TABLE_ROWS, &tables);
    wrong(&server);
}

/// A row to be predicted.
struct Row {
    node: usize,
    values: Vec<f64>,
}

impl Row {
    fn object(&self) -> String {
        let mut text = format!("{{\"node\":\"n{}\"", self.node);
        for (place, value) in self.values.iter().enumerate() {
            write!(text, ",\"f{place}\":{value}").expect("a string");
        }
        text + "}"
    }
}

/// Trains a run of linear models into the folder `run`, and makes rows to be predicted.
fn trained(folder: &Path) -> Vec<Row> {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let mut row = |node| Row { node, values: (0..FEATURES).map(|_| stream.normal()).collect() };
    let mut text = (0..FEATURES).fold(String::from("node,y"), |text, k| text + &format!(",f{k}"));
    for place in 0..NODES * 30 {
        let Row { node, values } = row(place % NODES);
        write!(text, "\nn{node},{}", values.iter().sum::<f64>()).expect("a string");
        for value in values {
            write!(text, ",{value}").expect("a string");
        }
    }
    fs::write(folder.join("rows.csv"), text + "\n").expect("the folder takes files");
    let arguments = "fit --data rows.csv --node node --target y --shape ring --method fedrelax --alpha 0.1 --no-compare --out run --quiet";
    let status = Command::new(env!("CARGO_BIN_EXE_fedgrid"))
        .args(arguments.split(' '))
        .current_dir(folder)
        .status();
    assert!(status.expect("the command can be started").success());
    (0..10 * TABLE_ROWS).map(|place| row(place % NODES)).collect()
}

/// A server that ends with the benchmark.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn new(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_fedgrid"))
            .args(["serve", "run", "--port", "0", "--json"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command can be started");
        let mut line = String::new();
        let said = child.stdout.as_mut().expect("it is piped");
        BufReader::new(said).read_line(&mut line).expect("it says where it listens");
        let said: serde_json::Value = serde_json::from_str(&line).expect("as JSON");
        let address = said["address"].as_str().expect("an address").to_string();
        Self { child, address }
    }

    fn connect(&self) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(&self.address).expect("the server listens");
        stream.set_nodelay(true).expect("an open connection");
        BufReader::with_capacity(1 << 16, stream)
    }

    /// Its seconds on processors so far: fields 14 and 15 of its status, in hundredths.
    fn seconds(&self) -> f64 {
        let path = format!("/proc/{}/stat", self.child.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(11).take(2);
        fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// Its memory in megabytes.
    fn megabytes(&self) -> f64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kilobytes.unwrap_or(f64::NAN) / 1024.0
    }
}

/// Reads an answer to its end; its status.
fn answer(stream: &mut BufReader<TcpStream>, room: &mut Vec<u8>) -> Option<u16> {
    let (mut status, mut length) = (None, 0);
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if status.is_none() {
            status = Some(line.split(' ').nth(1)?.parse().ok()?);
        } else if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().ok()?;
        } else if line == "\r\n" {
            break;
        }
    }
    room.resize(length, 0);
    stream.read_exact(room).ok()?;
    status
}

/// Asks for so long on so many connections, and prints what came of it.
fn load(server: &Server, name: &str, connections: usize, rows: usize, bodies: &[String]) {
    let seconds = env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5.0);
    let requests: Vec<Vec<u8>> = bodies.iter().map(|body| request(body)).collect();
    let client = |place: usize| {
        let (mut stream, mut room, mut times) = (server.connect(), Vec::new(), Vec::new());
        let begun = Instant::now();
        for request in requests.iter().cycle().skip(place * 7) {
            let sent = Instant::now();
            stream.get_mut().write_all(request).expect("the server reads");
            assert_eq!(answer(&mut stream, &mut room), Some(200));
            times.push(sent.elapsed());
            if begun.elapsed().as_secs_f64() > seconds {
                break;
            }
        }
        times
    };
    let (before, begun) = (server.seconds(), Instant::now());
    let mut times: Vec<Duration> = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..connections).map(|place| scope.spawn(move || client(place))).collect();
        clients.into_iter().flat_map(|client| client.join().expect("all is answered")).collect()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    times.sort();
    let share = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a place in a list"
        )]
        let place = (share * (times.len() - 1) as f64) as usize;
        format!("{:.2} ms", 1e3 * times[place].as_secs_f64())
    };
    println!(
        "| {name} | {:.0} | {} | {} | {} | {:.1} µs |",
        (times.len() * rows) as f64 / elapsed,
        share(0.5),
        share(0.99),
        share(0.999),
        1e6 * (server.seconds() - before) / times.len() as f64
    );
}

fn request(body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST /predict HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Sends requests that are none, and prints what memory they leave.
fn wrong(server: &Server) {
    let mut stream = Stream::new(2, 0, 0, Purpose::Data);
    let (before, mut refused, mut room) = (server.megabytes(), 0, Vec::new());
    for _ in 0..WRONG_REQUESTS {
        let whole = request("{\"node\":\"n1\",\"f0\":1}");
        let end = 1 + stream.index(whole.len() - 1);
        let mut bytes = whole[..end].to_vec();
        bytes[stream.index(end)] = 0x80;
        let mut client = server.connect();
        // The server may have refused before all was sent.
        let _ = client.get_mut().write_all(&bytes);
        let _ = client.get_mut().shutdown(std::net::Shutdown::Write);
        refused += usize::from(answer(&mut client, &mut room).is_some_and(|status| status >= 400));
    }
    println!(
        "\n{refused} of {WRONG_REQUESTS} wrong requests were refused; memory {before:.1} MB before, {:.1} MB after",
        server.megabytes()
    );
}

//! `fedgrid predict` of a million rows and twenty features: processor seconds, seconds of the clock and the largest memory, from
//! CSV and from Parquet to CSV. `ROWS` gives another number. The goals, 2 seconds and 500 MB, are those of an idle machine with
//! two cores.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{
    env,
    fmt::Write as _,
    fs,
    io::{BufWriter, Write},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fedgrid::random::{Purpose, Stream};
use fedgrid_lab::source::{Written, parquet_bytes};

const NODES: usize = 200;
const FEATURES: usize = 20;

fn main() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rows = env::var("ROWS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    tables(folder.path(), rows).expect("the folder takes files");
    let fit = "fit --data train.csv --node node --target y --shape ring --method fedrelax --alpha 0.1 --no-compare --out run --quiet";
    assert!(command(folder.path(), fit).wait().expect("the command runs").success());
    println!("| rows | file | seconds | processor seconds | memory |\n|---|---|---|---|---|");
    for (file, more) in [("rows.csv", ""), ("rows.parquet", ""), ("rows.csv", " --interval 0.9")] {
        let words = format!("predict run --data {file} --out out.csv --force --quiet{more}");
        let (before, begun) = (children_seconds(), Instant::now());
        let megabytes = watched(command(folder.path(), &words));
        let (elapsed, own) = (begun.elapsed().as_secs_f64(), children_seconds() - before);
        println!("| {rows} | {file}{more} | {elapsed:.2} | {own:.2} | {megabytes:.0} MB |");
    }
}

fn command(folder: &Path, words: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fedgrid"))
        .args(words.split(' '))
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("the command can be started")
}

/// Waits for a process; the largest memory that it had, in megabytes.
fn watched(mut child: Child) -> f64 {
    let path = format!("/proc/{}/status", child.id());
    let mut largest = 0.0_f64;
    loop {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let found = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        largest = largest.max(found.unwrap_or(0.0) / 1024.0);
        match child.try_wait().expect("a child of ours") {
            Some(status) => {
                assert!(status.success());
                return largest;
            }
            None => thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// The seconds that ended children have been on processors: fields 16 and 17 of this process's status, in hundredths.
fn children_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(13).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Rows to train on, and rows to predict as CSV and as Parquet.
fn tables(folder: &Path, rows: usize) -> std::io::Result<()> {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let mut values = move || -> Vec<f64> {
        // As measured: four decimals.
        (0..FEATURES).map(|_| (1e4 * stream.normal()).round() / 1e4).collect()
    };
    let head = (0..FEATURES).fold(String::new(), |text, k| text + &format!(",f{k}"));
    let line = |values: &[f64]| {
        values.iter().fold(String::new(), |mut text, value| {
            write!(text, ",{value}").expect("a string");
            text
        })
    };
    let mut train = format!("node,y{head}\n");
    for row in 0..NODES * 30 {
        let values = values();
        let sum: f64 = values.iter().sum();
        writeln!(train, "n{},{sum}{}", row % NODES, line(&values)).expect("a string");
    }
    fs::write(folder.join("train.csv"), train)?;
    let mut file = BufWriter::new(fs::File::create(folder.join("rows.csv"))?);
    writeln!(file, "node{head}")?;
    let mut columns = vec![Vec::new(); FEATURES];
    for row in 0..rows {
        let values = values();
        writeln!(file, "n{}{}", row % NODES, line(&values))?;
        columns.iter_mut().zip(&values).for_each(|(column, value)| column.push(*value));
    }
    file.flush()?;
    let nodes = (0..rows).map(|row| format!("n{}", row % NODES)).collect();
    let mut written = vec![("node".to_string(), Written::Text(nodes))];
    let named = columns.into_iter().enumerate().map(|(k, column)| (format!("f{k}"), column));
    written.extend(named.map(|(name, column)| (name, Written::Numbers(column))));
    fs::write(folder.join("rows.parquet"), parquet_bytes(&written))
}

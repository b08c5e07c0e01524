//! `fedgrid check` of a million rows of fifty columns: seconds, memory and megabytes per second, from a file that is written here.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

#[path = "../../fedgrid/benches/mixed/resources.rs"]
mod resources;

use fedgrid::random::{Purpose, Stream};
use fedgrid_lab::{Result, assembly::check_table, experiment::Experiment};

const ROWS: usize = 1_000_000;
const NODES: usize = 1_000;
/// How many columns are numbers of each kind: six digits, all digits, whole, two decimals.
const NUMBERS: [usize; 4] = [20, 8, 6, 6];
const CATEGORIES: [&str; 4] = ["none", "flyer", "television", "radio"];

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("rows.csv");
    let size = written(&path).expect("the folder takes a file");
    println!("{}", measured(folder.path(), size).expect("the file is a table"));
}

fn measured(base: &Path, size: u64) -> Result<String> {
    let text = "[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\n[network]\nshape = \"none\"\n";
    let table = Experiment::table_from_text(text, "the benchmark")?;
    let experiment = Experiment::from_table(table, "the benchmark")?;
    let timer = resources::Timer::start();
    let checked = check_table(&experiment, base)?;
    let (report, seconds) = (timer.report(), timer.seconds());
    assert!(checked.problems.is_empty(), "{:?}", checked.problems);
    Ok(format!(
        "check of {} rows, {} columns, {} features, {} MB: {report}, {:.0} MB/s (the goal is 3 s and 1 GiB)",
        checked.rows,
        checked.plan.columns.len(),
        checked.features.len(),
        size / 1_000_000,
        size as f64 / 1e6 / seconds
    ))
}

/// Writes the table; gives its size.
fn written(path: &Path) -> std::io::Result<u64> {
    let mut file = BufWriter::new(File::create(path)?);
    let count: usize = NUMBERS.iter().sum();
    let numbers = (0..count).map(|column| format!("x{column}"));
    let others = ["promo", "size", "area", "kind", "open", "late", "day", "at"].map(String::from);
    let names: Vec<String> = ["node".to_string(), "y".to_string()].into_iter().collect();
    writeln!(
        file,
        "{}",
        names.into_iter().chain(numbers).chain(others).collect::<Vec<_>>().join(",")
    )?;
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let mut line = String::new();
    for row in 0..ROWS {
        line.clear();
        let text = "memory takes all";
        write!(line, "{},{:.4}", row % NODES, 10.0 * stream.normal()).expect(text);
        for (kind, count) in NUMBERS.into_iter().enumerate() {
            for _ in 0..count {
                let value = stream.normal();
                match kind {
                    0 => write!(line, ",{value:.6}"),
                    1 => write!(line, ",{value}"),
                    2 => write!(line, ",{:.0}", 1000.0 * value),
                    _ => write!(line, ",{:.2}", 100.0 * value),
                }
                .expect(text);
            }
        }
        for level in 0..CATEGORIES.len() {
            write!(line, ",{}", CATEGORIES[row * (level + 3) / 7 % 4]).expect(text);
        }
        let [open, late] = [row % 3 == 0, row % 5 == 0];
        let (month, day) = (1 + row / 28 % 12, 1 + row % 28);
        write!(
            line,
            ",{open},{late},2024-{month:02}-{day:02},2024-{month:02}-{day:02} {:02}:30:00",
            row % 24
        )
        .expect(text);
        writeln!(file, "{line}")?;
    }
    file.flush()?;
    Ok(file.get_ref().metadata()?.len())
}

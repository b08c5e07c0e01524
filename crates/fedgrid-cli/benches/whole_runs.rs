//! Whole runs of the command, with the comparison and its five shuffles: processor seconds, and beside them those of
//! another build of the command, if `FEDGRID_BASELINE` names one. Tables are made here; runs on datasets are left out
//! where `FEDGRID_DATA` has none. Words after `--` choose runs by their names; `LIMIT_SECONDS` (default 600) ends a run, and
//! `TABLES_FOLDER` names a folder in which the tables stay, for runs by hand.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{
    env,
    fmt::{self, Write as _},
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use fedgrid::random::{Purpose, Stream};

/// A run by name: its arguments, and the goal in processor seconds.
struct Run {
    name: &'static str,
    arguments: Vec<String>,
    goal: f64,
}

fn main() {
    let passing = tempfile::tempdir().expect("a folder can be made");
    let folder = env::var_os("TABLES_FOLDER").map_or(passing.path().into(), PathBuf::from);
    tables(&folder).expect("the folder takes files");
    let wanted: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let is_wanted =
        |run: &Run| wanted.is_empty() || wanted.iter().any(|word| run.name.contains(word.as_str()));
    let baseline = env::var_os("FEDGRID_BASELINE").map(PathBuf::from);
    println!("| run | processor seconds | goal | before | ratio |\n|---|---|---|---|---|");
    for run in runs().into_iter().filter(is_wanted) {
        let own = seconds(Path::new(env!("CARGO_BIN_EXE_fedgrid")), &run, &folder);
        let before = baseline.as_deref().map(|command| seconds(command, &run, &folder));
        let ratio = match (&own, &before) {
            (Took::Seconds(own), Some(Took::Seconds(before))) => {
                format!("{:.1}x", before / own.max(0.01))
            }
            (Took::Seconds(own), Some(Took::Limit(before))) => {
                format!("more than {:.1}x", before / own.max(0.01))
            }
            _ => String::new(),
        };
        let before = before.map_or(String::new(), |took| took.to_string());
        println!("| {} | {own} | {} | {before} | {ratio} |", run.name, run.goal);
    }
}

/// The runs whose data are there.
fn runs() -> Vec<Run> {
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let made = |name: &'static str, file: &str, nodes: &str, more: &str, goal: f64| {
        let text = format!(
            "fit --data {file}.csv --node node --nodes {nodes}.csv --coordinates lon,lat --nearest 5 {more}"
        );
        Run { name, arguments: words(&text), goal }
    };
    let mut runs = vec![
        made(
            "three classes, 60 nodes, logistic",
            "classes",
            "places",
            "--target level --model logistic",
            10.0,
        ),
        made(
            "seven classes, 30 features, logistic",
            "seven",
            "few",
            "--target kind --split split --model logistic",
            15.0,
        ),
        made("shops, tree", "shops", "places", "--target sales --model tree", 3.0),
        made("shops, forest", "shops", "places", "--target sales --model forest", 20.0),
        made("shops, boosting", "shops", "places", "--target sales --model boosting", 10.0),
        made("shops, neighbours", "shops", "places", "--target sales --model neighbours", 5.0),
        made("shops, kernel ridge", "shops", "places", "--target sales --model kernel-ridge", 5.0),
        made("planar, gtv", "planar", "plane", "--target y --split split --method gtv", 1.5),
    ];
    let wide = "fit --data wide.csv --node node --target y --shape complete";
    runs.push(Run { name: "wide, 200 features on ten rows", arguments: words(wide), goal: 0.5 });
    runs.extend(runs_on_datasets());
    runs
}

/// The runs on datasets that are there.
fn runs_on_datasets() -> Vec<Run> {
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    let mut runs = Vec::new();
    let root = env::var_os("FEDGRID_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let sixteen = (1..=16).map(|k| format!("c{k:02}")).collect::<Vec<_>>().join(",");
    let of_data = [
        (
            "heart disease, logistic",
            "heart_disease",
            "--model logistic --method fedrelax".into(),
            1.0,
        ),
        (
            "covid counties, fedrelax",
            "covid_counties",
            format!("--method fedrelax --features {sixteen}"),
            6.0,
        ),
        (
            "covid counties, gtv",
            "covid_counties",
            format!("--method gtv --features {sixteen}"),
            10.0,
        ),
        (
            "sacramento housing, fedrelax",
            "sacramento_housing",
            "--method fedrelax --features beds,baths,sqft".into(),
            0.8,
        ),
    ];
    for (name, folder, more, goal) in of_data {
        let data = root.join(folder);
        if fs::metadata(&data).is_err() {
            println!("skipped: {name} needs {folder} in the folder FEDGRID_DATA");
            continue;
        }
        let path = |file: &str| data.join(file).display().to_string();
        let (data, nodes, edges) = (path("data.parquet"), path("nodes.csv"), path("edges.csv"));
        let text = "fit --node node --target y --split split --data";
        let mut arguments = words(text);
        arguments.extend([data, "--nodes".into(), nodes, "--edges".into(), edges]);
        arguments.extend(words(&more));
        runs.push(Run { name, arguments, goal });
    }
    runs
}

/// What a run took.
enum Took {
    /// Processor seconds.
    Seconds(f64),
    /// So many, at which it was ended.
    Limit(f64),
    /// It was refused, or failed.
    Failed,
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds:.2}"),
            Self::Limit(seconds) => write!(f, "more than {seconds:.0}, ended"),
            Self::Failed => write!(f, "failed"),
        }
    }
}

/// The processor seconds of a run.
fn seconds(command: &Path, run: &Run, folder: &Path) -> Took {
    let limit = env::var("LIMIT_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(600);
    let before = children_seconds();
    let child = Command::new(command)
        .args(&run.arguments)
        .args(["--out", "run", "--force", "--quiet"])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .expect("the command can be started");
    let is_done = ended(child, Duration::from_secs(limit));
    let seconds = children_seconds() - before;
    match is_done {
        Some(true) => Took::Seconds(seconds),
        Some(false) => Took::Failed,
        None => Took::Limit(seconds),
    }
}

/// Waits for a process, and ends it at the limit; whether it has ended well, if by itself.
fn ended(mut child: Child, limit: Duration) -> Option<bool> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if begun.elapsed() < limit => thread::sleep(Duration::from_millis(20)),
            _ => {
                // It may just have ended by itself, and there is nothing to be done about either.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

/// The seconds that ended children have been on processors: fields 16 and 17 of this process's status, in hundredths.
fn children_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(13).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Writes all tables that are made here.
fn tables(folder: &Path) -> std::io::Result<()> {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    shops(folder, &mut stream)?;
    seven_classes(folder, &mut stream)?;
    planar(folder, &mut stream)?;
    let mut wide = (0..200).fold(String::from("node,y"), |text, k| text + &format!(",f{k}"));
    for row in 0..10 {
        let features: Vec<f64> = (0..200).map(|_| stream.normal()).collect();
        write!(wide, "\n{},{}", row % 2, features[0] + 0.1 * stream.normal()).expect("a string");
        add_numbers(&mut wide, &features);
    }
    fs::write(folder.join("wide.csv"), wide + "\n")
}

/// Adds cells to the end of a row.
fn add_numbers(text: &mut String, numbers: &[f64]) {
    for number in numbers {
        write!(text, ",{number}").expect("a string");
    }
}

/// Places of nodes in a square.
fn places(
    folder: &Path,
    name: &str,
    count: usize,
    stream: &mut Stream,
) -> std::io::Result<Vec<[f64; 2]>> {
    let places: Vec<[f64; 2]> =
        (0..count).map(|_| [10.0 * stream.uniform(), 10.0 * stream.uniform()]).collect();
    let mut text = String::from("node,lon,lat\n");
    for (node, [x, y]) in places.iter().enumerate() {
        writeln!(text, "{node},{x},{y}").expect("a string");
    }
    fs::write(folder.join(name), text)?;
    Ok(places)
}

/// Sixty shops with about 800 sales between them: as numbers with a promotion, and as three classes.
fn shops(folder: &Path, stream: &mut Stream) -> std::io::Result<()> {
    let places = places(folder, "places.csv", 60, stream)?;
    let mut sales = String::from("node,price,temp,promo,sales\n");
    let mut classes = String::from("node,price,temp,level\n");
    for (node, [x, y]) in places.iter().enumerate() {
        for _ in 0..8 + stream.index(12) {
            let (price, temp, promo) = (stream.normal(), stream.normal(), stream.index(3));
            let (slope, other) = (10.0 * (x / 3.0).sin(), 2.0 * (y / 3.0).cos());
            let lift = [0.0, 2.0, 5.0][promo];
            let sold = 50.0 + slope * price + other * temp + lift + stream.normal();
            let name = ["none", "flyer", "tv"][promo];
            writeln!(sales, "{node},{price},{temp},{name},{sold}").expect("a string");
            let level = ["low", "mid", "high"][usize::from(sold > 45.0) + usize::from(sold > 55.0)];
            writeln!(classes, "{node},{price},{temp},{level}").expect("a string");
        }
    }
    fs::write(folder.join("shops.csv"), sales)?;
    fs::write(folder.join("classes.csv"), classes)
}

/// The role of a row that is one of so many to train and to validate.
fn role(row: usize, train: usize, validate: usize) -> &'static str {
    match row {
        row if row < train => "train",
        row if row < train + validate => "validation",
        _ => "test",
    }
}

/// Twenty nodes with 140 training rows between them, 30 features and 7 classes.
fn seven_classes(folder: &Path, stream: &mut Stream) -> std::io::Result<()> {
    let places = places(folder, "few.csv", 20, stream)?;
    let common: Vec<f64> = (0..7 * 30).map(|_| 0.6 * stream.normal()).collect();
    let (east, north): (Vec<f64>, Vec<f64>) =
        (0..7 * 30).map(|_| (0.5 * stream.normal(), 0.5 * stream.normal())).unzip();
    let mut text =
        (0..30).fold(String::from("node,split,kind"), |text, k| text + &format!(",f{k}"));
    for (node, [x, y]) in places.iter().enumerate() {
        let (sin, cos) = ((x / 3.0).sin(), (y / 3.0).cos());
        for row in 0..21 {
            let features: Vec<f64> = (0..30).map(|_| stream.normal()).collect();
            let score = |class: usize| -> f64 {
                let own = class * 30..(class + 1) * 30;
                own.zip(&features)
                    .map(|(k, x)| x * (common[k] + sin * east[k] + cos * north[k]))
                    .sum()
            };
            // Gumbel's noise makes the largest score a draw from the softmax.
            let scores: Vec<f64> = (0..7)
                .map(|class| {
                    let uniform = stream.uniform().max(f64::MIN_POSITIVE);
                    score(class) - (-uniform.ln()).ln()
                })
                .collect();
            let best = (0..7).fold(0, |a, b| if scores[b] > scores[a] { b } else { a });
            write!(text, "\n{node},{},c{best}", role(row, 7, 4)).expect("a string");
            add_numbers(&mut text, &features);
        }
    }
    fs::write(folder.join("seven.csv"), text + "\n")
}

/// 1,024 nodes with nine weights that change smoothly over the plane.
fn planar(folder: &Path, stream: &mut Stream) -> std::io::Result<()> {
    let places = places(folder, "plane.csv", 1024, stream)?;
    let waves: Vec<f64> = (0..9 * 4).map(|_| stream.normal()).collect();
    let mut text = (0..8).fold(String::from("node,split,y"), |text, k| text + &format!(",f{k}"));
    for (node, [x, y]) in places.iter().enumerate() {
        let basis = [(0.3 * x).sin(), (0.3 * y).cos(), 0.01 * x * y, 1.0];
        let weight = |k: usize| -> f64 { (0..4).map(|b| waves[k * 4 + b] * basis[b]).sum() };
        for row in 0..18 {
            let features: Vec<f64> = (0..8).map(|_| stream.normal()).collect();
            let along: f64 = features.iter().enumerate().map(|(k, x)| x * weight(k)).sum();
            let label = along + weight(8) + stream.normal();
            write!(text, "\n{node},{},{label}", role(row, 6, 4)).expect("a string");
            add_numbers(&mut text, &features);
        }
    }
    fs::write(folder.join("planar.csv"), text + "\n")
}

//! A folder with a small experiment, and the command that runs in it.

#![allow(dead_code, reason = "every test file uses its own part of these helpers")]

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// The names of the six nodes.
pub(crate) const NODES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Eight rows per node: four train, two validate, two test.
const ROLES: [&str; 8] = ["train", "train", "val", "train", "test", "train", "val", "test"];

/// The experiment in the folder; it can be changed with [`Folder::edit`].
const EXPERIMENT: &str = r#"[data]
file = "rows.csv"
node = "node"
target = "y"
split = "split"

[network]
file = "nodes.csv"
edges = "edges.csv"
"#;

/// The keys of a model of some kind that is quickly trained.
pub(crate) fn quick_model(kind: &str) -> String {
    let more = match kind {
        "forest" | "extra-trees" | "boosting" => "trees = 5\n",
        "perceptron" => "ridge = 0.01\nepochs = 30\n",
        "tree" | "neighbours" | "smoother" | "constant" => "",
        _ => "ridge = 0.01\n",
    };
    format!("kind = \"{kind}\"\n{more}")
}

/// A temporary folder that holds `experiment.toml`, `rows.csv`, `nodes.csv` and `edges.csv`.
pub(crate) struct Folder {
    root: tempfile::TempDir,
}

/// What the command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit code.
    pub(crate) code: Option<i32>,
    /// What it printed on standard output.
    pub(crate) out: String,
    /// What it printed on standard error.
    pub(crate) err: String,
}

impl Folder {
    /// Six nodes on a path, whose lines have slopes and levels that grow along it.
    pub(crate) fn new() -> Self {
        let folder = Self::empty();
        folder.write("experiment.toml", EXPERIMENT);
        folder.write("rows.csv", rows(|y| format!("{y:.6}")));
        let nodes =
            NODES.iter().enumerate().fold(String::from("node,lon,lat\n"), |text, (i, n)| {
                text + &format!("{n},{i},{}\n", (i * i) % 5)
            });
        folder.write("nodes.csv", &nodes);
        folder.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nc,d,1\nd,e,1\ne,f,1\n");
        folder
    }

    /// The same with classes to predict.
    pub(crate) fn with_classes() -> Self {
        let folder = Self::new();
        folder.write("rows.csv", rows(|y| if y > 2.2 { "warm".into() } else { "cold".into() }));
        // Few public points and strengths keep it quick.
        folder.append(
            "experiment.toml",
            "[model]\nkind = \"logistic\"\nridge = 0.01\n[public]\npoints = 20\n",
        );
        folder
    }

    /// A folder without files.
    pub(crate) fn empty() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Reads a file.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Reads a JSON file.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Replaces the first occurrence of a text that must be in the file.
    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} does not hold {from:?}");
        self.write(name, text.replacen(from, to, 1));
    }

    /// Adds lines to a file.
    pub(crate) fn append(&self, name: &str, lines: &str) {
        self.write(name, self.read(name) + lines);
    }

    /// Puts another text into one cell of a CSV file; rows count from one, below the header.
    pub(crate) fn set_cell(&self, name: &str, row: usize, column: usize, cell: &str) {
        let text = self.read(name);
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let mut cells: Vec<&str> = lines[row].split(',').collect();
        cells[column] = cell;
        lines[row] = cells.join(",");
        self.write(name, lines.join("\n") + "\n");
    }

    /// The command, to be run in the folder.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fedgrid"));
        command.args(arguments).current_dir(self.root.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the command in the folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        let output = self.command(arguments).output().unwrap();
        Answer {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that must do its work, and gives what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, Some(0), "{arguments:?}: {}", answer.err);
        answer.out
    }

    /// Fits the experiment with more arguments into the folder `out`, and gives its result.
    pub(crate) fn fit(&self, out: &str, arguments: &[&str]) -> Value {
        self.done(&[&["fit", "experiment.toml", "--quiet", "--out", out], arguments].concat());
        self.json(&format!("{out}/result.json"))
    }

    /// The one sentence with which the command refuses its input.
    pub(crate) fn refusal(&self, arguments: &[&str]) -> String {
        let answer = self.run(arguments);
        assert_eq!(answer.code, Some(2), "{arguments:?}: {} {}", answer.out, answer.err);
        assert_eq!(answer.out, "", "nothing but the sentence is printed");
        assert_eq!(answer.err.lines().count(), 1, "one line: {}", answer.err);
        let sentence = answer.err.strip_prefix("fedgrid: ").expect("the command names itself");
        sentence.trim_end().to_string()
    }

    /// The sentence with which `fit` refuses the experiment, without a trace in the run folder.
    pub(crate) fn fit_refusal(&self, arguments: &[&str]) -> String {
        let sentence =
            self.refusal(&[&["fit", "experiment.toml", "--out", "run"], arguments].concat());
        assert!(!self.path("run").exists(), "nothing is written");
        sentence
    }
}

/// A result without what differs from run to run.
pub(crate) fn timeless(mut result: Value) -> Value {
    assert!(result["seconds"].is_f64());
    result["seconds"] = Value::Null;
    result
}

/// The table of rows, with its targets written by a function.
pub(crate) fn rows(target: impl Fn(f64) -> String) -> String {
    let mut text = String::from("node,x,z,y,split\n");
    for (i, node) in NODES.iter().enumerate() {
        for (r, role) in ROLES.iter().enumerate() {
            let (at, i) = ((8 * i + r) as f64, i as f64);
            let (x, z) = ((1.0 + at).sin(), (2.0 * at).cos());
            let noise = 0.1 * (7.0 * at).sin();
            let y = target(1.0 + 0.5 * i + (1.0 + 0.1 * i) * x - 0.5 * z + noise);
            writeln!(text, "{node},{x:.6},{z:.6},{y},{role}").unwrap();
        }
    }
    text
}

/// Says why a test does less than it could, also where the output of tests is captured.
pub(crate) fn skipped(reason: &str) {
    let _ = std::io::stderr().write_all(format!("skipped: {reason}\n").as_bytes());
}

/// Whether another program can be started.
pub(crate) fn on_path(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| Path::new(&folder).join(program).is_file())
}

/// The folder of a dataset, if it is there.
pub(crate) fn dataset(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("FEDGRID_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder.canonicalize().unwrap());
    }
    skipped(&format!("{name} needs the folder of datasets, set FEDGRID_DATA"));
    None
}

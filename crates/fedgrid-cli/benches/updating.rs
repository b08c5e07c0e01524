//! One more day and ten new stations of `fmi_hourly`, six more weeks and ten new counties of `covid_counties`: `fedgrid
//! update` of a run beside `fedgrid fit` on all rows with its comparison. Processor seconds of both; how far the models of
//! the run's own method are from those of `fedgrid fit` on all rows at the same strengths; and the errors of both on all
//! test rows. Left out where `FEDGRID_DATA` has no such dataset; the name of one as an argument measures that one.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fedgrid_lab::source::Table;

/// A dataset, and what of it comes later.
struct World {
    name: &'static str,
    /// Every so many-th node is new.
    new_node_step: usize,
    /// The column of times, and where the later ones begin.
    time: (&'static str, f64),
    /// How far apart nodes are that differ by one degree.
    coordinates: &'static str,
    features: usize,
    /// The models that are updated: a name, and keys of the command; their features are those above unless others are named.
    models: &'static [(&'static str, &'static str)],
}

const WORLDS: [World; 2] = [
    World {
        name: "fmi_hourly",
        new_node_step: 20,
        time: ("hour_index", 72.0),
        coordinates: "lon=50,lat=111",
        features: 12,
        models: &[
            ("linear, method chosen", ""),
            ("linear, fedrelax", "--method fedrelax"),
            ("linear, gtv", "--method gtv"),
            ("linear, mixed", "--method mixed"),
            ("tree, fedrelax", "--features hour_index --model tree --method fedrelax"),
            ("boosting, fedrelax", "--features hour_index --model boosting --method fedrelax"),
        ],
    },
    World {
        name: "covid_counties",
        new_node_step: 300,
        time: ("week", 60.0),
        coordinates: "lon=85,lat=111",
        features: 16,
        models: &[
            ("linear, fedrelax", "--method fedrelax"),
            ("linear, gtv", "--method gtv"),
            ("linear, mixed", "--method mixed"),
        ],
    },
];

fn main() {
    let root = env::var_os("FEDGRID_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let asked: Vec<String> = env::args().skip(1).filter(|name| !name.starts_with('-')).collect();
    for world in
        WORLDS.iter().filter(|one| asked.is_empty() || asked.iter().any(|name| name == one.name))
    {
        let (name, data) = (world.name, root.join(world.name));
        if fs::metadata(&data).is_err() {
            println!("skipped: updating needs {name} in the folder FEDGRID_DATA");
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder can be made");
        let new = tables(world, &data, folder.path());
        println!("further rows and {new} new nodes of {name}\n");
        println!(
            "| models | update s | fit of all rows s | part | farthest from a fit with the same strengths | mse | of the fit |"
        );
        println!("|---|---|---|---|---|---|---|");
        let bench = Bench { folder: folder.path(), world };
        world.models.iter().for_each(|(name, keys)| bench.row(name, keys));
        println!();
    }
}

struct Bench<'a> {
    folder: &'a Path,
    world: &'a World,
}

impl Bench<'_> {
    fn row(&self, name: &str, keys: &str) {
        let features = (1..=self.world.features).map(|k| format!("c{k:02}")).collect::<Vec<_>>();
        let mut keys = keys.to_string();
        if !keys.contains("--features") {
            keys = format!("--features {} {keys}", features.join(","));
        }
        let coordinates = self.world.coordinates;
        let fit = |data: &str, nodes: &str, out: &str, more: &str| {
            let text = format!(
                "fit --data {data} --node node --target y --split split --nodes {nodes} --nearest 5 \
                 --coordinates {coordinates} {keys} --out {out} --force --quiet {more}"
            );
            self.seconds(&text)
        };
        fit("old.csv", "old_nodes.csv", "old", "");
        let own = self.seconds(
            "update old --data new.csv --nodes new_nodes.csv --out updated --force --quiet",
        );
        let whole = fit("all.csv", "all_nodes.csv", "whole", "");
        let same = self.same_strengths(&keys);
        fit("all.csv", "all_nodes.csv", "same", &same);
        let far = self.farthest("updated", "same");
        let [error, other] = ["updated", "whole"].map(|run| self.error(run));
        let part = 100.0 * own / whole;
        println!(
            "| {name} | {own:.2} | {whole:.2} | {part:.1} % | {far:.1e} | {error:.4} | {other:.4} |"
        );
    }

    /// Keys by which a fit with these has the method and the strengths of the first run.
    fn same_strengths(&self, keys: &str) -> String {
        let result: serde_json::Value = self.json("old/result.json");
        let method = &result["method"];
        let mut same = String::from("--no-compare");
        if !keys.contains("--method") {
            let _ = write!(same, " --method {}", method["kind"].as_str().expect("a name"));
        }
        // The strengths of a mixed model are estimates.
        if method["kind"] != "mixed" {
            let _ = write!(same, " --set method.alpha={}", method["alpha"]);
            if method["ridge"].is_number() {
                let _ = write!(same, " --set model.ridge={}", method["ridge"]);
            }
        }
        same
    }

    fn json(&self, file: &str) -> serde_json::Value {
        let text = fs::read_to_string(self.folder.join(file)).expect("the run is there");
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// Runs the command; its processor seconds.
    fn seconds(&self, text: &str) -> f64 {
        let before = children_seconds();
        let status = Command::new(env!("CARGO_BIN_EXE_fedgrid"))
            .args(text.split_whitespace())
            .current_dir(self.folder)
            .stdout(Stdio::null())
            .status()
            .expect("the command can be started");
        assert!(status.success(), "{text}");
        children_seconds() - before
    }

    /// The largest difference of what the own methods of two runs predict for test rows.
    fn farthest(&self, first: &str, second: &str) -> f64 {
        let of = |run: &str| {
            let about = self.json(&format!("{run}/models/about.json"));
            let method = about["methods"][0].as_str().expect("a name").to_string();
            self.predictions(run, Some(&method))
        };
        of(first).iter().zip(of(second)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    /// What a run predicts for all test rows.
    fn predictions(&self, run: &str, method: Option<&str>) -> Vec<f64> {
        let used = method.map_or_else(String::new, |method| format!("--use {method}"));
        self.seconds(&format!(
            "predict {run} --data test.csv {used} --out predictions.csv --force --quiet"
        ));
        self.numbers("predictions.csv", "prediction")
    }

    fn numbers(&self, file: &str, column: &str) -> Vec<f64> {
        let table = Table::from_file(&self.folder.join(file), ',');
        table.and_then(|table| table.numbers(column)).expect("a table of numbers")
    }

    /// The mean squared error on all test rows by the method that the verdict advises.
    fn error(&self, run: &str) -> f64 {
        let (found, truth) = (self.predictions(run, None), self.numbers("test.csv", "y"));
        let squares: f64 = found.iter().zip(&truth).map(|(a, b)| (a - b).powi(2)).sum();
        squares / truth.len() as f64
    }
}

/// The seconds that ended children have been on processors: fields 16 and 17 of this process's status, in hundredths.
fn children_seconds() -> f64 {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = status.rsplit(") ").next().unwrap_or("").split(' ').skip(13).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Writes the rows and nodes of before, of later and of all times; how many nodes are new.
fn tables(world: &World, data: &Path, folder: &Path) -> usize {
    let read = |name: &str| Table::from_file(&data.join(name), ',').expect("the dataset is sound");
    let (rows, nodes) = (read("data.parquet"), read("nodes.csv"));
    let names = nodes.names_in("node").expect("nodes have names");
    let step = world.new_node_step;
    let is_new: BTreeMap<&str, bool> = names
        .iter()
        .enumerate()
        .map(|(place, name)| (name.as_str(), place % step == step / 2))
        .collect();
    let (time, later) = world.time;
    let times = rows.numbers(time).expect("rows have times");
    let (of, roles) = (rows.names_in("node").expect("rows have nodes"), rows.text("split"));
    let roles = roles.expect("rows have roles");
    let is_later = |row: usize| times[row] >= later || is_new[of[row].as_str()];
    let write = |name: &str, text: String| {
        fs::write(folder.join(name), text).expect("the folder takes files");
    };
    let all = || 0..rows.rows();
    write("all.csv", rows.csv(all()));
    write("old.csv", rows.csv(all().filter(|&row| !is_later(row))));
    write("new.csv", rows.csv(all().filter(|&row| is_later(row))));
    write("test.csv", rows.csv(all().filter(|&row| roles[row] == "test")));
    let places = || 0..nodes.rows();
    write("all_nodes.csv", nodes.csv(places()));
    write("old_nodes.csv", nodes.csv(places().filter(|&row| !is_new[names[row].as_str()])));
    write("new_nodes.csv", nodes.csv(places().filter(|&row| is_new[names[row].as_str()])));
    is_new.values().filter(|is_new| **is_new).count()
}

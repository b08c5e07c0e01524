//! One more day and ten new stations of `fmi_hourly`: `fedgrid update` of a run beside `fedgrid fit` on all rows with its
//! comparison. Processor seconds of both; how far the models are from those of a fit of all rows that reads every row and
//! keeps strengths, units and public points; and the errors of both on all test rows. Left out where `FEDGRID_DATA` has no
//! `fmi_hourly`.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use fedgrid_lab::source::Table;

/// Stations that come later: every twentieth, all over the country.
const NEW_STATION_STEP: usize = 20;
/// The hour at which the last of four days begins.
const LAST_DAY_HOUR: f64 = 72.0;

fn main() {
    let root = env::var_os("FEDGRID_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let data = root.join("fmi_hourly");
    if fs::metadata(&data).is_err() {
        println!("skipped: updating needs fmi_hourly in the folder FEDGRID_DATA");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let new = tables(&data, folder.path());
    let twelve = (1..=12).map(|k| format!("c{k:02}")).collect::<Vec<_>>().join(",");
    println!("one more day and {new} new stations of fmi_hourly\n");
    println!(
        "| models | update s | fit of all rows s | part | farthest from a fit with the same strengths | mse | of the fit |"
    );
    println!("|---|---|---|---|---|---|---|");
    let bench = Bench { folder: folder.path() };
    for (name, keys) in [
        ("linear, method chosen", format!("--features {twelve}")),
        ("linear, fedrelax", format!("--features {twelve} --method fedrelax")),
        ("linear, gtv", format!("--features {twelve} --method gtv")),
        ("linear, mixed", format!("--features {twelve} --method mixed")),
        ("tree, fedrelax", "--features hour_index --model tree --method fedrelax".into()),
        ("boosting, fedrelax", "--features hour_index --model boosting --method fedrelax".into()),
    ] {
        bench.row(name, &keys);
    }
}

struct Bench<'a> {
    folder: &'a Path,
}

impl Bench<'_> {
    fn row(&self, name: &str, keys: &str) {
        let fit = |data: &str, nodes: &str, out: &str| {
            let text = format!(
                "fit --data {data} --node node --target y --split split --nodes {nodes} --nearest 5 \
                 --coordinates lon=50,lat=111 {keys} --out {out} --force --quiet"
            );
            self.seconds(&text)
        };
        fit("old.csv", "old_nodes.csv", "old");
        let update = |out: &str| {
            self.seconds(&format!(
                "update old --data new.csv --nodes new_nodes.csv --out {out} --force --quiet"
            ))
        };
        let own = update("updated");
        // Without statistics all rows are read and fitted as they are.
        let statistics = self.folder.join("old/statistics.json");
        let is_linear = fs::remove_file(&statistics).is_ok();
        let far = if is_linear {
            update("reread");
            format!("{:.1e}", self.farthest("updated", "reread"))
        } else {
            "it is that fit".into()
        };
        let whole = fit("all.csv", "all_nodes.csv", "whole");
        let [error, other] = ["updated", "whole"].map(|run| self.error(run));
        let part = 100.0 * own / whole;
        println!(
            "| {name} | {own:.2} | {whole:.2} | {part:.1} % | {far} | {error:.4} | {other:.4} |"
        );
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

    /// The largest difference of predictions for test rows, by any method that both runs keep.
    fn farthest(&self, first: &str, second: &str) -> f64 {
        let about = fs::read_to_string(self.folder.join(first).join("models/about.json"));
        let about: serde_json::Value =
            serde_json::from_str(&about.expect("the run keeps models")).expect("it is JSON");
        let methods = about["methods"].as_array().expect("it lists methods");
        let far = |method: &serde_json::Value| {
            let method = method.as_str().expect("a name");
            let [a, b] = [first, second].map(|run| self.predictions(run, Some(method)));
            a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        methods.iter().map(far).fold(0.0, f64::max)
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

/// Writes the rows and nodes of before, of later and of all times; how many stations are new.
fn tables(data: &Path, folder: &Path) -> usize {
    let read = |name: &str| Table::from_file(&data.join(name), ',').expect("the dataset is sound");
    let (rows, nodes) = (read("data.parquet"), read("nodes.csv"));
    let names = nodes.names_in("node").expect("nodes have names");
    let is_new: BTreeMap<&str, bool> = names
        .iter()
        .enumerate()
        .map(|(place, name)| (name.as_str(), place % NEW_STATION_STEP == NEW_STATION_STEP / 2))
        .collect();
    let hours = rows.numbers("hour_index").expect("rows have hours");
    let (of, roles) = (rows.names_in("node").expect("rows have nodes"), rows.text("split"));
    let roles = roles.expect("rows have roles");
    let is_later = |row: usize| hours[row] >= LAST_DAY_HOUR || is_new[of[row].as_str()];
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

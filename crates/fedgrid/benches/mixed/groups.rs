//! A random intercept and slope of 125,000 groups without a network, beside lme4.

use std::{fmt::Write, fs, path::PathBuf, process::Command};

use fedgrid::{
    mixed::{MixedEstimate, NodeMoments, Precision},
    random::{Purpose, Stream},
};

use super::{estimate, resources::Timer};

const GROUPS: usize = 125_000;
const ROWS: usize = 8;
/// Two estimates of the same model by other searches, relative to the largest number.
const MOST_DIFFERENCE: f64 = 1e-3;

pub(crate) fn groups() {
    let rows: Vec<Vec<([f64; 2], f64)>> = (0..GROUPS).map(drawn).collect();
    let timer = Timer::start();
    let nodes: Vec<NodeMoments> = rows
        .iter()
        .map(|own| NodeMoments::new(2, own.iter().map(|(x, y)| (&x[..], *y, 1.0))))
        .collect();
    let found = estimate(&nodes, 2, true, &Precision::independent(GROUPS));
    println!(
        "intercept and slope of {GROUPS} groups, {ROWS} rows each: {}, {} evaluations (the goal is 2 s)",
        timer.report(),
        found.evaluations
    );
    let ours = timer.seconds();
    match lmer(&rows) {
        Ok(answer) => compare(&found, &answer, ours),
        Err(reason) => println!("skipped: {reason}"),
    }
}

/// The rows of a group, whose intercept and slope are correlated.
fn drawn(group: usize) -> Vec<([f64; 2], f64)> {
    let mut stream = Stream::new(1, group, 0, Purpose::Data);
    let level = 0.5 * stream.normal();
    let slope = 1.0 + 0.3 * level + 0.4 * stream.normal();
    let row = |_| {
        let x = stream.normal();
        ([1.0, x], 2.0 + level + slope * x + 0.7 * stream.normal())
    };
    (0..ROWS).map(row).collect()
}

/// What lme4 found: its seconds, σ², both variances and the covariance.
fn lmer(rows: &[Vec<([f64; 2], f64)>]) -> Result<Vec<f64>, String> {
    let check = Command::new("Rscript").args(["-e", "library(lme4)"]).output();
    if !check.is_ok_and(|output| output.status.success()) {
        return Err("there is no R with lme4 to compare with".into());
    }
    let file = std::env::temp_dir().join(format!("fedgrid-groups-{}.csv", std::process::id()));
    let mut text = String::from("group,x,y\n");
    for (group, own) in rows.iter().enumerate() {
        for (x, y) in own {
            writeln!(text, "{group},{},{y}", x[1]).unwrap_or_default();
        }
    }
    fs::write(&file, text).map_err(|error| error.to_string())?;
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("benches/mixed/groups.R");
    let output = Command::new("Rscript").arg(script).arg(&file).output();
    let _ = fs::remove_file(&file);
    let output = output.map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    if numbers.len() == 5 {
        return Ok(numbers);
    }
    Err(format!("lme4 failed: {}", String::from_utf8_lossy(&output.stderr)))
}

fn compare(found: &MixedEstimate, answer: &[f64], ours: f64) {
    let own = [found.noise, found.covariance[0], found.covariance[3], found.covariance[1]];
    let pairs = own.iter().zip(&answer[1..]);
    let difference = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(difference < MOST_DIFFERENCE, "lme4 estimates {answer:?}, we {own:?}");
    println!(
        "   lmer {:.2} s, {:.1}x; variances differ by {difference:.1e}",
        answer[0],
        answer[0] / ours
    );
}

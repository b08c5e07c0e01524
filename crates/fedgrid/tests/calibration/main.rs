//! How often verdicts are wrong, in made worlds where the truth is known. `make soak` prints the table of
//! docs/verdict.md, as does
//!
//! ```sh
//! cargo test --release -p fedgrid --test calibration -- --ignored --nocapture
//! ```
//!
//! `FEDGRID_WORLDS=1000` draws so many worlds of each kind instead, and `FEDGRID_CASES="(f)"` or `"1000 nodes"` those
//! rows alone whose first two columns hold it. All is drawn by seed: the table is the same on every
//! machine, and the first worlds stay what they are when there are more.

#![expect(clippy::print_stdout, reason = "a table is printed")]

mod drawn;
mod share;
mod truth;
mod world;

use drawn::{Drawn, Found};
use fedgrid::compare::MethodKind;
use rayon::prelude::*;
use share::{is_above, is_below, upper_limit};
use world::{Test, World};

/// Worlds that are drawn at once: always as many, so that the same worlds are found on any machine.
const AT_ONCE: u64 = 10;
/// The share of worlds in which a network that gains nothing may be said to help.
const MOST_WRONG: f64 = 0.01;

/// Trained worlds of one kind, with test rows of several.
struct Case {
    world: World,
    worlds: usize,
    /// How often test rows are drawn in each.
    draws: usize,
    rows: Vec<Row>,
}

/// One row of the table.
#[derive(Clone)]
struct Row {
    name: &'static str,
    /// The share of the noise that neighbours share, and that of it which lasts.
    shocks: (f64, f64),
    goal: Goal,
}

/// What must hold.
#[derive(Clone, Copy)]
enum Goal {
    /// "Helps" in at most `MOST_WRONG` of the worlds.
    Calibrated,
    /// The same where truth drifts until the network gains exactly nothing.
    CalibratedWithoutGain,
    /// "Helps" in at least such a share, and its use is denied in at most such a share.
    Power(f64, f64),
}

const NONE: (f64, f64) = (0.0, 0.0);
const OF_ROWS: (f64, f64) = (0.7, 0.0);
const LASTING: (f64, f64) = (0.7, 1.0);

fn without_structure() -> Vec<Case> {
    let row = |name, shocks| Row { name, shocks, goal: Goal::Calibrated };
    let of = |worlds, world, rows| Case { world, worlds, draws: 1, rows };
    let one = |worlds, name, world| of(worlds, world, vec![row(name, NONE)]);
    let sizes = |sizes| World { sizes, ..World::default() };
    let far = |features| World {
        features,
        training: 4,
        method: Some(MethodKind::Gtv),
        ..World::default()
    };
    let shocks = vec![
        row("(a) no structure", NONE),
        row("(c) no structure, shocks of rows", OF_ROWS),
        row("(c) no structure, lasting shocks", LASTING),
    ];
    vec![
        of(1000, World::default(), shocks),
        one(1000, "(a) no structure, large differences", sizes([1.0; 4])),
        one(1000, "(b) equal nodes", sizes([0.0; 4])),
        one(1000, "(d) levels differ, slopes do not", sizes([1.0, 0.0, 0.0, 0.1])),
        one(1000, "(e) features far from zero, spread 0.5", far((10.0, 0.5))),
        one(1000, "(e) features far from zero, spread 1", far((10.0, 1.0))),
    ]
}

/// Structure of which the network gains as much as it loses by smoothing what is not along it.
fn without_gain() -> Vec<Case> {
    let row = |name, shocks| Row { name, shocks, goal: Goal::CalibratedWithoutGain };
    let rows = vec![
        row("(f) no gain", NONE),
        row("(f) no gain, shocks of rows", OF_ROWS),
        row("(f) no gain, lasting shocks", LASTING),
    ];
    let of = |nodes, along, worlds, draws| Case {
        world: World { nodes, along, ..World::default() },
        worlds,
        draws,
        rows: rows.clone(),
    };
    // A thousand sets of test rows each; large networks take longer to train, and share their models.
    vec![of(50, 0.3, 1000, 1), of(200, 0.2, 250, 4), of(1000, 0.2, 100, 10)]
}

fn with_structure() -> Vec<Case> {
    let of = |name, along, worlds, goal| Case {
        world: World { along, ..World::default() },
        worlds,
        draws: 1,
        rows: vec![Row { name, shocks: NONE, goal }],
    };
    vec![
        of("structure, ρ = 0.3", 0.3, 1000, Goal::Power(0.0, 1.0)),
        of("structure, ρ = 0.5", 0.5, 1000, Goal::Power(0.0, 1.0)),
        of("structure, ρ = 0.7", 0.7, 1000, Goal::Power(0.6, 0.05)),
        of("structure, ρ = 1", 1.0, 1000, Goal::Power(0.95, 0.05)),
    ]
}

/// All that was said in the worlds of a row.
#[derive(Default)]
struct Tally {
    found: Vec<Found>,
    /// The true gain in each, as a share of the error.
    truths: Vec<f64>,
}

impl Case {
    /// What is said of one world for every row, with the true gain; none if truth cannot drift as asked.
    fn judged(&self, seed: u64) -> Option<Vec<(Vec<Found>, f64)>> {
        let mut drawn = Drawn::new(&self.world, seed);
        let truth = drawn.truth();
        let of_row = |row: &Row| {
            let drifts = matches!(row.goal, Goal::CalibratedWithoutGain);
            let drift = if drifts { truth.drift_without_gain()? } else { 0.0 };
            let (shock, lasting) = row.shocks;
            let asks_denial = matches!(row.goal, Goal::Power(..));
            let found = |draw| {
                let drift = (drift, truth.best_rival());
                drawn.judge(&Test { shock, lasting, drift, draw }, asks_denial)
            };
            Some(((0..self.draws).map(found).collect(), truth.gain(drift)))
        };
        self.rows.iter().map(of_row).collect()
    }

    /// The first worlds of this kind, by seed; one tally for every row.
    fn tallies(&self) -> Vec<Tally> {
        let worlds = self.worlds;
        let mut counted = Vec::new();
        let mut seed = 1;
        while counted.len() < worlds {
            let next: Vec<_> =
                (seed..seed + AT_ONCE).into_par_iter().map(|seed| self.judged(seed)).collect();
            counted.extend(next.into_iter().flatten());
            seed += AT_ONCE;
        }
        counted.truncate(worlds);
        let mut tallies: Vec<Tally> = self.rows.iter().map(|_| Tally::default()).collect();
        for (tally, (found, truth)) in
            counted.into_iter().flat_map(|rows| rows.into_iter().enumerate())
        {
            tallies[tally].found.extend(found);
            tallies[tally].truths.push(truth);
        }
        tallies
    }
}

impl Tally {
    fn helps(&self) -> usize {
        self.found.iter().filter(|one| one.helps).count()
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.found.len() as f64
    }

    /// In how many worlds the network's use was denied, where that was asked.
    fn denied(&self) -> Option<usize> {
        let denies = self.found.iter().map(|one| one.denies).collect::<Option<Vec<bool>>>()?;
        Some(denies.into_iter().filter(|denies| *denies).count())
    }

    fn gain(&self) -> f64 {
        self.found.iter().map(|one| one.gain).sum::<f64>() / self.found.len() as f64
    }

    fn truth(&self) -> f64 {
        self.truths.iter().sum::<f64>() / self.truths.len() as f64
    }

    fn print(&self, row: &Row, case: &Case) {
        let (worlds, tests, helps) = (self.truths.len(), self.found.len(), self.helps());
        let worlds =
            if case.draws > 1 { format!("{worlds} × {}", case.draws) } else { worlds.to_string() };
        let percent = |share: f64| 100.0 * share;
        let share = |denied: usize| format!("{:.1} %", percent(self.share(denied)));
        let denied = self.denied().map_or("–".into(), share);
        println!(
            "| {} | {} | {worlds} | {helps} ({:.1} %) | {:.1} % | {denied} | {:+.1} % | {:+.1} % |",
            row.name,
            case.world.nodes,
            percent(self.share(helps)),
            percent(upper_limit(helps, tests)),
            percent(self.truth()),
            percent(self.gain()),
        );
    }

    /// Fails if what was found would be found in less than one of twenty cases, were the goal just met.
    fn check(&self, row: &Row) {
        let (name, tests, helps) = (row.name, self.found.len(), self.helps());
        match row.goal {
            Goal::Calibrated | Goal::CalibratedWithoutGain => {
                assert!(!is_above(MOST_WRONG, helps, tests), "{name}: helps in {helps} of {tests}");
            }
            Goal::Power(least, most_denied) => {
                assert!(!is_below(least, helps, tests), "{name}: helps in {helps} of {tests}");
                let denied = self.denied().expect("it was asked");
                assert!(!is_above(most_denied, denied, tests), "{name}: denied in {denied}");
            }
        }
    }
}

fn report(cases: Vec<Case>) {
    let variable = |name| std::env::var(name).ok();
    let worlds = variable("FEDGRID_WORLDS")
        .map(|count| count.parse::<usize>().expect("FEDGRID_WORLDS is a count of worlds"));
    let names = variable("FEDGRID_CASES").unwrap_or_default();
    println!(
        "| world | nodes | worlds | \"helps\" | at most | denies it | true gain | seen gain |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let mut done = Vec::new();
    for mut case in cases {
        case.worlds = worlds.unwrap_or(case.worlds);
        let nodes = case.world.nodes;
        case.rows.retain(|row| format!("{}, {nodes} nodes", row.name).contains(&names));
        let tallies = if case.rows.is_empty() { Vec::new() } else { case.tallies() };
        for (row, tally) in case.rows.iter().zip(tallies) {
            tally.print(row, &case);
            done.push((row.clone(), tally));
        }
    }
    // At the end, so that a goal that is missed does not hide the rest of the table.
    for (row, tally) in &done {
        tally.check(row);
    }
}

#[test]
#[ignore = "takes minutes"]
fn networks_without_structure_are_not_said_to_help() {
    report(without_structure());
}

#[test]
#[ignore = "takes minutes"]
fn networks_without_a_gain_are_not_said_to_help() {
    report(without_gain());
}

#[test]
#[ignore = "takes minutes"]
fn networks_that_help_are_said_to_help() {
    report(with_structure());
}

#[test]
fn structure_is_found_and_none_is_not_made_up() {
    let helps = |along| {
        let world = World { along, ..World::default() };
        let rows = vec![Row { name: "a few", shocks: NONE, goal: Goal::Calibrated }];
        Case { world, worlds: 10, draws: 1, rows }.tallies()[0].helps()
    };
    assert_eq!(helps(0.0), 0);
    let found = helps(1.0);
    assert!(found >= 8, "{found}");
}

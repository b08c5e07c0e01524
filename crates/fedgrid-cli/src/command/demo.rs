//! `fedgrid demo`: the Colorado stations, bundled with the command.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{fit::ExistingFlags, job::FitJob};
use crate::terminal::Terminal;
use fedgrid_lab::{
    error::{Error, Result},
    experiment::Experiment,
    run::{Existing, RunFolder},
};

// Part of the binary, so that the demo works without a checkout and offline; part of the crate, so that it can be published.
const DEMO_EXPERIMENT: &str = include_str!("../../demo/colorado.toml");
const DEMO_FILES: [(&str, &str); 2] = [
    ("readings.csv", include_str!("../../demo/readings.csv")),
    ("stations.csv", include_str!("../../demo/stations.csv")),
];

/// Arguments of `fedgrid demo`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid demo --out demo --force")]
pub(super) struct Demo {
    /// The folder of the run.
    #[arg(long, value_name = "DIR", default_value = "fedgrid-demo")]
    out: PathBuf,

    #[command(flatten)]
    existing: ExistingFlags,
}

impl Demo {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (folder, existing) = (self.out, self.existing.choice());
        let table = Experiment::table_from_text(DEMO_EXPERIMENT, "the demo's experiment")?;
        let mut experiment = Experiment::from_table(table, "the demo's experiment")?;
        // People know stations by their names.
        experiment.network.label = vec!["name".into()];
        // A demo that was killed before its run began left data only, which is no run and would be refused.
        if !(existing == Existing::Replace && holds_only_our_data(&folder)) {
            RunFolder::check(&folder, existing)?;
        }
        let data = folder.join("data");
        fs::create_dir_all(&data).map_err(|error| Error::folder(&folder, &error))?;
        for (name, text) in DEMO_FILES {
            let path = data.join(name);
            fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))?;
        }
        FitJob { experiment, base: data, title: "colorado".into(), folder, existing }
            .run_checked(terminal)
    }
}

/// Whether the folder is what a demo leaves that was killed before its run began.
fn holds_only_our_data(folder: &Path) -> bool {
    let names = |folder: &Path| -> Option<Vec<String>> {
        let entries = fs::read_dir(folder).ok()?;
        entries.map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    };
    let is_ours = |name: &String| DEMO_FILES.iter().any(|(ours, _)| ours == name);
    names(folder).is_some_and(|found| found == ["data"])
        && names(&folder.join("data")).is_some_and(|found| found.iter().all(is_ours))
}

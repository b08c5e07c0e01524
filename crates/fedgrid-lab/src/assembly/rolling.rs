//! Rolling origins: the same experiment at one time after the other, each with plan, units, public points and strengths
//! of its own. An origin is the experiment with dates for cuts, so that a split column made by hand gives the same.

use std::path::Path;

use fedgrid::compare::Watch;

use super::{
    Assembly, Files, Graph, read_rows::ReadRows, time_split::OriginWindow, timed_table::TimedTable,
};
use crate::{
    columns::Problems,
    error::{Error, Result},
    experiment::Experiment,
    source::Table,
};

/// An experiment with its table, and the origins that it is run at.
#[derive(Debug)]
pub struct Rolling<'a> {
    files: Files<'a>,
    table: TimedTable,
    /// The experiment at each origin; one experiment without rolling origins.
    experiments: Vec<Experiment>,
    windows: Vec<OriginWindow>,
}

impl<'a> Rolling<'a> {
    /// Reads the table of an experiment, relative to a folder, and finds its origins.
    pub fn new(experiment: &'a Experiment, base: &'a Path) -> Result<Self> {
        let files = Files::new(base, experiment);
        let table = TimedTable::read(&experiment.data, files.rows()?)?;
        let mut problems = Problems::of(&table);
        // Origins depend on which rows are used, and these on the network.
        let windows = if experiment.is_rolling() {
            let graph = Graph::new(experiment, files, Some(&table))?;
            let read = ReadRows::new(experiment, &table, Some(&graph), &mut problems);
            problems.into_result()?;
            read.origins(&experiment.data)?
        } else {
            Vec::new()
        };
        let experiments = at_origins(experiment, &windows);
        Ok(Self { files, table, experiments, windows })
    }

    /// The origins; none if they do not roll.
    #[must_use]
    pub fn windows(&self) -> &[OriginWindow] {
        &self.windows
    }

    /// The origins in words, one sentence each.
    #[must_use]
    pub fn described(&self) -> Vec<String> {
        described(&self.windows).collect()
    }

    /// The study at an origin.
    pub fn assembly(&self, origin: usize, watch: &dyn Watch) -> Result<Assembly> {
        let experiment = self.experiments.get(origin);
        let experiment = experiment.ok_or_else(|| Error::input("there is no such origin"))?;
        Assembly::of_table(experiment, self.files, &self.table, watch)
    }

    /// The experiment at the last origin, with its files and its table.
    pub(super) fn last(&self) -> (&Experiment, Files<'a>, &TimedTable) {
        let last = self.experiments.last().expect("there is always one");
        (last, self.files, &self.table)
    }

    /// The table itself.
    pub(super) fn into_table(self) -> Table {
        self.table.into_table()
    }

    /// How many studies there are, the last of which has the final models.
    #[must_use]
    pub fn count(&self) -> usize {
        self.experiments.len()
    }
}

/// The experiment at each of its origins; as it is without any.
#[must_use]
pub fn at_origins(experiment: &Experiment, windows: &[OriginWindow]) -> Vec<Experiment> {
    let Some(rolling) = experiment.data.split.as_ref().filter(|_| !windows.is_empty()) else {
        return vec![experiment.clone()];
    };
    let at = |window: &OriginWindow| {
        let mut own = experiment.clone();
        own.data.split = Some(window.split(rolling));
        own
    };
    windows.iter().map(at).collect()
}

/// The origins in words, one sentence each.
pub(super) fn described(windows: &[OriginWindow]) -> impl Iterator<Item = String> {
    let of_origin = |(at, window): (usize, &OriginWindow)| {
        format!("Origin {} of {}: {}.", at + 1, windows.len(), window.words())
    };
    windows.iter().enumerate().map(of_origin)
}

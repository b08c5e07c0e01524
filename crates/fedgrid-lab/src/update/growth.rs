//! Rows and nodes that are added to those of a run, one table after the other.

use std::{collections::BTreeMap, path::Path};

use fedgrid::data::{CondensedRows, Dataset, Features};
use serde::{Deserialize, Serialize};

use super::{AddedTables, Steps};
use crate::{
    assembly::{
        AllRows, Assembly, DataSchema, Frame, GrownRows, GrownStudy, KnownNetwork, NodePlaces,
        NodeTables, RereadRows, joined_ranges,
    },
    error::{Error, Result},
    experiment::Experiment,
    number::{count, counted},
    source::Table,
    statistics::{SeenRows, Statistics},
};

/// What becomes of new rows that equal rows of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repeated {
    /// They are refused.
    #[default]
    Refuse,
    /// They are left out.
    Skip,
    /// They count once more.
    Add,
}

impl Repeated {
    /// The rule of this name.
    pub fn named(word: &str) -> Result<Self> {
        match word {
            "refuse" => Ok(Self::Refuse),
            "skip" => Ok(Self::Skip),
            "add" => Ok(Self::Add),
            _ => Err(Error::input(format!("--repeated is '{word}', expected refuse, skip or add"))),
        }
    }
}

/// What stands for the rows that a run has.
enum OldRows {
    /// Their sums, in the units of the frame, and public points that were given, in those of the table.
    Condensed(Vec<CondensedRows>, Option<Features>),
    /// The rows, in the units of the table.
    Rows(GrownRows),
}

/// A run that grows.
pub(super) struct Growth {
    pub(super) frame: Frame,
    pub(super) known: KnownNetwork,
    rows: OldRows,
    /// The rows that were seen; none if nobody knows which.
    seen: Option<SeenRows>,
    /// The tables in which earlier values of further rows are looked for; nothing for runs without lags.
    before: Vec<Table>,
    /// What was added so far.
    pub(super) added: Added,
}

/// What was added.
#[derive(Debug, Clone, Default)]
pub(super) struct Added {
    pub(super) rows: usize,
    /// Rows that the run knew, and that were left out.
    pub(super) known_rows: usize,
    pub(super) nodes: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Growth {
    /// From the statistics of a run.
    pub(super) fn of_statistics(
        statistics: &Statistics,
        about: DataSchema,
        (places, experiment): (Option<NodePlaces>, &Experiment),
        before: Vec<Table>,
    ) -> Result<Self> {
        let shape = experiment.network.shape.filter(|_| places.is_none());
        let (network, positions) = (statistics.network()?, statistics.positions.clone());
        Ok(Self {
            frame: statistics.frame(about),
            known: KnownNetwork { network, positions, places, shape },
            rows: OldRows::Condensed(statistics.sums.clone(), statistics.given_points()?),
            seen: statistics.seen().cloned(),
            before,
            added: Added::default(),
        })
    }

    /// From the rows of a run, which are read again: those of its first fit, and those of every update.
    pub(super) fn of_rows(steps: &Steps) -> Result<Self> {
        steps.check_files()?;
        let RereadRows { assembly, rows, table } =
            RereadRows::new(&steps.experiment, &steps.folder)?;
        let mut growth = Self::of_assembly(&steps.experiment, &assembly, rows, vec![table]);
        for files in &steps.added {
            let tables = files.tables(&steps.folder, &growth.frame.about)?;
            growth.add(&steps.experiment, tables, files.repeated)?;
        }
        growth.added = Added::default();
        Ok(growth)
    }

    /// From the rows of a run that are at hand.
    pub(super) fn of_study(
        experiment: &Experiment,
        assembly: &Assembly,
        before: Vec<Table>,
    ) -> Result<Self> {
        Ok(Self::of_assembly(experiment, assembly, GrownRows::of(assembly)?, before))
    }

    fn of_assembly(
        experiment: &Experiment,
        assembly: &Assembly,
        rows: GrownRows,
        before: Vec<Table>,
    ) -> Self {
        let Assembly { study, positions, places, .. } = assembly;
        let shape = experiment.network.shape.filter(|_| places.is_none());
        let training = study.plan.training_rows(&study.rows);
        Self {
            frame: Frame::of(assembly),
            seen: Some(SeenRows::of(study.network.names(), &training)),
            known: KnownNetwork {
                network: study.network.clone(),
                positions: positions.clone(),
                places: places.clone(),
                shape,
            },
            rows: OldRows::Rows(rows),
            before: if assembly.about.columns.lags.is_some() { before } else { Vec::new() },
            added: Added::default(),
        }
    }

    /// Adds the training rows of a table and the nodes that it names.
    pub(super) fn add(
        &mut self,
        experiment: &Experiment,
        tables: AddedTables,
        rule: Repeated,
    ) -> Result<()> {
        let AddedTables { data, nodes, edges, .. } = tables;
        let source = data.source.clone();
        let node_tables = NodeTables { nodes: nodes.as_ref(), edges: edges.as_ref() };
        let grown = self.known.grown((&data, &self.frame.about.node), node_tables)?;
        let network = &grown.known.network;
        let has_lags = self.frame.about.columns.lags.is_some();
        // A table is large, and only lags look back at it.
        let next = has_lags.then(|| data.clone());
        let further = self.frame.read(experiment, network, (data, &self.before))?;
        self.before.extend(next);
        let scaled = self.frame.scaled(&further.data)?;
        let kept = self.unknown_rows(network.names(), &scaled, (&source, rule))?;
        let select = |data: &[Dataset]| -> Vec<Dataset> {
            data.iter().zip(&kept).map(|(data, rows)| data.select(rows)).collect()
        };
        let (further_rows, scaled) = (select(&further.data), select(&scaled));
        self.rows = match &self.rows {
            OldRows::Condensed(sums, points) => {
                let old = places(self.known.network.names());
                let join = |(name, new): (&String, &Dataset)| {
                    let nothing = CondensedRows::nothing();
                    let own = old.get(name.as_str()).map_or(&nothing, |&place| &sums[place]);
                    Ok(own.joined(&CondensedRows::of(new)?)?)
                };
                let all = network.names().iter().zip(&scaled).map(join);
                OldRows::Condensed(all.collect::<Result<_>>()?, points.clone())
            }
            OldRows::Rows(rows) => {
                let rows = rows.of_nodes(self.known.network.names(), network)?;
                OldRows::Rows(rows.with(&further_rows)?)
            }
        };
        let new = SeenRows::of(network.names(), &scaled);
        self.seen = self.seen.take().map(|seen| seen.joined(new));
        joined_ranges(&mut self.frame.about.ranges, &further_rows);
        self.added.rows += kept.iter().map(Vec::len).sum::<usize>();
        self.added.nodes.extend(grown.new);
        self.added.notes.extend(further.notes.into_iter().chain(grown.notes));
        self.known = grown.known;
        Ok(())
    }

    /// The new rows of each node that the run does not know, or all where these count once more.
    fn unknown_rows(
        &mut self,
        names: &[String],
        rows: &[Dataset],
        (source, rule): (&str, Repeated),
    ) -> Result<Vec<Vec<usize>>> {
        let all: Vec<Vec<usize>> = rows.iter().map(|data| (0..data.rows()).collect()).collect();
        let Some(seen) = &self.seen else {
            self.added.notes.push(
                "Whether the run knows some of these rows already was not looked at: it keeps no hashes of so many."
                    .into(),
            );
            return Ok(all);
        };
        let is_new = |node: usize, row: usize| !seen.contains(&names[node], &rows[node], row);
        let own = |(node, all): (usize, &Vec<usize>)| -> Vec<usize> {
            all.iter().copied().filter(|&row| is_new(node, row)).collect()
        };
        let new: Vec<Vec<usize>> = all.iter().enumerate().map(own).collect();
        let size = |rows: &[Vec<usize>]| rows.iter().map(Vec::len).sum::<usize>();
        let known = size(&all) - size(&new);
        if known == 0 {
            return Ok(new);
        }
        let node = (0..names.len()).find(|&node| new[node].len() < all[node].len());
        let node = node.map_or("", |node| &names[node]);
        let sentence = format!(
            "{} of {} equal rows that the run was trained on, the first of node '{node}'",
            count(known),
            counted(size(&all), "training row")
        );
        match rule {
            Repeated::Refuse => Err(Error::input(format!(
                "{source}: {sentence}; --repeated skip leaves them out, --repeated add counts them once more"
            ))),
            Repeated::Skip => {
                self.added.known_rows += known;
                self.added.notes.push(format!("Left out: {sentence}."));
                Ok(new)
            }
            Repeated::Add => {
                self.added.notes.push(format!("Counted once more: {sentence}."));
                Ok(all)
            }
        }
    }

    /// The study of all rows; paths of the experiment begin at the folder.
    pub(super) fn assembly(&self, (experiment, folder): (&Experiment, &Path)) -> Result<Assembly> {
        let rows = match &self.rows {
            OldRows::Condensed(sums, points) => {
                AllRows::Sums { sums, units: self.frame.scales.as_ref(), points: points.clone() }
            }
            OldRows::Rows(rows) => AllRows::Rows(rows.clone()),
        };
        let network = (self.known.graph(), self.known.places.clone());
        Assembly::grown(GrownStudy { experiment, folder, about: &self.frame.about }, network, rows)
    }

    /// How many training rows each node has.
    pub(super) fn row_counts(&self, assembly: &Assembly) -> Vec<usize> {
        match &self.rows {
            OldRows::Condensed(sums, _) => sums.iter().map(CondensedRows::rows).collect(),
            OldRows::Rows(_) => assembly.study.plan.train.iter().map(Vec::len).collect(),
        }
    }

    /// The statistics of all rows, where these were enough before.
    pub(super) fn statistics(&self, assembly: &Assembly) -> Option<Statistics> {
        match &self.rows {
            OldRows::Condensed(sums, points) => {
                let kept = (sums.clone(), self.frame.scales.clone(), points.as_ref());
                Some(Statistics::with(assembly, kept, self.seen.clone()))
            }
            OldRows::Rows(_) => None,
        }
    }
}

/// Where each of some names stands.
fn places(names: &[String]) -> BTreeMap<&str, usize> {
    names.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect()
}

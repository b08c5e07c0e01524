//! What a run of linear models keeps of its training rows, so that further rows can join without them: `statistics.json`,
//!
//! ```text
//! of each node   how many rows, their means and a triangle (`CondensedRows`), in the units of the first fit
//! of the study   these units, its network, and public points if they were given
//! of each row    a hash, by which one that comes again is known
//! ```
//!
//! It holds no row, but sums and hashes tell of rows, of few rows much: it stays in the folder of the run, and nothing that
//! is sent has any of it.

use std::{collections::BTreeSet, path::Path};

use fedgrid::{
    compare::{Contestant, Fitted, MixedStart},
    data::{CondensedRows, Dataset, Features},
    model::Scales,
    network::{Edge, Network},
};
use serde::{Deserialize, Serialize};

use crate::{
    assembly::{Assembly, DataSchema, Frame},
    error::{Error, Result},
    experiment::PublicKind,
    wording::in_plain_words,
};

/// The name of the file in a run folder.
pub(crate) const STATISTICS_FILE: &str = "statistics.json";
/// The version of the file; a change of its form raises it.
const FORMAT_VERSION: u32 = 2;
/// Rows whose hashes are kept at most: their file has sixteen letters each.
const MOST_HASHES: usize = 2_000_000;

/// The sufficient statistics of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    format: u32,
    /// The features, in the order of the columns of `sums`.
    features: Vec<String>,
    /// The nodes, in the order of the network.
    pub(crate) nodes: Vec<String>,
    /// The training rows of each.
    pub(crate) sums: Vec<CondensedRows>,
    /// The edges of the network, by places of nodes, with their weights.
    edges: Vec<(usize, usize, f64)>,
    /// Where each node is drawn, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) positions: Option<Vec<(f64, f64)>>,
    /// From the units of the table to those of the sums.
    scales: Option<Scales>,
    /// Public points that were given, in the units and with the columns of the table; those that are drawn are drawn anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given_points: Option<(Vec<String>, CondensedRows)>,
    /// The hashes of all training rows, in ascending order; none if there are too many.
    seen: Option<SeenRows>,
    /// Where mixed models were found, from which those of more rows are looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) starts: Vec<MixedStart>,
}

impl Statistics {
    /// Those of a study whose contestants take them for rows; none of other studies.
    pub fn of(
        assembly: &Assembly,
        public: PublicKind,
        contestants: &[Contestant],
    ) -> Result<Option<Self>> {
        let study = &assembly.study;
        let takes_sums = study.takes_condensed_rows(contestants)
            // Such points are training rows, of which sums hold none.
            && public != PublicKind::Columns;
        if !takes_sums {
            return Ok(None);
        }
        let training = study.plan.training_rows(&study.rows);
        let seen = SeenRows::of(study.network.names(), &training);
        let given = (public == PublicKind::File).then(|| given_points(assembly)).transpose()?;
        let kept = (study.condensed_rows()?, study.scales.clone(), given.as_ref());
        Ok(Some(Self::with(assembly, kept, Some(seen))))
    }

    /// With where the mixed models among these fits were found.
    #[must_use]
    pub fn with_starts<'a>(mut self, fits: impl Iterator<Item = &'a Fitted>) -> Self {
        self.starts = fits.flat_map(|fitted| fitted.starts.iter().cloned()).collect();
        self
    }

    /// With where models of other kinds were found before.
    pub(crate) fn with_earlier_starts(mut self, earlier: &[MixedStart]) -> Self {
        let kind = |start: &MixedStart| (start.along, start.correlated);
        let found: Vec<(bool, bool)> = self.starts.iter().map(kind).collect();
        self.starts.extend(earlier.iter().filter(|start| !found.contains(&kind(start))).cloned());
        self
    }

    /// The same of sums that are known, with their units, and of given public points.
    pub(crate) fn with(
        assembly: &Assembly,
        (sums, scales, points): (Vec<CondensedRows>, Option<Scales>, Option<&Features>),
        seen: Option<SeenRows>,
    ) -> Self {
        let study = &assembly.study;
        let edge = |edge: &Edge| (edge.source, edge.target, edge.weight);
        Self {
            format: FORMAT_VERSION,
            features: study.rows[0].features().names().to_vec(),
            nodes: study.network.names().to_vec(),
            sums,
            edges: study.network.edges().iter().map(edge).collect(),
            positions: assembly.positions.clone(),
            scales,
            given_points: points
                .map(|points| (points.names().to_vec(), CondensedRows::of_points(points))),
            seen: seen.filter(|seen| seen.len() <= MOST_HASHES),
            starts: Vec::new(),
        }
    }

    /// Reads those of a run folder; none if there are none.
    pub fn from_folder(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(STATISTICS_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text =
            std::fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
        let damaged = |what: &str| {
            let path = path.display();
            Error::input(format!("'{path}' is damaged: {what}; remove it to update by the rows"))
        };
        let read: Self = serde_json::from_str(&text)
            .map_err(|error| damaged(&in_plain_words(&error.to_string())))?;
        if read.format != FORMAT_VERSION {
            let (found, own) = (read.format, FORMAT_VERSION);
            return Err(damaged(&format!("format {found}, this version reads format {own}")));
        }
        read.check().map_err(|error| damaged(&error.to_string()))?;
        Ok(Some(read))
    }

    /// Refuses what does not belong together.
    fn check(&self) -> Result<()> {
        let (nodes, columns) = (self.nodes.len(), self.features.len());
        let is_whole = self.sums.len() == nodes
            && self.edges.iter().all(|(source, target, _)| *source < nodes && *target < nodes)
            && self.positions.as_ref().is_none_or(|positions| positions.len() == nodes);
        if !is_whole {
            return Err(Error::input("its parts are of different nodes"));
        }
        self.sums.iter().try_for_each(|own| own.check(columns + 1))?;
        if let Some((names, points)) = &self.given_points {
            points.check(names.len().max(columns))?;
        }
        Ok(self.scales.iter().try_for_each(Scales::check)?)
    }

    /// The network of the run.
    pub(crate) fn network(&self) -> Result<Network> {
        let edges = self.edges.iter();
        let edges = edges.map(|&(source, target, weight)| Edge { source, target, weight });
        Ok(Network::new(self.nodes.clone(), edges)?)
    }

    /// What further rows take from the run.
    pub(crate) fn frame(&self, about: DataSchema) -> Frame {
        Frame { about, scales: self.scales.clone() }
    }

    /// The public points that were given, in the units of the table.
    pub(crate) fn given_points(&self) -> Result<Option<Features>> {
        let points = self.given_points.as_ref();
        let points = points.map(|(names, own)| own.expanded_points(names.clone().into()));
        Ok(points.transpose()?)
    }

    /// The hashes of the rows that were seen; none if they are not kept.
    pub(crate) fn seen(&self) -> Option<&SeenRows> {
        self.seen.as_ref()
    }
}

/// The public points of a study in the units of its table, condensed.
fn given_points(assembly: &Assembly) -> Result<Features> {
    let study = &assembly.study;
    let points = CondensedRows::of_points(&study.public[0]);
    let table = match &study.scales {
        Some(scales) => scales.condensed_for_table(&points)?,
        None => points,
    };
    Ok(table.expanded_points(assembly.about.features.clone().into())?)
}

/// Hashes of rows, by which one that comes again is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SeenRows(BTreeSet<u64>);

/// The letters of a hash.
const HASH_LETTERS: usize = 16;

impl SeenRows {
    /// The rows of nodes of these names, in the units of the study.
    pub(crate) fn of(names: &[String], rows: &[Dataset]) -> Self {
        let of_node = |(name, data): (&String, &Dataset)| {
            (0..data.rows()).map(|row| hash(name, data, row)).collect::<Vec<_>>()
        };
        Self(names.iter().zip(rows).flat_map(of_node).collect())
    }

    /// Whether a row of a node is among them.
    pub(crate) fn contains(&self, node: &str, data: &Dataset, row: usize) -> bool {
        self.0.contains(&hash(node, data, row))
    }

    /// These and others.
    pub(crate) fn joined(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A number that tells rows apart: of the node, the features, the label and what the row counts for.
fn hash(node: &str, data: &Dataset, row: usize) -> u64 {
    let numbers = data.features().row(row).iter().chain(data.labels().row(row)).copied();
    let numbers = numbers.chain([data.count(row), data.exposure(row)]);
    // Zero has two signs, and is one number.
    let bytes = numbers.flat_map(|value| (value + 0.0).to_bits().to_le_bytes());
    // FNV-1a, which has the same bits in every version and on every machine.
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    node.bytes().chain([0xff]).chain(bytes).fold(0xcbf2_9ce4_8422_2325, fold)
}

impl From<SeenRows> for String {
    fn from(seen: SeenRows) -> Self {
        seen.0.iter().fold(Self::new(), |text, hash| text + &format!("{hash:016x}"))
    }
}

impl TryFrom<String> for SeenRows {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        let broken = || "the hashes of rows cannot be read".to_string();
        if !text.is_ascii() || !text.len().is_multiple_of(HASH_LETTERS) {
            return Err(broken());
        }
        let one =
            |at: usize| u64::from_str_radix(&text[at..at + HASH_LETTERS], 16).map_err(|_| broken());
        (0..text.len())
            .step_by(HASH_LETTERS)
            .map(one)
            .collect::<std::result::Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use fedgrid::data::Labels;

    use super::*;

    #[test]
    fn a_row_is_known_again_and_no_other() {
        let features = Features::from_rows(&["a"], &[[1.0], [0.0], [1.0]]).unwrap();
        let data = Dataset::new(features, Labels::values(vec![2.0, -0.0, 3.0])).unwrap();
        let seen = SeenRows::of(&["n".into()], &[data.select(&[0, 1])]);
        assert!(seen.contains("n", &data, 0) && seen.contains("n", &data, 1));
        assert!(!seen.contains("n", &data, 2) && !seen.contains("m", &data, 0));
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<SeenRows>(&text).unwrap(), seen);
        assert!(serde_json::from_str::<SeenRows>("\"12\"").is_err());
        assert!(serde_json::from_str::<SeenRows>("\"zzzzzzzzzzzzzzzz\"").is_err());
    }
}

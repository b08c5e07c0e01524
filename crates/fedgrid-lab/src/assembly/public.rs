//! The public points of an experiment.

use std::sync::Arc;

use fedgrid::{
    data::{
        FeatureMoments, Features, Scaling, by_name, distinct_rows, uniform_points,
        weighted_normal_points,
    },
    model::Scales,
    random::{Purpose, Stream},
};

use super::{DataSchema, Files, features_of};
use crate::{
    error::{Error, Result},
    experiment::{Experiment, PublicKind, advice},
};

/// The public points of every node.
pub(super) struct Public {
    pub(super) points: Vec<Arc<Features>>,
    /// How they were chosen.
    pub(super) words: String,
    /// What they give away.
    pub(super) note: Option<String>,
    pub(super) fingerprint: u64,
    /// What is unusual about the file that they are from.
    pub(super) described: Vec<String>,
}

/// What public points are made from.
pub(super) struct PointSource<'a> {
    /// What is known of training rows.
    pub(super) training: PointRows<'a>,
    /// How rows are read.
    pub(super) about: &'a DataSchema,
    /// From the units of the table to those of the study.
    pub(super) scales: Option<&'a Scales>,
}

/// The features of all training rows, in the units of the study, or what was kept of them.
pub(super) enum PointRows<'a> {
    /// The rows, and how many each of them stands for; none if for one.
    Rows(&'a Features, Option<&'a [f64]>),
    /// Means and covariances, and the least and the largest value of each feature.
    Sums(&'a FeatureMoments, &'a [(f64, f64)]),
}

impl PointRows<'_> {
    /// Points as an experiment wants them drawn.
    fn drawn(&self, kind: PublicKind, count: usize, stream: &mut Stream) -> Result<Features> {
        Ok(match (kind, self) {
            // Smallest and largest values are the same however often a row counts.
            (PublicKind::Box, Self::Rows(rows, _)) => {
                uniform_points(rows.names().clone(), &bounds(rows), count, stream)?
            }
            (PublicKind::Box, Self::Sums(moments, bounds)) => {
                uniform_points(moments.names().clone(), bounds, count, stream)?
            }
            (_, Self::Rows(rows, counts)) => weighted_normal_points(rows, *counts, count, stream)?,
            (_, Self::Sums(moments, _)) => moments.normal_points(count, stream)?,
        })
    }
}

impl PointSource<'_> {
    /// Points as they were given, but for their units.
    fn given(&self, rows: &Features) -> Result<(Features, String, Option<&'static str>)> {
        let scaled =
            self.scales.map_or_else(|| Ok(rows.clone()), |scales| scales.features(rows))?;
        Ok((scaled, format!("{} given points", rows.rows()), None))
    }
}

impl Public {
    pub(super) fn new(
        experiment: &Experiment,
        files: Files,
        source: &PointSource,
        (nodes, given): (&[String], Option<Features>),
    ) -> Result<Self> {
        let keys = &experiment.public;
        let (seed, count) = (experiment.seed, experiment.public_points(source.about.task));
        let (mut fingerprint, mut described) = (0, Vec::new());
        let draw = |node: usize| -> Result<Features> {
            let mut stream = Stream::new(seed, node, 0, Purpose::Public);
            source.training.drawn(keys.kind, count, &mut stream)
        };
        let (points, words, note) = match (keys.kind, given) {
            (PublicKind::File, Some(rows)) => source.given(&rows)?,
            (PublicKind::File, None) => {
                let table = files.points()?.expect("checked when the experiment was read");
                let points = source.given(&features_of(&table, source.about)?.0)?;
                (fingerprint, described) = (table.fingerprint, table.described);
                points
            }
            (PublicKind::Columns, _) => public_columns(experiment, source)?,
            (PublicKind::Normal, _) => (
                draw(0)?,
                format!("{count} points drawn from a normal distribution"),
                Some(
                    "The public points are drawn with the mean and covariance of all training features, which are shared statistics.",
                ),
            ),
            (PublicKind::Box, _) => (
                draw(0)?,
                format!("{count} points drawn evenly from a box"),
                Some(
                    "The public points are drawn between the smallest and largest training features of all nodes, which are shared statistics.",
                ),
            ),
        };
        let note = note.map(ToString::to_string);
        if keys.per_node {
            // By name, so that a node's points stay the same wherever a file lists it.
            let mut places = vec![0; nodes.len()];
            by_name(nodes).into_iter().enumerate().for_each(|(place, node)| places[node] = place);
            // Stream 0 is that of the points that all nodes share.
            let own = places.into_iter().map(|place| Ok(Arc::new(draw(place + 1)?)));
            let words = format!("{words}, for every node its own");
            let points = own.collect::<Result<_>>()?;
            return Ok(Self { points, words, note, fingerprint, described });
        }
        let points = Arc::new(points);
        let points = nodes.iter().map(|_| points.clone()).collect();
        Ok(Self { points, words, note, fingerprint, described })
    }
}

fn bounds(rows: &Features) -> Vec<(f64, f64)> {
    let column = |column: usize| {
        rows.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), row| {
            (low.min(row[column]), high.max(row[column]))
        })
    };
    (0..rows.columns()).map(column).collect()
}

/// The distinct training rows of the features that are no secret, the others at their mean.
fn public_columns(
    experiment: &Experiment,
    source: &PointSource,
) -> Result<(Features, String, Option<&'static str>)> {
    let PointRows::Rows(training, counts) = source.training else {
        return Err(Error::input("public.kind is \"columns\", whose points are training rows"));
    };
    let columns = &source.about.columns;
    let declared =
        experiment.public.columns.as_ref().expect("checked when the experiment was read");
    // A column of the table stands for all features that are made of it.
    let features = |name: &String| match columns.names_of(name) {
        own if own.is_empty() => vec![name.clone()],
        own => own,
    };
    let declared: Vec<String> = declared.iter().flat_map(features).collect();
    if let Some(name) = declared.iter().find(|name| !training.names().contains(name)) {
        let advice = advice(name, training.names().iter().map(String::as_str));
        return Err(Error::input(format!("public.columns: '{name}' is not a feature{advice}")));
    }
    let public: Vec<bool> = training.names().iter().map(|name| declared.contains(name)).collect();
    let means = match counts {
        Some(counts) => Scaling::weighted(training, counts).means,
        None => Scaling::of(training).means,
    };
    let values = training.iter().flat_map(|row| {
        (0..row.len()).map(|c| if public[c] { row[c] } else { means[c] }).collect::<Vec<_>>()
    });
    let rows = Features::new(training.names().clone(), values.collect())?;
    let mut stream = Stream::new(experiment.seed, 0, 0, Purpose::Public);
    let points = distinct_rows(&rows, experiment.public_points(source.about.task), &mut stream);
    let note = if public.iter().all(|public| *public) {
        "The public points are feature rows that the experiment declares to be no secret."
    } else {
        "The public points are feature rows that the experiment declares to be no secret, with the other features at their training mean, which is a shared statistic."
    };
    let words = format!("{} distinct rows of features declared public", points.rows());
    Ok((points, words, Some(note)))
}

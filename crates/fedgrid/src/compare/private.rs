//! Studies whose nodes know of each other what was released only: every method but local training is tuned on releases, and
//! what it learns of them is public,
//!
//! ```text
//! released    training rows and validation rows of each node, each row noised once           [`Privacy`]
//! twins       the method, tuned and trained on releases as if they were rows
//! pooled      the twin, which is one for all
//! shrunk      own clean training rows, drawn to the pooled twin
//! network     own clean training rows, drawn to the twins of the neighbours
//! ```
//!
//! Validation rows are noised as training rows are: they choose strengths first, and teach the twins then. No strength is
//! chosen on clean rows.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use rayon::prelude::*;

use super::{
    Approach, Bought, Card, Certificate, Contestant, Federated, Fitted, KeptEstimates, KeptLosses,
    NodeScore, PathPoint, RoleMeasures, Settings, Strength, Study, Watch, fitted::Effort,
    score::sum, trainer::Trainer,
};
use crate::{
    data::{Dataset, Features, Fold, Labels, Plan, by_name},
    error::{Error, Result},
    method::{FedRelax, Twins},
    model::Hypothesis,
    network::NodeId,
    privacy::{Clipped, Forecast, Privacy, PrivateKind, Public, Reading, Release, TwinsHeard},
};

/// What nodes have released, as a study of its own.
#[derive(Debug)]
pub struct Published {
    /// Released rows in the place of rows. It has a fold if training and validation rows were released apart.
    study: Study,
    /// What lay outside of declared bounds.
    pub clipped: Clipped,
    /// The deviation of the noise of each release, in half ranges of labels.
    pub deviations: Vec<f64>,
    /// How many rows were released.
    pub rows: usize,
}

/// Which releases teach the twins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taught {
    /// Those of training rows, so that validation rows can judge.
    Train,
    /// All.
    All,
}

impl Study {
    /// What keeps a contestant from the rows of other nodes, if anything does.
    pub(super) fn privacy_of(&self, contestant: Contestant) -> Option<&Privacy> {
        self.settings.privacy.as_ref().filter(|_| contestant != Contestant::Local)
    }

    /// What its nodes release.
    pub fn published(&self, privacy: &Privacy) -> Result<Published> {
        if !self.models.iter().all(|model| model.as_linear().is_some_and(|own| own.intercept)) {
            return Err(Error::Unsupported {
                what: "a release of rows",
                needs: "linear models with an intercept",
            });
        }
        let parts = self.released_parts(privacy.kind)?;
        let all: Vec<NodeId> = (0..self.network.len()).collect();
        let releases = self.rehearsed(&all, privacy)?;
        let mut clipped = Clipped::default();
        for release in releases.iter().flatten() {
            clipped.labels += release.clipped.labels;
            clipped.features += release.clipped.features;
        }
        let deviations = releases.iter().flatten().map(Release::deviation).collect();
        let rows = parts.iter().flatten().map(Vec::len).sum();
        Ok(Published { study: self.of_releases(&releases, privacy)?, clipped, deviations, rows })
    }

    /// What some nodes release in a rehearsal, with noise of its seed.
    pub fn rehearsed(&self, own: &[NodeId], privacy: &Privacy) -> Result<Vec<Vec<Release>>> {
        let parts = self.released_parts(privacy.kind)?;
        // By name, so that a node draws the same noise wherever a file lists it.
        let mut places = vec![0; self.network.len()];
        by_name(self.network.names()).iter().enumerate().for_each(|(k, &node)| places[node] = k);
        let release = |&node: &NodeId| -> Vec<Release> {
            let of_part = |(part, rows): (usize, &Vec<Vec<usize>>)| {
                privacy.rehearsed(&self.rows[node].select(&rows[node]), places[node], part)
            };
            parts.iter().enumerate().map(of_part).collect()
        };
        Ok(own.par_iter().map(release).collect())
    }

    /// The rows of a node that are released for themselves.
    pub fn rows_to_release(&self, node: NodeId, privacy: &Privacy) -> Result<Vec<Dataset>> {
        let parts = self.released_parts(privacy.kind)?;
        Ok(parts.iter().map(|part| self.rows[node].select(&part[node])).collect())
    }

    /// The study's own method beside twins, as nodes run it between sites that have released this.
    pub fn beside_twins_at_sites(
        &self,
        releases: &BTreeMap<NodeId, Vec<Release>>,
    ) -> Result<Federated> {
        let unknown = Error::Unsupported {
            what: "a federation beside twins",
            needs: "method fedrelax with a strength that is given, and a budget",
        };
        let (Approach::FedRelax(relax), Some(alpha), Some(privacy)) =
            (&self.settings.method, self.settings.alpha, &self.settings.privacy)
        else {
            return Err(unknown);
        };
        let columns = self.rows.first().map_or(0, |rows| rows.features().columns());
        releases.values().flatten().try_for_each(|release| release.check(columns))?;
        let nodes = 0..self.network.len();
        let all: Vec<Vec<Release>> =
            nodes.map(|node| releases.get(&node).cloned().unwrap_or_default()).collect();
        let released = self.of_releases(&all, privacy)?.nodes(None).into_iter();
        let released = released.filter(|node| releases.contains_key(&node.id));
        let released = released.map(|node| (node.id, node.data)).collect();
        let relax = FedRelax { alpha, ..relax.clone() };
        Ok(Federated::Twins(Twins { relax, released: Arc::new(released), middle: privacy.middle }))
    }

    /// The rows of each node that are released for themselves: those that train and those that validate, where strengths
    /// are to be chosen; otherwise both at once.
    fn released_parts(&self, kind: PrivateKind) -> Result<Vec<Vec<Vec<usize>>>> {
        let method = &self.settings.method;
        // What is estimated from releases needs no validation.
        let is_estimated = method.estimates_strength() && !method.facts().tunes_ridge;
        let is_given = is_estimated || self.settings.alpha.is_some() && !self.settings.tune_ridge;
        match &self.plan.folds[..] {
            [fold] if fold.train == self.plan.train => {
                // Labels are as well hidden in two parts as in one; of whole rows each part has noise of its own.
                if is_given && kind == PrivateKind::Rows {
                    let both = |(train, more): (&Vec<usize>, &Vec<usize>)| {
                        let mut rows = [&train[..], more].concat();
                        rows.sort_unstable();
                        rows
                    };
                    return Ok(vec![fold.train.iter().zip(&fold.validation).map(both).collect()]);
                }
                Ok(vec![fold.train.clone(), fold.validation.clone()])
            }
            _ if is_given => Ok(vec![self.plan.train.clone()]),
            _ => Err(Error::Unsupported {
                what: "choosing strengths of what is published on rows that take turns",
                needs: "validation rows, or strengths that are given",
            }),
        }
    }

    /// The study of released rows.
    fn of_releases(&self, releases: &[Vec<Release>], privacy: &Privacy) -> Result<Self> {
        let names = self.rows.first().ok_or(Error::NoData)?.features().names().clone();
        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        let parts = releases.iter().map(Vec::len).max().unwrap_or(0);
        for own in releases {
            let (mut values, mut labels, mut counts) = (Vec::new(), Vec::new(), Vec::new());
            let mut end = Vec::with_capacity(parts);
            for release in own {
                let part = release.condensed(privacy.middle)?.expanded(names.clone())?;
                values.extend_from_slice(part.features().values());
                labels.extend_from_slice(part.labels().as_slice());
                counts.extend((0..part.rows()).map(|row| part.count(row)));
                end.push(labels.len());
            }
            // Nodes of other sites have released nothing here.
            end.resize(parts, labels.len());
            let features = Features::new(names.clone(), values)?;
            rows.push(Dataset::counted(features, Labels::values(labels), counts)?);
            ends.push(end);
        }
        let all = ends.iter().map(|end| (0..end.last().copied().unwrap_or(0)).collect());
        let train: Vec<Vec<usize>> = all.collect();
        let fold = (parts > 1).then(|| Fold {
            train: ends.iter().map(|end| (0..end[0]).collect()).collect(),
            validation: ends.iter().map(|end| (end[0]..end[1]).collect()).collect(),
        });
        let plan =
            Plan { folds: fold.into_iter().collect(), test: vec![Vec::new(); train.len()], train };
        let settings = Settings {
            privacy: None,
            // Of released rows no more is known than squares.
            metric: None,
            kept: KeptEstimates::default(),
            kept_losses: KeptLosses::default(),
            ..self.settings.clone()
        };
        Ok(Self { rows, plan, settings, ..self.clone() })
    }

    /// Chooses a strength on releases, and scores own models on validation rows, which chooses nothing.
    pub(super) fn tuned_on_releases(
        &self,
        contestant: Contestant,
        privacy: &Privacy,
        watch: &dyn Watch,
    ) -> Result<Card> {
        let published = self.published(privacy)?;
        let (strength, path) = published.strength(contestant, watch)?;
        let mut scores = Vec::new();
        for fold in &self.plan.folds {
            let of = (contestant, strength);
            let fitted = published.own_models(self, of, (&fold.train, Taught::Train), watch)?;
            scores.push(self.score(&fitted.hypotheses, &fold.validation));
        }
        let nodes = sum(scores.iter());
        let validation = NodeScore::total(&nodes).mean().unwrap_or(f64::INFINITY);
        Ok(Card {
            contestant,
            strength,
            validation,
            test: None,
            accuracy: None,
            measures: RoleMeasures::default(),
            path,
            nodes,
            evidence: Vec::new(),
            converged: true,
        })
    }

    /// The models of a contestant of these training rows of each node.
    pub(super) fn fit_beside_twins(
        &self,
        (contestant, strength): (Contestant, Strength),
        rows: &[Vec<usize>],
        privacy: &Privacy,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        // Of rows that take turns all were released together.
        let of = (contestant, strength);
        self.published(privacy)?.own_models(self, of, (rows, Taught::All), watch)
    }

    /// The same, but for what validation rows have taught the twins.
    pub(super) fn fit_beside_untaught_twins(
        &self,
        of: (Contestant, Strength),
        rows: &[Vec<usize>],
        privacy: &Privacy,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        self.published(privacy)?.own_models(self, of, (rows, Taught::Train), watch)
    }

    /// The models of every node of its own training rows and the declared bounds: who stays out has these.
    #[must_use]
    pub fn alone_within_bounds(&self, privacy: &Privacy) -> Vec<Arc<dyn Hypothesis>> {
        let deaf = vec![TwinsHeard::default(); self.network.len()];
        self.of_own_rows(&self.plan.train, &deaf, privacy.middle)
    }

    /// What the budget has bought of what was fitted by the study's own method; none of studies that are not private.
    pub fn bought(&self, fitted: &Fitted, watch: &dyn Watch) -> Result<Option<Bought>> {
        let Some(privacy) = &self.settings.privacy else { return Ok(None) };
        let published = self.published(privacy)?;
        let error = |models: &[Arc<dyn Hypothesis>]| {
            NodeScore::total(&self.score(models, &self.plan.test)).mean()
        };
        let is_scored = self.plan.has_test();
        let without_noise = if is_scored {
            let open = Privacy { mu: f64::INFINITY, ..*privacy };
            let settings = Settings { privacy: Some(open), ..self.settings.clone() };
            let study = Self { settings, ..self.clone() };
            let strength = study.published(&open)?.strength(study.main(), watch)?.0;
            error(&study.fit_by_name(study.main(), strength, watch)?.hypotheses)
        } else {
            None
        };
        let count = published.deviations.len().max(1) as f64;
        Ok(Some(Bought {
            rows: published.rows,
            clipped: published.clipped,
            deviation: published.deviations.iter().sum::<f64>() / count,
            alone: error(&self.alone_within_bounds(privacy)),
            with_twins: error(&fitted.hypotheses),
            without_noise,
        }))
    }

    /// What each node can expect of a budget, by its own rows and what everybody knows.
    pub fn forecasts(&self, privacy: &Privacy) -> Result<Vec<Forecast>> {
        let parts = self.released_parts(privacy.kind)?;
        let own = |node: usize| {
            let rows = self.rows[node].select(&self.plan.train[node]);
            let released: Vec<usize> = parts.iter().flat_map(|part| part[node].clone()).collect();
            let released = self.rows[node].select(&released);
            let public = Public::of(self.network.len(), &self.public[node]);
            Forecast::new((&rows, &released), &privacy.mechanism(), &public)
        };
        Ok((0..self.network.len()).into_par_iter().map(own).collect())
    }

    fn of_own_rows(
        &self,
        rows: &[Vec<usize>],
        heard: &[TwinsHeard],
        middle: f64,
    ) -> Vec<Arc<dyn Hypothesis>> {
        let own = |(node, heard): (usize, &TwinsHeard)| -> Arc<dyn Hypothesis> {
            let data = self.rows[node].select(&rows[node]);
            let model = heard.own_model(&data, middle, &self.public[node]);
            Arc::new(model.hypothesis(data.features().names().clone(), middle))
        };
        heard.par_iter().enumerate().map(own).collect()
    }
}

impl Published {
    /// The strength of a contestant's twins that is best on released validation rows, and all that were tried; the given
    /// one where nothing is chosen.
    fn strength(
        &self,
        contestant: Contestant,
        watch: &dyn Watch,
    ) -> Result<(Strength, Vec<PathPoint>)> {
        let contestant = twins_of(contestant);
        if self.study.plan.folds.is_empty() {
            let given = self.study.settings.alpha.filter(|_| self.study.is_own(contestant));
            return Ok((Strength { alpha: given.unwrap_or(0.0), ridge: None }, Vec::new()));
        }
        let card = self.study.tune(contestant, watch)?;
        Ok((card.strength, card.path))
    }

    /// What is public of a contestant: the models that it makes of releases.
    pub fn twins(
        &self,
        (contestant, strength): (Contestant, Strength),
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        self.twins_taught((contestant, strength), Taught::All, watch)
    }

    fn twins_taught(
        &self,
        (contestant, strength): (Contestant, Strength),
        taught: Taught,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        self.taught(taught).fit_by_name(twins_of(contestant), strength, watch)
    }

    /// The models of a contestant of these clean rows of each node, beside what is public.
    fn own_models(
        &self,
        study: &Study,
        (contestant, strength): (Contestant, Strength),
        (rows, taught): (&[Vec<usize>], Taught),
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let privacy = study.settings.privacy.as_ref().expect("asked of private studies only");
        if contestant.uses_network() && !study.settings.direct {
            return self.in_rounds(study, (contestant, strength), (rows, taught), watch);
        }
        let twins = self.twins_taught((contestant, strength), taught, watch)?;
        let certificate = twins.certificate.clone();
        if contestant == Contestant::Pooled {
            return Ok(Fitted { certificate, ..Fitted::exact(twins.hypotheses) });
        }
        // Neighbours hear predictions on public points, and most nodes have one set of these in common.
        let mut reading: Option<(&Arc<Features>, Reading)> = None;
        let mut known = Vec::with_capacity(twins.hypotheses.len());
        for (twin, points) in twins.hypotheses.iter().zip(&study.public) {
            let (_, reading) = match reading.take().filter(|(last, _)| Arc::ptr_eq(last, points)) {
                Some(same) => reading.insert(same),
                None => reading.insert((points, Reading::off(points))),
            };
            known.push(reading.coefficients(&twin.predict(points)));
        }
        let network = study.network_of(contestant);
        let heard: Vec<TwinsHeard> = (0..study.network.len())
            .map(|node| TwinsHeard {
                twins: if contestant.uses_network() {
                    let neighbours = network.neighbours(node).iter();
                    neighbours.map(|&(other, weight)| (weight, known[other].clone())).collect()
                } else {
                    vec![(1.0, known[node].clone())]
                },
            })
            .collect();
        let own = study.of_own_rows(rows, &heard, privacy.middle);
        Ok(Fitted {
            certificate,
            engine: "own rows beside published twins".into(),
            ..Fitted::exact(own)
        })
    }

    /// The same in rounds of messages, as sites take them.
    fn in_rounds(
        &self,
        study: &Study,
        (contestant, strength): (Contestant, Strength),
        (rows, taught): (&[Vec<usize>], Taught),
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let released = self.taught(taught);
        let released: BTreeMap<usize, Dataset> =
            released.nodes(strength.ridge).into_iter().map(|node| (node.id, node.data)).collect();
        let Approach::FedRelax(relax) = study.method_of(contestant) else {
            return Err(Error::Unsupported {
                what: "rounds of messages beside twins",
                needs: "method fedrelax",
            });
        };
        let relax = FedRelax { alpha: strength.alpha, ..relax };
        let middle = study.settings.privacy.as_ref().map_or(0.0, |privacy| privacy.middle);
        let method = Twins { relax, released: Arc::new(released), middle };
        let plan = Plan { train: rows.to_vec(), ..study.plan.clone() };
        let study = Study { plan, ..study.clone() };
        let trainer = Trainer::new(&study, watch, &study.plan.train, strength.ridge)?;
        let views = study.network_of(contestant).views(trainer.nodes().to_vec())?;
        let run = trainer.run_rounds(&method, views, study.settings.runtime, Effort::Final)?;
        let mut alone = study.of_own_rows(
            &study.plan.train,
            &vec![TwinsHeard::default(); study.network.len()],
            middle,
        );
        // Who has neither rows nor neighbours knows the bounds.
        for (own, learnt) in alone.iter_mut().zip(run.hypotheses) {
            *own = learnt.unwrap_or_else(|| own.clone());
        }
        let residual = run.history.last().map_or(0.0, |round| round.residual);
        Ok(Fitted {
            certificate: Certificate {
                kind: "fixed-point residual".into(),
                value: residual,
                converged: run.converged,
                reason: None,
            },
            residuals: run.history.iter().map(|round| round.residual).collect(),
            rounds: run.history,
            direct: false,
            engine: "own rows beside published twins".into(),
            damped: run.damped,
            ..Fitted::exact(alone)
        })
    }

    /// The study of the releases that teach.
    fn taught(&self, taught: Taught) -> Cow<'_, Study> {
        match (taught, self.study.plan.folds.first()) {
            (Taught::Train, Some(fold)) => {
                let plan = Plan { train: fold.train.clone(), ..self.study.plan.clone() };
                Cow::Owned(Study { plan, ..self.study.clone() })
            }
            _ => Cow::Borrowed(&self.study),
        }
    }
}

/// Whose twins a contestant's own models are drawn to.
fn twins_of(contestant: Contestant) -> Contestant {
    if contestant == Contestant::Shrunk { Contestant::Pooled } else { contestant }
}

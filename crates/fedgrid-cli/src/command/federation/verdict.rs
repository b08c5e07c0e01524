//! Whether the federation helped a site: its models, and those that it would have alone, on the same
//! rows of its own,
//!
//! ```text
//! test rows, or else validation rows:  error with the federation against error alone
//! training rows, if none are held back: both errors, and no word on a gain
//! ```
//!
//! where "alone" is tuned as `fit` tunes local training, which needs no row of another site.

use std::sync::Arc;

use fedgrid::{
    compare::{Card, Contestant, NodeScore, RoleMeasures, Strength, Study, Unwatched},
    data::Task,
    method::{Local, TriedStrength},
    model::Hypothesis,
    network::Network,
    runtime::InProcess,
};

use fedgrid_lab::{
    assembly::Assembly,
    error::Result,
    number::significant,
    outcome::{FederationOutcome, Measured, Outcome},
};

/// What a site's nodes would be without all others.
pub(super) struct AloneModels {
    card: Card,
    hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
}

impl AloneModels {
    /// Every node by itself, with the ridge that does best on the site's own rows if the experiment
    /// leaves it open.
    pub(super) fn new(study: &Study) -> Result<Self> {
        let card = study.card(Contestant::Local, &Unwatched)?;
        let names = study.network.names().to_vec();
        // A network without edges is training alone, by the same code.
        let views = Network::new(names, [])?.views(study.nodes(card.strength.ridge))?;
        let hypotheses = InProcess::default().run(&Local, views)?.hypotheses;
        Ok(Self { card, hypotheses })
    }

    /// The models of all nodes; one without training rows predicts the mean of the site's labels.
    pub(super) fn everywhere(&self, study: &Study) -> Result<Vec<Arc<dyn Hypothesis>>> {
        Ok(study.fit_by_name(Contestant::Local, self.card.strength, &Unwatched)?.hypotheses)
    }

    /// A node without neighbours is trained alone, in a federation as in one process.
    pub(super) fn replace_isolated(
        &self,
        hypotheses: &mut [Arc<dyn Hypothesis>],
        is_isolated: impl Fn(usize) -> bool,
    ) {
        let own = hypotheses.iter_mut().zip(&self.hypotheses).enumerate();
        for (_, (with, alone)) in own.filter(|(index, _)| is_isolated(*index)) {
            if let Some(alone) = alone {
                *with = alone.clone();
            }
        }
    }
}

/// Both errors of a site.
pub(super) struct SiteVerdict {
    /// Alone, and with the federation.
    pub(super) cards: [Card; 2],
    pub(super) measured: Measured,
}

impl SiteVerdict {
    pub(super) fn new(
        study: &Study,
        alone: AloneModels,
        hypotheses: &[Arc<dyn Hypothesis>],
        tried: &[TriedStrength],
    ) -> Result<Self> {
        let plan = &study.plan;
        // Of a stored split there is one fold, whose training rows are all that models see.
        let held = match plan.folds.as_slice() {
            [fold] if fold.train == plan.train => Some(&fold.validation),
            // Rows that were held back in turn are training rows of the final models.
            _ => None,
        };
        let score = |rows: &[Vec<usize>]| study.score(hypotheses, rows);
        let test = plan.has_test().then(|| score(&plan.test));
        let validation = held.map(|rows| score(rows));
        let mut local = alone.card;
        let (nodes, measured) = match (&test, &validation) {
            (Some(test), _) => (test.clone(), Measured::Test),
            (None, Some(validation)) => (validation.clone(), Measured::Validation),
            (None, None) => {
                local.nodes = training_scores(study, &alone.hypotheses)?;
                local.validation = mean(&local.nodes).unwrap_or(0.0);
                local.accuracy = accuracy(&local.nodes, study.task());
                // What was measured in turn is on other rows than these.
                local.measures = RoleMeasures::default();
                (score(&plan.train), Measured::Training)
            }
        };
        // Without validation rows there is an error of taking turns alone, which nothing is like.
        if test.is_some() && validation.is_none() {
            local.validation = local.test.unwrap_or(0.0);
        }
        let network = Card {
            contestant: Contestant::Network,
            strength: Strength { alpha: study.settings.alpha.unwrap_or(0.0), ridge: None },
            validation: mean(validation.as_deref().unwrap_or(&nodes)).unwrap_or(0.0),
            test: test.as_deref().and_then(mean),
            accuracy: accuracy(&nodes, study.task()),
            measures: RoleMeasures {
                test: study.measures(hypotheses, &plan.test),
                validation: held.and_then(|rows| study.measures(hypotheses, rows)),
            },
            path: study.path_of(tried),
            nodes,
            evidence: Vec::new(),
            converged: true,
        };
        Ok(Self { cards: [local, network], measured })
    }

    /// What the federation did for this site, in one sentence.
    fn sentence(&self) -> String {
        let [local, network] = &self.cards;
        let (alone, with) = (significant(local.error()), significant(network.error()));
        let nodes = network.nodes.len();
        // Both are sums over the same rows, so that they need not be divided.
        let gains = |(local, network): &(&NodeScore, &NodeScore)| network.loss < local.loss;
        let gaining = local.nodes.iter().zip(&network.nodes).filter(gains).count();
        match self.measured {
            Measured::Training => format!(
                "On this site's training rows the error is {with} with the federation and {alone} \
                 alone; whether nodes gain cannot be told, because no rows were held back."
            ),
            held => format!(
                "With the federation this site's error is {with}, alone it would be {alone}, both on \
                 its {held} rows; {gaining} of {nodes} nodes gain."
            ),
        }
    }

    /// Says it in the outcome, and behind it what all sites have found, what could not be judged first; errors on training
    /// rows show no gain.
    pub(super) fn tell(&self, outcome: &mut Outcome, found: Option<FederationOutcome>) {
        let of_all = found.iter().flat_map(|all| all.unjudged.iter().chain([&all.verdict]));
        let said: Vec<String> = [self.sentence()].into_iter().chain(of_all.cloned()).collect();
        outcome.verdict = said.join(" ");
        outcome.federation = found;
        outcome.at_site = Some(self.measured);
        if self.measured == Measured::Training {
            outcome.nodes.iter_mut().for_each(|node| node.gain = None);
        }
    }

    /// What else a reader should know.
    pub(super) fn notes(&self, site: &mut Assembly) {
        if self.measured == Measured::Training {
            let note = "No rows were held back, so both errors are measured on training rows: mark \
                        rows as test in the column data.split to see whether the federation helps.";
            site.notes.push(note.into());
        }
        let ridge = self.cards[0].strength.ridge;
        site.notes.extend(ridge.map(|ridge| {
            format!(
                "The ridge of training alone was chosen on this site's rows: {}.",
                significant(ridge)
            )
        }));
        site.notes.push(
            "Trained in a federation: neighbours at other sites were told predictions or weights, \
             never a row."
                .into(),
        );
    }
}

/// The scores on training rows. A node without any has none, whatever it would predict.
fn training_scores(
    study: &Study,
    hypotheses: &[Option<Arc<dyn Hypothesis>>],
) -> Result<Vec<NodeScore>> {
    let any = hypotheses.iter().flatten().next().ok_or(fedgrid::Error::NoData)?;
    let filled: Vec<Arc<dyn Hypothesis>> =
        hypotheses.iter().map(|own| own.as_ref().unwrap_or(any).clone()).collect();
    Ok(study.score(&filled, &study.plan.train))
}

fn mean(scores: &[NodeScore]) -> Option<f64> {
    NodeScore::total(scores).mean()
}

fn accuracy(scores: &[NodeScore], task: Task) -> Option<f64> {
    let total = NodeScore::total(scores);
    (task.outputs() > 1).then(|| total.accuracy())
}

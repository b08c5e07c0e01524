//! From a study to its outcome and its page: the one way that the command, the agent of a site and the wheel
//! take.

use std::sync::Arc;

use fedgrid::{
    compare::{Card, Contestant, Fitted, NetworkEvidence, Strength, Watch},
    model::Hypothesis,
};
use rayon::prelude::*;

use crate::{
    assembly::Assembly,
    card::{CardParts, Importance, NodeView, in_a_row},
    coefficients::Coefficients,
    experiment::Experiment,
    number::counted,
    outcome::{Help, Outcome},
    probes,
    report::Page,
    summary::{self, OriginCards},
};

/// A study with the experiment that asks for it.
#[derive(Debug, Clone, Copy)]
pub struct Pipeline<'a> {
    /// What is asked for.
    pub experiment: &'a Experiment,
    /// What it is asked of.
    pub assembly: &'a Assembly,
}

/// A contestant whose models a run keeps beside those of its own method.
#[derive(Debug)]
pub struct KeptFit {
    /// Who it is.
    pub contestant: Contestant,
    /// What its training has left.
    pub fitted: Fitted,
}

impl Pipeline<'_> {
    /// Who is tuned and scored, in order; without a comparison the study's own method alone.
    #[must_use]
    pub fn contestants(&self) -> Vec<Contestant> {
        let study = &self.assembly.study;
        if self.experiment.compare.enabled { study.contestants() } else { vec![study.main()] }
    }

    /// Fits the study's own method at the strength that its card has, and looks how far it is off elsewhere.
    pub fn fit(&self, cards: &[Card], watch: &dyn Watch) -> fedgrid::Result<Fitted> {
        // The strength is read from the card, so that a resumed run repeats only this last fit.
        let main = cards.iter().find(|card| card.contestant == self.assembly.study.main());
        let main = main.expect("the experiment's own method is always tried");
        let study = &self.assembly.study;
        let mut fitted = self.assembly.fit(main.strength, watch)?;
        let refit = Some((main.contestant, main.strength, watch));
        fitted.unseen = study.residuals(&fitted, refit)?;
        fitted.evidence = self.evidence()?;
        fitted.bought = study.bought(&fitted, watch)?;
        Ok(fitted)
    }

    /// Fits what a run keeps beside its own method, at the strengths of their cards: the rows without a network that
    /// were compared, and the method that the verdict advises.
    pub fn others(
        &self,
        cards: &[Card],
        advised: Option<Contestant>,
        watch: &dyn Watch,
    ) -> fedgrid::Result<Vec<KeptFit>> {
        let main = self.assembly.study.main();
        let is_kept = |card: &&Card| {
            let contestant = card.contestant;
            contestant != main && (contestant.is_plain() || Some(contestant) == advised)
        };
        let fit = |card: &Card| self.kept(card.contestant, card.strength, watch);
        cards.iter().filter(is_kept).map(fit).collect()
    }

    /// A contestant at a strength, with its residuals on rows that it has not seen.
    pub fn kept(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> fedgrid::Result<KeptFit> {
        let study = &self.assembly.study;
        let mut fitted = study.fit_by_name(contestant, strength, watch)?;
        fitted.unseen = study.residuals(&fitted, Some((contestant, strength, watch)))?;
        Ok(KeptFit { contestant, fitted })
    }

    /// What training rows say of the network that is compared; none without a comparison along one.
    pub fn evidence(&self) -> fedgrid::Result<Option<NetworkEvidence>> {
        let study = &self.assembly.study;
        if self.experiment.compare.enabled && study.main() == Contestant::Network {
            study.network_evidence()
        } else {
            Ok(None)
        }
    }

    /// What came of it.
    #[must_use]
    pub fn outcome(&self, cards: &[Card], fitted: &Fitted, seconds: f64) -> Outcome {
        summary::outcome(self.experiment, self.assembly, cards, fitted, seconds)
    }

    /// What came of rolling origins, the last of which this is the study of.
    #[must_use]
    pub fn rolled_outcome(
        &self,
        origins: &[OriginCards],
        fitted: &Fitted,
        seconds: f64,
    ) -> Outcome {
        let mut outcome = self.outcome(&OriginCards::joined(origins), fitted, seconds);
        outcome.origins = origins.iter().map(OriginCards::outcome).collect();
        outcome.warnings.extend(OriginCards::overlap(origins));
        outcome
    }

    /// Who helped whom.
    #[must_use]
    pub fn helps(&self, fitted: &Fitted) -> Vec<Help> {
        probes::helps(self.assembly, fitted)
    }

    /// The page of what a run has found.
    #[must_use]
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a path to the method has one lifetime of pages, and any is asked for"
    )]
    pub fn page(&self, heading: &Heading, found: &Found) -> String {
        self.on_page(heading, found, |page| page.render())
    }

    /// What the page knows of the nodes, as [`Page::data`] gives it.
    #[must_use]
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a path to the method has one lifetime of pages, and any is asked for"
    )]
    pub fn page_data(&self, found: &Found) -> String {
        let heading = Heading { title: "", date: None, experiment: "" };
        self.on_page(&heading, found, |page| page.data())
    }

    /// The card of the node at a place, as `fedgrid show` has it.
    #[must_use]
    pub fn card(&self, found: &Found, place: usize) -> NodeView {
        let coefficients = &Coefficients::new(self.assembly, found.fitted);
        card_parts(self.assembly, found, coefficients).one(place)
    }

    fn on_page<T>(&self, heading: &Heading, found: &Found, of: impl FnOnce(&Page) -> T) -> T {
        let network = &self.assembly.study.network;
        let edges: Vec<_> =
            network.edges().iter().map(|edge| (edge.source, edge.target, edge.weight)).collect();
        let coefficients = &Coefficients::new(self.assembly, found.fitted);
        let source = self.source();
        of(&Page {
            title: heading.title,
            source: source.as_deref(),
            date: heading.date,
            outcome: found.outcome,
            cards: &self.cards(found, coefficients),
            importance_left_out: is_storable(found) && !self.is_quickly_shuffled(coefficients),
            edges: &edges,
            positions: self.assembly.positions.as_deref(),
            experiment: heading.experiment,
            helps: found.helps,
            coefficients,
        })
    }

    /// The names of the files of rows, without folders; none of rows that are in no file.
    fn source(&self) -> Option<String> {
        let names = self.experiment.data.file.names().iter();
        let names: Vec<_> = names.filter_map(|name| name.file_name()).collect();
        let first = names.first().map(|name| name.to_string_lossy().into_owned());
        let first = first.filter(|name| !name.is_empty() && name != "-")?;
        let more = names.len() - 1;
        Some(if more > 0 { format!("{first} and {}", counted(more, "more file")) } else { first })
    }

    /// The cards of all nodes.
    fn cards(&self, found: &Found, coefficients: &Coefficients) -> Vec<NodeView> {
        let parts = card_parts(self.assembly, found, coefficients);
        let mut cards = parts.all();
        if is_storable(found) && self.is_quickly_shuffled(coefficients) {
            let importance = |place| parts.importance(place).and_then(std::result::Result::ok);
            let all: Vec<_> = (0..cards.len()).into_par_iter().map(importance).collect();
            cards.iter_mut().zip(all).for_each(|(card, importance)| card.importance = importance);
        }
        cards
    }

    /// Whether the importance of columns of all nodes takes no longer than a reader of the page would wait.
    fn is_quickly_shuffled(&self, coefficients: &Coefficients) -> bool {
        // A linear model takes 30 ns for a row, a forest of a hundred trees 5 µs; both are then done in about two seconds.
        let most_rows = if coefficients.nodes.is_empty() { 400_000 } else { 20_000_000 };
        Importance::asked_rows(self.assembly) <= most_rows
    }
}

/// Whether models are of this crate. How long others take to predict is not known, and thousands of questions are asked.
fn is_storable(found: &Found) -> bool {
    found.fitted.hypotheses.iter().all(|own| own.save().is_some())
}

/// What the cards of nodes are made of.
pub(crate) fn card_parts<'a>(
    assembly: &'a Assembly,
    found: &Found<'a>,
    coefficients: &'a Coefficients,
) -> CardParts<'a> {
    let study = &assembly.study;
    let pooled = found.others.iter().find(|kept| kept.contestant == Contestant::Pooled);
    let pooled = pooled.map(|kept| study.for_table(&kept.fitted.hypotheses));
    let in_rows = |models: Vec<_>| -> Vec<_> {
        models.iter().map(|model: &Arc<dyn Hypothesis>| in_a_row(model.as_ref())).collect()
    };
    let nodes = 0..study.network.len();
    CardParts {
        outcome: found.outcome,
        cards: found.cards,
        coefficients,
        pooled: pooled.map_or_else(Vec::new, in_rows),
        models: study.for_table(&found.fitted.hypotheses),
        about: Some(&assembly.about),
        neighbours: nodes.map(|node| study.network.neighbours(node).to_vec()).collect(),
        rows: Some(assembly),
    }
}

/// What stands at the head of a page.
#[derive(Debug, Clone, Copy)]
pub struct Heading<'a> {
    /// Its title.
    pub title: &'a str,
    /// When it was made, if that is known.
    pub date: Option<&'a str>,
    /// The experiment as it is kept.
    pub experiment: &'a str,
}

/// What a run has found.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The whole.
    pub outcome: &'a Outcome,
    /// How each method did.
    pub cards: &'a [Card],
    /// What its own method has left.
    pub fitted: &'a Fitted,
    /// What others have left.
    pub others: &'a [KeptFit],
    /// Who helped whom.
    pub helps: &'a [Help],
}

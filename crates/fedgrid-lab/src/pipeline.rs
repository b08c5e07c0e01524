//! From a study to its outcome and its page: the one way that the command, the agent of a site and the wheel
//! take.

use fedgrid::compare::{Card, Contestant, Fitted, NetworkEvidence, Strength, Watch};

use crate::{
    assembly::Assembly,
    coefficients::Coefficients,
    experiment::Experiment,
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

    /// The page of an outcome; `text` is the experiment as it is kept.
    #[must_use]
    pub fn page(
        &self,
        (title, text): (&str, &str),
        outcome: &Outcome,
        fitted: &Fitted,
        helps: &[Help],
    ) -> String {
        let edges = self.assembly.study.network.edges().iter();
        let edges: Vec<_> = edges.map(|edge| (edge.source, edge.target, edge.weight)).collect();
        let positions = self.assembly.positions.as_deref();
        let coefficients = &Coefficients::new(self.assembly, fitted);
        Page { title, outcome, edges: &edges, positions, experiment: text, helps, coefficients }
            .render()
    }
}

//! The verdict of a comparison in words. No sentence claims more than its numbers: what was not
//! confirmed is not said to be absent.

use fedgrid::compare::{Contestant, Difference, Kind, MethodKind, Verdict};

use super::all_of;
use crate::{
    number::{count, percent, significant},
    outcome::{Comparison, Entry},
};

/// What the sentence of a verdict is made of.
pub(super) struct VerdictText<'a> {
    /// The rule's answer; none without a comparison.
    pub(super) verdict: Option<&'a Verdict>,
    /// The errors of all methods.
    pub(super) comparison: &'a Comparison,
    /// The experiment's own method.
    pub(super) main: Contestant,
    /// How many nodes there are.
    pub(super) nodes: usize,
    /// The rows that errors are measured on, such as `11,716 test rows`.
    pub(super) rows: String,
    /// Whether it was a first look.
    pub(super) is_quick: bool,
    /// What the one model for all is called.
    pub(super) pooled: &'static str,
}

/// The method that the sentence of a verdict advises: the experiment's own, unless it says to use another.
pub(super) fn advised(verdict: &Verdict, main: Contestant) -> Contestant {
    let is_hub = main != Contestant::Network;
    match verdict.kind {
        // Shuffles that are as good say nothing against the method itself.
        Kind::CouplingOnly if !is_hub && adds_no_shape(verdict) && verdict.gain.gain > 0.0 => main,
        Kind::CouplingOnly => verdict.rival,
        Kind::Pooled | Kind::Local if is_hub => verdict.rival,
        Kind::Pooled => Contestant::Pooled,
        Kind::Local => Contestant::Local,
        Kind::Network | Kind::Hub | Kind::Coupling | Kind::Undecided => main,
    }
}

/// Whether the network was found to do as well with shuffled nodes.
fn adds_no_shape(verdict: &Verdict) -> bool {
    verdict.shape.is_some_and(|shape| shape.is_equivalent())
}

impl VerdictText<'_> {
    /// The verdict in one sentence.
    pub(super) fn sentence(&self) -> String {
        let first = if self.is_quick && self.verdict.is_some() { "At first look: " } else { "" };
        format!("{first}{}", self.of_method())
    }

    fn of_method(&self) -> String {
        match (self.main, self.verdict) {
            // The order matters: methods without a network get no sentence about one, whatever the rule says.
            (main, _) if main.is_plain() => self.without_network(),
            (Contestant::Baseline(_), Some(verdict)) => self.of_hub(verdict),
            (Contestant::Baseline(kind), None) => {
                let (name, own) = (kind.name(), self.error(self.main));
                format!("The error of {name} is {own}; nothing was compared with it.")
            }
            (_, Some(verdict)) => self.of_network(verdict),
            (_, None) => {
                let own = self.error(self.main);
                format!("The network's error is {own}; nothing was compared with it.")
            }
        }
    }

    fn name(&self, contestant: Contestant) -> String {
        if contestant == Contestant::Pooled { self.pooled.into() } else { contestant.to_string() }
    }

    fn error(&self, contestant: Contestant) -> String {
        let entry = self.comparison.entry(contestant);
        entry.map_or_else(String::new, |entry| self.comparison.digits().text(entry.error()))
    }

    /// What shuffles add to a sentence: `, and 11.4 when its nodes are shuffled`.
    fn shuffles(&self) -> String {
        self.comparison.shuffled.as_ref().map_or_else(String::new, |entry| {
            format!(
                ", and {} when its nodes are shuffled",
                self.comparison.digits().text(entry.error())
            )
        })
    }

    fn of_network(&self, verdict: &Verdict) -> String {
        let (network, rival) = (self.error(Contestant::Network), self.error(verdict.rival));
        let (name, shuffles) = (self.name(verdict.rival), self.shuffles());
        match verdict.kind {
            Kind::Network | Kind::Hub => {
                let (gaining, nodes) = (count(verdict.better), count(self.nodes));
                format!(
                    "Your network helps: error {network} against {rival} for the best method \
                     without it ({name}){shuffles}; {gaining} of {nodes} nodes gain."
                )
            }
            Kind::CouplingOnly if adds_no_shape(verdict) => {
                let shuffled = self.comparison.shuffled.as_ref().map(Entry::error);
                let advised = advised(verdict, self.main);
                let advice = if advised == self.main {
                    String::new()
                } else {
                    format!("; use {}", self.name(advised))
                };
                format!(
                    "Coupling the nodes helps, but the shape of your network does not: error \
                     {network} with it and {} when its nodes are shuffled, the same within 1 %, \
                     against {rival} for the best method without it ({name}){advice}.",
                    shuffled.map_or_else(String::new, |error| self.comparison.digits().text(error))
                )
            }
            Kind::CouplingOnly => format!(
                "Coupling the nodes helps, but {}: error {network} with it against {rival} for the best \
                 method without it ({name}; {}){shuffles}; use {}.",
                if verdict.gain.is_clear_loss() {
                    "less by your network than without it"
                } else {
                    "your network adds less than 1 % to it"
                },
                difference(&verdict.gain),
                self.name(advised(verdict, self.main))
            ),
            Kind::Coupling => format!("Coupling the nodes helps. {}", self.unconfirmed(verdict)),
            Kind::Pooled | Kind::Local => self.denied(advised(verdict, self.main)),
            Kind::Undecided => self.unconfirmed(verdict),
        }
    }

    /// What is enough instead of the network.
    fn denied(&self, enough: Contestant) -> String {
        format!(
            "Your network does not help here; use {}: error {} against {} with the network.",
            self.name(enough),
            self.error(enough),
            self.error(Contestant::Network)
        )
    }

    /// What the rows could not confirm.
    fn unconfirmed(&self, verdict: &Verdict) -> String {
        let (network, rival) = (self.error(Contestant::Network), self.error(verdict.rival));
        let (name, shuffles, rows) = (self.name(verdict.rival), self.shuffles(), &self.rows);
        let errors = format!("error {network} with it against {rival} without it ({name}; {})", {
            difference(&verdict.gain)
        });
        // From the strongest statement that the numbers allow to the weakest.
        if verdict.gain.is_clear() {
            return self.unconfirmed_shape(verdict, &errors);
        }
        if verdict.gain.is_excluded() {
            return format!(
                "Your network does not help here, it adds less than 1 % to the best method without it: \
                 {errors}{shuffles}; which of those is best is not confirmed."
            );
        }
        let share = verdict.gain.gain / verdict.gain.error;
        if verdict.gain.is_sure() {
            let share = percent(share);
            return format!(
                "Your network is {share} better than the best method without it; that it is 1 % or \
                 more is not confirmed: {errors}{shuffles}."
            );
        }
        if share > 0.0 {
            let share = percent(share);
            return format!(
                "Your network seems {share} better than the best method without it, but {rows} \
                 cannot confirm it: {errors}{shuffles}."
            );
        }
        format!("It is not confirmed that your network helps: {errors}{shuffles}.")
    }

    /// A network that beats its rivals, but not its shuffles surely.
    fn unconfirmed_shape(&self, verdict: &Verdict, errors: &str) -> String {
        let own = self.comparison.entry(Contestant::Network).map_or(f64::NAN, Entry::error);
        let spread = self.comparison.shuffled.as_ref().and_then(|entry| entry.spread.as_ref());
        match (spread, &verdict.shape) {
            (Some(spread), _) if spread.min <= own => format!(
                "That the shape of your network helps is not confirmed: {errors}, but {} with the \
                 best of its shuffles.",
                self.comparison.digits().text(spread.min)
            ),
            (_, Some(shape)) => format!(
                "Your network is better than the best method without it, but {} cannot confirm that \
                 its shape is why: {errors}{} ({}).",
                self.rows,
                self.shuffles(),
                difference(shape)
            ),
            _ => format!("That the shape of your network helps is not confirmed: {errors}."),
        }
    }

    /// The verdict on a method with a hub, which says nothing about a network.
    fn of_hub(&self, verdict: &Verdict) -> String {
        let (own, against, name) = (self.error(self.main), self.error(verdict.rival), self.main);
        let (rival, rows) = (verdict.rival, &self.rows);
        let errors = format!(
            "error {own} with it against {against} for the best other method ({rival}; {})",
            difference(&verdict.gain)
        );
        match verdict.kind {
            Kind::Hub | Kind::Network => {
                let (better, nodes) = (count(verdict.better), count(self.nodes));
                format!(
                    "{name} helps, without any network: error {own} against {against} for the \
                     best other method ({rival}); {better} of {nodes} nodes gain."
                )
            }
            Kind::CouplingOnly | Kind::Pooled | Kind::Local => {
                let advised = advised(verdict, self.main);
                format!("{name} does not help here: {errors}; use {advised}.")
            }
            Kind::Coupling | Kind::Undecided => {
                format!("{rows} cannot confirm that {name} helps by 1 % or more: {errors}.")
            }
        }
    }

    /// On a method that couples nobody by a network there is nothing to judge.
    fn without_network(&self) -> String {
        let (main, own) = (self.main, self.error(self.main));
        let rows = [Contestant::Local, Contestant::Pooled, Contestant::Shrunk, Contestant::Mixed];
        let others: Vec<String> = rows
            .into_iter()
            .filter(|other| *other != main && self.comparison.entry(*other).is_some())
            .map(|other| format!("{} for {other}", self.error(other)))
            .collect();
        if others.is_empty() {
            return format!("The error of {main} is {own}; nothing was compared with it.");
        }
        let is_tried = self
            .comparison
            .baselines
            .keys()
            .any(|name| MethodKind::named(name).is_some_and(|kind| kind.facts().uses_network));
        let network = if is_tried { "" } else { "; no network was tried" };
        format!("The error of {main} is {own}, against {}{network}.", all_of(&others))
    }
}

/// A difference with its standard error: `0.62 ± 0.15 less`.
fn difference(difference: &Difference) -> String {
    let Difference { gain, standard_error, .. } = difference;
    let side = if *gain < 0.0 { "more" } else { "less" };
    // With one node there is no standard error.
    let spread = if standard_error.is_finite() {
        format!(" ± {}", significant(*standard_error))
    } else {
        String::new()
    };
    format!("{}{spread} {side}", significant(gain.abs()))
}

#[cfg(test)]
mod tests {
    use fedgrid::compare::RoleMeasures;

    use super::*;
    use crate::outcome::{Entry, Spread};

    fn sentence(kind: Kind, gain: f64, standard_error: f64) -> String {
        with_shape(kind, gain, standard_error, None)
    }

    /// The sentence where the shape gains so much on its shuffles.
    fn with_shape(kind: Kind, gain: f64, standard_error: f64, shape: Option<Difference>) -> String {
        with_advice(kind, gain, standard_error, shape).0
    }

    /// The same with the method that it advises.
    fn with_advice(
        kind: Kind,
        gain: f64,
        standard_error: f64,
        shape: Option<Difference>,
    ) -> (String, Contestant) {
        let entry = |test: f64| {
            let (accuracy, alpha, ridge, spread) = (None, None, None, None);
            let metrics = RoleMeasures::default();
            Some(Entry {
                validation: test,
                test: Some(test),
                accuracy,
                metrics,
                alpha,
                ridge,
                spread,
            })
        };
        let shuffles = Spread { repeats: 5, min: 9.5, max: 10.5, deviation: 0.4 };
        let comparison = Comparison {
            local: entry(12.0),
            pooled: entry(11.0),
            shrunk: entry(10.0),
            network: entry(10.0 - gain),
            shuffled: Some(Entry { spread: Some(shuffles), ..entry(10.0).unwrap() }),
            ..Comparison::default()
        };
        let gain = Difference { gain, standard_error, degrees: 200.0, error: 10.0 };
        let verdict = Verdict { kind, rival: Contestant::Shrunk, gain, shape, better: 3, worse: 1 };
        let rows = "40 test rows".into();
        let text = VerdictText {
            verdict: Some(&verdict),
            comparison: &comparison,
            main: Contestant::Network,
            nodes: 4,
            rows,
            is_quick: false,
            pooled: "pooled",
        };
        (text.sentence(), advised(&verdict, text.main))
    }

    #[test]
    fn no_sentence_says_more_than_its_numbers() {
        let undecided = |gain, error| sentence(Kind::Undecided, gain, error);
        let unconfirmed = undecided(0.3, 0.2);
        assert!(unconfirmed.starts_with("Your network seems 3.00 % better"), "{unconfirmed}");
        assert!(unconfirmed.contains("40 test rows cannot confirm it"), "{unconfirmed}");
        assert!(unconfirmed.contains("(shrunk; 0.300 ± 0.200 less)"), "{unconfirmed}");
        let small = undecided(0.08, 0.015);
        assert!(small.contains("is 0.800 % better"), "{small}");
        assert!(small.contains("that it is 1 % or more is not confirmed"), "{small}");
        let nothing = undecided(0.001, 0.002);
        assert!(nothing.starts_with("Your network does not help here, it adds less"), "{nothing}");
        let worse = undecided(-0.3, 0.3);
        assert!(worse.starts_with("It is not confirmed that your network helps"), "{worse}");
        for kind in [Kind::Undecided, Kind::Coupling] {
            for (gain, error) in [(0.3, 0.2), (0.08, 0.015), (-0.3, 0.3)] {
                let said = sentence(kind, gain, error);
                assert!(!said.contains("does not") && !said.contains("use "), "{said}");
            }
        }
    }

    #[test]
    fn a_shape_is_said_to_add_nothing_only_where_that_was_found() {
        let shape = |gain, standard_error| {
            Some(Difference { gain, standard_error, degrees: 200.0, error: 10.0 })
        };
        let unsure = with_shape(Kind::Coupling, 1.0, 0.1, shape(1.0, 0.9));
        assert!(unsure.contains("40 test rows cannot confirm that its shape is why"), "{unsure}");
        assert!(unsure.contains("when its nodes are shuffled (1.00 ± 0.900 less)"), "{unsure}");
        // The best shuffle has 9.5, and the network 9.7.
        let beaten = with_shape(Kind::Coupling, 0.3, 0.01, shape(0.3, 0.9));
        assert!(beaten.contains("but 9.50 with the best of its shuffles"), "{beaten}");
        for said in [unsure, beaten] {
            assert!(!said.contains("does not") && !said.contains("use "), "{said}");
        }
        let same = with_shape(Kind::CouplingOnly, 0.0, 0.5, shape(0.0, 0.01));
        assert!(same.contains("but the shape of your network does not"), "{same}");
        assert!(same.contains("the same within 1 %"), "{same}");
    }

    #[test]
    fn the_method_that_is_advised_is_the_one_of_the_verdict() {
        assert!(sentence(Kind::Pooled, -0.3, 0.01).contains("use pooled: error 11.0"));
        assert!(sentence(Kind::Local, -0.3, 0.01).contains("use local: error 12.0"));
        let worse = sentence(Kind::CouplingOnly, -0.3, 0.01);
        assert!(worse.contains("helps, but less by your network than without it"), "{worse}");
        assert!(worse.ends_with("use shrunk."), "{worse}");
        let alike = sentence(Kind::CouplingOnly, -0.03, 0.01);
        assert!(alike.contains("helps, but your network adds less than 1 % to it"), "{alike}");
    }

    #[test]
    fn what_is_served_is_what_the_sentence_advises() {
        let same =
            Some(Difference { gain: 0.0, standard_error: 0.01, degrees: 200.0, error: 10.0 });
        let kinds = [Kind::Network, Kind::Hub, Kind::Coupling, Kind::CouplingOnly];
        let kinds = kinds.into_iter().chain([Kind::Pooled, Kind::Local, Kind::Undecided]);
        for (kind, shape) in kinds.flat_map(|kind| [(kind, None), (kind, same)]) {
            for gain in [0.3, -0.3] {
                let (said, advised) = with_advice(kind, gain, 0.01, shape);
                let word = said.split("use ").nth(1).map(|rest| {
                    let is_end = |letter: char| !letter.is_alphanumeric();
                    rest.split(is_end).next().unwrap_or_default().to_string()
                });
                let word = word.unwrap_or_else(|| "network".into());
                assert_eq!(word, advised.to_string(), "{said}");
            }
        }
    }
}

//! The verdict of a comparison in words. No sentence claims more than its numbers: what was not
//! confirmed is not said to be absent.

use fedgrid::compare::{Contestant, Difference, Kind, Verdict};

use crate::{
    number::{percent, significant},
    outcome::{Comparison, Entry},
};

/// What a sentence is made of.
pub(super) struct Found<'a> {
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
}

impl Found<'_> {
    /// The verdict in one sentence.
    pub(super) fn sentence(&self) -> String {
        match (self.main, self.verdict) {
            (main, _) if main.is_plain() => self.without_network(),
            (Contestant::Baseline(_), Some(verdict)) => self.of_hub(verdict),
            (Contestant::Baseline(baseline), None) => {
                let (name, own) = (baseline.name(), self.error(self.main));
                format!("The error of {name} is {own}; nothing was compared with it.")
            }
            (_, Some(verdict)) => self.of_network(verdict),
            (_, None) => {
                let own = self.error(self.main);
                format!("The network's error is {own}; nothing was compared with it.")
            }
        }
    }

    fn error(&self, contestant: Contestant) -> String {
        let entry = self.comparison.entry(contestant);
        entry.map_or_else(String::new, |entry| significant(entry.error()))
    }

    /// What shuffles add to a sentence: `, and 11.4 when its nodes are shuffled`.
    fn shuffles(&self) -> String {
        self.comparison.shuffled.as_ref().map_or_else(String::new, |entry| {
            format!(", and {} when its nodes are shuffled", significant(entry.error()))
        })
    }

    fn of_network(&self, verdict: &Verdict) -> String {
        let (network, rival) = (self.error(Contestant::Network), self.error(verdict.rival));
        let (name, shuffles) = (verdict.rival, self.shuffles());
        match verdict.kind {
            Kind::Network | Kind::Hub => {
                let (gaining, nodes) = (verdict.better, self.nodes);
                format!(
                    "Your network helps: error {network} against {rival} for the best method \
                     without it ({name}){shuffles}; {gaining} of {nodes} nodes gain."
                )
            }
            Kind::CouplingOnly if verdict.shape.is_some_and(|shape| shape.is_equivalent()) => {
                let shuffled = self.comparison.shuffled.as_ref().map(Entry::error);
                let advice =
                    if verdict.gain.gain > 0.0 { String::new() } else { format!("; use {name}") };
                format!(
                    "Coupling the nodes helps, but the shape of your network does not: error \
                     {network} with it and {} when its nodes are shuffled, the same within 1 %, \
                     against {rival} for the best method without it ({name}){advice}.",
                    shuffled.map_or_else(String::new, significant)
                )
            }
            Kind::CouplingOnly => format!(
                "Coupling the nodes helps, but your network adds less than 1 % to it: error \
                 {network} with it against {rival} for the best method without it ({name}; {})\
                 {shuffles}; use {name}.",
                difference(&verdict.gain)
            ),
            Kind::Coupling => format!("Coupling the nodes helps. {}", self.unconfirmed(verdict)),
            Kind::Pooled | Kind::Local => format!(
                "Your network does not help here; use {name}: error {rival} against {network} with \
                 the network ({}).",
                difference(&verdict.gain)
            ),
            Kind::Undecided => self.unconfirmed(verdict),
        }
    }

    /// What the rows could not confirm.
    fn unconfirmed(&self, verdict: &Verdict) -> String {
        let (network, rival) = (self.error(Contestant::Network), self.error(verdict.rival));
        let (name, shuffles, rows) = (verdict.rival, self.shuffles(), &self.rows);
        let errors = format!("error {network} with it against {rival} without it ({name}; {})", {
            difference(&verdict.gain)
        });
        if verdict.gain.is_clear() {
            let least = self.comparison.shuffled.as_ref().and_then(|entry| entry.spread.as_ref());
            let least = least.map_or_else(String::new, |spread| significant(spread.min));
            return format!(
                "That the shape of your network helps is not confirmed: {errors}, but {least} with \
                 the best of its shuffles."
            );
        }
        let share = verdict.gain.gain / verdict.gain.error;
        if share > 0.0 {
            let share = percent(share);
            return format!(
                "Your network seems {share} better than the best method without it, but {rows} \
                 cannot confirm it: {errors}{shuffles}."
            );
        }
        format!("It is not confirmed that your network helps: {errors}{shuffles}.")
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
                let (better, nodes) = (verdict.better, self.nodes);
                format!(
                    "{name} helps, without any network: error {own} against {against} for the \
                     best other method ({rival}); {better} of {nodes} nodes gain."
                )
            }
            Kind::CouplingOnly | Kind::Pooled | Kind::Local => {
                format!("{name} does not help here: {errors}; use {rival}.")
            }
            Kind::Coupling | Kind::Undecided => {
                format!("{rows} cannot confirm that {name} helps: {errors}.")
            }
        }
    }

    /// On a method that couples nobody by a network there is nothing to judge.
    fn without_network(&self) -> String {
        let (main, own) = (self.main, self.error(self.main));
        let rows = [Contestant::Local, Contestant::Pooled, Contestant::Shrunk];
        let others: Vec<String> = rows
            .into_iter()
            .filter(|other| *other != main && self.comparison.entry(*other).is_some())
            .map(|other| format!("{} for {other}", self.error(other)))
            .collect();
        if others.is_empty() {
            return format!("The error of {main} is {own}; nothing was compared with it.");
        }
        format!(
            "The error of {main} is {own}, against {}; no network was tried.",
            others.join(" and ")
        )
    }
}

/// A difference with its standard error: `by 0.62 ± 0.15`.
fn difference(difference: &Difference) -> String {
    let Difference { gain, standard_error, .. } = difference;
    let side = if *gain < 0.0 { "more" } else { "less" };
    let spread = if standard_error.is_finite() {
        format!(" ± {}", significant(*standard_error))
    } else {
        String::new()
    };
    format!("{}{spread} {side}", significant(gain.abs()))
}

//! What a site is left with: its own models, its own run folder, its own page.

use std::{path::Path, sync::Arc};

use fedgrid::{
    compare::{Certificate, Fitted, Strength},
    method::{Tally, TriedStrength},
    model::Hypothesis,
    network::{Edge, NodeId},
};
use fedgrid_zenoh::{agent::Status, site_bundle::SiteBundle};

use super::{
    host::{SiteHost, SiteModels},
    releases::NodeReleases,
    share,
    verdict::{AloneModels, SiteVerdict},
};
use crate::{
    command::clock::today,
    terminal::{Terminal, table},
};
use fedgrid_lab::{
    assembly::Assembly,
    error::{Error, Result},
    experiment::Experiment,
    number::counted,
    outcome::{FederationOutcome, Help, Outcome},
    pipeline::{Found, Heading, Pipeline},
    printed,
    probes::help,
    readings,
    run::{Existing, KeptMethods, RunFolder, to_json_pretty},
    theory::Theory,
};

/// The residual at which strengths are told apart, at least.
const AT_REST: f64 = 1e-4;

/// What the agent has left.
pub(super) struct Learnt {
    pub(super) hypotheses: Vec<Arc<dyn Hypothesis>>,
    /// Who was asked for a step, by PersFL.
    pub(super) tallies: Vec<Tally>,
    /// The strength that the federation has found.
    pub(super) strength: Option<f64>,
    /// The strengths that it has tried to find that.
    pub(super) tried: Vec<TriedStrength>,
    pub(super) converged: bool,
    pub(super) status: Status,
}

impl Learnt {
    fn certificate(&self, experiment: &Experiment) -> Certificate {
        if experiment.method.approach.facts().asks_and_answers {
            return Certificate::of_iterations();
        }
        if experiment.method.approach.facts().is_led {
            let kind = "maximum of the likelihood".into();
            return Certificate { kind, value: 0.0, converged: self.converged, reason: None };
        }
        let certified = self.status.gap.is_some();
        let kind = if certified { "this site's part of the gap" } else { "fixed-point residual" };
        Certificate {
            kind: kind.into(),
            value: self.status.gap.unwrap_or(self.status.residual),
            converged: self.converged,
            reason: None,
        }
    }
}

/// A site once training has ended.
pub(super) struct Ended {
    /// Its own nodes only.
    pub(super) site: Assembly,
    pub(super) alone: AloneModels,
    /// The models of the federation.
    pub(super) hypotheses: Vec<Arc<dyn Hypothesis>>,
}

/// A site's run.
pub(super) struct SiteRun<'a> {
    pub(super) bundle: &'a SiteBundle,
    pub(super) experiment: &'a Experiment,
    pub(super) assembly: &'a Assembly,
    pub(super) own: &'a [NodeId],
    /// What they have released; none where rows are not private.
    pub(super) releases: Option<&'a NodeReleases>,
    pub(super) title: String,
    pub(super) out: &'a Path,
    pub(super) share: bool,
    pub(super) host: &'a dyn SiteHost,
}

impl SiteRun<'_> {
    /// The site as training has left it.
    pub(super) fn ended(&self, learnt: &Learnt) -> Result<Ended> {
        let mut site = self.assembly.of_nodes(self.own)?;
        if self.experiment.is_tuned_at_sites() {
            // From here on it is a strength like one that was given.
            site.study.settings.alpha = learnt.strength;
        }
        let alone = AloneModels::new(&site.study)?;
        let mut hypotheses = learnt.hypotheses.clone();
        let network = &self.assembly.study.network;
        alone.replace_isolated(&mut hypotheses, |index| {
            network.neighbours(self.own[index]).is_empty()
        });
        Ok(Ended { site, alone, hypotheses })
    }

    /// Writes the folder and says how it went.
    pub(super) fn finish(
        &self,
        learnt: &Learnt,
        (ended, found): (Ended, Option<FederationOutcome>),
        seconds: f64,
        terminal: Terminal,
    ) -> Result<()> {
        let Ended { mut site, alone, hypotheses } = ended;
        let tuned = self.experiment.is_tuned_at_sites();
        let verdict = SiteVerdict::new(&site.study, alone, &hypotheses, &learnt.tried)?;
        let certificate = learnt.certificate(self.experiment);
        let mut fitted =
            Fitted::elsewhere(hypotheses, certificate, "rounds of messages between sites");
        fitted.strength = learnt.strength;
        // The nodes of other sites pull, too.
        let pulled = &self.assembly.study;
        let alpha = site.study.settings.alpha.unwrap_or(0.0);
        let strength = Strength { alpha, ridge: None };
        fitted.weak = pulled.weak_pulls(strength).of_nodes(self.own);
        // The federation has its end: nothing can be fitted again without some of the rows.
        fitted.unseen = site.study.residuals(&fitted, None)?;
        verdict.notes(&mut site);
        site.notes.extend(tuned.then(|| self.chosen(learnt)));
        site.notes.extend(self.spent(&learnt.tallies));
        site.notes.extend(self.helpers(&learnt.tallies));
        site.notes.extend(self.kept_by_host(&site, &fitted.hypotheses)?);
        let mut experiment = self.experiment.clone();
        // Baselines would need rows of other sites.
        experiment.compare.enabled = false;
        let pipeline = Pipeline { experiment: &experiment, assembly: &site };
        let mut outcome = pipeline.outcome(&verdict.cards, &fitted, seconds);
        verdict.tell(&mut outcome, found);
        self.limit_theory(&mut outcome);
        (outcome.rounds, outcome.bytes) = (
            usize::try_from(learnt.status.round).unwrap_or(usize::MAX),
            usize::try_from(learnt.status.sent_bytes).unwrap_or(usize::MAX),
        );
        let text = experiment.to_text();
        let folder =
            RunFolder::open(self.out, (&text, &self.title), site.fingerprint, Existing::Replace)?;
        let helps = self.helps(&learnt.tallies);
        let date = today();
        let heading = Heading { title: &self.title, date: Some(&date), experiment: &text };
        let (cards, others) = (&verdict.cards, &[]);
        let found = Found { outcome: &outcome, cards, fitted: &fitted, others, helps: &helps };
        let page = pipeline.page(&heading, &found);
        let names = &self.bundle.manifest.nodes;
        folder.write_probes(&learnt.tallies, |node| &names[node].name)?;
        folder.finish(&site, &KeptMethods::only(&fitted), &outcome, &page)?;
        if self.share {
            let path = self.out.join("share.txt");
            let text = share::signed(self.bundle, &outcome);
            std::fs::write(&path, text).map_err(|error| Error::file("write", &path, &error))?;
        }
        self.tell(&outcome, seconds, terminal);
        Ok(())
    }

    /// What the program that runs this site has kept of its models, in words.
    fn kept_by_host(
        &self,
        site: &Assembly,
        learnt: &[Arc<dyn Hypothesis>],
    ) -> Result<Option<String>> {
        let models = site.study.for_table(learnt);
        let (about, names) = (&site.about, site.study.network.names());
        self.host.keep(SiteModels { folder: self.out, about, names, models })
    }

    /// Says what was found.
    fn tell(&self, outcome: &Outcome, seconds: f64, terminal: Terminal) {
        terminal.say(&format!("{}\n", table(outcome)));
        if let Some(table) = printed::federation(outcome) {
            terminal.say(&format!("{table}\n"));
        }
        if let Some(line) = readings::line(outcome) {
            terminal.say(&format!("{line}\n"));
        }
        for warning in &outcome.warnings {
            terminal.say(&format!("Warning: {warning}\n"));
        }
        terminal.say(&format!("{}\n", outcome.verdict));
        let report = self.out.join("report.html");
        terminal.say(&format!("Report: {} ({seconds:.1} s)", report.display()));
        terminal.give(&to_json_pretty(outcome));
    }

    /// How all sites have chosen their strength.
    fn chosen(&self, learnt: &Learnt) -> String {
        let tolerance = self.experiment.method.run.tolerance.max(AT_REST);
        let unfinished = learnt.tried.iter().filter(|tried| tried.residual > tolerance).count();
        let judged = match unfinished {
            0 => String::new(),
            some => format!("; {some} of them were judged before they were at rest"),
        };
        format!(
            "All sites chose {} together, of {} that they tried, by the mean error on the validation rows of \
             all{judged}.",
            self.experiment.method.strength_name(),
            counted(learnt.tried.len(), "strength")
        )
    }

    /// Bounds are about all nodes of a network: without those of other sites they would be wrong.
    fn limit_theory(&self, outcome: &mut Outcome) {
        let outside = |edge: &Edge| {
            let own = |node| self.own.binary_search(&node).is_ok();
            own(edge.source) != own(edge.target)
        };
        if let Some(theory) = &mut outcome.theory
            && self.assembly.study.network.edges().iter().any(outside)
        {
            let warning = "bounds are about all nodes of a network, and a site knows only its own";
            let norm = std::mem::take(&mut theory.norm);
            *theory = Theory { norm, warnings: vec![warning.into()], ..Theory::default() };
        }
    }

    /// Who of this site's nodes helps whom of them.
    fn helps(&self, tallies: &[Tally]) -> Vec<Help> {
        let index = |node: NodeId| self.own.binary_search(&node).ok();
        let inside = |help: Help| {
            let (learner, helper) = (index(help.learner)?, index(help.helper)?);
            Some(Help { learner, helper, ..help })
        };
        tallies.iter().filter_map(help).filter_map(inside).collect()
    }

    /// Which nodes of other sites helped most, if any did.
    fn helpers(&self, tallies: &[Tally]) -> Option<String> {
        let name = |node: NodeId| self.bundle.manifest.nodes[node].name.as_str();
        let outside = |help: &Help| self.own.binary_search(&help.helper).is_err();
        let mut helps: Vec<Help> = tallies.iter().filter_map(help).filter(outside).collect();
        // Only those who were kept and did help are worth naming.
        helps.retain(|help| help.kept && help.reward > 0.0);
        helps.sort_by(|a, b| b.reward.total_cmp(&a.reward));
        let named = |help: &Help| {
            let reward = fedgrid_lab::number::significant(help.reward);
            format!("'{}' to '{}' ({reward})", name(help.helper), name(help.learner))
        };
        let named: Vec<String> = helps.iter().take(3).map(named).collect();
        (!named.is_empty()).then(|| {
            format!(
                "Of the nodes of other sites, most helpful were {}; the number is the mean fraction \
                 by which one step lowered the learner's loss. probes.csv has all pairs.",
                named.join(", ")
            )
        })
    }

    /// Whose budget of probes ran out, if anyone's.
    fn spent(&self, tallies: &[Tally]) -> Option<String> {
        let name = |node: NodeId| self.bundle.manifest.nodes[node].name.as_str();
        let of = |tally: &Tally| (tally.budget_spent, name(tally.candidate), name(tally.target));
        let spent = tallies.iter().filter(|tally| tally.budget_spent > 0).map(of);
        let (count, candidate, target) = spent.clone().max_by_key(|&(count, ..)| count)?;
        let refused: usize = tallies.iter().map(|tally| tally.budget_spent).sum();
        let asked: usize = tallies.iter().map(|tally| tally.probes).sum();
        Some(format!(
            "Budgets of probes ran out for {} of {} pairs of nodes; {refused} of {asked} questions of \
             this site's nodes were refused, {count} of them by '{candidate}' to '{target}'. A node \
             answers half as many questions as would give away its rows, over all runs.",
            spent.count(),
            tallies.len(),
        ))
    }
}

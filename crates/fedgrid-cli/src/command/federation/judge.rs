//! What follows training where a federation judges itself, by the same kit and over links that are kept:
//!
//! ```text
//! stage 0          training, as without it
//! stages 1 … N     the same on networks with shuffled nodes, if federation.shuffles allows them
//! stage N + 1      sums over test rows along the network, and the verdict back to all
//! ```

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc, time::Instant};

use fedgrid::{
    compare::{JudgedBy, Judging, Learned},
    method::Inquiry,
    model::Hypothesis,
    network::{Network, NodeId},
    observe::Stop,
    runtime::protocol::{ProtocolSettings, RoundMode},
};
use fedgrid_zenoh::{
    agent::{self, Options, Stage, Status, network_of},
    manifest::Manifest,
};

use super::{
    host::SiteHost,
    join::{OwnNodes, learn},
    judge_plan::{judged_by, judges, shuffled},
    refused,
    report::{Ended, Learnt, SiteRun},
    tell::Tell,
};
use crate::terminal::{Terminal, is_interrupted};
use fedgrid_lab::{
    error::Result,
    experiment::Experiment,
    outcome::FederationOutcome,
    summary::{Judged, federation},
};

/// Training, and the runs of a federation after it.
pub(super) struct Stages<'a> {
    pub(super) run: &'a SiteRun<'a>,
    /// Those of training.
    pub(super) options: &'a Options,
}

/// What came of it.
enum Found {
    /// The federation does not judge itself.
    Nothing,
    /// This site was told to stop before.
    Stopped,
    Verdict(Box<FederationOutcome>),
}

/// The edges of a network as a manifest has them.
fn edges(network: &Network) -> Vec<(u32, u32, f64)> {
    let number = |node: NodeId| u32::try_from(node).unwrap_or(u32::MAX);
    network.edges().iter().map(|e| (number(e.source), number(e.target), e.weight)).collect()
}

/// The manifest with the edges of all stages, by which links are kept.
fn linked(manifest: &Manifest, shuffled: &[Network]) -> Manifest {
    let ordered = |(a, b, weight): (u32, u32, f64)| ((a.min(b), a.max(b)), weight);
    let more = shuffled.iter().flat_map(edges);
    let all: BTreeMap<(u32, u32), f64> =
        manifest.edges.iter().copied().chain(more).map(ordered).collect();
    let edges = all.into_iter().map(|((a, b), weight)| (a, b, weight)).collect();
    Manifest { edges, ..manifest.clone() }
}

/// The stage of training itself; that of a federation that does not judge is its only one.
pub(super) fn training_stage(experiment: &Experiment, manifest: &Manifest) -> Result<Stage> {
    let network = &network_of(manifest).map_err(refused)?;
    if !judges(experiment, network) {
        return Ok(Stage::default());
    }
    let links = Some(linked(manifest, &shuffled(experiment, network)));
    Ok(Stage { number: 0, has_next: true, links })
}

impl Stages<'_> {
    /// Trains, goes through all stages after that, and writes the site's run; false if it was told to stop before.
    pub(super) fn all(
        &self,
        (tell, host): (&mut Tell, &dyn SiteHost),
        (begun, terminal): (Instant, Terminal),
    ) -> Result<bool> {
        let SiteRun { bundle, assembly, .. } = self.run;
        let learnt = learn(bundle, assembly, self.own_rounds(), self.options, (&mut *tell, host))?;
        let Some(learnt) = learnt else { return Ok(false) };
        let ended = self.run.ended(&learnt)?;
        let found = match self.judged(&ended, (tell, host), terminal)? {
            Found::Nothing => None,
            Found::Verdict(found) => Some(*found),
            Found::Stopped => return Ok(false),
        };
        let seconds = begun.elapsed().as_secs_f64();
        self.run.finish(&learnt, (ended, found), seconds, terminal)?;
        Ok(true)
    }

    /// The nodes here, what they have released, and how many rounds choosing the strength may take.
    fn own_rounds(&self) -> OwnNodes<'_> {
        OwnNodes {
            own: self.run.own,
            tuning_rounds: self.run.experiment.federation.tuning_rounds.unwrap_or(0),
            releases: self.run.releases,
        }
    }

    /// Goes through all stages after training.
    fn judged(
        &self,
        ended: &Ended,
        (tell, host): (&mut Tell, &dyn SiteHost),
        terminal: Terminal,
    ) -> Result<Found> {
        let network = &self.run.assembly.study.network;
        if !judges(self.run.experiment, network) {
            return Ok(Found::Nothing);
        }
        let networks = shuffled(self.run.experiment, network);
        let mut over_shuffles = Vec::new();
        for (number, shuffled) in networks.iter().enumerate() {
            terminal.say(&format!(
                "Training on the network with shuffled nodes, {} of {}",
                number + 1,
                networks.len()
            ));
            let learnt = self.shuffle(number, shuffled, (&mut *tell, host))?;
            let Some(learnt) = learnt else { return Ok(Found::Stopped) };
            let mut hypotheses = learnt.hypotheses;
            ended.alone.replace_isolated(&mut hypotheses, |index| {
                shuffled.neighbours(self.run.own[index]).is_empty()
            });
            over_shuffles.push(hypotheses);
        }
        terminal.say("Judging with all other sites whether the network helped");
        self.verdict(ended, over_shuffles, (tell, host))
    }

    /// The options of a stage.
    fn options(&self, number: usize, has_next: bool, protocol: ProtocolSettings) -> Options {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let stage = Stage { number, has_next, ..self.options.stage.clone() };
        Options { stage, protocol, ..self.options.clone() }
    }

    fn shuffle(
        &self,
        number: usize,
        network: &Network,
        told: (&mut Tell, &dyn SiteHost),
    ) -> Result<Option<Learnt>> {
        let mut assembly = self.run.assembly.clone();
        assembly.study.network = network.clone();
        let mut options = self.options(number + 1, true, self.options.protocol);
        options.method = format!("{} shuffle", self.options.method);
        let bundle = options.stage.of(self.run.bundle, edges(network));
        learn(&bundle, &assembly, self.own_rounds(), &options, told)
    }

    fn verdict(
        &self,
        ended: &Ended,
        shuffled: Vec<Vec<Arc<dyn Hypothesis>>>,
        (tell, host): (&mut Tell, &dyn SiteHost),
    ) -> Result<Found> {
        let study = &self.run.assembly.study;
        let by = judged_by(self.run.experiment, study.averages_weights());
        let last = shuffled.len() + 1;
        let learned = Learned {
            local: ended.alone.everywhere(&ended.site.study)?,
            network: ended.hypotheses.clone(),
            shuffled,
        };
        let judging = Arc::new(Judging::new(study.clone(), self.run.own, learned, by)?);
        let inquiry = Inquiry::new(&study.network, judging.clone())?;
        let protocol = ProtocolSettings {
            mode: RoundMode::Synchronous,
            stop: Stop { tolerance: 0.0, rounds: inquiry.rounds() },
            check_every: 0,
            ..self.options.protocol
        };
        let mut options = self.options(last, false, protocol);
        options.method = "verdict".into();
        let bundle = options.stage.of(self.run.bundle, self.run.bundle.manifest.edges.clone());
        let views = study.network.views(study.nodes(None))?;
        let views =
            views.into_iter().filter(|view| self.run.own.binary_search(&view.node.id).is_ok());
        let mut report = |status: &Status| {
            tell.show(status);
            if is_interrupted() || host.is_stopped() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let outcome = agent::run(&bundle, &inquiry, views.collect(), &options, &mut report);
        tell.end();
        let outcome = outcome.map_err(refused)?;
        let mut nodes = outcome.process.participants();
        let heard = nodes.next().map(|(_, own)| own.conclusions()).filter(|_| outcome.finished);
        let Some(conclusions) = heard else { return Ok(Found::Stopped) };
        let shrunk_pull = judging.shrunk_pull(conclusions);
        let judged = Judged {
            names: ended.site.study.network.names(),
            joint: judging.verdict(conclusions)?,
            shrunk_pull,
            untried_shrunk: self.untried_shrunk(by, shrunk_pull),
            scores: judging.scores(conclusions, &study.plan.test)?,
        };
        Ok(Found::Verdict(Box::new(federation(&judged))))
    }

    /// Why no node was pulled to the mean model.
    fn untried_shrunk(&self, by: JudgedBy, pull: Option<f64>) -> Option<&'static str> {
        if self.run.experiment.federation.own_models {
            return Some(
                "sites bring models of their own, and each pull would be a fit of every one of them",
            );
        }
        if !by.tries_shrunk {
            return Some("no rows were held back to choose the pull on");
        }
        pull.is_none().then_some("no node has five validation rows or more to choose the pull on")
    }
}

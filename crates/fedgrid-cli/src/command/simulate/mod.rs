//! `fedgrid simulate`: the same experiment as a federation in which things go wrong, by seed.

mod flags;
mod report;

use std::{path::PathBuf, sync::Arc};

use clap::{Args, ValueEnum};
use fedgrid::{
    algebra::{dot, squared_distance},
    compare::{Place, RunsFederated, Study, TuningBudget},
    method::{Durable, Method},
    model::Hypothesis,
    network::{Network, Node, View, partition},
    observe::Stop,
    runtime::{
        InProcess, Layout,
        protocol::{ProtocolSettings, RoundMode},
        simulator::Simulation,
    },
};
use flags::FaultFlags;
use rayon::prelude::*;
use report::{Against, Ended, SimulationReport};

use crate::terminal::Terminal;
use fedgrid_lab::{
    assembly::Assembly,
    error::{Error, Result},
    experiment::{Experiment, MethodSection},
    run::to_json_pretty,
};

/// The strength where the experiment leaves it to validation rows.
// What goes wrong is simulated, not what is learnt: any strength that couples the nodes will do.
const DEFAULT_ALPHA: f64 = 0.1;

/// How near the fault-free optimum is sought.
// Far below the distances that faults leave.
const OPTIMUM_STOP: Stop = Stop { tolerance: 1e-12, rounds: 20_000 };

/// Arguments of `fedgrid simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid simulate examples/colorado/colorado.toml --set method.kind=fedrelax \\
      --loss 0.3 --crash 0.01 --partition 100..400 --seeds 100
  fedgrid simulate examples/colorado/colorado.toml --set method.kind=gtv \\
      --mode asynchronous --loss 0.9 --delay 20")]
pub(super) struct Simulate {
    /// The experiment file.
    experiment: PathBuf,

    /// Override any key of the experiment, such as method.alpha=0.1.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,

    /// How many seeds to run.
    #[arg(long, value_name = "N", default_value_t = 10)]
    seeds: u64,

    /// The first seed.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many processes share the nodes; by default each node has its own.
    #[arg(long, value_name = "N")]
    processes: Option<usize>,

    /// Whether rounds wait for all neighbours, or go on with their latest messages.
    #[arg(long, value_enum, default_value_t = ModeFlag::Synchronous)]
    mode: ModeFlag,

    /// In asynchronous mode: for how many rounds a message may be used; by default for ever.
    #[arg(long, value_name = "ROUNDS")]
    staleness: Option<u64>,

    /// After how many rounds a state is kept.
    #[arg(long, value_name = "ROUNDS", default_value_t = 1)]
    keep: u64,

    /// After how many ticks whoever has not finished is stuck.
    #[arg(long, value_name = "TICKS", default_value_t = 100_000)]
    deadline: u64,

    /// Let the nodes choose the strength together, as sites do where it is "auto".
    #[arg(long)]
    tune: bool,

    #[command(flatten)]
    faults: FaultFlags,
}

/// How rounds go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeFlag {
    Synchronous,
    Asynchronous,
}

impl ModeFlag {
    fn name(self) -> &'static str {
        match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        }
    }
}

impl Simulate {
    pub(super) fn run(&self, terminal: Terminal) -> Result<()> {
        let (mut table, base, source) = Experiment::opened(Some(&self.experiment))?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let note = MethodSection::name_at_sites(&mut table);
        let source = if self.set.is_empty() { source } else { String::new() };
        let experiment = Experiment::from_table(table, &source)?;
        if experiment.privacy.is_some() {
            return Err(Error::input(
                "there is a section [privacy], which simulated federations do not have: their nodes would publish models \
                 of rows as they are",
            ));
        }
        let study = Assembly::new(&experiment, &base)?.study;
        // Before any seed runs: flags are wrong for all of them alike.
        self.faults.faults().check()?;
        let (method, kind) = (&study.settings.method, experiment.method.name());
        let (given, is_estimated) = (study.settings.alpha, method.estimates_strength());
        let usual = (!is_estimated && !self.tune).then_some(DEFAULT_ALPHA);
        let strength = given.or(usual);
        let facts = method.facts();
        if facts.asks_and_answers || facts.is_led {
            self.check_turns(kind)?;
        }
        let nodes = study.nodes(None);
        let Some(at_sites) = method.at_sites().filter(|_| !experiment.method.is_chosen) else {
            return Err(Error::input(format!(
                "method.kind is \"{kind}\", expected fedrelax, gtv, mixed or persfl, which exchange \
                 messages without a hub"
            )));
        };
        let mut stop = method.stop(study.settings.runtime.stop);
        at_sites.check_models(study.task(), &study.models).map_err(Error::input)?;
        let (network, scales) = (&study.network, study.scales.as_ref());
        let federated = if self.tune {
            let rounds = self.tuning_rounds(&experiment, network)?;
            stop.rounds = stop.rounds.saturating_add(usize::try_from(rounds).unwrap_or(usize::MAX));
            study.at_sites(&(0..network.len()).collect::<Vec<_>>(), rounds)?
        } else {
            at_sites.federated(strength, Place { network, nodes: &nodes, scales })?
        };
        let report = federated.apply(Simulated { flags: self, study: &study, nodes, stop })?;
        let chosen = given.is_none() && !is_estimated && !self.tune;
        if let Some(note) = note {
            terminal.say(&note);
        }
        terminal.say(&report.text(kind, strength, chosen));
        if terminal.json {
            terminal.give(&to_json_pretty(&report.json(kind, strength)));
        }
        Ok(())
    }

    /// How many rounds choosing the strength may take.
    fn tuning_rounds(&self, experiment: &Experiment, network: &Network) -> Result<u64> {
        let refused = |found: &str, expected: &str| {
            Err(Error::input(format!("--tune is given, but {found}; expected {expected}")))
        };
        let key = experiment.method.strength_name();
        if !experiment.is_tuned_at_sites() {
            let found = format!("{key} is not left to validation rows");
            return refused(&found, "fedrelax or gtv with the strength \"auto\"");
        }
        if self.mode == ModeFlag::Asynchronous {
            return refused(
                "--mode is asynchronous",
                "synchronous: all go from strength to strength at once",
            );
        }
        match TuningBudget::of(network, &*experiment.method.approach, experiment.compare.quick) {
            Some(budget) => Ok(experiment.federation.tuning_rounds.unwrap_or(budget.most_rounds)),
            None => refused("the network falls apart", "one in which all nodes are joined"),
        }
    }

    /// Refuses asynchronous rounds for probes, and for methods that one node leads.
    fn check_turns(&self, kind: &str) -> Result<()> {
        let why = match kind {
            "mixed" => "sums are of nodes that all do what one of them asks, in the same round",
            _ => {
                "an answer is to the question of the round before, and a late one would be scored \
                 against weights that have moved on"
            }
        };
        match self.mode {
            ModeFlag::Synchronous => Ok(()),
            ModeFlag::Asynchronous => Err(Error::input(format!(
                "--mode is asynchronous, expected synchronous for method.kind = \"{kind}\": {why}"
            ))),
        }
    }

    /// Ends of the method under faults, beside its optimum; beside its run without faults if rounds
    /// lead to no optimum.
    fn simulated<M>(
        &self,
        method: &M,
        study: &Study,
        nodes: Vec<Node>,
        stop: Stop,
    ) -> Result<SimulationReport>
    where
        M: Method<Participant: Durable>,
    {
        let network = &study.network;
        let layout = match self.processes {
            None => Layout::apart(network)?,
            Some(count) => Layout::new(network, &partition(network, count)?)?,
        };
        let views = network.views(nodes)?;
        let settings = self.settings(stop);
        let undisturbed = InProcess { stop: settings.stop, ..InProcess::default() };
        let undisturbed = undisturbed.run(method, views.clone())?.hypotheses;
        // What ends after a number of rounds whatever they bring, such as probing, has no optimum.
        let optimum = (stop.tolerance >= 0.0)
            .then(|| {
                InProcess { stop: OPTIMUM_STOP, ..InProcess::default() }.run(method, views.clone())
            })
            .transpose()?
            // A run that has not converged is no optimum to be away from.
            .filter(|run| run.converged);
        let against = if optimum.is_some() { Against::Optimum } else { Against::Undisturbed };
        let reference = optimum.map_or_else(|| undisturbed.clone(), |run| run.hypotheses);
        let faults = self.faults.faults();
        let simulation = Simulation {
            faults: &faults,
            deadline: self.deadline,
            ..Simulation::new(method, &views, &layout).with_settings(settings)
        };
        let seeds: Vec<u64> = (self.seed..self.seed.saturating_add(self.seeds)).collect();
        let ended: Vec<Ended> = seeds
            .into_par_iter()
            // Seeds are independent, and each is one trace on any number of cores.
            .map(|seed| {
                let outcome = simulation.run(seed)?;
                Ok(Ended {
                    seed,
                    distance: distance(&views, &outcome.hypotheses, &reference),
                    same_bits: stored(&outcome.hypotheses) == stored(&undisturbed),
                    outcome,
                })
            })
            .collect::<Result<_>>()?;
        let (nodes, processes, cut) = (network.len(), layout.assignments().len(), layout.cut());
        Ok(SimulationReport { nodes, processes, cut, mode: self.mode, against, seeds: ended })
    }

    fn settings(&self, stop: Stop) -> ProtocolSettings {
        // Checking after the very round in which one process would stop gives the same end.
        let (mode, check_every) = match self.mode {
            ModeFlag::Synchronous => (RoundMode::Synchronous, 1),
            ModeFlag::Asynchronous => (RoundMode::Asynchronous { staleness: self.staleness }, 10),
        };
        ProtocolSettings {
            mode,
            stop,
            check_every,
            checkpoint_every: self.keep,
            ..ProtocolSettings::default()
        }
    }
}

/// A method is simulated.
struct Simulated<'a> {
    flags: &'a Simulate,
    study: &'a Study,
    nodes: Vec<Node>,
    stop: Stop,
}

impl RunsFederated for Simulated<'_> {
    type Output = Result<SimulationReport>;

    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Result<SimulationReport> {
        self.flags.simulated(method, self.study, self.nodes, self.stop)
    }
}

type NodeHypotheses = [Option<Arc<dyn Hypothesis>>];

fn stored(hypotheses: &NodeHypotheses) -> Vec<Option<fedgrid::model::Stored>> {
    hypotheses.iter().map(|one| one.as_ref().and_then(|one| one.save())).collect()
}

/// How far predictions on public points are apart, relative to their size; none if a node has none.
fn distance(views: &[View], found: &NodeHypotheses, best: &NodeHypotheses) -> Option<f64> {
    let (mut apart, mut size) = (0.0, 0.0);
    for ((view, found), best) in views.iter().zip(found).zip(best) {
        // Nothing determines such a node without faults either.
        let Some(best) = best else { continue };
        let (best, found) =
            (best.predict(&view.node.public), found.as_ref()?.predict(&view.node.public));
        apart += squared_distance(found.as_slice(), best.as_slice());
        size += dot(best.as_slice(), best.as_slice());
    }
    Some(if size > 0.0 { (apart / size).sqrt() } else { 0.0 })
}

//! `fedgrid federation join`: the agent of a site, from its kit and its own rows to its own models.

use std::{
    io::{IsTerminal, Write},
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use fedgrid::{
    compare::RunsFederated,
    method::{Durable, Method, Participant},
    model::Hypothesis,
    network::{NodeId, View},
    observe::Stop,
    runtime::protocol::{ProtocolSettings, RoundMode},
};
use fedgrid_zenoh::{
    agent::{self, Options, Phase, Status},
    site_bundle::SiteBundle,
};

use super::{
    kit::{self, Kit},
    new::SiteSettings,
    refused,
    report::{Learnt, SiteRun},
};
use crate::terminal::{Terminal, complain, is_interrupted};
use fedgrid_lab::{
    assembly::Assembly,
    error::{Error, Result},
    experiment::Experiment,
    run::{Existing, RunFolder},
};

/// After how many rounds all sites check together whether to stop: a check costs a round trip over the
/// whole tree of sites.
const CHECK_EVERY_ROUNDS: u64 = 10;

/// Arguments of `fedgrid federation join`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation join hospital-a --data rows.csv --health 8080")]
pub(in crate::command) struct Join {
    /// The kit: the folder that the project gave to this site.
    kit: PathBuf,

    /// The site's own rows: a CSV or Parquet file. They never leave this machine.
    #[arg(long, value_name = "FILE")]
    data: PathBuf,

    /// The folder of the run; by default runs/ and the names of experiment and site.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Where nodes that answer probes keep what they have answered, over all runs; by default ledgers/
    /// beside the folder of the run. Another folder gives every asker a new budget.
    #[arg(long, value_name = "DIR")]
    ledgers: Option<PathBuf>,

    /// Answer GET /health on this port of this machine.
    #[arg(long, value_name = "PORT")]
    health: Option<u16>,

    /// Listen here instead of at the address in the manifest, host:port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// Look for other sites on the local network, beside the addresses in the manifest.
    #[arg(long)]
    scouting: bool,

    /// Agree to share metrics (errors and counts of rows per node): writes share.txt for collect.
    #[arg(long)]
    share: bool,

    /// Replace an earlier finished run in that folder.
    #[arg(long)]
    force: bool,
}

impl Join {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let begun = Instant::now();
        // Before any link is tried: why one does not come up, Zenoh tells its log alone.
        fedgrid_zenoh::transport::watch_log();
        let kit = Kit::read(&self.kit)?;
        let (table, checked) = kit.table(&self.data)?;
        checked.refuse()?;
        let assembly = Assembly::at_site(&kit.experiment, &table, kit.common.clone(), &kit.own)?;
        // The study has its rows, and a run may go on for days.
        drop(table);
        kit::tell(terminal, &kit, &checked, false);
        let Kit { bundle, site, experiment, own, .. } = kit;
        let out = self.out.clone().unwrap_or_else(|| {
            PathBuf::from("runs").join(format!("{}-{}", site.title, bundle.name()))
        });
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        // An unfinished run in the folder is what this command goes on with.
        if RunFolder::is_finished(&out) {
            RunFolder::check(&out, existing)?;
        }
        let run = SiteRun {
            bundle: &bundle,
            experiment: &experiment,
            assembly: &assembly,
            own: &own,
            title: format!("{} at {}", site.title, bundle.name()),
            out: &out,
            share: self.share,
        };
        let options = self.options(&bundle, &site, &experiment, &out)?;
        let tuning_rounds = experiment.federation.tuning_rounds.unwrap_or(0);
        let learnt = learn(&bundle, &assembly, (&own, tuning_rounds), &options, terminal)?;
        if let Some(learnt) = learnt {
            return run.finish(&learnt, begun.elapsed().as_secs_f64(), terminal);
        }
        terminal.say("Stopped; its state is kept. The same command goes on.");
        Ok(())
    }

    fn options(
        &self,
        bundle: &SiteBundle,
        site: &SiteSettings,
        experiment: &Experiment,
        out: &Path,
    ) -> Result<Options> {
        let method = &experiment.method;
        // Choosing the strength has rounds of its own, before those of the method.
        let tuning = experiment.federation.tuning_rounds.filter(|_| experiment.is_tuned_at_sites());
        let tuning = usize::try_from(tuning.unwrap_or(0)).unwrap_or(usize::MAX);
        let rounds = method.run.rounds.saturating_add(tuning);
        let stop = Stop { tolerance: method.run.tolerance, rounds };
        let stop = method.approach.stop(stop);
        let mode = if site.asynchronous {
            RoundMode::Asynchronous { staleness: site.staleness }
        } else {
            RoundMode::Synchronous
        };
        let checkpoint_every = bundle.manifest.checkpoint_every;
        let protocol = ProtocolSettings {
            mode,
            stop,
            check_every: CHECK_EVERY_ROUNDS,
            checkpoint_every,
            ..ProtocolSettings::default()
        };
        std::fs::create_dir_all(out).map_err(|error| Error::folder(out, &error))?;
        // Beside the run, not in it: a budget outlives every run, and --force must not renew it.
        let beside = || out.parent().unwrap_or(Path::new("")).join("ledgers");
        Ok(Options {
            ledgers: self.ledgers.clone().unwrap_or_else(beside),
            health: self.health,
            listen: self.listen.clone(),
            scouting: self.scouting,
            tick: Duration::from_millis(site.tick),
            ..Options::new(out.join("state"), protocol)
        })
    }
}

/// Takes part to the end; none if it was stopped before.
fn learn(
    bundle: &SiteBundle,
    assembly: &Assembly,
    (own, tuning_rounds): (&[NodeId], u64),
    options: &Options,
    terminal: Terminal,
) -> Result<Option<Learnt>> {
    let study = &assembly.study;
    let views = study.network.views(study.nodes(None))?;
    let views = views.into_iter().filter(|view| own.binary_search(&view.node.id).is_ok());
    let views: Vec<View> = views.collect();
    // Methods and networks that cannot be here were refused when the federation was made.
    let federated = study.at_sites(own, tuning_rounds)?;
    federated.apply(Joined { bundle, views, options, terminal })
}

/// A site takes part in a method.
struct Joined<'a> {
    bundle: &'a SiteBundle,
    views: Vec<View>,
    options: &'a Options,
    terminal: Terminal,
}

impl RunsFederated for Joined<'_> {
    type Output = Result<Option<Learnt>>;

    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        run(self.bundle, method, self.views, self.options, self.terminal)
    }
}

fn run<M: Method<Participant: Durable>>(
    bundle: &SiteBundle,
    method: &M,
    views: Vec<View>,
    options: &Options,
    terminal: Terminal,
) -> Result<Option<Learnt>> {
    let mut line = StatusLine { terminal, last: None, phase: Phase::Starting, notice: None };
    let mut tell = |status: &Status| {
        line.show(status);
        if is_interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let outcome = agent::run(bundle, method, views, options, &mut tell).map_err(refused)?;
    line.end();
    if !outcome.finished {
        return Ok(None);
    }
    let hypotheses = outcome.process.participants().map(|(node, own)| {
        own.hypothesis().cloned().ok_or_else(|| {
            let name = &bundle.manifest.nodes[node].name;
            Error::input(format!("node '{name}' has no rows and got no message of a neighbour"))
        })
    });
    let hypotheses = hypotheses.collect::<Result<Vec<Arc<dyn Hypothesis>>>>()?;
    let tallies = outcome.process.participants().flat_map(|(_, own)| own.tallies().to_vec());
    Ok(Some(Learnt {
        tallies: tallies.collect(),
        strength: outcome.process.participants().find_map(|(_, own)| own.strength()),
        tried: outcome
            .process
            .participants()
            .next()
            .map_or_else(Vec::new, |(_, own)| own.tried_strengths().to_vec()),
        hypotheses,
        converged: outcome.converged,
        status: outcome.status,
    }))
}

/// The live line of a terminal; plain lines, now and then, elsewhere.
struct StatusLine {
    terminal: Terminal,
    last: Option<Instant>,
    phase: Phase,
    notice: Option<String>,
}

impl StatusLine {
    fn show(&mut self, status: &Status) {
        if self.terminal.quiet || self.terminal.json {
            return;
        }
        if std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", status.line());
            return;
        }
        // A log that grows by a line every status would hide the lines that matter.
        let is_due = self.last.is_none_or(|last| last.elapsed().as_secs() >= 10);
        if is_due || self.phase != status.phase || self.notice != status.notice {
            (self.last, self.phase) = (Some(Instant::now()), status.phase);
            self.notice.clone_from(&status.notice);
            complain(&status.line());
        }
    }

    fn end(&self) {
        if !self.terminal.quiet && !self.terminal.json && std::io::stderr().is_terminal() {
            let _ = writeln!(std::io::stderr());
        }
    }
}

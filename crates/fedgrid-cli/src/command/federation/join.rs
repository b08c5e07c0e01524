//! `fedgrid federation join`: the agent of a site, from its kit and its own rows to its own models.

use std::{
    fs,
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
    agent::{self, Options, Status, Updates},
    site_bundle::SiteBundle,
};

use super::{
    audit::AUDIT_FILE,
    host::{SiteAbout, SiteHost},
    judge::{Stages, training_stage},
    kit::{self, Kit},
    members,
    new::SiteSettings,
    one_thread,
    own_error::own_error,
    page, refused,
    releases::{NodeReleases, Terms, released},
    report::{Learnt, SiteRun},
    tell::{LogFormat, Tell},
};
use crate::{
    command::job::wrapped,
    terminal::{Terminal, is_interrupted},
};
use fedgrid_lab::{
    assembly::Assembly,
    error::{Error, Result},
    experiment::Experiment,
    run::{Existing, RunFolder},
    source::Table,
};

/// After how many rounds all sites check together whether to stop: a check costs a round trip over the
/// whole tree of sites.
const CHECK_EVERY_ROUNDS: u64 = 10;

/// Arguments of `fedgrid federation join`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation join hospital-a --data rows.csv --health 8080")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a command that do not exclude each other"
)]
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

    /// Serve a page that shows how it goes on this port of this machine, and GET /metrics for Prometheus; 0 takes any
    /// that is free.
    #[arg(long, value_name = "PORT")]
    page: Option<u16>,

    /// A private file (mode 0400 or 0600) whose only line is the token of the page; by default one is made in the
    /// folder of the run.
    #[arg(long, value_name = "FILE", requires = "page")]
    page_token: Option<PathBuf>,

    /// Write what happens as lines on standard error: text, or JSON.
    #[arg(long, value_name = "FORMAT")]
    log: Option<LogFormat>,

    /// Listen here instead of at the address in the manifest, host:port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,

    /// Look for other sites on the local network, beside the addresses in the manifest.
    #[arg(long)]
    scouting: bool,

    /// Agree to share metrics (errors and counts of rows per node): writes share.txt for collect.
    #[arg(long)]
    share: bool,

    /// With [privacy]: the ε that releases of the same rows may tell over all runs; by default that of this run.
    #[arg(long, value_name = "EPSILON")]
    most_epsilon: Option<f64>,

    /// With [privacy]: draw the noise from the seed of the experiment. It then protects nothing.
    #[arg(long)]
    rehearsal: bool,

    /// Replace an earlier finished run in that folder.
    #[arg(long)]
    force: bool,

    /// Rows have changed since the last run ended: begin the next one from what it has learnt. All sites do so. A run that
    /// is under way is gone on with.
    #[arg(long)]
    update: bool,

    /// For models from Python: do not measure what predictions of these nodes tell of single rows.
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    waive_floor: Vec<String>,
}

impl Join {
    pub(super) fn run(self, terminal: Terminal, host: &dyn SiteHost) -> Result<()> {
        let begun = Instant::now();
        // Before any link is tried: why one does not come up, Zenoh tells its log alone.
        fedgrid_zenoh::transport::watch_log();
        let mut kit = Kit::read(&self.kit)?;
        one_thread::ensure(&kit.bundle.manifest)?;
        let out = self.out.clone().unwrap_or_else(|| {
            PathBuf::from("runs").join(format!("{}-{}", kit.site.title, kit.bundle.name()))
        });
        let state = out.join("state");
        let sent = state.join(agent::SENT_MANIFEST);
        let watched = Arc::new(page::Watched::of(kit.bundle.name()));
        let mut told = Tell::new(terminal, self.log, Arc::clone(&watched));
        let (mut page, mut brought_rows) = (None, None);
        loop {
            kit = Kit::read_following(&self.kit, Some(&sent))?;
            let order = kit.bundle.manifest.order();
            let mut updates = self.updates(&kit, (&out, &state))?;
            kit.bundle.manifest.update(updates.count);
            let is_next = updates.count > 0 && !updates.is_done;
            let prepared =
                self.prepared(kit, &mut brought_rows, (&out, is_next), (terminal, host))?;
            // Only now: who has wrong rows has no page.
            if let (None, Some(port)) = (&page, self.page) {
                fs::create_dir_all(&out).map_err(|error| Error::folder(&out, &error))?;
                let token = self.page_token.as_deref();
                page = Some(page::serve(port, token, &state, &watched, terminal)?);
            }
            if prepared.takes_part(&self, &out, (&mut told, host), (begun, terminal))? {
                return updates.end().map_err(refused);
            }
            let newer = Kit::read_following(&self.kit, Some(&sent));
            // What is wrong with the newer one is said at the head of the loop.
            let is_newer = newer.map_or(true, |kit| kit.bundle.manifest.order() > order);
            if !is_newer || is_interrupted() || host.is_stopped() {
                break;
            }
            terminal.say("A newer manifest has come: this site goes on by it");
        }
        terminal.say("Stopped; its state is kept. The same command goes on.");
        // Who was told to stop by the project has done what it should; who was interrupted is to go on.
        if is_interrupted() || host.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// How often the rows have changed in this run, with the time that begins now if one does.
    fn updates(&self, kit: &Kit, (out, state): (&Path, &Path)) -> Result<Updates> {
        let mut updates = Updates::read(state, &kit.bundle.manifest.run).map_err(refused)?;
        let is_under_way = updates.count > 0 && !updates.is_done;
        if !self.update || is_under_way {
            return Ok(updates);
        }
        members::check(&kit.bundle.shared, "--update cannot begin from the last run")?;
        if !updates.is_done && !RunFolder::is_finished(out) {
            return Err(Error::input(format!(
                "'{}' holds no run that has ended; join without --update, and with it when rows have changed after that",
                out.display()
            )));
        }
        updates.begin().map_err(refused)?;
        Ok(updates)
    }

    /// Reads the rows of the site by its kit.
    fn prepared(
        &self,
        kit: Kit,
        brought_rows: &mut Option<Table>,
        (out, is_next): (&Path, bool),
        (terminal, host): (Terminal, &dyn SiteHost),
    ) -> Result<Prepared> {
        // Rows that another program has brought cannot be read again.
        *brought_rows = brought_rows.take().or_else(|| host.table(&kit.experiment));
        let (table, checked) = match &*brought_rows {
            Some(table) => kit.checked(table.clone()),
            None => kit.table(&self.data)?,
        };
        checked.refuse()?;
        let names = kit.common.network.names();
        let nodes = kit.own.iter().map(|&node| (node, names[node].as_str())).collect();
        let (experiment, about) = (&kit.experiment, &kit.common.about);
        let mut brought = host.models(&SiteAbout { experiment, about, nodes })?;
        brought.unmeasured.extend(self.waive_floor.iter().cloned());
        let brings_models = !brought.models.is_empty();
        if brings_models {
            terminal
                .say("Measuring what predictions of this site's own models tell of single rows");
        }
        let own = (&kit.own[..], brought);
        let assembly = Assembly::at_site(&kit.experiment, &table, kit.common.clone(), own)?;
        // The study has its rows, and a run may go on for days.
        drop(table);
        kit::tell(terminal, &kit, &checked, false);
        let of_models = |note: &&String| brings_models && !checked.notes.contains(note);
        for note in assembly.notes.iter().filter(of_models) {
            terminal.say(&wrapped(&format!("Note: {note}")));
        }
        let existing = if self.force { Existing::Replace } else { Existing::Refuse };
        // An unfinished run in the folder is what this command goes on with, and an update replaces what it begins from.
        if RunFolder::is_finished(out) && !is_next {
            RunFolder::check(out, existing)?;
        }
        let releases = self.releases(&kit, &assembly, out, terminal)?;
        Ok(Prepared { kit, assembly, releases })
    }

    /// What the nodes here release before they take part; none without a section of privacy.
    fn releases(
        &self,
        kit: &Kit,
        assembly: &Assembly,
        out: &Path,
        terminal: Terminal,
    ) -> Result<Option<NodeReleases>> {
        self.check_privacy(&kit.experiment)?;
        let terms = Terms {
            folder: &self.ledgers(out),
            run: kit.bundle.manifest.run.0,
            most_epsilon: self.most_epsilon,
            is_rehearsal: self.rehearsal,
        };
        released(assembly, &kit.own, &terms, terminal)
    }

    /// Refuses flags about a section that is not there, and what would tell more than it says.
    fn check_privacy(&self, experiment: &Experiment) -> Result<()> {
        match &experiment.privacy {
            None if self.rehearsal || self.most_epsilon.is_some() => Err(Error::input(
                "--rehearsal and --most-epsilon are for an experiment with a section [privacy], which this one is not",
            )),
            Some(_) if self.update => Err(Error::input(
                "the experiment has a section [privacy], whose releases are of the rows of its first run; expected no --update, \
                 but a new run for new rows",
            )),
            Some(_) if self.share => Err(Error::input(
                "the experiment has a section [privacy], and --share would tell errors on clean rows",
            )),
            _ => Ok(()),
        }
    }

    /// Beside the run, not in it: a budget outlives every run, and --force must not renew it.
    fn ledgers(&self, out: &Path) -> PathBuf {
        let beside = || out.parent().unwrap_or(Path::new("")).join("ledgers");
        self.ledgers.clone().unwrap_or_else(beside)
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
            // Members may come and go.
            keeps_bases: true,
            ..ProtocolSettings::default()
        };
        fs::create_dir_all(out).map_err(|error| Error::folder(out, &error))?;
        Ok(Options {
            ledgers: self.ledgers(out),
            health: self.health,
            listen: self.listen.clone(),
            scouting: self.scouting,
            tick: Duration::from_millis(site.tick),
            audit: Some(out.join(AUDIT_FILE)),
            method: method.approach.kind().name().into(),
            tells_error: self.share,
            stage: training_stage(experiment, &bundle.manifest)?,
            ..Options::new(out.join("state"), protocol)
        })
    }
}

/// A site with its rows, by one manifest.
struct Prepared {
    kit: Kit,
    assembly: Assembly,
    /// What its nodes have released; none where rows are not private.
    releases: Option<NodeReleases>,
}

impl Prepared {
    /// Takes part, to the end or until it is told to stop; whether to the end.
    fn takes_part(
        &self,
        join: &Join,
        out: &Path,
        (told, host): (&mut Tell, &dyn SiteHost),
        (begun, terminal): (Instant, Terminal),
    ) -> Result<bool> {
        let Kit { bundle, site, experiment, own, .. } = &self.kit;
        let run = SiteRun {
            bundle,
            experiment,
            assembly: &self.assembly,
            own,
            releases: self.releases.as_ref(),
            title: format!("{} at {}", site.title, bundle.name()),
            out,
            share: join.share,
            host,
        };
        let options = join.options(bundle, site, experiment, out)?;
        Stages { run: &run, options: &options }.all((told, host), (begun, terminal))
    }
}

/// The nodes of a site.
pub(super) struct OwnNodes<'a> {
    pub(super) own: &'a [NodeId],
    /// How many rounds choosing the strength may take.
    pub(super) tuning_rounds: u64,
    /// What they have released; none where rows are not private.
    pub(super) releases: Option<&'a NodeReleases>,
}

/// Takes part to the end; none if it was stopped before.
pub(super) fn learn(
    bundle: &SiteBundle,
    assembly: &Assembly,
    OwnNodes { own, tuning_rounds, releases }: OwnNodes,
    options: &Options,
    (tell, host): (&mut Tell, &dyn SiteHost),
) -> Result<Option<Learnt>> {
    let study = &assembly.study;
    let views = study.network.views(study.nodes(None))?;
    let views = views.into_iter().filter(|view| own.binary_search(&view.node.id).is_ok());
    let views: Vec<View> = views.collect();
    // Methods and networks that cannot be here were refused when the federation was made.
    let federated = match releases {
        Some(releases) => study.beside_twins_at_sites(releases)?,
        None => study.at_sites(own, tuning_rounds)?,
    };
    let mut score = own_error(assembly, own);
    federated.apply(Joined { bundle, views, options, tell, host, score: &mut score })
}

/// A site takes part in a method.
struct Joined<'a> {
    bundle: &'a SiteBundle,
    views: Vec<View>,
    options: &'a Options,
    tell: &'a mut Tell,
    host: &'a dyn SiteHost,
    score: &'a mut agent::Score<'a>,
}

impl RunsFederated for Joined<'_> {
    type Output = Result<Option<Learnt>>;

    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let told = (self.tell, self.host, self.score);
        run(self.bundle, method, self.views, self.options, told)
    }
}

fn run<M: Method<Participant: Durable>>(
    bundle: &SiteBundle,
    method: &M,
    views: Vec<View>,
    options: &Options,
    (tell, host, score): (&mut Tell, &dyn SiteHost, &mut agent::Score<'_>),
) -> Result<Option<Learnt>> {
    let mut report = |status: &Status| {
        tell.show(status);
        if is_interrupted() || host.is_stopped() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let outcome = agent::run_scored(bundle, method, views, options, &mut report, score);
    tell.end();
    let outcome = match outcome {
        // A model of the host was asked to stop in the middle of a round, which its state knows nothing of.
        Err(fedgrid_zenoh::Error::Method(fedgrid::Error::Interrupted)) => return Ok(None),
        Err(fedgrid_zenoh::Error::Method(error @ fedgrid::Error::Malformed { .. })) => {
            return Err(Error::input(format!(
                "{error}; if a node of this site had another model before, join with that one, or with another --out"
            )));
        }
        outcome => outcome.map_err(refused)?,
    };
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

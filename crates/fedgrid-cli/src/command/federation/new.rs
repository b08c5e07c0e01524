//! `fedgrid federation new`: from an experiment and a list of sites to one kit per site.

use std::path::{Path, PathBuf};

use clap::Args;
use fedgrid::{
    bytes::NUMBER_BYTES, model::Scales, network::Network, runtime::protocol::DEFAULT_LARGEST_NUMBER,
};
use fedgrid_zenoh::{
    identity::{Hex, now},
    manifest::{LinkProtocol, Manifest, SharedSizes},
    provision::Federation,
    site_bundle::SharedFiles,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{budget::Budget, frame_size, judge_plan, refused, sites::Sites, split_rows};
use crate::{
    command::{check::plan_lines, job::wrapped},
    terminal::Terminal,
};
use fedgrid_lab::{
    assembly::{Common, DataSchema, NamedSummary},
    error::{Error, Result},
    experiment::{Experiment, FileKeys, MethodSection},
    run::to_json_pretty,
};

/// Arguments of `fedgrid federation new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid federation new experiment.toml --sites sites.toml --out federation
  fedgrid federation new experiment.toml --sites sites.toml --summaries ann.json,ben.json
  fedgrid federation new experiment.toml --processes 16 --out cluster

sites.toml:
  link = \"quic\"                      # or tls, or tcp on a network that is trusted otherwise
  [[site]]
  name = \"hospital-a\"
  address = \"192.0.2.10:7447\"        # leave it out for a site that only calls others
  nodes = [\"ward-1\", \"ward-2\"]")]
pub(in crate::command) struct New {
    /// The experiment file. Where its strength (method.alpha) is "auto", sites choose it together on their validation
    /// rows (fedrelax, gtv) or estimate it (mixed); method.step of persfl must be a number. A file that names no
    /// method means fedrelax.
    experiment: PathBuf,

    /// The file of sites.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "processes",
        required_unless_present = "processes"
    )]
    sites: Option<PathBuf>,

    /// What sites have told of their rows by describe, with commas between files, or folders of them: the
    /// columns, units and public points of all sites then come from these, and the table is not read.
    #[arg(long, value_name = "FILES", value_delimiter = ',')]
    summaries: Vec<PathBuf>,

    /// Divide the network among this many processes instead, with few edges between them.
    #[arg(long, value_name = "N")]
    processes: Option<usize>,

    /// With --processes: the hosts, with commas between them; each gets an equal share of the parts.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', default_value = "127.0.0.1")]
    host: Vec<String>,

    /// With --processes: the port of the first on each host; the others follow.
    #[arg(long, default_value_t = 7447)]
    port: u16,

    /// How links are protected: quic, tls or tcp; by default as the file of sites says, or quic.
    #[arg(long)]
    link: Option<String>,

    /// The folder of the project; by default federation/ and the experiment's name.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// For how many days certificates are good.
    #[arg(long, default_value_t = 365)]
    days: u64,

    /// After how many rounds state is written; neighbours keep what they said since.
    #[arg(long, value_name = "ROUNDS", default_value_t = 1)]
    checkpoint_every: u64,

    /// The largest magnitude of a number that sites accept of each other.
    #[arg(long, value_name = "NUMBER", default_value_t = DEFAULT_LARGEST_NUMBER)]
    largest_number: f64,

    /// Let neighbours be without an address: they find each other on one local network, by join --scouting.
    #[arg(long)]
    scouting: bool,

    /// Let rounds go on without slow sites, with the last message of each (not the bits of one process).
    #[arg(long)]
    asynchronous: bool,

    /// With --asynchronous: for how many rounds a message may be used before the next is waited for; by
    /// default for ever.
    #[arg(long, value_name = "ROUNDS", requires = "asynchronous")]
    staleness: Option<u64>,

    /// How long a tick is: missing messages are asked for at ticks, and with --asynchronous a round takes one.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 100,
          value_parser = clap::value_parser!(u64).range(1..=600_000))]
    tick: u64,

    /// Override any key of the experiment, such as method.rounds=200.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,
}

/// What a kit says beside the experiment.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SiteSettings {
    /// The name of the experiment.
    pub(super) title: String,
    /// How rows are read.
    pub(super) about: DataSchema,
    /// From the units of rows to those of models, which all sites share.
    pub(super) scales: Option<Scales>,
    /// How often training rows of each class count; none if all count alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) class_weights: Option<Vec<f64>>,
    /// Whether rounds go on without slow sites.
    pub(super) asynchronous: bool,
    /// For how many rounds a message may then be used, if not for ever.
    pub(super) staleness: Option<u64>,
    /// How long a tick is, in milliseconds.
    pub(super) tick: u64,
}

/// Public points in a kit.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PublicPoints {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Vec<f64>>,
}

impl New {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (mut table, base, source) = Experiment::opened(Some(&self.experiment))?;
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        let note = MethodSection::name_at_sites(&mut table);
        let source = if self.set.is_empty() { source } else { String::new() };
        let experiment = Experiment::from_table(table, &source)?;
        self.check(&experiment)?;
        let (common, notes) = self.common(&experiment, &base)?;
        let mut experiment = experiment.settled(common.about.task);
        let sites = self.placed(&common.network)?;
        // Before keys are made: a federation whose rounds do not fit in a frame would wait for ever.
        let messages = common.largest_messages(&experiment, &common.network)?;
        frame_size::check(&common.network, &sites.all, &messages)?;
        let shuffled = self.check_judging(&experiment, &common, &sites)?;
        let budget = Budget::new(&experiment, &common, &sites.all)?;
        // All sites count the same rounds, whatever they know of the sizes of messages.
        experiment.federation.tuning_rounds = budget.tuning.map(|(_, rounds)| rounds);
        let title = self.experiment.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let out = self.out.clone().unwrap_or_else(|| Path::new("federation").join(&title));
        let shared = self.shared(&experiment, &common, &title);
        let number = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        let edges = common.network.edges().iter();
        let federation = Federation {
            project: &title,
            shared: &shared,
            nodes: common.network.names(),
            edges: edges.map(|e| (number(e.source), number(e.target), e.weight)).collect(),
            sites: &sites.all,
            link: sites.link,
            router: sites.router.clone(),
            shape: SharedSizes {
                features: number(common.about.features.len()),
                outputs: number(common.about.task.outputs()),
                points: number(common.public.rows()),
            },
            // Zero would be refused by every site; every round is what it means.
            checkpoint_every: self.checkpoint_every.max(1),
            largest_number: self.largest_number,
            // An hour back: clocks of sites differ.
            validity: (now().saturating_sub(3600), now() + self.days * 86_400),
        };
        let manifest = federation.write(&out).map_err(refused)?;
        let rows = match self.processes.filter(|_| self.summaries.is_empty()) {
            Some(_) => split_rows::write(&experiment, &base, (&common.network, &sites.all), &out)?,
            None => None,
        };
        if let Some(note) = note {
            terminal.say(&note);
        }
        terminal.say(&plan_lines(&common.about.column_plan()));
        for note in &notes {
            terminal.say(&wrapped(&format!("Note: {note}")));
        }
        tell(terminal, &experiment, &manifest, (&out, rows.as_deref(), &budget));
        budget.tell(terminal);
        if experiment.federation.judge {
            budget.tell_judging((&common.network, &shuffled), &sites.all, terminal);
        }
        tell_judging(terminal, &experiment, (&common.network, &manifest));
        Ok(())
    }

    /// The shuffled networks of a federation that judges itself. Refuses sites that could not reach each other in one of
    /// them, and what would not fit in a frame.
    fn check_judging(
        &self,
        experiment: &Experiment,
        common: &Common,
        sites: &Sites,
    ) -> Result<Vec<Network>> {
        let shuffled = judge_plan::shuffled(experiment, &common.network);
        for network in &shuffled {
            if !self.scouting {
                sites.check_reach(network)?;
            }
            let messages = common.largest_messages(experiment, network)?;
            frame_size::check(network, &sites.all, &messages)?;
        }
        if experiment.federation.judge {
            let outputs = common.about.task.outputs();
            let model = outputs * common.public.rows().max(common.about.features.len() + 1);
            let sizes = (common.network.len(), outputs);
            let by = judge_plan::judged_by(experiment, true);
            let message = by.largest_message(sizes, shuffled.len(), model);
            frame_size::check_sums(&sites.all, message)?;
        }
        Ok(shuffled)
    }

    /// What all sites share, and what a reader should know of it.
    fn common(&self, experiment: &Experiment, base: &Path) -> Result<(Common, Vec<String>)> {
        if self.summaries.is_empty() {
            return Ok((Common::new(experiment, base)?, Vec::new()));
        }
        let summaries = NamedSummary::read_all(&self.summaries)?;
        Common::from_summaries(experiment, base, summaries)
    }

    /// Refuses flags that the experiment cannot have.
    fn check(&self, experiment: &Experiment) -> Result<()> {
        if self.largest_number.is_nan() || self.largest_number <= 0.0 {
            let value = self.largest_number;
            return Err(Error::input(format!(
                "--largest-number is {value}, expected a positive number"
            )));
        }
        if self.asynchronous && experiment.is_tuned_at_sites() {
            return Err(Error::input(format!(
                "--asynchronous needs a number for {}: all sites go from one strength to the next in the same round",
                experiment.method.strength_name()
            )));
        }
        if self.asynchronous && experiment.method.approach.facts().is_led {
            return Err(Error::input(format!(
                "--asynchronous is not for method.kind = \"{}\": one node leads, and all others do \
                 what it asks in the same round",
                experiment.method.name()
            )));
        }
        Ok(())
    }

    /// Where the nodes are.
    fn placed(&self, network: &Network) -> Result<Sites> {
        let mut sites = match (&self.sites, self.processes) {
            (Some(path), _) => Sites::read(path, network)?,
            (None, count) => Sites::divided(network, count.unwrap_or(1), &self.host, self.port)?,
        };
        if let Some(link) = &self.link {
            sites.link = parse_link(link)?;
        }
        // Sites that look for each other on a local network need no address.
        if !self.scouting {
            sites.check_reach(network)?;
        }
        Ok(sites)
    }

    fn shared(&self, experiment: &Experiment, common: &Common, title: &str) -> SharedFiles {
        let mut experiment = experiment.clone();
        // A site has its own rows and is told the features, so that all read the same columns.
        experiment.data.file = PathBuf::from("data.csv").into();
        // The table of a site is recognised where it is.
        experiment.data.format = FileKeys::default();
        // What is predicted is decided here: few rows of a site may look like something else.
        experiment.data.task.get_or_insert(common.about.task.into());
        let plan = &common.about.columns;
        experiment.data.features = Some(plan.features().map(|(name, _)| name.into()).collect());
        experiment.data.exclude.clear();
        experiment.data.columns = plan.keys();
        let settings = SiteSettings {
            title: title.to_string(),
            about: common.about.clone(),
            scales: common.scales.clone(),
            class_weights: common.class_weights.clone(),
            asynchronous: self.asynchronous,
            staleness: self.staleness,
            tick: self.tick,
        };
        let public = PublicPoints {
            names: common.public.names().to_vec(),
            rows: common.public.iter().map(<[f64]>::to_vec).collect(),
        };
        SharedFiles {
            experiment: experiment.to_text(),
            settings: to_json_pretty(&settings),
            public: serde_json::to_string(&public).expect("plain values become JSON"),
        }
    }
}

/// Says what judging tells of rows, and to whom.
fn tell_judging(
    terminal: Terminal,
    experiment: &Experiment,
    (network, manifest): (&Network, &Manifest),
) {
    let site_of = |node: usize| {
        let process = manifest.nodes.get(node).and_then(|node| manifest.process(node.process));
        process.map_or_else(String::new, |process| process.name.clone())
    };
    for note in judge_plan::notes(experiment, network, site_of) {
        terminal.say(&wrapped(&note));
    }
}

fn parse_link(text: &str) -> Result<LinkProtocol> {
    [LinkProtocol::Tls, LinkProtocol::Quic, LinkProtocol::Tcp]
        .into_iter()
        .find(|link| link.name() == text)
        .ok_or_else(|| Error::input(format!("--link is '{text}', expected quic, tls or tcp")))
}

/// Says what was made, and what will travel.
fn tell(
    terminal: Terminal,
    experiment: &Experiment,
    manifest: &Manifest,
    (out, rows, budget): (&Path, Option<&Path>, &Budget),
) {
    let SharedSizes { features, outputs, points } = manifest.shape;
    // Whichever of the two the method sends; heads of messages are small beside them.
    let facts = experiment.method.approach.facts();
    let numbers =
        if facts.exchanges_predictions { points * outputs } else { (features + 1) * outputs };
    let cut = manifest.cut();
    // An estimate: a message's few other bytes (`Wire::HEAD_BYTES`) are left out.
    let usual = 2 * cut * NUMBER_BYTES * numbers as usize;
    let bytes = if facts.is_led { budget.bytes_per_round() } else { usual };
    terminal.say(&format!(
        "{}: {} nodes at {} sites; {cut} of {} edges join two sites, which carry about {} kB a round",
        manifest.project,
        manifest.nodes.len(),
        manifest.processes.len(),
        manifest.edges.len(),
        bytes.div_ceil(1000),
    ));
    for (index, process) in manifest.processes.iter().enumerate() {
        let nodes = manifest.nodes_of(u32::try_from(index).unwrap_or(u32::MAX)).len();
        let address = process.address.as_deref().unwrap_or("calls others");
        let key = process.key.map_or_else(String::new, |key: Hex<32>| key.to_string());
        terminal.say(&format!(
            "  {:<16} {nodes:>7} nodes  {address:<22} key {}",
            process.name,
            &key[..16.min(key.len())]
        ));
    }
    let (kits, first) = (out.join("kits"), &manifest.processes[0].name);
    let (with, kit, data) = match rows {
        Some(rows) => {
            let data = rows.join(format!("{first}.csv"));
            let kit = kits.join(first).display().to_string();
            (format!(" and its file of {}", rows.display()), kit, data.display().to_string())
        }
        None => (String::new(), "KIT".into(), "rows.csv".into()),
    };
    terminal.say(&format!(
        "Give each site its folder of {}{with}; keep {} to yourself.\n\
         A site joins with: fedgrid federation join {kit} --data {data}",
        kits.display(),
        out.join("project").display(),
    ));
    terminal.give(&to_json_pretty(&json!({
        "project": manifest.project,
        "folder": out,
        "rows": rows,
        "run": manifest.run,
        "sites": manifest.processes.iter().map(|process| &process.name).collect::<Vec<_>>(),
        "nodes": manifest.nodes.len(),
        "edges": manifest.edges.len(),
        "cut": cut,
        "bytes_per_round": bytes,
    })));
}

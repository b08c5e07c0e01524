//! Sites that come and go while the others are at work: add, remove, and the manifest that tells it.

use std::path::{Path, PathBuf};

use clap::Args;
use fedgrid_zenoh::{
    manifest::Manifest,
    members::NewSite,
    provision::Project,
    site_bundle::{SharedFiles, read_project},
    transport::{self, SessionRole, SessionSettings},
};
use serde_json::{Value, json};

use super::{new::SiteSettings, one_thread, project::operator_session, refused};
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    error::{Error, Result},
    experiment::Experiment,
    run::to_json_pretty,
};

/// What cannot be where nodes cannot go on from a run before.
const CHANGES: &str = "members of this project cannot change while it runs";
/// Methods whose nodes can.
const METHODS: [&str; 2] = ["fedrelax", "gtv"];

/// Arguments of `fedgrid federation add`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: fedgrid federation add home cleo --nodes porch --edges porch:garden"
)]
pub(in crate::command) struct Add {
    /// The folder of the project.
    project: PathBuf,

    /// The name of the new site.
    site: String,

    /// Its nodes, with commas between them.
    #[arg(long, value_name = "NODES", value_delimiter = ',', required = true)]
    nodes: Vec<String>,

    /// Its edges, with commas between them: NODE:NEIGHBOUR, or NODE:NEIGHBOUR:WEIGHT; without a weight that of the
    /// project's edges, on average.
    #[arg(long, value_name = "EDGES", value_delimiter = ',', required = true)]
    edges: Vec<String>,

    /// Where it is reached, host:port; a site without an address calls its neighbours.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<String>,

    /// For how many days its certificate is good.
    #[arg(long, default_value_t = 365)]
    days: u64,

    /// Only sign the manifest: it is carried to one of the sites, or published later.
    #[arg(long)]
    offline: bool,
}

/// Arguments of `fedgrid federation remove`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation remove home bob")]
pub(in crate::command) struct Remove {
    /// The folder of the project.
    project: PathBuf,

    /// The site.
    site: String,

    /// Only sign the manifest: it is carried to one of the sites, or published later.
    #[arg(long)]
    offline: bool,
}

/// Arguments of `fedgrid federation publish`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation publish home")]
pub(in crate::command) struct Publish {
    /// The folder of the project; its private key need not be there.
    project: PathBuf,
}

impl Add {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let mut project = opened(&self.project, self.offline)?;
        check(&project.shared().map_err(refused)?, CHANGES)?;
        let site = NewSite {
            name: self.site.clone(),
            address: self.address.clone(),
            nodes: self.nodes.clone(),
            edges: self.edges(&project.manifest)?,
            days: self.days,
        };
        let before = project.manifest.clone();
        project.add(&site).map_err(refused)?;
        let kit = self.project.join("kits").join(&self.site);
        terminal.say(&wrapped(&format!(
            "'{}' is a member by manifest {}. Give it {}; it joins with fedgrid federation join. The others go on from the \
             last check that all have kept, once it is there.",
            self.site,
            project.manifest.number,
            kit.display()
        )));
        published((&self.project, &before), self.offline, terminal)
            .map(|told| give(terminal, ("added", &self.site), &project, told))
    }

    fn edges(&self, manifest: &Manifest) -> Result<Vec<(String, String, f64)>> {
        let weights = manifest.edges.iter().map(|(_, _, weight)| weight);
        let usual = weights.sum::<f64>() / manifest.edges.len().max(1) as f64;
        let usual = if usual > 0.0 { usual } else { 1.0 };
        let edge = |text: &String| {
            let parts: Vec<&str> = text.split(':').collect();
            let weight = match parts[..] {
                [_, _] => Some(usual),
                [_, _, weight] => weight.parse().ok(),
                _ => None,
            };
            let weight = weight.ok_or_else(|| {
                Error::input(format!(
                    "--edges has '{text}', expected NODE:NEIGHBOUR or NODE:NEIGHBOUR:WEIGHT"
                ))
            })?;
            Ok((parts[0].to_string(), parts[1].to_string(), weight))
        };
        self.edges.iter().map(edge).collect()
    }
}

impl Remove {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let mut project = opened(&self.project, self.offline)?;
        check(&project.shared().map_err(refused)?, CHANGES)?;
        let before = project.manifest.clone();
        project.remove(&self.site).map_err(refused)?;
        terminal.say(&wrapped(&format!(
            "'{}' is no member any more by manifest {}. The others go on from the last check that all have kept, without it.",
            self.site, project.manifest.number
        )));
        published((&self.project, &before), self.offline, terminal)
            .map(|told| give(terminal, ("removed", &self.site), &project, told))
    }
}

impl Publish {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let own = own_manifest(&self.project)?;
        let told = tell_all(&self.project, &own.0, &own.1, terminal)?;
        if told == 0 {
            return Err(Error::input(
                "no site was reached, so none has the manifest; carry project/manifest.txt into the kit of one of them",
            ));
        }
        terminal.give(&to_json_pretty(&json!({ "manifest": own.0.number, "told": told })));
        Ok(())
    }
}

/// Opens a project, with who has left it by itself as far as the sites that are reached know.
pub(super) fn opened(folder: &Path, is_offline: bool) -> Result<Project> {
    let mut project = Project::open(folder).map_err(refused)?;
    if !is_offline {
        let session = operator_session(&project)?;
        let known = transport::ask_manifests(&session, &project.manifest);
        transport::close(session);
        project.hear(&known).map_err(refused)?;
    }
    Ok(project)
}

/// Refuses projects whose nodes could not go on from a run before, with what cannot be then.
pub(super) fn check(shared: &SharedFiles, what: &str) -> Result<()> {
    let table = Experiment::table_from_text(&shared.experiment, "experiment.toml")?;
    let experiment = Experiment::from_table(table, "experiment.toml")?;
    let site: SiteSettings = serde_json::from_str(&shared.settings)
        .map_err(|_| Error::input("wrong manifest: part.json is damaged"))?;
    let refused = |why: String| Err(Error::input(format!("{what}: {why}")));
    let name = experiment.method.name();
    if site.asynchronous {
        return refused("its rounds are asynchronous, and sites have none in common".into());
    }
    if !METHODS.contains(&name) {
        return refused(format!("the nodes of '{name}' cannot go on from a run before"));
    }
    if experiment.privacy.is_some() {
        return refused(
            "it has a section [privacy], whose releases and noise were made for the nodes and rows of its beginning".into(),
        );
    }
    if experiment.is_tuned_at_sites() {
        return refused(format!(
            "its sites choose {} together in rounds that all count from the beginning; give it a number",
            experiment.method.strength_name()
        ));
    }
    Ok(())
}

/// The newest manifest in the folder of a project, and its text.
fn own_manifest(folder: &Path) -> Result<(Manifest, String)> {
    let project = folder.join("project");
    let key = read_project(&project.join("project.pub")).map_err(refused)?;
    let path = project.join("manifest.txt");
    let text =
        std::fs::read_to_string(&path).map_err(|error| Error::file("read", &path, &error))?;
    Ok((Manifest::verified(&text, &key).map_err(refused)?, text))
}

/// Gives the newest manifest to all sites that are reached, as far as that is wanted; how many took it.
pub(super) fn published(
    (folder, before): (&Path, &Manifest),
    is_offline: bool,
    terminal: Terminal,
) -> Result<usize> {
    if is_offline {
        terminal.say(&wrapped(&format!(
            "Nothing was sent. Copy {} over the manifest.txt of the kit of one running site, or use publish: sites tell each \
             other.",
            folder.join("project/manifest.txt").display()
        )));
        return Ok(0);
    }
    let (_, text) = own_manifest(folder)?;
    tell_all(folder, before, &text, terminal)
}

/// Hands a manifest to all running sites of another, which may name sites that it does not.
fn tell_all(folder: &Path, sites: &Manifest, text: &str, terminal: Terminal) -> Result<usize> {
    one_thread::ensure(sites)?;
    let settings = SessionSettings {
        manifest: sites,
        role: SessionRole::Operator,
        folder: &folder.join("project").join("operator"),
        listen: None,
        scouting: false,
        stage: 0,
    };
    let session = transport::open(&settings).map_err(refused)?;
    let told = transport::ask_all(&session, sites, Some(text.as_bytes())).len();
    transport::close(session);
    let all = sites.processes.iter().filter(|process| process.key.is_some()).count();
    terminal.say(&format!(
        "{told} of {all} sites have it now; those that are not reached get it from their neighbours, or by a new kit"
    ));
    Ok(told)
}

fn give(terminal: Terminal, (what, site): (&str, &str), project: &Project, told: usize) {
    let mut given = json!({ "manifest": project.manifest.number, "told": told });
    given[what] = Value::from(site);
    terminal.give(&to_json_pretty(&given));
}

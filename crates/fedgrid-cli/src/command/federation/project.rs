//! What the owner of a project does: look, stop, revoke, rotate, collect; and the router.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use fedgrid_zenoh::{
    agent::{OperatorOrder, Status as AgentStatus},
    identity::now,
    manifest::Manifest,
    provision::Project,
    site_bundle::read_project,
    transport::{self, SessionRole, SessionSettings},
};
use serde_json::json;

use super::{
    members::{opened, published},
    refused, share,
};
use crate::terminal::{Terminal, is_interrupted};
use fedgrid_lab::{
    error::{Error, Result},
    number::significant,
    run::to_json_pretty,
};

/// Arguments of `fedgrid federation status`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation status federation/weather")]
pub(in crate::command) struct Status {
    /// The folder of the project.
    project: PathBuf,
}

/// Arguments of `fedgrid federation stop`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation stop federation/weather")]
pub(in crate::command) struct Stop {
    /// The folder of the project.
    project: PathBuf,
}

/// Arguments of `fedgrid federation revoke`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation revoke federation/weather hospital-b")]
pub(in crate::command) struct Revoke {
    /// The folder of the project.
    project: PathBuf,
    /// The site.
    site: String,
    /// Only sign the manifest: it is carried to one of the sites, or published later.
    #[arg(long)]
    offline: bool,
}

/// Arguments of `fedgrid federation rotate`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation rotate federation/weather hospital-b")]
pub(in crate::command) struct Rotate {
    /// The folder of the project.
    project: PathBuf,
    /// The site.
    site: String,
    /// For how many days its new certificate is good.
    #[arg(long, default_value_t = 365)]
    days: u64,
    /// Only sign the manifest: it is carried to one of the sites, or published later.
    #[arg(long)]
    offline: bool,
}

/// Arguments of `fedgrid federation collect`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation collect federation/weather */share.txt")]
pub(in crate::command) struct Collect {
    /// The folder of the project.
    project: PathBuf,
    /// The files share.txt that sites have sent.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// Arguments of `fedgrid federation router`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation router federation/weather/router")]
pub(in crate::command) struct Router {
    /// The folder of the router that `new` made.
    folder: PathBuf,
    /// Listen here instead of at the address in the manifest, host:port.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
}

/// Asks all processes of a project, handing over an order if there is one.
fn ask(folder: &Path, order: Option<OperatorOrder>) -> Result<(Manifest, Vec<(u32, String)>)> {
    let project = Project::open(folder).map_err(refused)?;
    let session = operator_session(&project)?;
    let order = order.map(|order| order.signed(&project.key, now()));
    let found = transport::ask_all(&session, &project.manifest, order.as_deref());
    // Zenoh would go on trying to reach sites that are down.
    transport::close(session);
    Ok((project.manifest, found))
}

/// A session of the owner of a project.
pub(super) fn operator_session(project: &Project) -> Result<transport::Session> {
    super::one_thread::ensure(&project.manifest)?;
    let settings = SessionSettings {
        manifest: &project.manifest,
        role: SessionRole::Operator,
        folder: &project.operator(),
        listen: None,
        scouting: false,
        stage: 0,
    };
    transport::open(&settings).map_err(refused)
}

impl Status {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (manifest, found) = ask(&self.project, None)?;
        let seen = |index: usize| -> Option<AgentStatus> {
            let (_, text) = found.iter().find(|(other, _)| *other as usize == index)?;
            serde_json::from_str(text).ok()
        };
        let heading =
            ["site", "phase", "round", "behind", "epoch", "manifest", "kB sent", "gap or residual"];
        let mut rows = vec![heading.map(String::from)];
        let mut all = Vec::new();
        for (index, process) in manifest.processes.iter().enumerate() {
            let status = seen(index);
            let dash = || "-".to_string();
            rows.push(status.as_ref().map_or_else(
                || {
                    let phase = if process.key.is_some() { "not there" } else { "revoked" };
                    let [round, behind, epoch, number, sent, gap] = std::array::from_fn(|_| dash());
                    [process.name.clone(), phase.into(), round, behind, epoch, number, sent, gap]
                },
                |status| {
                    let phase = json!(status.phase).as_str().unwrap_or_default().to_string();
                    [
                        process.name.clone(),
                        phase,
                        status.round.to_string(),
                        status.staleness().to_string(),
                        status.epoch.to_string(),
                        status.manifest.to_string(),
                        status.sent_bytes.div_ceil(1000).to_string(),
                        format!("{:.1e}", status.gap.unwrap_or(status.residual)),
                    ]
                },
            ));
            all.push(json!({ "site": process.name, "status": status }));
        }
        terminal.say(&columns(&rows));
        terminal.give(&to_json_pretty(&all));
        Ok(())
    }
}

impl Stop {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (manifest, found) = ask(&self.project, Some(OperatorOrder::Stop))?;
        let (told, all) = (found.len(), manifest.processes.len());
        // An error, since whoever orders a stop must not believe that it was heard.
        if told == 0 {
            return Err(Error::input(format!(
                "none of {all} sites was reached, so none was told to stop; see fedgrid federation status"
            )));
        }
        terminal.say(&format!("{told} of {all} sites were told to stop; join starts them again"));
        terminal.give(&to_json_pretty(&json!({ "told": told, "sites": all })));
        Ok(())
    }
}

impl Revoke {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let mut project = opened(&self.project, self.offline)?;
        let before = project.manifest.clone();
        project.revoke(&self.site).map_err(refused)?;
        let number = project.manifest.number;
        terminal.say(&format!(
            "'{}' is revoked by manifest {number}; the others begin a new run without it.",
            self.site
        ));
        let told = published((&self.project, &before), self.offline, terminal)?;
        let given = json!({ "revoked": self.site, "manifest": number, "told": told });
        terminal.give(&to_json_pretty(&given));
        Ok(())
    }
}

impl Rotate {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let mut project = opened(&self.project, self.offline)?;
        let before = project.manifest.clone();
        project.rotate(&self.site, self.days).map_err(refused)?;
        let number = project.manifest.number;
        terminal.say(&format!(
            "'{}' has a new key and certificate by manifest {number}. Give it its new kit; it goes on where it was when it \
             joins again, and so do the others.",
            self.site
        ));
        let told = published((&self.project, &before), self.offline, terminal)?;
        let given = json!({ "rotated": self.site, "manifest": number, "told": told });
        terminal.give(&to_json_pretty(&given));
        Ok(())
    }
}

impl Collect {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let project = Project::open(&self.project).map_err(refused)?;
        let mut rows =
            vec![["site", "node", "rows", "alone", "federation", "measured on"].map(String::from)];
        let all = share::all_of(&self.files, &project.manifest)?;
        for shared in &all {
            let error = |value: Option<f64>| value.map_or_else(|| "-".into(), significant);
            let measured = shared.measured_on.map_or_else(|| "-".into(), |rows| rows.to_string());
            for node in &shared.nodes {
                rows.push([
                    shared.site.clone(),
                    node.name.clone(),
                    node.rows.to_string(),
                    error(node.local),
                    error(node.network),
                    measured.clone(),
                ]);
            }
        }
        let missing = share::missing(&all, &project.manifest);
        terminal.say(&columns(&rows));
        if !missing.is_empty() {
            terminal.say(&format!("Missing: {}", missing.join(", ")));
        }
        terminal.give(&to_json_pretty(&json!({ "shared": all, "missing": missing })));
        Ok(())
    }
}

impl Router {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let key = read_project(&self.folder.join("project.pub")).map_err(refused)?;
        let manifest = Manifest::read(&self.folder.join("manifest.txt"), &key).map_err(refused)?;
        let Some(address) = self.listen.clone().or_else(|| manifest.router.clone()) else {
            return Err(Error::input("the manifest names no router; add one to the file of sites"));
        };
        let settings = SessionSettings {
            manifest: &manifest,
            role: SessionRole::Router,
            folder: &self.folder,
            listen: self.listen.as_deref(),
            scouting: false,
            stage: 0,
        };
        let session = transport::open(&settings).map_err(refused)?;
        terminal.say(&format!("Router of '{}' at {address}; Ctrl-C ends it", manifest.project));
        if transport::needs_one_thread(&manifest) {
            // On one thread it could not pass on what is larger than a queue: what reads would wait for what writes.
            terminal.say(
                "Note: over TLS a router may abort when a site falls; let a service start it again (sites wait for it)",
            );
        }
        // The router's work is done by threads of Zenoh.
        while !is_interrupted() {
            std::thread::sleep(Duration::from_millis(200));
        }
        transport::close(session);
        Ok(())
    }
}

/// Rows of equally wide columns, the first two to the left.
pub(super) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).enumerate().map(|(index, (cell, width))| {
            if index < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

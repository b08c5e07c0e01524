//! `fedgrid federation report`: whether the network helped, for whom and for whom not, from what sites agreed to share.

use std::path::PathBuf;

use clap::Args;
use fedgrid_zenoh::provision::Project;
use serde_json::json;

use super::{
    project::columns,
    refused,
    share::{self, SharedMetrics},
};
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    error::{Error, Result},
    number::{counted, significant},
    outcome::{FederationOutcome, JudgedNode},
    run::to_json_pretty,
};

/// Arguments of `fedgrid federation report`.
#[derive(Debug, Args)]
#[command(after_help = "Example: fedgrid federation report federation/weather */share.txt")]
pub(in crate::command) struct Report {
    /// The folder of the project.
    project: PathBuf,
    /// The files share.txt that sites have sent.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// What a site has shared of its own test rows.
struct SiteErrors<'a> {
    name: &'a str,
    nodes: &'a [JudgedNode],
}

/// On which side of training alone some nodes are, by their errors.
struct Sides {
    gaining: Vec<String>,
    losing: Vec<String>,
}

impl Report {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let project = Project::open(&self.project).map_err(refused)?;
        let all = share::all_of(&self.files, &project.manifest)?;
        let found = agreed(&all)?;
        let site =
            |shared: &'_ SharedMetrics| shared.federation.as_ref().map(|own| own.nodes.len());
        let judged: usize = all.iter().filter_map(site).sum();
        let missing = share::missing(&all, &project.manifest);
        let sites: Vec<SiteErrors> = all
            .iter()
            .filter_map(|shared| {
                Some(SiteErrors { name: &shared.site, nodes: &shared.federation.as_ref()?.nodes })
            })
            .collect();
        if !missing.is_empty() {
            terminal.say(&wrapped(&format!(
                "Missing: {}. What is said of single sites and nodes is about the others; the verdict is about all.",
                missing.join(", ")
            )));
        }
        for sentence in &found.unjudged {
            terminal.say(&wrapped(&format!("Note: {sentence}")));
        }
        terminal.say(&format!("\n{}\n", methods(found, &all[0].metric)));
        terminal.say(&format!("{}\n", by_site(found, &sites)));
        let sides: Vec<(String, Sides)> =
            sites.iter().map(|site| (site.name.to_string(), Sides::of(site.nodes))).collect();
        for (name, sides) in &sides {
            if let Some(line) = sides.line(name) {
                terminal.say(&wrapped(&line));
            }
        }
        terminal.say(&format!("\n{}", wrapped(&found.verdict)));
        terminal.give(&to_json_pretty(&json!({
            "verdict": found.verdict,
            "unjudged": found.unjudged,
            "joint": found.joint,
            "nodes": judged,
            "missing": missing,
            "sites": sites.iter().zip(&sides).map(|(site, (_, sides))| json!({
                "site": site.name,
                "nodes": site.nodes,
                "gaining": sides.gaining,
                "losing": sides.losing,
            })).collect::<Vec<_>>(),
        })));
        Ok(())
    }
}

/// The verdict that all of these have heard. Whoever tells another one has changed it, or is of a run that ended otherwise.
fn agreed(all: &[SharedMetrics]) -> Result<&FederationOutcome> {
    let heard = |shared: &'_ SharedMetrics| shared.federation.is_some();
    let first = all.iter().find(|shared| heard(shared)).ok_or_else(|| {
        Error::input(
            "none of these sites has judged: make the project with federation.judge = true in the experiment, then join \
             with --share",
        )
    })?;
    let own = first.federation.as_ref();
    let other = all.iter().filter(|shared| heard(shared)).find(|shared| {
        let joint = shared.federation.as_ref().map(|own| &own.joint);
        joint != own.map(|own| &own.joint)
    });
    match (other, own) {
        (None, Some(own)) => Ok(own),
        _ => Err(Error::input(format!(
            "'{}' and '{}' tell different verdicts of one run; ask both for the share.txt of their last run",
            first.site,
            other.map_or("", |other| &other.site)
        ))),
    }
}

/// How each method did on the test rows of all sites.
fn methods(found: &FederationOutcome, metric: &str) -> String {
    let mut rows = vec![[metric.to_string(), String::new(), "all sites".into()]];
    rows.extend(
        found
            .methods()
            .into_iter()
            .map(|(name, what, error)| [name.into(), what.into(), significant(error)]),
    );
    columns(&rows)
}

/// The errors of each site by method, and how many of its nodes gain.
fn by_site(found: &FederationOutcome, sites: &[SiteErrors]) -> String {
    let names: Vec<&str> = found.methods().iter().map(|(name, ..)| *name).collect();
    let cell =
        |at: usize, of: &dyn Fn(&str) -> String| names.get(at).map_or_else(String::new, |n| of(n));
    let line = |first: [String; 2], of: &dyn Fn(&str) -> String| {
        let [a, b] = first;
        [a, b, cell(0, of), cell(1, of), cell(2, of), cell(3, of), cell(4, of)]
    };
    let mut rows = vec![line(["site".into(), "gain/lose".into()], &|name| name.into())];
    rows.extend(sites.iter().map(|site| {
        let Sides { gaining, losing } = Sides::of(site.nodes);
        let error = |name: &str| {
            let own = FederationOutcome::error_of(site.nodes, name);
            own.map_or_else(|| "-".into(), significant)
        };
        line([site.name.into(), format!("{}/{}", gaining.len(), losing.len())], &error)
    }));
    columns(&rows)
}

impl Sides {
    fn of(nodes: &[JudgedNode]) -> Self {
        let (mut gaining, mut losing) = (Vec::new(), Vec::new());
        for node in nodes {
            match node.local.zip(node.network) {
                Some((local, network)) if network < local => gaining.push(node.name.clone()),
                Some((local, network)) if network > local => losing.push(node.name.clone()),
                _ => {}
            }
        }
        Self { gaining, losing }
    }

    /// Who has a smaller and who a larger error than alone; no more is claimed of a single node.
    fn line(&self, site: &str) -> Option<String> {
        const NAMED: usize = 8;
        if self.gaining.is_empty() && self.losing.is_empty() {
            return None;
        }
        let named = if self.losing.is_empty() {
            String::new()
        } else {
            let more = self.losing.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let names: Vec<&str> = self.losing.iter().take(NAMED).map(String::as_str).collect();
            format!(": {}{rest}", names.join(", "))
        };
        Some(format!(
            "{site}: a smaller error than alone at {}, a larger one at {}{named}",
            counted(self.gaining.len(), "node"),
            self.losing.len()
        ))
    }
}

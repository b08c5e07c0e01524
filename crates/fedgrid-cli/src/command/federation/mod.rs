//! `fedgrid federation`: the same experiment as a federation of processes, one kit per site.

mod audit;
mod budget;
mod check_site;
mod describe;
mod frame_size;
pub mod host;
mod join;
mod judge;
mod judge_plan;
mod judged;
mod kit;
mod leave;
mod members;
mod new;
mod one_thread;
mod own_error;
mod page;
mod project;
mod releases;
mod report;
mod share;
mod sites;
mod split_rows;
mod tell;
mod verdict;
mod watch;

use clap::Subcommand;
use host::SiteHost;
pub(super) use one_thread::this_is_the_command;

use crate::terminal::Terminal;
use fedgrid_lab::error::{Error, Result};

/// The commands of a federation.
#[derive(Debug, Subcommand)]
pub(super) enum FederationCommand {
    /// Say in a file what the columns of a site's own rows hold, so that all sites can have one plan.
    Describe(describe::Describe),
    /// Make a project: keys, certificates, the signed manifest and one kit per site.
    New(Box<new::New>),
    /// Look whether a site's own rows fit the plan of its kit; nothing is sent.
    Check(check_site::CheckSite),
    /// Take part with a kit and the site's own rows.
    Join(join::Join),
    /// Show who is there, how far, and how stale.
    Status(project::Status),
    /// Watch all sites at work: rounds, who waits for whom, bytes, what happens.
    Watch(watch::Watch),
    /// Check a site's log of what was sent to whom, and sum it up.
    Audit(audit::Audit),
    /// Tell all processes to keep their state and end; join starts them again.
    Stop(project::Stop),
    /// Make a site a member while the others are at work.
    Add(members::Add),
    /// Take a site out while the others are at work; they go on without it.
    Remove(members::Remove),
    /// Leave for good: the neighbours are told, and all others go on without this site.
    Leave(leave::Leave),
    /// Give the newest manifest to the sites that are at work.
    Publish(members::Publish),
    /// Take a site's membership away; the others begin a new run without it.
    Revoke(project::Revoke),
    /// Give a site a new key and certificate.
    Rotate(project::Rotate),
    /// Put together what sites agreed to share: metrics, never rows.
    Collect(project::Collect),
    /// Say who gains and who loses by the network, from what sites agreed to share.
    Report(judged::Report),
    /// Run a router for sites that cannot reach each other.
    Router(project::Router),
}

impl FederationCommand {
    pub(super) fn run(self, terminal: Terminal, host: &dyn SiteHost) -> Result<()> {
        match self {
            Self::Describe(describe) => describe.run(terminal),
            Self::New(new) => new.run(terminal),
            Self::Check(check) => check.run(terminal),
            Self::Join(join) => join.run(terminal, host),
            Self::Status(status) => status.run(terminal),
            Self::Watch(watch) => watch.run(terminal),
            Self::Audit(audit) => audit.run(terminal),
            Self::Stop(stop) => stop.run(terminal),
            Self::Add(add) => add.run(terminal),
            Self::Remove(remove) => remove.run(terminal),
            Self::Leave(leave) => leave.run(terminal),
            Self::Publish(publish) => publish.run(terminal),
            Self::Revoke(revoke) => revoke.run(terminal),
            Self::Rotate(rotate) => rotate.run(terminal),
            Self::Collect(collect) => collect.run(terminal),
            Self::Report(report) => report.run(terminal),
            Self::Router(router) => router.run(terminal),
        }
    }
}

/// An error of the federation as one of the command.
fn refused(error: fedgrid_zenoh::Error) -> Error {
    match error {
        fedgrid_zenoh::Error::Method(error) => error.into(),
        // What may be over soon has an exit code of its own, so that a service manager tries again.
        passing @ (fedgrid_zenoh::Error::Transport { .. }
        | fedgrid_zenoh::Error::Neighbour { .. }
        | fedgrid_zenoh::Error::NoSpace { .. }
        | fedgrid_zenoh::Error::InUse { .. }) => Error::Later(passing.to_string()),
        other => Error::input(other.to_string()),
    }
}

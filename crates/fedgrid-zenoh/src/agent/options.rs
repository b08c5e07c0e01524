//! How an agent is set, and what it leaves.

use std::{path::PathBuf, time::Duration};

use fedgrid::{
    method::Durable,
    runtime::protocol::{Process, ProtocolSettings},
};

use super::{Stage, Status};

/// How an agent runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where state is kept.
    pub folder: PathBuf,
    /// Where nodes that answer probes keep what they have answered, over all runs.
    pub ledgers: PathBuf,
    /// How rounds go.
    pub protocol: ProtocolSettings,
    /// How long a tick is: what is missing is asked for again at ticks.
    pub tick: Duration,
    /// The port of the health endpoint on this machine, zero for any; none for no endpoint.
    pub health: Option<u16>,
    /// Where to listen instead of the manifest's address.
    pub listen: Option<String>,
    /// Whether neighbours are looked for on the local network.
    pub scouting: bool,
    /// For how long a finished process goes on to answer neighbours that have not finished.
    pub linger: Duration,
    /// Where the digest of every node's state after every round is written, if anywhere.
    pub trace: Option<PathBuf>,
    /// Where it is written down what was sent to whom, if anywhere.
    pub audit: Option<PathBuf>,
    /// The name of the method, for that log.
    pub method: String,
    /// Whether the operator may see the error on validation rows; on this machine it is seen anyway.
    pub tells_error: bool,
    /// Which of several runs this is, where they follow each other.
    pub stage: Stage,
}

impl Options {
    /// Usual choices for a folder.
    #[must_use]
    pub fn new(folder: PathBuf, protocol: ProtocolSettings) -> Self {
        Self {
            ledgers: folder.join("ledgers"),
            folder,
            protocol,
            tick: Duration::from_millis(100),
            health: None,
            listen: None,
            scouting: false,
            linger: Duration::from_mins(10),
            trace: None,
            audit: None,
            method: String::new(),
            tells_error: false,
            stage: Stage::default(),
        }
    }
}

/// What an agent leaves.
#[derive(Debug)]
pub struct AgentOutcome<P: Durable> {
    /// The process with its participants.
    pub process: Process<P>,
    /// Whether training came to its end; otherwise it was told to stop.
    pub finished: bool,
    /// Whether all agreed that it has converged.
    pub converged: bool,
    /// The last status.
    pub status: Status,
}

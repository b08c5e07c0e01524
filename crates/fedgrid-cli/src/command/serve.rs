//! `fedgrid serve`: predictions over HTTP.

use std::{
    env, fs,
    net::{IpAddr, SocketAddr, TcpListener},
    path::PathBuf,
    sync::Arc,
    thread,
    time::Duration,
};

use clap::Args;
use serde_json::json;

use crate::{
    server::{Limits, Models, Predictions, Server, Shared, watch},
    terminal::{Terminal, is_interrupted},
};
use fedgrid_lab::{
    error::{Error, Result},
    number::counted,
    serving::NewNodeFiles,
};

/// The variable that may hold the token.
const TOKEN_VARIABLE: &str = "FEDGRID_TOKEN";
/// Shorter tokens can be guessed: 16 letters and digits are more than 2⁸⁰ to try.
const TOKEN_LETTERS: usize = 16;
/// How soon a stop is noticed, in milliseconds.
const STOP_MILLISECONDS: u64 = 50;

/// Arguments of `fedgrid serve`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  fedgrid serve runs/colorado
  FEDGRID_TOKEN=... fedgrid serve runs/colorado --address 0.0.0.0 --port 8480")]
pub(super) struct Serve {
    /// The folder of a finished run. When it is replaced, the new models are taken without a stop.
    run: PathBuf,

    /// The address to listen at. One that other machines reach needs a token.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    address: IpAddr,

    /// The port to listen at; 0 takes any that is free.
    #[arg(long, default_value_t = 8480)]
    port: u16,

    /// A file whose only line is the token that requests must show (authorization: Bearer TOKEN); the variable
    /// `FEDGRID_TOKEN` may hold it as well.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// Where nodes are that the run has never seen: a table with the columns of the run's own table of nodes.
    #[arg(long, value_name = "FILE", conflicts_with = "edges")]
    nodes: Option<PathBuf>,

    /// The same by edges to nodes of the run: a table with the columns src, dst and weight.
    #[arg(long, value_name = "FILE")]
    edges: Option<PathBuf>,

    /// The largest body of a request, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20)]
    most_bytes: usize,

    /// The most rows of a request.
    #[arg(long, value_name = "ROWS", default_value_t = 10_000)]
    most_rows: usize,

    /// The most connections at a time.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    connections: u16,

    /// How long the head of a request may take to arrive, and its body, and the reading of the answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
}

impl Serve {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let token = self.token()?;
        if token.is_none() && !self.address.is_loopback() {
            return Err(Error::input(format!(
                "--address is {}, which other machines reach; give a token with --token-file or {TOKEN_VARIABLE}",
                self.address
            )));
        }
        let near = NewNodeFiles { places: self.nodes.clone(), edges: self.edges.clone() };
        let models = Models::load(&self.run, near)?;
        let listener = self.listener()?;
        let address = listener.local_addr().map_err(|error| self.deaf(&error))?;
        let limits = self.limits();
        let shared = Arc::new(Shared::new(Predictions::new(models, limits, token), limits));
        self.announce(terminal, address, &shared);
        watch(&shared);
        let server = Server::begin(listener, shared.clone()).map_err(|error| self.deaf(&error))?;
        while !is_interrupted() {
            thread::sleep(Duration::from_millis(STOP_MILLISECONDS));
        }
        let left = server.stop();
        let answered = counted(
            usize::try_from(shared.service.metrics.answered()).unwrap_or(usize::MAX),
            "request",
        );
        terminal.say(&format!("stopped; {answered} answered"));
        if left > 0 {
            let left = counted(left, "connection");
            return Err(Error::Later(format!("{left} did not end in time and were cut")));
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits {
            body_bytes: self.most_bytes,
            rows: self.most_rows,
            connections: self.connections.into(),
            patience: Duration::from_secs(self.timeout),
        }
    }

    fn listener(&self) -> Result<TcpListener> {
        TcpListener::bind((self.address, self.port)).map_err(|error| self.deaf(&error))
    }

    fn deaf(&self, error: &std::io::Error) -> Error {
        let (address, port) = (self.address, self.port);
        Error::input(format!(
            "cannot listen at {}: {error}; give another --address or --port",
            SocketAddr::new(address, port)
        ))
    }

    /// What requests must show: from a file, or from the environment; never from an argument, which others see.
    fn token(&self) -> Result<Option<String>> {
        let (place, text) = match (&self.token_file, env::var(TOKEN_VARIABLE)) {
            (Some(path), _) => {
                let text = fs::read_to_string(path);
                let text = text.map_err(|error| Error::file("read the token", path, &error))?;
                (format!("'{}'", path.display()), text)
            }
            (None, Ok(text)) => (TOKEN_VARIABLE.into(), text),
            (None, Err(_)) => return Ok(None),
        };
        let token = text.trim();
        let is_plain = token.chars().all(|letter| letter.is_ascii_graphic());
        if token.len() < TOKEN_LETTERS || !is_plain {
            return Err(Error::input(format!(
                "the token in {place} is not one word of {TOKEN_LETTERS} or more letters and digits; make one with \
                 openssl rand -hex 16"
            )));
        }
        Ok(Some(token.into()))
    }

    fn announce(&self, terminal: Terminal, address: SocketAddr, shared: &Shared<Predictions>) {
        let run = shared.service.models.now();
        let (method, nodes) = run.advised();
        let folder = self.run.display();
        let nodes = counted(nodes, "node");
        let guarded = if shared.service.token.is_some() { ", with a token" } else { "" };
        terminal.say(&format!(
            "'{folder}' answers at http://{address}{guarded}: {nodes}, predicted by {method}; Ctrl-C stops"
        ));
        terminal.give(&json!({ "address": address.to_string(), "method": method }).to_string());
    }
}

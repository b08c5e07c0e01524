//! A process of a federation that runs in a thread of the test, which can look at it and at how it ends.

use std::{collections::BTreeMap, ops::ControlFlow, path::PathBuf, time::Duration};

use fedgrid::{
    method::{Durable, Method, Participant},
    observe::Stop,
    runtime::protocol::{ProtocolSettings, RoundMode},
};
use fedgrid_zenoh::{
    Error,
    agent::{self, Options, Status},
    identity::now,
    site_bundle::SiteBundle,
};

use crate::{made::Visitor, scene::Scene};

/// What nodes predict, bit for bit.
pub(crate) type Bits = BTreeMap<usize, Vec<u64>>;

/// Runs a process to its end.
pub(crate) struct Here<'a> {
    pub(crate) scene: &'a Scene,
    pub(crate) place: usize,
    pub(crate) state: PathBuf,
    pub(crate) mode: RoundMode,
    pub(crate) tick: Duration,
    pub(crate) tell: &'a mut dyn FnMut(&Status) -> ControlFlow<()>,
}

impl<'a> Here<'a> {
    /// In synchronous rounds, with its state beside those of the others.
    pub(crate) fn new(
        scene: &'a Scene,
        place: usize,
        tell: &'a mut dyn FnMut(&Status) -> ControlFlow<()>,
    ) -> Self {
        let state = scene.path(&format!("p{place}.state"));
        let tick = Duration::from_millis(50);
        Self { scene, place, state, mode: RoundMode::Synchronous, tick, tell }
    }

    pub(crate) fn run(self) -> Result<(Bits, Status), Error> {
        self.scene.spec.problem.visit(self)
    }
}

impl Visitor for Here<'_> {
    type Output = Result<(Bits, Status), Error>;

    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let spec = &self.scene.spec;
        let bundle = SiteBundle::read(&self.scene.bundle(self.place), now())?;
        let nodes = bundle.manifest.nodes_of(bundle.process);
        let nodes: Vec<usize> = nodes.iter().map(|&node| node as usize).collect();
        let stop = Stop { rounds: spec.rounds, tolerance: -1.0 };
        let protocol = ProtocolSettings {
            mode: self.mode,
            stop,
            checkpoint_every: spec.checkpoint_every,
            check_every: 0,
            ..ProtocolSettings::default()
        };
        let options = Options {
            tick: self.tick,
            linger: Duration::from_mins(1),
            ..Options::new(self.state, protocol)
        };
        let views = spec.problem.views(&nodes);
        let outcome = agent::run(&bundle, method, views, &options, self.tell)?;
        assert!(outcome.finished, "it was told to stop at round {}", outcome.status.round);
        let public = spec.problem.public();
        let bits = outcome.process.participants().map(|(node, own)| {
            let said = own.hypothesis().unwrap().predict(&public);
            (node, said.as_slice().iter().map(|value| value.to_bits()).collect())
        });
        Ok((bits.collect(), outcome.status))
    }
}

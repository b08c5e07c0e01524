//! The methods that run between sites, and how much they send.

use std::sync::Arc;

use crate::{
    data::Task,
    error::Result,
    method::{Durable, FedRelax, Method, MixedRounds, PersFl, PrimalDual},
    model::{LocalModel, Scales},
    network::{Network, Node},
};

/// Where a method runs.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// All nodes.
    pub network: &'a Network,
    /// Those that are here.
    pub nodes: &'a [Node],
    /// The units of their features and labels, if these are not those of the table.
    pub scales: Option<&'a Scales>,
}

/// A method that can run between sites.
pub trait AtSites {
    /// The method at a strength as these nodes of a network run it; without one it is what the method
    /// estimates, or zero.
    fn federated(&self, strength: Option<f64>, place: Place) -> Result<Federated>;

    /// The most bytes that a message along an edge takes.
    fn largest_message(&self, sizes: &MessageSizes) -> usize;

    /// The key, its value and what is expected instead, if keys ask for what sites cannot do.
    fn check_keys(&self) -> Result<(), [String; 3]> {
        Ok(())
    }

    /// Refuses what it cannot predict between sites, though it can in one place.
    fn check_models(&self, _: Task, _: &[Arc<dyn LocalModel>]) -> Result<(), String> {
        Ok(())
    }
}

/// A method at a strength as it runs between sites.
#[derive(Debug, Clone)]
pub enum Federated {
    /// Exchange of predictions.
    FedRelax(FedRelax),
    /// Total variation of weights.
    PrimalDual(PrimalDual),
    /// Probes.
    PersFl(PersFl),
    /// A mixed model.
    Mixed(MixedRounds),
}

/// Something that can be done with any method whose messages and state can leave a process.
pub trait RunsFederated {
    /// What comes of it.
    type Output;

    /// Does it with one method.
    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output;
}

impl Federated {
    /// Does something with the method, whichever it is.
    pub fn apply<R: RunsFederated>(&self, work: R) -> R::Output {
        match self {
            Self::FedRelax(method) => work.run(method),
            Self::PrimalDual(method) => work.run(method),
            Self::PersFl(method) => work.run(method),
            Self::Mixed(method) => work.run(method),
        }
    }
}

/// What the size of a message depends on.
#[derive(Debug, Clone)]
pub struct MessageSizes {
    /// What is predicted.
    pub task: Task,
    /// The features.
    pub names: Arc<[String]>,
    /// The most weights of any model.
    pub weights: usize,
    /// How many public points the sender and the receiver have.
    pub points: (usize, usize),
    /// The most nodes whose coefficients are together in an elimination along the network.
    pub largest_front: usize,
}

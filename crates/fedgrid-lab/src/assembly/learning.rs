//! Networks that are made from training rows, and the choice among candidates: each is used as the
//! experiment says, with its strength tuned on validation rows, and the one of least validation error
//! is taken.

use std::{path::Path, sync::Arc};

use fedgrid::{
    compare::{Contestant, Study, Watch},
    data::{Dataset, Features, Task},
    model::LocalModel,
    network::{Network, Node},
    network_learning::{
        LearnedNetwork, gradient_network, model_network, pooling_network, probing_model,
    },
};

use super::{Files, Graph, Rolling, graph, models, read_rows, rows, target, trained::Trained};
use crate::{
    columns::KnownPart,
    error::{Error, Result},
    experiment::{CandidateKey, Experiment},
    number,
};

/// Pooling two nodes must be worse than this chance for them not to be joined.
const SIGNIFICANCE_LEVEL: f64 = 0.05;

/// How the network of a study came about.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Which network it is.
    pub key: CandidateKey,
    /// What probes have found, if a network was learned, chosen or not.
    pub learned: Option<LearnedNetwork>,
    /// All networks there were to choose from.
    pub candidates: Vec<Candidate>,
}

/// A network that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Which one.
    pub key: CandidateKey,
    /// How many edges it has.
    pub edges: usize,
    /// The mean error on validation rows; none if there was no choice.
    pub validation: Option<f64>,
}

impl Chosen {
    /// The edges of the network as CSV; those that were learned with their confidence.
    #[must_use]
    pub fn edges_csv(&self, network: &Network) -> String {
        let learned = self.learned.as_ref().filter(|_| self.key == CandidateKey::Learned);
        edges_csv(network, learned)
    }

    /// What a reader should know about the network.
    pub(super) fn note(&self) -> String {
        let key = self.key.name();
        let made = match &self.learned {
            Some(learned) if self.key == CandidateKey::Learned => {
                let pairs = number::counted(learned.pairs.len(), "pair");
                let probes = number::count(learned.probes);
                format!(
                    "The network was learned from the training rows, by {probes} gradient probes of \
                     {pairs}, in this process, which holds all rows; between sites so many probes \
                     would give the rows away."
                )
            }
            _ if self.key.is_from_rows() => {
                format!("The network ({key}) was made from the training rows of all nodes.")
            }
            _ => String::new(),
        };
        let choice = (self.candidates.len() > 1).then(|| {
            let count = self.candidates.len();
            format!("It ({key}) is the one of {count} candidates with the least validation error.")
        });
        [Some(made).filter(|made| !made.is_empty()), choice]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Edges as a table; with what probes have found, their confidence.
#[must_use]
pub fn edges_csv(network: &Network, learned: Option<&LearnedNetwork>) -> String {
    let names = network.names();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |record: &[&str]| writer.write_record(record).expect("memory takes all");
    match learned {
        Some(_) => write(&["src", "dst", "weight", "confidence"]),
        None => write(&["src", "dst", "weight"]),
    }
    let pairs = learned.map_or(&[][..], |learned| &learned.pairs);
    for edge in network.edges() {
        let (source, target) = (edge.source.min(edge.target), edge.source.max(edge.target));
        // Pairs are in the order of their ends, and every learned edge is one of them.
        let at = pairs.partition_point(|pair| (pair.source, pair.target) < (source, target));
        let weight = edge.weight.to_string();
        let ends = [&names[edge.source], &names[edge.target]];
        match pairs.get(at) {
            Some(pair) => write(&[ends[0], ends[1], &weight, &pair.confidence.to_string()]),
            None => write(&[ends[0], ends[1], &weight]),
        }
    }
    String::from_utf8(writer.into_inner().expect("memory takes all")).expect("text stays text")
}

/// Learns a network from the training rows of an experiment's table.
pub fn learned(experiment: &Experiment, base: &Path) -> Result<LearnedNetwork> {
    // Of rolling origins the last.
    let rolling = Rolling::new(experiment, base)?;
    let (experiment, files, table) = rolling.last();
    let graph = Graph::new(experiment, files, Some(table))?;
    let task = target::task(experiment, table, &read_rows::used_rows(&experiment.data, table))?;
    let mut rows = rows::Rows::new(experiment, table, &graph, (task, rows::Known::default()))?;
    let experiment = &experiment.settled(task);
    let plan = rows.plan(experiment, &graph);
    super::check_training(experiment, &table.source, &plan)?;
    let models = models::models(experiment, &graph, task)?;
    models.check_known(KnownPart::of(experiment).as_ref(), graph.network.names())?;
    let models = models.models;
    let of_names = (graph.network.names(), &models[..]);
    let trained = Trained::new(experiment, &mut rows, &plan, of_names, &mut Vec::new())?;
    // Probes go by gradients on rows, and look at no public point.
    let none = Arc::new(Features::empty(rows.data[0].features().names().clone()));
    let public = vec![none; models.len()];
    let nodes = training_nodes(trained.data(&rows, &plan), &models, &public);
    let keys = experiment.network.learn.clone().unwrap_or_default();
    Ok(keys.learner(experiment.seed).learn(graph.network.names().to_vec(), &nodes)?)
}

/// Makes the networks of an experiment, chooses one and puts it into the study; none where the
/// network is given.
pub(super) fn settle(
    experiment: &Experiment,
    files: Files,
    study: &mut Study,
    watch: &dyn Watch,
) -> Result<Option<Chosen>> {
    if !experiment.network.needs_rows() {
        return Ok(None);
    }
    let choices = experiment.network.choices();
    if study.plan.folds.len() > 1 {
        return Err(Error::input(
            "a network that is learned or chosen needs validation rows that train nothing: give \
             data.split with some 'val', or data.train and data.validation",
        ));
    }
    let mut maker = Maker {
        experiment,
        files,
        names: study.network.names().to_vec(),
        nodes: training_nodes(study.training_data(), &study.models, &study.public),
        learned: None,
    };
    let mut candidates = Vec::new();
    let mut best: Option<(f64, CandidateKey, Network)> = None;
    for &key in &choices {
        study.network = maker.make(key)?;
        let edges = study.network.edges().len();
        let validation = match choices.len() {
            1 => None,
            _ => Some(least_validation(study, watch)?),
        };
        candidates.push(Candidate { key, edges, validation });
        // A single network has nothing to be compared with.
        let error = validation.unwrap_or(0.0);
        // Of equal errors the one that is listed first.
        if best.as_ref().is_none_or(|(least, ..)| error < *least) {
            best = Some((error, key, study.network.clone()));
        }
    }
    let (_, key, network) = best.expect("a checked experiment has a network");
    study.network = network;
    Ok(Some(Chosen { key, learned: maker.learned, candidates }))
}

/// The error on validation rows of the study's own method or, if that is chosen, of the best; test rows say
/// how good the choice was, and have no part in it.
fn least_validation(study: &Study, watch: &dyn Watch) -> Result<f64> {
    let mut tried = study.members();
    if tried.is_empty() {
        tried.push(Contestant::Network);
    }
    let mut least = f64::INFINITY;
    for contestant in tried {
        least = least.min(study.tune(contestant, watch)?.validation);
    }
    Ok(least)
}

/// What networks are made from.
struct Maker<'a> {
    experiment: &'a Experiment,
    files: Files<'a>,
    names: Vec<String>,
    nodes: Vec<Node>,
    learned: Option<LearnedNetwork>,
}

impl Maker<'_> {
    fn make(&mut self, key: CandidateKey) -> Result<Network> {
        let (names, nodes) = (self.names.clone(), &self.nodes);
        let keys = self.experiment.network.learn.clone().unwrap_or_default();
        let task = nodes.first().map_or(Task::Regression, |node| node.data.task());
        let model = || nodes.first().map(probing_model).ok_or(fedgrid::Error::NoData);
        Ok(match key {
            CandidateKey::Learned => {
                let learned = keys.learner(self.experiment.seed).learn(names, nodes)?;
                let network = learned.network.clone();
                self.learned = Some(learned);
                network
            }
            CandidateKey::Gradients => {
                gradient_network(names, nodes, model()?.as_ref(), keys.neighbours)?
            }
            CandidateKey::Models => {
                model_network(names, nodes, model()?.as_ref(), keys.neighbours)?
            }
            CandidateKey::Pooling if task != Task::Regression => {
                return Err(Error::input(
                    "network.candidates: 'pooling' compares regressions and needs a target of \
                     numbers",
                ));
            }
            CandidateKey::Pooling => {
                pooling_network(names, nodes, SIGNIFICANCE_LEVEL, keys.neighbours)?
            }
            _ => graph::given(self.experiment, self.files, key, names)?,
        })
    }
}

/// The nodes with their training rows only, every node counting the same.
fn training_nodes(
    rows: Vec<Dataset>,
    models: &[Arc<dyn LocalModel>],
    public: &[Arc<Features>],
) -> Vec<Node> {
    let node = |(id, data): (usize, Dataset)| Node {
        id,
        data,
        model: models[id].clone(),
        public: public[id].clone(),
    };
    rows.into_iter().enumerate().map(node).collect()
}

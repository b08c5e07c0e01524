//! What a federation that judges itself will do, by the keys of its experiment: what is compared, on which networks, and what
//! a reader of a kit must know of it.

use fedgrid::{
    compare::{JudgedBy, shuffled_network},
    method::inquiry::leader,
    network::{Network, NodeId},
};
use fedgrid_lab::{experiment::Experiment, number::counted};

/// Whether the sites of a network judge: where it falls apart, nobody hears all.
pub(super) fn judges(experiment: &Experiment, network: &Network) -> bool {
    experiment.federation.judge && leader(network).is_some()
}

/// The shuffled networks that a federation trains, too.
pub(super) fn shuffled(experiment: &Experiment, network: &Network) -> Vec<Network> {
    let count = if judges(experiment, network) { experiment.federation.shuffles } else { 0 };
    (0..count).map(|number| shuffled_network(network, experiment.seed, number)).collect()
}

/// What is judged, as all sites find it.
pub(super) fn judged_by(experiment: &Experiment, averages_weights: bool) -> JudgedBy {
    let brings = experiment.federation.own_models;
    JudgedBy {
        averages_weights: averages_weights && !brings,
        // Each pull is a fit of every node, which nobody knows the time of.
        tries_shrunk: experiment.data.has_validation() && !brings,
    }
}

/// What a reader of the kit must know of it, a sentence each.
pub(super) fn notes(
    experiment: &Experiment,
    network: &Network,
    site_of: impl Fn(NodeId) -> String,
) -> Vec<String> {
    if !experiment.federation.judge {
        return Vec::new();
    }
    let Some(first) = leader(network) else {
        return vec![
            "Whether the network helps all sites is not judged: it falls apart, and nodes that cannot reach each other \
             cannot add anything up."
                .into(),
        ];
    };
    let mut said = vec![format!(
        "After training all sites judge together whether the network helped. For that every node tells its neighbour on \
         the way to node '{}' ({}), which leads, its model alone (or its predictions on public points) in sums that grow on the \
         way, and that node sums over its test rows, of five rows or more each; no row and no error of a row.",
        network.names()[first],
        site_of(first),
    )];
    let shuffles = experiment.federation.shuffles;
    if shuffles > 0 {
        said.push(format!(
            "Strangers exchange {}: {} with shuffled nodes {} trained, too (federation.shuffles), in which sites whose nodes \
             are no neighbours are linked and send each other what neighbours do.",
            if experiment.method.approach.facts().exchanges_predictions { "predictions" } else { "weights" },
            counted(shuffles, "network"),
            if shuffles == 1 { "is" } else { "are" },
        ));
    }
    said
}

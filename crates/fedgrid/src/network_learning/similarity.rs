//! Networks to compare a learned one with: nodes are joined whose gradients or models are close, and
//! the choice among several networks by their validation loss. ["Plug In and Learn", section II-A.]

use crate::{
    algebra::{norm, scale},
    data::Dataset,
    error::{Error, Result},
    method::persfl::suitable_step,
    model::{LocalModel, Parametric},
    network::{Nearest, Network, Node},
};

/// A proximal step so many times as long as a gradient step is nearly a fit wherever rows determine the
/// weights, and stays finite where they do not.
const NEARLY_A_FIT: f64 = 100.0;

/// Every node joined to those whose loss has the most similar gradient at zero, with the weights of
/// [`Nearest`]: distances are those between gradients of unit length.
pub fn gradient_network(
    names: Vec<String>,
    nodes: &[Node],
    model: &dyn LocalModel,
    neighbours: usize,
) -> Result<Network> {
    let model = weights_of(model)?;
    let gradient = |data: &Dataset| {
        let size = model.size(data.features().columns(), data.task());
        let mut gradient = model.gradient(data, &vec![0.0; size]);
        let length = norm(&gradient);
        // Lengths differ by how much noise a node has, directions by what it learns.
        if length > 0.0 {
            scale(&mut gradient, 1.0 / length);
        }
        Ok(gradient)
    };
    joined(names, nodes, neighbours, gradient)
}

/// Every node joined to those whose local models have the closest weights. A node with fewer rows
/// than weights takes a proximal step from zero instead of a fit: its weights stay short.
pub fn model_network(
    names: Vec<String>,
    nodes: &[Node],
    model: &dyn LocalModel,
    neighbours: usize,
) -> Result<Network> {
    let model = weights_of(model)?;
    let data: Vec<Dataset> = nodes.iter().map(|node| node.data.clone()).collect();
    let task = data.first().ok_or(Error::NoData)?.task();
    let step = NEARLY_A_FIT * suitable_step(model, &data, task);
    let fitted = |data: &Dataset| {
        let size = model.size(data.features().columns(), data.task());
        model.proximal(data, &vec![0.0; size], step)
    };
    joined(names, nodes, neighbours, fitted)
}

/// The network of smallest validation loss among some, and that loss; the first of equals.
pub fn chosen_by_validation(
    networks: Vec<Network>,
    mut loss: impl FnMut(&Network) -> Result<f64>,
) -> Result<Option<(Network, f64)>> {
    let mut best: Option<(Network, f64)> = None;
    for network in networks {
        let loss = loss(&network)?;
        if best.as_ref().is_none_or(|(_, least)| loss < *least) {
            best = Some((network, loss));
        }
    }
    Ok(best)
}

fn joined(
    names: Vec<String>,
    nodes: &[Node],
    neighbours: usize,
    coordinates_of: impl Fn(&Dataset) -> Result<Vec<f64>>,
) -> Result<Network> {
    let mut coordinates = Vec::new();
    let mut size = 0;
    for node in nodes {
        let own = coordinates_of(&node.data)?;
        size = own.len();
        coordinates.extend(own);
    }
    Nearest { neighbours, scales: vec![1.0; size], ..Nearest::default() }.make(names, &coordinates)
}

fn weights_of(model: &dyn LocalModel) -> Result<&dyn Parametric> {
    model
        .as_parametric()
        .ok_or(Error::Unsupported { what: "a similarity network", needs: "a model of weights" })
}

//! What predictions tell of single rows: no row may have more than a fifth part in any prediction that
//! leaves a site.
//!
//! Trees and forests average over the rows of a leaf, so leaves must hold five. Nearest neighbours,
//! smoothers and kernel ridge give weighted sums of labels,
//!
//! ```text
//! h(x) = Σ_r s_r(x) y_r + …      part of row r at x = |s_r(x)| / Σ_q |s_q(x)|
//! ```
//!
//! where `s_r(x)` is what h predicts at x if row r has label one and all others zero. A part of one is a
//! label to whoever knows how models are fitted. It is looked at on all public points, before anything
//! is sent: for the node's own rows, and for these with the public points that its neighbours pull at,
//! which have their part in predictions, too: there the sum counts as at least one.
//!
//! Where rows have weights, the floor is still of rows: five times the heaviest row is what a leaf must hold, and no
//! row may have more than a fifth of the weight in what is a sum over few.
//!
//! A mixed model sends sums over the rows of a node, `XᵀX` and `Xᵀy` among them. They are the same for any
//! rotation of the rows that keeps the level, and so leave m (m − 1)/2 − (m − 1) angles of m rows open: none of
//! two rows, six of five.

use fedgrid::{
    compare::{MethodKind, Study},
    data::{Dataset, Features, Labels},
    model::{ExtraTrees, Kernel, LocalModel, Model, ModelKind, Neighbours, Smoother},
    network::{Network, Node, NodeId},
};

use super::models;
use crate::{
    columns::heaviest_part,
    error::{Error, Result},
    experiment::{Choice, Experiment, ModelChoice},
    number::{counted, significant},
};

/// How many rows a prediction must be made of: one of a single row would tell its label.
pub(super) const FEWEST_ROWS: usize = 5;

/// Pulls of a node of mean degree, where sites choose the strength.
const PULLS_TO_LOOK_AT: [f64; 5] = [100.0, 10.0, 1.0, 0.1, 0.01];

/// Indicators of so many rows are fitted at once.
const ROWS_AT_ONCE: usize = 64;

/// Refuses models that would publish labels whatever the rows are: leaves without a smallest weight,
/// fewer than five nearest neighbours.
pub(super) fn check_kinds(experiment: &Experiment) -> Result<()> {
    for keys in std::iter::once(&experiment.model.common).chain(experiment.model.nodes.values()) {
        let Some((key, found)) = smallest(keys) else { continue };
        let (is_enough, expected) = match key {
            "k" => (found >= FEWEST_ROWS as f64, format!("at least {FEWEST_ROWS}")),
            _ => (
                found > 0.0,
                format!("a share of the weight that holds {FEWEST_ROWS} training rows"),
            ),
        };
        if !is_enough {
            return Err(Error::input(format!(
                "model.{key} is {found}, expected {expected} in a federation: a prediction of fewer \
                 rows would tell their labels, and every site would refuse to join"
            )));
        }
    }
    Ok(())
}

/// The key that says how many rows a prediction is made of at least, where a model has one.
fn smallest(keys: &ModelChoice) -> Option<(&'static str, f64)> {
    let leaf = |weight: f64| Some(("min_leaf_weight", weight));
    match &keys.model {
        Model::Tree(tree) => leaf(tree.min_leaf_weight),
        Model::Forest(forest) | Model::ExtraTrees(ExtraTrees(forest)) => {
            leaf(forest.min_leaf_weight)
        }
        Model::Boosting(boosting) => leaf(boosting.min_leaf_weight),
        Model::Neighbours(neighbours) => Some(("k", neighbours.k as f64)),
        _ => None,
    }
}

/// Refuses what would publish rows of these nodes: by the keys of their models, by sums over their rows, by
/// predictions. Of models that a site brings no key is known, and predictions are measured ([`super::floor`]).
pub(super) fn check(
    experiment: &Experiment,
    study: &Study,
    (own, brought): (&[NodeId], &[NodeId]),
) -> Result<()> {
    let nodes = study.nodes(None);
    let readable = own.iter().copied().filter(|id| !brought.contains(id)).collect::<Vec<_>>();
    let with_rows = || readable.iter().map(|&id| &nodes[id]).filter(|node| node.data.rows() > 0);
    for node in with_rows() {
        check_keys(experiment, &study.network, node)?;
    }
    for node in with_rows() {
        check_sums(experiment, &study.network, node)?;
    }
    if experiment.is_tuned_at_sites() {
        own.iter().try_for_each(|&id| check_errors(experiment, study, id))?;
    }
    check_parts(experiment, study, &readable)
}

/// Refuses nodes of which the summed error on validation rows would tell the error of a row.
fn check_errors(experiment: &Experiment, study: &Study, node: NodeId) -> Result<()> {
    let [fold] = study.plan.folds.as_slice() else { return Ok(()) };
    let rows = study.rows[node].select(&fold.validation[node]);
    let (name, count) = (&study.network.names()[node], rows.rows());
    let key = experiment.method.strength_name();
    if (1..FEWEST_ROWS).contains(&count) {
        return Err(Error::input(format!(
            "node '{name}' has {}, expected none or at least {FEWEST_ROWS} where {key} is \"auto\" in a \
             federation: a sum over fewer errors would tell them",
            counted(count, "validation row")
        )));
    }
    let part = heaviest_part((0..count).map(|row| rows.count(row)));
    if count > 0 && is_too_large(part) {
        return Err(Error::input(format!(
            "one of the validation rows of node '{name}' has {} % of their weight, expected at most {} % where \
             {key} is \"auto\" in a federation: the sum of errors would tell its own",
            significant(100.0 * part),
            100 / FEWEST_ROWS
        )));
    }
    Ok(())
}

/// The part that the heaviest row of a node has in the weight of all.
fn heaviest(node: &Node) -> f64 {
    heaviest_part(node.data.weights().iter().copied())
}

/// Refuses models whose predictions would publish labels, by their keys: small leaves, few nearest
/// neighbours.
fn check_keys(experiment: &Experiment, network: &Network, node: &Node) -> Result<()> {
    let name = &network.names()[node.id];
    let keys = experiment.model.nodes.get(name).unwrap_or(&experiment.model.common);
    let rows = node.data.rows();
    let Some((key, found)) = smallest(keys) else { return Ok(()) };
    // The weights of a node's rows sum to one; a leaf of so much holds five rows, and none has a larger part in it.
    let share = FEWEST_ROWS as f64 * heaviest(node);
    let expected = if key == "k" { FEWEST_ROWS as f64 } else { share };
    // Five of twelve rows are a share that no decimal number meets.
    if found < expected - 1e-9 {
        return Err(Error::input(format!(
            "model.{key} is {found}, expected at least {expected} in a federation: a prediction of \
             fewer than {FEWEST_ROWS} of the {rows} training rows of node '{name}' would tell their labels"
        )));
    }
    Ok(())
}

/// Refuses nodes whose sums would publish their rows.
fn check_sums(experiment: &Experiment, network: &Network, node: &Node) -> Result<()> {
    if experiment.method.approach.kind() != MethodKind::Mixed {
        return Ok(());
    }
    let (name, rows) = (&network.names()[node.id], node.data.rows());
    if rows < FEWEST_ROWS {
        return Err(Error::input(format!(
            "node '{name}' has {rows} training rows, expected none or at least {FEWEST_ROWS} for \
             method.kind = \"mixed\" in a federation: sums over fewer would tell the rows"
        )));
    }
    let part = heaviest(node);
    if is_too_large(part) {
        return Err(Error::input(format!(
            "one of the training rows of node '{name}' has {} % of their weight, expected at most {} % for \
             method.kind = \"mixed\" in a federation: sums would tell it",
            significant(100.0 * part),
            100 / FEWEST_ROWS
        )));
    }
    Ok(())
}

/// Refuses models in whose predictions a single row has too large a part. What a node tells a
/// neighbour at its own site reaches others through that neighbour, so every node with one counts.
fn check_parts(experiment: &Experiment, study: &Study, own: &[NodeId]) -> Result<()> {
    let nodes = study.nodes(None);
    let degrees = (0..study.network.len()).map(|node| study.network.degree(node));
    let mean_degree = degrees.sum::<f64>() / study.network.len().max(1) as f64;
    for &id in own {
        let (node, degree) = (&nodes[id], study.network.degree(id));
        let name = &study.network.names()[id];
        let keys = experiment.model.nodes.get(name).unwrap_or(&experiment.model.common);
        let sums = [ModelKind::Smoother, ModelKind::KernelRidge, ModelKind::Neighbours];
        let kind = keys.model.kind();
        // Without a neighbour nothing leaves, and without a row nothing can be told.
        if degree == 0.0 || node.data.rows() == 0 || !sums.contains(&kind) {
            continue;
        }
        let pulls = match study.settings.alpha {
            Some(alpha) => vec![alpha * degree],
            // A strength that sites choose may be any of these.
            None => PULLS_TO_LOOK_AT.map(|pull| pull * degree / mean_degree).to_vec(),
        };
        let parts = pulls.iter().map(|pull| largest_part(node.model.as_ref(), node, *pull));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let (part, pull) = parts
            .into_iter()
            .zip(pulls)
            .fold((0.0, 0.0), |largest, one| if one.0 > largest.0 { one } else { largest });
        if is_too_large(part) {
            return Err(Error::input(format!(
                "the {kind} model of node '{name}' would tell a label: one of its {} training rows \
                 makes up {} % of a prediction that leaves, expected at most {} %; {}",
                node.data.rows(),
                significant(100.0 * part),
                100 / FEWEST_ROWS,
                remedy(experiment, keys, node, pull)?
            )));
        }
    }
    Ok(())
}

pub(super) fn is_too_large(part: f64) -> bool {
    // Five equal rows have a fifth each, but for rounding.
    part > 1.0 / FEWEST_ROWS as f64 + 1e-9
}

/// What would do: the first of some wider or stiffer models that is allowed.
fn remedy(experiment: &Experiment, keys: &ModelChoice, node: &Node, pull: f64) -> Result<String> {
    let rows = node.data.rows();
    // Of fewer rows one has more than a fifth part whatever the model is.
    if rows >= FEWEST_ROWS {
        for (with, said) in wider(keys, rows) {
            let model = models::model("model", &with, node.data.task(), experiment.seed)?;
            if !is_too_large(largest_part(model.as_ref(), node, pull)?) {
                return Ok(format!("{said} would do"));
            }
        }
    }
    Ok("it needs more rows, or a model of another kind, such as linear".into())
}

/// Ever wider or stiffer models, with the keys that make them so.
fn wider(keys: &ModelChoice, rows: usize) -> Vec<(ModelChoice, String)> {
    let with = |model: Model| ModelChoice { model, ..keys.clone() };
    let widths = |width_of: &dyn Fn(f64) -> Model| {
        let widths = (0..8).map(|step| 0.125 * 2_f64.powi(step));
        widths.map(|width| (with(width_of(width)), format!("model.width = {width}"))).collect()
    };
    match &keys.model {
        Model::Neighbours(model) => {
            let distance = model.by_distance.then(|| "model.by_distance = false".to_string());
            let by = |k: usize| {
                let count = (k > model.k).then(|| format!("model.k = {k}"));
                let said: Vec<String> = distance.clone().into_iter().chain(count).collect();
                let model = Neighbours { k, by_distance: false, ..model.clone() };
                (with(Model::Neighbours(model)), said.join(" and "))
            };
            (model.k..=model.k + rows).map(by).collect()
        }
        Model::Smoother(model) => widths(&|width| {
            // A width that a kernel has of its own goes before one that is found.
            let kernel = match model.kernel {
                Kernel::Laplace { .. } => Kernel::Laplace { width },
                _ => Kernel::Gaussian { width },
            };
            Model::Smoother(Smoother { kernel, ..model.clone() })
        }),
        _ => {
            let ridges = (0..8).map(|step| 1e-4 * 10_f64.powi(step));
            let by = |ridge: f64| {
                let choice = ModelChoice { ridge: Some(Choice::Given(ridge)), ..keys.clone() };
                (choice, format!("model.ridge = {ridge}"))
            };
            ridges.map(by).collect()
        }
    }
}

/// The largest part of a row of the node in any of its predictions on public points: alone, and with
/// neighbours who pull so much.
fn largest_part(model: &dyn LocalModel, node: &Node, pull: f64) -> Result<f64> {
    let (features, weights) = (node.data.features(), node.data.weights());
    let alone = part_at(model, (features, weights), node, 0.0)?;
    if pull <= 0.0 {
        return Ok(alone);
    }
    let points = node.public.rows();
    // A discrepancy is a mean over public points, so that each has an equal part of the pull.
    let pulled = [weights, &vec![pull / points as f64; points]].concat();
    let together = features.clone().stacked(&node.public)?;
    Ok(alone.max(part_at(model, (&together, &pulled), node, 1.0)?))
}

/// The largest part of a row of the node in a fit to weighted rows, of which its own come first; the
/// parts at a point add up to at least `least`.
fn part_at(
    model: &dyn LocalModel,
    (features, weights): (&Features, &[f64]),
    node: &Node,
    least: f64,
) -> Result<f64> {
    let (own, all) = (node.data.rows(), features.rows());
    let points = node.public.rows();
    let (mut sums, mut largest) = (vec![0.0; points], vec![0.0_f64; points]);
    let mut add = |point: usize, part: f64| {
        sums[point] += part.abs();
        largest[point] = largest[point].max(part.abs());
    };
    if let Some(prepared) = model.prepare(features, weights)? {
        for row in 0..own {
            let mut labels = vec![0.0; all];
            labels[row] = 1.0;
            let parts = prepared.fit(&Labels::values(labels))?.predict(&node.public);
            parts.as_slice().iter().enumerate().for_each(|(point, part)| add(point, *part));
        }
    } else {
        // A mean of labels is one of indicators, too: a class for each of some rows, one for the rest.
        for first in (0..own).step_by(ROWS_AT_ONCE) {
            let count = ROWS_AT_ONCE.min(own - first);
            let class = |row: usize| row.checked_sub(first).map_or(count, |index| index.min(count));
            let classes: Vec<usize> = (0..all).map(class).collect();
            let labels = Labels::classes(count + 1, &classes)?;
            let data = Dataset::weighted(features.clone(), labels, weights.to_vec())?;
            let parts = model.fit(&data)?.predict(&node.public);
            for point in 0..points {
                parts.row(point)[..count].iter().for_each(|part| add(point, *part));
            }
        }
    }
    let part = |(sum, largest): (f64, f64)| {
        let whole = sum.max(least);
        if whole > 0.0 { largest / whole } else { 0.0 }
    };
    Ok(sums.into_iter().zip(largest).map(part).fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedgrid::model::{Kernel, KernelRidge, Smoother};

    use super::*;

    /// Twelve rows on a line, with public points on two of them and between two others.
    fn node() -> Node {
        let names: Arc<[String]> = ["x".to_string()].into();
        let xs: Vec<f64> = (0..12).map(f64::from).collect();
        let labels = Labels::values(xs.iter().map(|x| x.sin()).collect());
        let data = Dataset::new(Features::new(names.clone(), xs).unwrap(), labels).unwrap();
        let public = Features::new(names, vec![3.0, 7.0, 4.5]).unwrap();
        let model: Arc<dyn LocalModel> = Arc::new(Smoother::default());
        let data = data.with_total_weight(1.0);
        Node { id: 0, data, model, public: Arc::new(public) }
    }

    fn part(model: &dyn LocalModel, pull: f64) -> f64 {
        largest_part(model, &node(), pull).unwrap()
    }

    #[test]
    fn a_narrow_kernel_tells_a_label_and_a_wide_one_none() {
        let smoother =
            |width| Smoother { kernel: Kernel::Gaussian { width }, ..Smoother::default() };
        let ridge = |ridge| KernelRidge {
            kernel: Kernel::Gaussian { width: 0.1 },
            ridge,
            ..KernelRidge::default()
        };
        for pull in [0.0, 2.0] {
            assert!((part(&smoother(0.01), pull) - 1.0).abs() < 1e-12, "pull {pull}");
            assert!((part(&smoother(1e6), pull) - 1.0 / 12.0).abs() < 1e-6, "pull {pull}");
            assert!(part(&ridge(1e-9), pull) > 0.5, "pull {pull}");
            assert!((part(&ridge(1e6), pull) - 1.0 / 12.0).abs() < 1e-3, "pull {pull}");
        }
    }

    #[test]
    fn five_nearest_rows_have_a_fifth_part_each_unless_the_nearest_takes_all() {
        let neighbours = |by_distance| Neighbours { k: 5, by_distance, standardise: true };
        assert!((part(&neighbours(false), 0.0) - 0.2).abs() < 1e-12);
        assert!((part(&neighbours(true), 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_rows_than_are_fitted_at_once_are_all_looked_at() {
        let names: Arc<[String]> = ["x".to_string()].into();
        let xs: Vec<f64> = (0..150).map(f64::from).collect();
        let data =
            Dataset::new(Features::new(names.clone(), xs).unwrap(), Labels::values(vec![0.0; 150]))
                .unwrap();
        let model: Arc<dyn LocalModel> = Arc::new(Neighbours { k: 1, ..Neighbours::default() });
        for x in [0.0, 63.0, 64.0, 149.0] {
            let public = Arc::new(Features::new(names.clone(), vec![x]).unwrap());
            let data = data.clone().with_total_weight(1.0);
            let node = Node { id: 0, data, model: model.clone(), public };
            assert!((largest_part(node.model.as_ref(), &node, 0.0).unwrap() - 1.0).abs() < 1e-12);
        }
    }
}

//! What predictions of a model that nobody can read tell of single rows, found by asking it: the model is fitted again
//! with the label of one row changed by a step, and it is looked at how far predictions on public points follow,
//!
//! ```text
//! s_r(x) = |h(x; y_r + step) − h(x; y_r)| / step      part of row r at x = s_r(x) / Σ_q s_q(x)
//! ```
//!
//! as the parts of models that can be read are (`leakage.rs`), of which this is the derivative. The step is a deviation of
//! the node's labels, so that trees have a reason to split elsewhere, or another class, where s is half of how
//! much probability moves. It is done before anything is sent, on the site's own machine, for the node's own rows alone:
//! pulls add rows with labels of others, beside which a single row has less to say.
//!
//! Every row costs a fit. Of more than [`MOST_REFITS`] rows those that lie nearest to public points are looked at, which
//! have the largest parts, and some of the others, which stand for all others in the sum.

use std::sync::Arc;

use fedgrid::{
    compare::Study,
    data::{Dataset, Labels, Task},
    network::{Node, NodeId},
};

use super::leakage::{FEWEST_ROWS, is_too_large};
use crate::{
    error::{Error, Result},
    number::{counted, significant},
};

/// How many fits the floor of a node may cost beside two that tell whether fits can be repeated: a forest of a hundred
/// trees takes a tenth of a second on some hundreds of rows, a net some seconds.
const MOST_REFITS: usize = 40;

/// How many of these are of rows near public points, where there are more rows than fits.
const NEAR_REFITS: usize = 30;

/// Refuses models in whose predictions a single row has too large a part. Says of every node what was measured, or that
/// nobody has.
pub(super) fn check(
    study: &Study,
    (brought, unmeasured): (&[NodeId], &[String]),
    kinds: &[Arc<str>],
) -> Result<Vec<String>> {
    // Where weights travel they are what tells of rows, of models that can be read, too.
    if brought.is_empty() || !study.settings.method.facts().exchanges_predictions {
        return Ok(Vec::new());
    }
    let nodes = study.nodes(None);
    let mut notes = Vec::new();
    for &id in brought {
        let (name, kind, node) = (&study.network.names()[id], &kinds[id], &nodes[id]);
        // Without a neighbour nothing leaves, and without a row nothing can be told.
        if study.network.neighbours(id).is_empty() || node.data.rows() == 0 {
            continue;
        }
        notes.push(if unmeasured.contains(name) {
            format!(
                "The floor is waived for node '{name}': nobody has measured what predictions of its {kind} tell of \
                 single rows."
            )
        } else {
            measured(node, (name, kind))?
        });
    }
    Ok(notes)
}

/// What was measured of a node, in a sentence.
fn measured(node: &Node, (name, kind): (&str, &str)) -> Result<String> {
    let waive =
        format!("waive the floor by its name (waive_floor=[\"{name}\"], --waive-floor {name})");
    let Some(parts) = Parts::measure(node)? else {
        return Err(Error::input(format!(
            "what predictions of the {kind} of node '{name}' tell of single rows cannot be measured: two fits to the same \
             rows differ; give it a seed (random_state), or {waive}"
        )));
    };
    let rows = counted(node.data.rows(), "training row");
    if is_too_large(parts.largest) {
        return Err(Error::input(format!(
            "the {kind} of node '{name}' would tell a label: one of its {rows} makes up {} % of a prediction that leaves, \
             expected at most {} %; give it larger leaves, fewer steps or more regularisation, or {waive}",
            significant(100.0 * parts.largest),
            100 / FEWEST_ROWS
        )));
    }
    Ok(format!(
        "Node '{name}': one row makes up at most {} % of any prediction of its {kind} that leaves, measured by {} with one \
         label changed each, of {rows}.",
        significant(100.0 * parts.largest),
        counted(parts.refits, "fit")
    ))
}

/// What refits have shown.
struct Parts {
    /// The largest part of a row in a prediction.
    largest: f64,
    /// How many rows were looked at.
    refits: usize,
}

impl Parts {
    /// Looks at a node; none if its model is another one each time.
    fn measure(node: &Node) -> Result<Option<Self>> {
        let data = &node.data;
        let predicted = |labels: Labels| -> Result<Labels> {
            let weights = data.weights().to_vec();
            let rows = Dataset::weighted(data.features().clone(), labels, weights)?;
            Ok(node.model.fit(&rows)?.predict(&node.public))
        };
        let (first, second) =
            (predicted(data.labels().clone())?, predicted(data.labels().clone())?);
        if first != second {
            return Ok(None);
        }
        let step = step(data);
        let chosen = chosen(node);
        let mut sums = vec![0.0; node.public.rows()];
        let mut largest = vec![0.0_f64; node.public.rows()];
        for &Chosen { row, stands_for } in &chosen {
            let moved = predicted(changed(data.labels(), row, step))?;
            for (point, (sum, most)) in sums.iter_mut().zip(&mut largest).enumerate() {
                let part = distance(first.row(point), moved.row(point)) / step;
                *sum += stands_for * part;
                *most = most.max(part);
            }
        }
        let part = |(sum, most): (f64, f64)| if sum > 0.0 { most / sum } else { 0.0 };
        let largest = sums.into_iter().zip(largest).map(part).fold(0.0, f64::max);
        Ok(Some(Self { largest, refits: chosen.len() }))
    }
}

/// By how much a label is changed.
fn step(data: &Dataset) -> f64 {
    if data.task() != Task::Regression {
        return 1.0;
    }
    let (labels, rows) = (data.labels().as_slice(), data.rows() as f64);
    let mean = labels.iter().sum::<f64>() / rows;
    let variance = labels.iter().map(|label| (label - mean).powi(2)).sum::<f64>() / rows;
    // Equal labels have no deviation of their own.
    if variance > 0.0 { variance.sqrt() } else { 1.0 }
}

/// The labels with one of them changed: a step more, or the next class.
fn changed(labels: &Labels, row: usize, step: f64) -> Labels {
    let mut changed = labels.clone();
    let outputs = labels.task().outputs();
    let own = &mut changed.as_mut_slice()[row * outputs..][..outputs];
    match own {
        [number] => *number += step,
        classes => classes.rotate_right(1),
    }
    changed
}

/// How far two predictions are apart: numbers by their difference, classes by the probability that has moved.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let total: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
    if a.len() > 1 { 0.5 * total } else { total }
}

/// A row that is looked at, and for how many it stands in the sum over all.
struct Chosen {
    row: usize,
    stands_for: f64,
}

/// The rows that are looked at: all, or the nearest to public points and some of the others at even distances.
fn chosen(node: &Node) -> Vec<Chosen> {
    let rows = node.data.rows();
    if rows <= MOST_REFITS {
        return (0..rows).map(|row| Chosen { row, stands_for: 1.0 }).collect();
    }
    let nearness = nearness(node);
    let mut order: Vec<usize> = (0..rows).collect();
    order.sort_by(|&a, &b| nearness[a].total_cmp(&nearness[b]).then(a.cmp(&b)));
    let (near, far) = order.split_at(NEAR_REFITS);
    let sampled = MOST_REFITS - NEAR_REFITS;
    let stands_for = far.len() as f64 / sampled as f64;
    let sample = (0..sampled).map(|k| Chosen { row: far[k * far.len() / sampled], stands_for });
    near.iter().map(|&row| Chosen { row, stands_for: 1.0 }).chain(sample).collect()
}

/// The squared distance of every row to the public point next to it, in deviations of the node's columns.
fn nearness(node: &Node) -> Vec<f64> {
    let (rows, points) = (node.data.features(), &node.public);
    let precisions: Vec<f64> = (0..rows.columns())
        .map(|column| {
            let values = || rows.iter().map(|x| x[column]);
            let mean = values().sum::<f64>() / rows.rows() as f64;
            let variance = values().map(|x| (x - mean).powi(2)).sum::<f64>() / rows.rows() as f64;
            // A column that does not vary tells nothing of distances.
            if variance > 0.0 { 1.0 / variance } else { 0.0 }
        })
        .collect();
    let apart = |x: &[f64], point: &[f64]| -> f64 {
        let parts = x.iter().zip(point).zip(&precisions);
        parts.map(|((a, b), precision)| precision * (a - b).powi(2)).sum()
    };
    let next = |x: &[f64]| points.iter().map(|p| apart(x, p)).fold(f64::INFINITY, f64::min);
    rows.iter().map(next).collect()
}

#[cfg(test)]
mod tests {
    use fedgrid::{
        data::Features,
        model::{Forest, Kernel, Linear, LocalModel, Neighbours, Smoother, Tree},
    };

    use super::*;

    /// Rows on a line, with public points on two of them and between two others.
    fn node(rows: u32, model: impl LocalModel + 'static) -> Node {
        let names: Arc<[String]> = ["x".to_string()].into();
        let xs: Vec<f64> = (0..rows).map(f64::from).collect();
        let labels = Labels::values(xs.iter().map(|x| x.sin()).collect());
        let data = Dataset::new(Features::new(names.clone(), xs).unwrap(), labels).unwrap();
        let public = Features::new(names, vec![3.0, 7.0, 4.5]).unwrap();
        let data = data.with_total_weight(1.0);
        Node { id: 0, data, model: Arc::new(model), public: Arc::new(public) }
    }

    fn part(node: &Node) -> f64 {
        Parts::measure(node).unwrap().unwrap().largest
    }

    fn smoother(width: f64) -> Smoother {
        Smoother { kernel: Kernel::Gaussian { width }, ..Smoother::default() }
    }

    #[test]
    fn what_is_measured_is_the_part_that_can_be_read() {
        let neighbours = |k| Neighbours { k, by_distance: false, standardise: true };
        assert!((part(&node(12, neighbours(5))) - 0.2).abs() < 1e-9);
        assert!((part(&node(12, neighbours(1))) - 1.0).abs() < 1e-9);
        assert!((part(&node(12, smoother(0.01))) - 1.0).abs() < 1e-9);
        assert!((part(&node(12, smoother(1e6))) - 1.0 / 12.0).abs() < 1e-6);
    }

    #[test]
    fn of_many_rows_the_nearest_are_looked_at_and_some_stand_for_the_others() {
        // The row at a point is among the nearest, and has all of it. Widths are in deviations, of 115 rows here.
        let narrow = Parts::measure(&node(400, smoother(1e-4))).unwrap().unwrap();
        assert_eq!(narrow.refits, MOST_REFITS);
        assert!((narrow.largest - 1.0).abs() < 1e-9);
        // All rows alike: those that were not asked count in the sum.
        let wide = part(&node(400, smoother(1e6)));
        assert!((wide - 1.0 / 400.0).abs() < 1e-6, "{wide}");
    }

    #[test]
    fn a_tree_of_large_leaves_passes_and_one_of_small_leaves_does_not() {
        let tree = |min_leaf_weight| Tree { min_leaf_weight, ..Tree::default() };
        let refused = measured(&node(40, tree(0.02)), ("n", "tree")).unwrap_err().to_string();
        assert!(
            refused.contains("would tell a label") && refused.contains("--waive-floor n"),
            "{refused}"
        );
        let said = measured(&node(40, tree(0.25)), ("n", "tree")).unwrap();
        assert!(
            said.contains("measured by 40 fits with one label changed each, of 40 training rows"),
            "{said}"
        );
        let linear = measured(&node(40, Linear::default()), ("n", "linear"));
        assert!(linear.is_ok(), "{linear:?}");
        let forest = Forest { trees: 5, min_leaf_weight: 0.02, ..Forest::default() };
        assert!(measured(&node(40, forest), ("n", "forest")).is_err());
    }

    #[test]
    fn classes_are_measured_by_the_probability_that_moves() {
        let names: Arc<[String]> = ["x".to_string()].into();
        let xs: Vec<f64> = (0..12).map(f64::from).collect();
        let classes: Vec<usize> = (0..12).map(|row| row % 3).collect();
        let labels = Labels::classes(3, &classes).unwrap();
        let features = Features::new(names, xs).unwrap();
        let data = Dataset::new(features, labels).unwrap().with_total_weight(1.0);
        let of = |k| {
            let model = Neighbours { k, by_distance: false, standardise: true };
            Node { data: data.clone(), ..node(12, model) }
        };
        assert!((part(&of(5)) - 0.2).abs() < 1e-9);
        assert!((part(&of(2)) - 0.5).abs() < 1e-9);
    }
}

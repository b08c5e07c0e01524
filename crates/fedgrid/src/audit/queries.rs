//! What a neighbour that does not follow the protocol reads off the answers of a node with a linear model. A round of
//! FedRelax is an affine function of what the neighbours said,
//!
//! ```text
//! M w = g + c Aᵀ v        M = XᵀWX + ridge R + c AᵀA,   g = XᵀWy,   c = α Σ_j A_ij / points
//! ```
//!
//! so that from one answer more than there are weights it knows M and g, and with them all means and products of the
//! node's rows and labels. It says what the node has just said, changed by a little in one direction after the other:
//! small changes are answered as exactly as large ones, so that clipping does not prevent it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::worlds::spans_weights;
use crate::{
    algebra::{Cholesky, Singular, add_scaled, dot, norm, squared_distance},
    data::Labels,
    error::Result,
    method::{
        FedRelax, Method, Participant,
        fedrelax::{Coupling, PredictionMessage},
    },
    network::{Neighbour, Node, View},
};

/// Each question is by so much smaller than the one before: a node damps what it hears where its changes have grown
/// over ten rounds, and in ten these fall to a ninth of their squares.
const NEXT_QUESTION_SHARE: f64 = 0.9;

/// What was read off the answers of a node.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Recovered {
    /// How many answers were needed.
    pub answers: usize,
    /// How far the products of features are from those of the rows, relative to their size.
    pub products_error: f64,
    /// The same of the products of features with labels.
    pub labels_error: f64,
}

/// The products of a node's features with each other and with labels, each row with its weight.
struct Moments {
    products: Vec<f64>,
    labels: Vec<f64>,
}

/// Asks a node, as all of its neighbours together, until the moments of its rows are known; none if its model is not
/// linear or its predictions do not determine the weights.
pub fn recover_moments(method: &FedRelax, node: &Node, degree: f64) -> Result<Option<Recovered>> {
    let is_plain = method.coupling == Coupling::OneSided && method.couple_intercept;
    let Some(linear) = node.model.as_linear().filter(|_| is_plain) else { return Ok(None) };
    let size = node.public.columns() + usize::from(linear.intercept);
    let design: Vec<Vec<f64>> = node
        .public
        .iter()
        .map(|x| x.iter().copied().chain(linear.intercept.then_some(1.0)).collect())
        .collect();
    let gram = products(&design, &vec![1.0; design.len()], size);
    let factor = Cholesky::new(gram.clone(), size).filter(|_| spans_weights(&node.public));
    let Some(factor) = factor else { return Ok(None) };
    let neighbour = Neighbour { id: node.id + 1, weight: degree, public: node.public.clone() };
    let view = View { node: node.clone(), neighbours: vec![neighbour] };
    let mut asked = method.join(view)?;
    let sums = |labels: &[f64]| {
        let mut sums = vec![0.0; size];
        for (x, label) in design.iter().zip(labels) {
            add_scaled(&mut sums, *label, x);
        }
        sums
    };
    // Within the radius of a clip what is said counts as it is.
    let mut reach = 0.5 * method.clip.unwrap_or(2.0);
    let (mut said, mut answers) = (Vec::new(), Vec::new());
    for question in 0..=size {
        let Some((_, PredictionMessage { own, .. })) = asked.send().pop() else { return Ok(None) };
        let column: Vec<f64> = design.iter().map(|x| *x.get(question).unwrap_or(&0.0)).collect();
        let spread = norm(&column) / (design.len() as f64).sqrt();
        let mut changed = own.as_slice().to_vec();
        add_scaled(&mut changed, if spread > 0.0 { reach / spread } else { 0.0 }, &column);
        said.push(sums(&changed));
        let message = PredictionMessage { own: Arc::new(Labels::values(changed)), yours: None };
        asked.receive(&[(node.id + 1, message)])?;
        let Some((_, PredictionMessage { own, .. })) = asked.send().pop() else { return Ok(None) };
        let mut weights = sums(own.as_slice());
        factor.solve(&mut weights);
        answers.push(weights);
        reach *= NEXT_QUESTION_SHARE;
    }
    let pull = method.alpha * degree / design.len() as f64;
    let differences = |all: &[Vec<f64>]| {
        let entry = |at: usize| all[at % size][at / size] - all[size][at / size];
        (0..size * size).map(entry).collect::<Vec<f64>>()
    };
    let found = solved(&differences(&answers), &differences(&said), pull, size).map(|matrix| {
        let of_answer = |row: usize| dot(&matrix[row * size..][..size], &answers[size]);
        let labels = (0..size).map(|row| of_answer(row) - pull * said[size][row]).collect();
        let mut products = matrix.clone();
        for (at, product) in products.iter_mut().enumerate() {
            let is_slope = at % (size + 1) == 0 && at / size < node.public.columns();
            *product -= pull * gram[at] + if is_slope { linear.ridge } else { 0.0 };
        }
        Moments { products, labels }
    });
    let truth = moments(node, linear.intercept);
    let far = |a: &[f64], b: &[f64]| squared_distance(a, b).sqrt() / norm(b).max(f64::MIN_POSITIVE);
    Ok(found.map(|found| Recovered {
        answers: size + 1,
        products_error: far(&found.products, &truth.products),
        labels_error: far(&found.labels, &truth.labels),
    }))
}

/// M of `M answers = c said`; none if answers do not differ in every direction.
fn solved(answers: &[f64], said: &[f64], pull: f64, size: usize) -> Option<Vec<f64>> {
    let spectrum = Singular::new(answers, size);
    if spectrum.values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let mut matrix = vec![0.0; size * size];
    let terms = spectrum.values.iter().zip(&spectrum.scaled_left).zip(&spectrum.right);
    for ((value, left), right) in terms {
        for row in 0..size {
            let part = pull / (value * value) * dot(&said[row * size..][..size], right);
            add_scaled(&mut matrix[row * size..][..size], part, left);
        }
    }
    Some(matrix)
}

/// The sum of outer products of rows, each with its weight.
fn products(rows: &[Vec<f64>], weights: &[f64], size: usize) -> Vec<f64> {
    let mut sum = vec![0.0; size * size];
    for (row, weight) in rows.iter().zip(weights) {
        for (at, entry) in sum.iter_mut().enumerate() {
            *entry += weight * row[at / size] * row[at % size];
        }
    }
    sum
}

fn moments(node: &Node, has_intercept: bool) -> Moments {
    let rows: Vec<Vec<f64>> = node
        .data
        .features()
        .iter()
        .map(|x| x.iter().copied().chain(has_intercept.then_some(1.0)).collect())
        .collect();
    let size = node.data.features().columns() + usize::from(has_intercept);
    let mut labels = vec![0.0; size];
    let weighed = node.data.labels().as_slice().iter().zip(node.data.weights());
    for (row, (label, weight)) in rows.iter().zip(weighed) {
        labels.iter_mut().zip(row).for_each(|(sum, x)| *sum += weight * label * x);
    }
    Moments { products: products(&rows, node.data.weights(), size), labels }
}

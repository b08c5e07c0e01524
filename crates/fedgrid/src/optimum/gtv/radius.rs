//! How far a minimiser can be: for every node a bound on `‖w_i − w_i*‖` for some minimiser w*.
//!
//! ```text
//! slack        S = P(w) − Σ_k min L_k ≥ L_j(w_j*) − min L_j          so w_j* lies in a level set of L_j
//! no rows      w_i* lies in the hull of the w_j* with rows            (projecting onto it raises no term)
//! across edges ‖w_i* − w_j*‖ ≤ S / (α min A)                           for a norm; √(2 ℓ S / α min A) over ℓ
//!                                                                    edges for the squared norm
//! pooled       ‖w̄‖ ≤ (√P + ‖y‖ + Δ √Σ‖H_j‖) / √λ_min(Σ H_j)            where single nodes are not determined,
//!                                                                    over the directions that rows reach
//! ```

use super::{
    frame::Frame,
    losses::Loss,
    quadratic::{REACHED, reduce},
};
use crate::{
    algebra::{Singular, add_scaled, dot, squared_distance},
    penalty::Penalty,
};

/// The bounds of all places.
#[derive(Debug)]
pub(super) struct Radii {
    bounds: Vec<f64>,
    /// A ball around each node with rows that contains its minimiser: centre and radius.
    balls: Vec<Option<(Vec<f64>, f64)>>,
    slack: f64,
    objective: f64,
}

impl Radii {
    pub(super) fn new(frame: &Frame, w: &[f64], objective: f64) -> Self {
        let size = frame.losses.size;
        let least: Vec<f64> = (0..frame.len()).map(|place| least(frame, place)).collect();
        let floor: f64 = least.iter().sum();
        let slack = (objective - floor).max(0.0) + 1e-12 * objective.abs();
        let ball = |place: usize| match frame.loss(place) {
            Loss::Quadratic(quadratic) => {
                let curvature = quadratic.least_curvature(size);
                (curvature > 0.0).then(|| (quadratic.least(size).1, (slack / curvature).sqrt()))
            }
            Loss::Convex(convex) => {
                let radius = convex.model().radius(convex.data(), least[place] + slack)?;
                Some((vec![0.0; size], radius))
            }
            Loss::None => None,
        };
        let balls = (0..frame.len()).map(ball).collect();
        let mut all = Self { bounds: vec![f64::INFINITY; frame.len()], balls, slack, objective };
        all.spread(frame, w);
        all
    }

    /// The bound of a place; infinite if there is none.
    pub(super) fn of(&self, place: usize) -> f64 {
        self.bounds[place]
    }

    pub(super) fn reason(&self) -> &'static str {
        if self.slack.is_finite() {
            "some node's rows do not bound its weights, so no finite bound on the gap is known"
        } else {
            "the objective is not finite, so no bound on the gap is known"
        }
    }

    /// Uses a bound on the gap: `Σ δ_jᵀ H_j δ_j ≤ gap`.
    pub(super) fn tighten(&mut self, frame: &Frame, w: &[f64], gap: f64) {
        if !gap.is_finite() {
            return;
        }
        for (place, ball) in self.balls.iter_mut().enumerate() {
            if let (Some((centre, radius)), Loss::Quadratic(quadratic)) = (ball, frame.loss(place))
            {
                let smaller = (gap / quadratic.least_curvature(frame.losses.size)).sqrt();
                if smaller < *radius {
                    *radius = smaller;
                    *centre = frame.row(w, place).to_vec();
                }
            }
        }
        self.spread(frame, w);
    }

    /// Bounds for all nodes of each component from those with a ball.
    fn spread(&mut self, frame: &Frame, w: &[f64]) {
        let mut places = vec![Vec::new(); frame.components];
        for (place, &component) in frame.component.iter().enumerate() {
            places[component].push(place);
        }
        for places in places {
            let labelled: Vec<usize> = places
                .iter()
                .copied()
                .filter(|&place| !matches!(frame.loss(place), Loss::None))
                .collect();
            let (centre, radius) = if labelled.is_empty() {
                // Nothing pulls there: any common weights are a minimiser, so take one's own.
                (frame.row(w, places[0]).to_vec(), 0.0)
            } else {
                self.component(frame, w, &places, &labelled)
            };
            for place in places {
                let own = self.balls[place].as_ref().map_or(f64::INFINITY, |(centre, radius)| {
                    squared_distance(frame.row(w, place), centre).sqrt() + radius
                });
                let common = squared_distance(frame.row(w, place), &centre).sqrt() + radius;
                self.bounds[place] = own.min(common);
            }
        }
    }

    /// A ball that contains the minimisers of all nodes of a component.
    fn component(
        &self,
        frame: &Frame,
        w: &[f64],
        places: &[usize],
        labelled: &[usize],
    ) -> (Vec<f64>, f64) {
        let size = frame.losses.size;
        let balls: Vec<&(Vec<f64>, f64)> =
            labelled.iter().filter_map(|&place| self.balls[place].as_ref()).collect();
        if balls.len() == labelled.len() {
            let mut centre = vec![0.0; size];
            for (ball, _) in &balls {
                add_scaled(&mut centre, 1.0 / balls.len() as f64, ball);
            }
            let reach =
                |ball: &&(Vec<f64>, f64)| squared_distance(&ball.0, &centre).sqrt() + ball.1;
            let radius = balls.iter().map(reach).fold(0.0, f64::max);
            // The hull of the one-norm is a box.
            let corner = if frame.penalty == Penalty::OneNorm { (size as f64).sqrt() } else { 1.0 };
            return (centre, corner * radius);
        }
        let apart = self.apart(frame, places);
        if let Some(best) = balls.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            return (best.0.clone(), best.1 + apart);
        }
        let (centre, radius) = self.pooled(frame, w, labelled, apart);
        (centre, radius + apart)
    }

    /// How far apart the minimisers of two nodes of a component can be.
    fn apart(&self, frame: &Frame, places: &[usize]) -> f64 {
        if places.len() == 1 {
            return 0.0;
        }
        if frame.losses.coupled < frame.losses.size {
            return f64::INFINITY;
        }
        let component = frame.component[places[0]];
        let mut weakest = f64::INFINITY;
        for tile in frame.layout.rounds.iter().flatten() {
            let block = tile.first * frame.layout.block;
            for edge in tile.edges.clone() {
                if frame.component[block + frame.layout.ends[edge].source as usize] == component {
                    weakest = weakest.min(frame.strengths[edge]);
                }
            }
        }
        match frame.penalty {
            Penalty::SquaredNorm => (2.0 * places.len() as f64 * self.slack / weakest).sqrt(),
            _ => self.slack / weakest,
        }
    }

    /// A ball that contains the minimiser of any one node of a component of quadratic losses.
    ///
    /// Directions that no row of the component reaches can be added to all its weights for nothing, so
    /// there is a minimiser that agrees with w there.
    fn pooled(&self, frame: &Frame, w: &[f64], labelled: &[usize], apart: f64) -> (Vec<f64>, f64) {
        let size = frame.losses.size;
        let mut centre = frame.row(w, labelled[0]).to_vec();
        let mut rows = Vec::new();
        let (mut labels, mut largest) = (0.0, 0.0);
        for &place in labelled {
            let Loss::Quadratic(quadratic) = frame.loss(place) else {
                return (centre, f64::INFINITY);
            };
            // A ridge would have given the node a ball.
            for (direction, h, _) in quadratic.terms(size) {
                rows.extend(direction.iter().map(|v| v * h.sqrt()));
            }
            if rows.len() > 4 * size * size {
                reduce(&mut rows, size);
            }
            labels += quadratic.constant;
            largest += quadratic.curvatures.iter().fold(0.0, |a: f64, b| a.max(*b));
        }
        reduce(&mut rows, size);
        let spectrum = Singular::new(&rows, size);
        let most = spectrum.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let mut least = f64::INFINITY;
        for (value, direction) in spectrum.values.iter().zip(&spectrum.right) {
            if *value > REACHED * most {
                least = least.min(*value);
                let part = dot(direction, &centre);
                add_scaled(&mut centre, -part, direction);
            }
        }
        let objective = self.objective.max(0.0);
        (centre, (objective.sqrt() + labels.sqrt() + apart * largest.sqrt()) / least)
    }
}

/// The least value of the loss at a place, or something below it.
fn least(frame: &Frame, place: usize) -> f64 {
    match frame.loss(place) {
        Loss::None => 0.0,
        Loss::Quadratic(quadratic) => quadratic.least(frame.losses.size).0.max(0.0),
        Loss::Convex(convex) => convex.model().least_loss(convex.data()),
    }
}

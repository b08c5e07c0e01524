//! What is true of trained models, and a truth under which the network gains nothing,
//!
//! ```text
//! y(s) = y + s (p_R − p_N)       E_N(s) − E_R(s) = E_N(0) − E_R(0) + 2 s mean (p_R − p_N)²
//! ```
//!
//! with `p_N` the predictions of the network's models and `p_R` those of its best rival: truth drifts towards the rival
//! where the network is better, and away from it where it is worse, until both are equally good.

/// Steps of the search for the drift: halves that leave no digit.
const HALVES: usize = 60;
/// How many times further than for the best rival alone the drift is sought: other rivals may do better there.
const FURTHER: [f64; 3] = [1.0, 2.0, 4.0];

/// Labels without noise, and what models predict for them.
pub(crate) struct Truth {
    pub(crate) labels: Vec<f64>,
    pub(crate) network: Vec<f64>,
    pub(crate) rivals: Vec<Vec<f64>>,
    /// The variance of the noise of new rows.
    pub(crate) noise: f64,
}

impl Truth {
    /// Which rival is best.
    pub(crate) fn best_rival(&self) -> usize {
        let error = |rival: &usize| self.error(&self.rivals[*rival], 0.0, *rival);
        let all = 0..self.rivals.len();
        all.min_by(|a, b| error(a).total_cmp(&error(b))).expect("there are rivals")
    }

    /// The true error of predictions where truth has drifted towards a rival.
    fn error(&self, predictions: &[f64], drift: f64, towards: usize) -> f64 {
        let away = |row: usize| drift * (self.rivals[towards][row] - self.network[row]);
        let square = |row: usize| (self.labels[row] + away(row) - predictions[row]).powi(2);
        let count = self.labels.len();
        self.noise + (0..count).map(square).sum::<f64>() / count as f64
    }

    /// The network's true gain on the best of its rivals, as a share of that one's error.
    pub(crate) fn gain(&self, drift: f64) -> f64 {
        let towards = self.best_rival();
        let errors = self.rivals.iter().map(|rival| self.error(rival, drift, towards));
        1.0 - self.error(&self.network, drift, towards) / errors.fold(f64::INFINITY, f64::min)
    }

    /// The drift towards the best rival under which the network gains nothing, if there is one.
    pub(crate) fn drift_without_gain(&self) -> Option<f64> {
        let rival = self.best_rival();
        let square = |(a, b): (&f64, &f64)| (a - b).powi(2);
        let apart = self.rivals[rival].iter().zip(&self.network).map(square).sum::<f64>();
        let behind =
            self.error(&self.network, 0.0, rival) - self.error(&self.rivals[rival], 0.0, rival);
        let alone = -0.5 * behind * self.labels.len() as f64 / apart;
        let gains = |drift: f64| self.gain(drift) > 0.0;
        let far = FURTHER.into_iter().map(|times| times * alone);
        let mut far =
            far.filter(|drift| drift.is_finite()).find(|far| gains(*far) != gains(0.0))?;
        let mut near = 0.0;
        for _ in 0..HALVES {
            let middle = 0.5 * (near + far);
            if gains(middle) == gains(near) { near = middle } else { far = middle }
        }
        Some(far)
    }
}

#[test]
fn truth_drifts_until_the_network_gains_nothing() {
    let labels = vec![1.0, -1.0, 2.0, 0.5];
    let shifted = |by: f64| labels.iter().map(|label| label + by).collect::<Vec<f64>>();
    for own in [0.1, 0.9] {
        let rivals = vec![shifted(-0.5), shifted(-1.5)];
        let truth = Truth { labels: labels.clone(), network: shifted(own), rivals, noise: 1.0 };
        assert!(truth.gain(0.0).abs() > 0.01);
        let drift = truth.drift_without_gain().unwrap();
        assert!(truth.gain(drift).abs() < 1e-12);
        // The middle of both, in units of what is between them.
        assert!((drift * (-0.5 - own) - 0.5 * (own - 0.5)).abs() < 1e-12);
    }
}

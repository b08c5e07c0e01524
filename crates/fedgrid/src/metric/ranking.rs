//! The area under the receiver operating characteristic: how often a row of a class is given more than a row of
//! none,
//!
//! ```text
//! AUC = Σ_i Σ_j w_i w_j ([s_i > s_j] + ½ [s_i = s_j]) / (Σ_i w_i Σ_j w_j)      i of the class, j of others
//! ```
//!
//! which is the statistic of Mann and Whitney over its largest value.

/// The area under the curve of scores; none where all rows that count are of the class, or none is.
#[must_use]
pub fn area_under_curve(scores: &[f64], is_of_class: &[bool], weights: &[f64]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let (mut inside, mut outside, mut pairs) = (0.0, 0.0, 0.0);
    // In groups of equal scores, because no order among them may count.
    for tied in order.chunk_by(|&a, &b| scores[a].total_cmp(&scores[b]).is_eq()) {
        let sum = |of_class: bool| -> f64 {
            let own = tied.iter().filter(|&&row| is_of_class[row] == of_class);
            own.map(|&row| weights[row]).sum()
        };
        let (own, others) = (sum(true), sum(false));
        // Equal scores are half a success.
        pairs += own * (outside + 0.5 * others);
        inside += own;
        outside += others;
    }
    (inside > 0.0 && outside > 0.0).then(|| pairs / (inside * outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCORES: [f64; 8] = [0.1, 0.4, 0.4, 0.35, 0.8, 0.4, 0.8, 0.05];
    const IS_OF_CLASS: [bool; 8] = [false, false, true, true, true, true, false, false];

    #[test]
    fn it_is_the_share_of_pairs_in_the_right_order() {
        let mut pairs = 0.0;
        for i in (0..8).filter(|&i| IS_OF_CLASS[i]) {
            for j in (0..8).filter(|&j| !IS_OF_CLASS[j]) {
                let order = SCORES[i].total_cmp(&SCORES[j]);
                pairs += 0.5 * f64::from(u8::from(order.is_gt()) + u8::from(order.is_ge()));
            }
        }
        let found = area_under_curve(&SCORES, &IS_OF_CLASS, &[1.0; 8]).unwrap();
        assert!((found - pairs / 16.0).abs() < 1e-15, "{found} {pairs}");
        // As scikit-learn has it: roc_auc_score.
        assert!((found - 0.65625).abs() < 1e-15, "{found}");
    }

    #[test]
    fn a_weight_of_two_is_the_row_twice_and_a_weight_of_zero_is_no_row() {
        let weights = [1.0, 2.0, 1.0, 0.0, 3.0, 1.0, 1.0, 2.0];
        let (mut scores, mut is_of_class) = (Vec::new(), Vec::new());
        for row in 0..8 {
            for _ in (0..9).take_while(|k| f64::from(*k) < weights[row]) {
                scores.push(SCORES[row]);
                is_of_class.push(IS_OF_CLASS[row]);
            }
        }
        let repeated = area_under_curve(&scores, &is_of_class, &vec![1.0; scores.len()]).unwrap();
        let weighted = area_under_curve(&SCORES, &IS_OF_CLASS, &weights).unwrap();
        assert!((repeated - weighted).abs() < 1e-15);
    }

    #[test]
    fn rows_of_one_class_have_no_area() {
        assert_eq!(area_under_curve(&[0.1, 0.9], &[true, true], &[1.0; 2]), None);
        assert_eq!(area_under_curve(&[0.1, 0.9], &[true, false], &[1.0, 0.0]), None);
        assert_eq!(area_under_curve(&[], &[], &[]), None);
    }

    #[test]
    fn equal_scores_are_a_coin() {
        let found = area_under_curve(&[0.3; 4], &[true, false, false, true], &[1.0; 4]);
        assert_eq!(found, Some(0.5));
    }
}

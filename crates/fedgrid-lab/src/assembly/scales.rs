//! Whether features have comparable scales, as methods that compare weights need them.

use fedgrid::data::Features;

use crate::number::significant;

/// Deviations that differ by more than this factor are worth a word.
const NOTED_SCALE_RATIO: f64 = 10.0;

/// What a reader should know about the scales of features whose weights are compared.
pub(super) fn note(training: &Features) -> Option<String> {
    let rows = training.rows().max(1) as f64;
    let deviation = |column: usize| {
        let values = || training.iter().map(|row| row[column]);
        let mean = values().sum::<f64>() / rows;
        (values().map(|x| (x - mean).powi(2)).sum::<f64>() / rows).sqrt()
    };
    let mut spread: Vec<(f64, &String)> = (0..training.columns())
        .map(|column| (deviation(column), &training.names()[column]))
        .filter(|(deviation, _)| *deviation > 0.0)
        .collect();
    spread.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (spread.first()?, spread.last()?);
    (most.0 > NOTED_SCALE_RATIO * least.0).then(|| {
        format!(
            "Weights are compared as they are, and features vary between {} ('{}') and {} ('{}'); \
             data.standardise = true lets them count alike.",
            significant(least.0),
            least.1,
            significant(most.0),
            most.1
        )
    })
}

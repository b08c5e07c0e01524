//! What may be told of a row, and what that has bought, in words and numbers.

use fedgrid::{
    compare::{Fitted, Study},
    privacy::{PrivateKind, normal},
};

use crate::{
    experiment::Experiment,
    number::{counted, percent, significant},
    outcome::PrivacyOutcome,
};

/// The section of a private run; none of others.
pub(super) fn privacy(
    experiment: &Experiment,
    study: &Study,
    fitted: &Fitted,
) -> Option<PrivacyOutcome> {
    let (keys, bought) = (experiment.privacy.as_ref()?, fitted.bought?);
    let mu = study.settings.privacy?.mu;
    let mut found = PrivacyOutcome {
        sentence: String::new(),
        kind: keys.kind,
        epsilon: keys.epsilon,
        delta: keys.delta,
        mu,
        // To tell N(0, 1) from N(μ, 1).
        right_share: normal(0.5 * mu),
        auc: normal(mu / std::f64::consts::SQRT_2),
        noise: keys.labels.half() * bought.deviation,
        bought,
    };
    found.sentence = sentence(&found);
    Some(found)
}

fn sentence(found: &PrivacyOutcome) -> String {
    let what = match found.kind {
        PrivateKind::Labels => "which of two labels a row has",
        PrivateKind::Rows => "whether a row is there",
    };
    let budget = format!(
        "At ε = {} and δ = {}, whoever sees all that is published tells {what} rightly in {} of cases at most, where \
         chance is 50 %.",
        significant(found.epsilon),
        significant(found.delta),
        percent(found.right_share)
    );
    let mut parts = vec![budget];
    if let (Some(alone), Some(with), Some(open)) =
        (found.bought.alone, found.bought.with_twins, found.bought.without_noise)
    {
        let (alone_text, with_text, open_text) =
            (significant(alone), significant(with), significant(open));
        parts.push(if with < alone {
            format!(
                "That brings the error from {alone_text} (own rows and declared bounds) to {with_text}; without noise \
                 it would be {open_text}."
            )
        } else {
            format!(
                "That buys nothing: the error is {with_text}, and {alone_text} by own rows and declared bounds. Stay \
                 alone, or spend more: without noise it would be {open_text}."
            )
        });
    }
    let clipped = found.bought.clipped;
    if clipped.labels + clipped.features > 0 {
        parts.push(format!(
            "{} and {} of features lay outside of the declared bounds and were moved there.",
            counted(clipped.labels, "label"),
            counted(clipped.features, "cell")
        ));
    }
    parts.join(" ")
}

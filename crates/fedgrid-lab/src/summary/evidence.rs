//! What training rows say of the network, in words.

use fedgrid::compare::NetworkEvidence;

use crate::{
    number::{count, counted, significant},
    outcome::EvidenceOutcome,
};

/// The numbers with a sentence that says what they are not.
pub(super) fn evidence(found: &NetworkEvidence) -> EvidenceOutcome {
    EvidenceOutcome { sentence: sentence(found), numbers: found.clone() }
}

fn sentence(found: &NetworkEvidence) -> String {
    let (ratio, shuffles) = (significant(found.ratio), found.shuffled.len());
    let asked = found.shuffles_asked;
    let fewer = if shuffles < asked {
        format!(
            " ({} of {} that were asked for, because more would take long)",
            count(shuffles),
            count(asked)
        )
    } else {
        String::new()
    };
    let beside = match found.p_value {
        None => "no shuffled network to compare it with, because one fit takes long".into(),
        Some(p_value) => {
            let most = found.shuffled.iter().copied().fold(0.0, f64::max);
            let networks = counted(shuffles, "shuffled network");
            format!(
                "at most {} for {networks}{fewer}, p = {}",
                significant(most),
                significant(p_value)
            )
        }
    };
    let what = if found.is_first_look {
        format!(
            "The network adds Λ = 2(ℓ(ρ) − ℓ(0)) of at least {ratio} to the likelihood of the training rows, looked at \
             for one ρ or two; what shuffled networks would add is not known, because they would take long."
        )
    } else if found.ratio > 0.0 {
        format!(
            "The training rows are likelier with the network: Λ = 2(ℓ(ρ) − ℓ(0)) = {ratio}, {beside}."
        )
    } else {
        format!(
            "The network makes the training rows no likelier: Λ = 2(ℓ(ρ) − ℓ(0)) = 0, {beside}."
        )
    };
    format!(
        "{what} This is about the training rows alone and no promise about others: what neighbours share in them \
         may be gone in rows to come."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(ratio: f64, shuffled: &[f64]) -> NetworkEvidence {
        let above = shuffled.iter().filter(|other| **other >= ratio).count();
        let share = (1 + above) as f64 / (1 + shuffled.len()) as f64;
        NetworkEvidence {
            without: 100.0,
            with: 100.0 - ratio,
            rho: 0.5,
            ratio,
            shuffled: shuffled.to_vec(),
            shuffles_asked: 3,
            is_first_look: false,
            p_value: (!shuffled.is_empty()).then_some(share),
            covariances: None,
        }
    }

    #[test]
    fn what_was_compared_is_said_and_what_it_is_not() {
        let clear = sentence(&found(12.0, &[0.0, 1.5, 0.2]));
        assert!(
            clear.contains("= 12.0, at most 1.50 for 3 shuffled networks, p = 0.250."),
            "{clear}"
        );
        assert!(clear.contains("no promise"), "{clear}");
        let few = sentence(&found(12.0, &[0.0]));
        assert!(few.contains("1 shuffled network (1 of 3 that were asked for"), "{few}");
        let looked = sentence(&NetworkEvidence { is_first_look: true, ..found(7.0, &[]) });
        assert!(looked.contains("at least 7.00") && looked.contains("would take long"), "{looked}");
        let alone = sentence(&found(0.0, &[]));
        assert!(alone.contains("no likelier") && alone.contains("no shuffled network"), "{alone}");
    }
}

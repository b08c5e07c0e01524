//! What theory says, as the page prints it.

use minijinja::{Value, context};

use crate::{
    number,
    outcome::Outcome,
    theory::{ClusterTheory, CriticalTheory, RecoveryTheory, Theory},
};

/// How many clusters are listed, the largest first.
const LISTED_CLUSTERS: usize = 12;

/// The rows of the table of clusters, the constants of Theorem 1 and the warnings; none without theory.
pub(super) fn theory(outcome: &Outcome) -> Option<Value> {
    let theory = outcome.theory.as_ref()?;
    let mut clusters: Vec<&ClusterTheory> = theory.clusters.iter().collect();
    clusters.sort_by_key(|cluster| std::cmp::Reverse(cluster.nodes));
    let left_out = clusters.len().saturating_sub(LISTED_CLUSTERS);
    let rows: Vec<Value> =
        clusters.iter().take(LISTED_CLUSTERS).map(|cluster| row(cluster)).collect();
    Some(context! {
        rows,
        left_out => (left_out > 0).then(|| number::counted(left_out, "smaller cluster")),
        norm => norm(theory),
        constants => constants(theory),
        theorem => theory.recovery.is_some(),
        warnings => theory.warnings.clone(),
    })
}

fn norm(theory: &Theory) -> &'static str {
    match theory.norm.as_str() {
        "predictions" => "predictions on the public points (mean square)",
        _ => "weights (Euclidean)",
    }
}

fn row(cluster: &ClusterTheory) -> Value {
    context! {
        cluster => cluster.cluster,
        nodes => number::count(cluster.nodes),
        lambda2 => number::significant(cluster.lambda2),
        outside => number::significant(cluster.outside),
        variation => number::perhaps(cluster.variation),
        bound => number::perhaps(cluster.bound),
        factor => cluster.largest_factor.map_or("any".into(), number::significant),
    }
}

fn constants(theory: &Theory) -> Option<Vec<Value>> {
    let recovery =
        theory.recovery.as_ref().map_or(Vec::new(), |recovery| of_recovery(recovery).into());
    let critical = |found: &CriticalTheory| {
        [
            ("Critical α, at least", Some(found.at_least)),
            ("Critical α, at most: from there on all weights are equal", Some(found.at_most)),
        ]
    };
    let critical = theory.critical.as_ref().map(critical).into_iter().flatten();
    let lines: Vec<(&str, Option<f64>)> = recovery.into_iter().chain(critical).collect();
    let line = |(name, value)| context! { name, value => number::perhaps(value) };
    (!lines.is_empty()).then(|| lines.into_iter().map(line).collect())
}

fn of_recovery(recovery: &RecoveryTheory) -> [(&'static str, Option<f64>); 7] {
    [
        ("U, the largest gradient at an optimum", Some(recovery.gradient)),
        ("C, half the smallest curvature", recovery.curvature),
        ("L of condition 17", recovery.factor),
        ("K of condition 17", recovery.constant),
        ("λ, the α of the theorem", recovery.alpha),
        ("Bound 18 at that α", recovery.bound),
        ("Measured, at the α of the run", Some(recovery.error)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{complete, page};

    #[test]
    fn clusters_constants_and_warnings_are_on_the_page() {
        let mut outcome = complete();
        assert!(!page(&outcome).contains("What theory says"));
        let cluster = |cluster: usize, nodes: usize| ClusterTheory {
            cluster,
            nodes,
            lambda2: 0.123,
            outside: 2.0,
            variation: Some(4.56),
            bound: None,
            epsilon: Some(1.0),
            largest_factor: None,
        };
        let recovery = RecoveryTheory {
            labelled: 2,
            gradient: 7.89,
            curvature: None,
            factor: None,
            constant: None,
            alpha: None,
            bound: None,
            error: 3.21,
        };
        outcome.theory = Some(Theory {
            norm: "weights".into(),
            clusters: (0..=LISTED_CLUSTERS).map(|index| cluster(index, index + 2)).collect(),
            recovery: Some(recovery),
            critical: Some(CriticalTheory { at_least: 0.654, at_most: 0.987 }),
            warnings: vec!["C is <zero>".into()],
        });
        let html = page(&outcome);
        for part in [
            "What theory says",
            "0.123",
            "4.56",
            "7.89",
            "3.21",
            "0.987",
            "any",
            "C is &lt;zero&gt;",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(html.contains("1 smaller cluster") && html.contains("Theorem 1"));
        outcome.theory.as_mut().unwrap().recovery = None;
        assert!(page(&outcome).contains("0.987") && !page(&outcome).contains("Theorem 1"));
    }
}

//! Who learns by probes and who only answers, and whether rows that arrive suffice.

use fedgrid::{
    compare::{Approach, Fitted, Strength, Study, Watch},
    data::Plan,
};

use super::{Assembly, listed};
use crate::{
    error::{Error, Result},
    experiment::{Experiment, MethodKind, PersFlKeys, advice},
};

/// What rows that arrive mean for the comparison.
const ARRIVING: &str = "Rows arrive at the network and its shuffles only; what they are compared with has all training \
                        rows at once.";

/// The keys of PersFL, if it is the method.
fn keys(experiment: &Experiment) -> Option<&PersFlKeys> {
    (experiment.method.kind == MethodKind::Persfl).then_some(&experiment.method.persfl)
}

/// The nodes that only answer.
fn bystanders(study: &Study) -> Vec<usize> {
    match &study.settings.method {
        Approach::PersFl(method) => method.targets.as_ref().map_or_else(Vec::new, |targets| {
            (0..study.network.len()).filter(|node| !targets.contains(node)).collect()
        }),
        _ => Vec::new(),
    }
}

/// Refuses targets that cannot learn, and rows that never suffice for a question.
pub(super) fn check(experiment: &Experiment, names: &[String], plan: &Plan) -> Result<()> {
    let Some(keys) = keys(experiment) else { return Ok(()) };
    let targets = keys.targets.as_deref().unwrap_or_default();
    for name in targets {
        let Some(node) = names.iter().position(|known| known == name) else {
            let advice = advice(name, names.iter().map(String::as_str));
            let found = format!("'{name}' is not a node of the network{advice}");
            return Err(Error::input(format!("method.persfl.targets: {found}")));
        };
        if plan.train[node].is_empty() {
            return Err(Error::input(format!(
                "method.persfl.targets: node '{name}' has no training row, expected some, by which \
                 answers are scored"
            )));
        }
    }
    let Some(online) = keys.online.filter(|online| online.enough > 0) else { return Ok(()) };
    let least = online.batch.saturating_add(online.enough);
    let few = (0..names.len())
        .filter(|&node| targets.is_empty() || targets.contains(&names[node]))
        .map(|node| {
            let folds = plan.folds.iter().map(|fold| fold.train[node].len());
            (node, folds.chain([plan.train[node].len()]).min().unwrap_or(0))
        })
        .find(|&(node, rows)| !plan.train[node].is_empty() && rows < least);
    match few {
        Some((node, rows)) => Err(Error::input(format!(
            "method.persfl.online: node '{}' trains on {rows} rows, expected at least {least}, the \
             batch and enough that come after it",
            names[node]
        ))),
        None => Ok(()),
    }
}

/// Leaves targets alone to be scored. Refuses them if the rows that score are all with others.
pub(super) fn score_targets(study: &mut Study) -> Result<()> {
    let others = bystanders(study);
    let some = |rows: &[Vec<usize>]| rows.iter().any(|rows| !rows.is_empty());
    let scored = |plan: &Plan| {
        let validation = plan.folds.iter().any(|fold| some(&fold.validation));
        [("validation", validation), ("test", some(&plan.test))]
    };
    let before = scored(&study.plan);
    for node in others {
        study.plan.folds.iter_mut().for_each(|fold| fold.validation[node].clear());
        study.plan.test[node].clear();
    }
    let after = scored(&study.plan);
    match before.into_iter().zip(after).find(|(before, after)| before != after) {
        Some(((role, _), _)) => Err(Error::input(format!(
            "method.persfl.targets: none of these nodes has a {role} row, expected one at least"
        ))),
        None => Ok(()),
    }
}

/// Names the targets, and what arriving rows are compared with.
pub(super) fn describe(study: &Study, about: &mut [Option<String>], notes: &mut Vec<String>) {
    let others = bystanders(study);
    if !others.is_empty() {
        let names = study.network.names();
        let targets: Vec<&str> = (0..names.len())
            .filter(|node| !others.contains(node))
            .map(|node| names[node].as_str())
            .collect();
        let who = listed(targets.into_iter(), "learns", "learn");
        let rest = "the others only answer, keep models of their own rows and are not scored";
        notes.push(format!("{who}; {rest}."));
    }
    for node in others {
        about[node].get_or_insert_with(|| "only answers".into());
    }
    if matches!(&study.settings.method, Approach::PersFl(method) if method.online.is_some()) {
        notes.push(ARRIVING.into());
    }
}

impl Assembly {
    /// Lets training rows take turns to validate, where no rows were set aside for it.
    pub fn fold(&mut self, folds: usize, seed: u64) -> Result<()> {
        self.study.plan = self.study.plan.clone().folded(folds, seed);
        score_targets(&mut self.study)
    }

    /// Fits the study's own method at a strength; who only answers is trained alone.
    pub fn fit(&self, strength: Strength, watch: &dyn Watch) -> fedgrid::Result<Fitted> {
        let mut fitted = self.study.fit(strength, watch)?;
        let others = bystanders(&self.study);
        if others.is_empty() {
            return Ok(fitted);
        }
        let nodes = self.study.nodes(strength.ridge);
        for node in others.into_iter().filter(|&node| nodes[node].data.rows() > 0) {
            fitted.hypotheses[node] = nodes[node].model.fit(&nodes[node].data)?.into();
        }
        Ok(fitted)
    }
}

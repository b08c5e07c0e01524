//! Who learns and who only helps others to, and whether rows that arrive suffice.

use fedgrid::{
    compare::{Contestant, Fitted, Strength, Study, Watch},
    data::{Plan, RowDraws},
};

use super::{Assembly, Graph, listed};
use crate::{
    error::{Error, Result},
    experiment::{Experiment, advice},
};

/// The nodes that only answer.
fn bystanders(study: &Study) -> Vec<usize> {
    study.settings.method.bystanders(study.network.len())
}

/// Refuses learners that cannot learn, and rows that never suffice.
pub(super) fn check(experiment: &Experiment, graph: &Graph, plan: &Plan) -> Result<()> {
    let (method, names) = (&experiment.method.approach, graph.network.names());
    // A network in memory brings no table whose column could tell clusters.
    if let (Some(column), None) = (method.cluster_column(), &graph.clusters) {
        let expected = "such a file";
        let found = format!("method.clusters is \"{column}\", a column of network.file");
        return Err(Error::input(format!("{found}, expected {expected}")));
    }
    let learners = method.learners().unwrap_or_default();
    if let Some(name) = learners.iter().find(|name| !names.contains(name)) {
        let advice = advice(name, names.iter().map(String::as_str));
        let found = format!("'{name}' is not a node of the network{advice}");
        return Err(Error::input(format!("method.targets: {found}")));
    }
    method.check_rows(names, plan).map_err(Error::input)
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
            "method.targets: none of these nodes has a {role} row, expected one at least"
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
    notes.extend(study.settings.method.note_on_rows().map(Into::into));
}

impl Assembly {
    /// Lets training rows take turns to validate, where no rows were set aside for it.
    pub fn fold(&mut self, folds: usize, seed: u64) -> Result<()> {
        let (names, rows) = (self.study.network.names(), &self.study.rows[..]);
        let draws = RowDraws { names, rows, seed };
        self.study.plan = self.study.plan.clone().folded(folds, &draws);
        // New folds give rows of all nodes a turn, also of those that only answer.
        score_targets(&mut self.study)
    }

    /// Fits the study's own method at a strength; who only answers is trained alone.
    pub fn fit(&self, strength: Strength, watch: &dyn Watch) -> fedgrid::Result<Fitted> {
        self.with_bystanders(self.study.fit(strength, watch)?, strength)
    }

    /// Fits several contestants, each at its strength; what they need in common of the rows is made ready once.
    pub fn fit_several(
        &self,
        asked: &[(Contestant, Strength)],
        watch: &dyn Watch,
    ) -> fedgrid::Result<Vec<Fitted>> {
        let found = self.study.fit_several(asked, watch)?.into_iter().zip(asked);
        let main = self.study.main();
        let finish = |(fitted, (contestant, strength)): (Fitted, &(Contestant, Strength))| {
            if *contestant == main { self.with_bystanders(fitted, *strength) } else { Ok(fitted) }
        };
        found.map(finish).collect()
    }

    /// The same with nodes that only answer trained alone.
    fn with_bystanders(&self, mut fitted: Fitted, strength: Strength) -> fedgrid::Result<Fitted> {
        let others = bystanders(&self.study);
        if others.is_empty() {
            return Ok(fitted);
        }
        let nodes = self.study.nodes(strength.ridge);
        // Without rows of its own a node keeps what the method has made of it.
        for node in others.into_iter().filter(|&node| nodes[node].data.rows() > 0) {
            fitted.hypotheses[node] = nodes[node].model.fit(&nodes[node].data)?.into();
        }
        Ok(fitted)
    }
}

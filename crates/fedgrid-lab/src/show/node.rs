//! One node of a finished run.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::model::Hypothesis;

use super::{finished::FinishedRun, tables};
use crate::{
    assembly::Assembly,
    card::{CardParts, NodeView, in_a_row},
    coefficients::{CoefficientName, Coefficients, NodeCoefficients},
    error::{Error, Result},
    experiment::advice,
    run::{RunFolder, RunModels},
};

impl FinishedRun {
    /// The card of the node of this name, or of this label if one node alone has it.
    pub fn node(&self, name: &str) -> Result<NodeView> {
        let place = self.place(name)?;
        let name = &self.outcome.nodes[place].name;
        if !self.models.by_node.contains_key(name) {
            let folder = self.folder.display();
            return Err(Error::input(format!("'{folder}' holds no model of node '{name}'")));
        }
        let assembly = tables::assembly(&self.folder);
        let (coefficients, pooled) = (coefficients(self)?, self.models.pooled()?);
        let mut parts = CardParts {
            outcome: &self.outcome,
            cards: &self.cards,
            coefficients: &coefficients,
            pooled: pooled.map_or_else(Vec::new, |pooled| self.pooled(&pooled)),
            models: self.in_order(&self.models),
            about: Some(&self.models.about),
            neighbours: Vec::new(),
            rows: assembly.as_ref().ok(),
        };
        if let Ok(assembly) = &assembly {
            parts.neighbours = self.neighbours(assembly);
        }
        let mut view = parts.one(place);
        view.notes.extend(match &assembly {
            Ok(assembly) => RunFolder::changed_tables(&self.folder, assembly.into()).map(|table| {
                format!(
                    "{table} has changed since the run was trained: neighbours and importance of columns are of the \
                     tables as they are now, all else is of the run"
                )
            }),
            Err(error) => Some(format!(
                "neighbours and importance of columns need the run's tables, which the folder does not hold: {error}"
            )),
        });
        let RunModels { used, advised, .. } = &self.models;
        if used != advised {
            let note = format!(
                "the models are those of {used}, the run's own method; the verdict advises {advised}, by which predict \
                 predicts"
            );
            view.notes.insert(0, note);
        }
        Ok(view)
    }

    fn place(&self, name: &str) -> Result<usize> {
        let nodes = &self.outcome.nodes;
        if let Some(place) = nodes.iter().position(|node| node.name == name) {
            return Ok(place);
        }
        let has_label = |place: &usize| nodes[*place].label.as_deref() == Some(name);
        let labelled: Vec<usize> = (0..nodes.len()).filter(has_label).collect();
        match labelled[..] {
            [place] => Ok(place),
            [first, second, ..] => Err(Error::input(format!(
                "'{name}' is the label of {} nodes, '{}' and '{}' among them; give the name of one",
                labelled.len(),
                nodes[first].name,
                nodes[second].name
            ))),
            [] => {
                let known = nodes.iter().flat_map(|node| {
                    std::iter::once(node.name.as_str()).chain(node.label.as_deref())
                });
                let (advice, folder) = (advice(name, known), self.folder.display());
                let found = format!("'{name}' is not a node of the run in '{folder}'{advice}");
                Err(Error::input(found))
            }
        }
    }

    /// The models of a method in the order of the nodes; nothing if one is missing.
    fn in_order(&self, models: &RunModels) -> Vec<Arc<dyn Hypothesis>> {
        let model = |node: &crate::outcome::NodeOutcome| models.by_node.get(&node.name).cloned();
        self.outcome.nodes.iter().map(model).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    fn pooled(&self, models: &RunModels) -> Vec<Option<Vec<f64>>> {
        self.in_order(models).iter().map(|model| in_a_row(model.as_ref())).collect()
    }

    /// The neighbours of each node that is still in the run's tables.
    fn neighbours(&self, assembly: &Assembly) -> Vec<Vec<(usize, f64)>> {
        let network = &assembly.study.network;
        let places: BTreeMap<&str, usize> =
            self.outcome.nodes.iter().enumerate().map(|(at, node)| (&*node.name, at)).collect();
        let mut all = vec![Vec::new(); self.outcome.nodes.len()];
        for (node, name) in network.names().iter().enumerate() {
            let Some(&place) = places.get(name.as_str()) else { continue };
            let known = |&(other, weight): &(usize, f64)| {
                Some((*places.get(network.names()[other].as_str())?, weight))
            };
            all[place] = network.neighbours(node).iter().filter_map(known).collect();
        }
        all
    }
}

/// The coefficients of all nodes, as `coefficients.csv` has them; none if there is no such file.
pub(crate) fn coefficients(run: &FinishedRun) -> Result<Coefficients> {
    let path = run.folder.join("coefficients.csv");
    let mut found = Coefficients::default();
    if !path.exists() {
        return Ok(found);
    }
    let damaged = |row: usize| {
        let path = path.display();
        Error::input(format!("'{path}' is damaged at row {row}; run the experiment again"))
    };
    let places: BTreeMap<&str, usize> =
        run.outcome.nodes.iter().enumerate().map(|(at, node)| (&*node.name, at)).collect();
    let mut reader = csv::Reader::from_path(&path).map_err(|_| damaged(0))?;
    let has_classes = reader.headers().is_ok_and(|names| names.get(1) == Some("class"));
    let first = 1 + usize::from(has_classes);
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|_| damaged(row + 1))?;
        let cell = |at: usize| record.get(at).ok_or_else(|| damaged(row + 1));
        let node = *places.get(cell(0)?).ok_or_else(|| damaged(row + 1))?;
        if found.nodes.last().is_none_or(|last| last.node != node) {
            found.nodes.push(NodeCoefficients { node, values: Vec::new(), errors: Vec::new() });
        }
        // All nodes have the same coefficients, in one order.
        if found.nodes.len() == 1 {
            let class = has_classes.then(|| record.get(1).unwrap_or_default().to_string());
            let class = class.filter(|class| !class.is_empty());
            let coefficient = cell(first)?.to_string();
            found.names.push(CoefficientName { class, coefficient });
        }
        let own = found.nodes.last_mut().expect("a node was added");
        own.values.push(cell(first + 1)?.parse().map_err(|_| damaged(row + 1))?);
        own.errors.push(cell(first + 2)?.parse().ok());
        if own.values.len() > found.names.len() {
            return Err(damaged(row + 1));
        }
    }
    if found.nodes.iter().any(|own| own.values.len() != found.names.len()) {
        return Err(damaged(0));
    }
    Ok(found)
}

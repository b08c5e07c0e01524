//! An experiment that is spread over sites: what all share, and what a site makes of its own rows.

use std::{path::Path, sync::Arc};

use fedgrid::{
    compare::{
        Approach, AtSites, Gtv, MessageSizes, MessageTuning, MethodKind, Place, Study,
        TuningBudget, Weighting,
    },
    data::{Features, Fold, Plan, Task},
    method::{StopOn, inquiry::leader, mixed::FrontSizes},
    model::{LocalModel, Scales},
    network::{Edge, Network, NodeId},
    runtime::Order,
};

use super::{
    Assembly, DataSchema, Files, Graph, check_training,
    class_weights::{class_note, for_classes_only, of_classes},
    floor, leakage,
    methods::{AllowedMethods, settings},
    models::{self, CustomModel},
    privacy, rows, target,
    timed_table::TimedTable,
};
use crate::{
    columns::{ColumnPlan, ColumnRole, PlannedColumn},
    error::{Error, Result},
    experiment::{
        ClassWeights, ColumnKeys, ColumnKind, CutKey, Experiment, MissingRule, PublicKind, TaskKey,
    },
    source::Table,
};

/// What all sites of a federation share.
#[derive(Debug, Clone)]
pub struct Common {
    /// The network of all nodes.
    pub network: Network,
    /// How rows are read.
    pub about: DataSchema,
    /// The public points, in the units of models.
    pub public: Arc<Features>,
    /// From the units of tables to those of models; none if they are the same.
    pub scales: Option<Scales>,
    /// How often training rows of each class count; none if all count alike.
    pub class_weights: Option<Vec<f64>>,
}

impl Common {
    /// What an experiment says to all sites. Where its table is not at hand, because rows are with
    /// the sites, the experiment must name everything that would be read from it.
    pub fn new(experiment: &Experiment, base: &Path) -> Result<Self> {
        check(experiment)?;
        leakage::check_kinds(experiment)?;
        let files = Files::new(base, experiment);
        if files.has_rows() {
            let assembly = Assembly::new(experiment, base)?;
            let experiment = &experiment.settled(assembly.study.task());
            // What a site would refuse when it joins is refused before kits are made.
            let (study, all) =
                (&assembly.study, (0..assembly.study.network.len()).collect::<Vec<_>>());
            check_models(experiment, study.task(), &study.models, &study.network)?;
            leakage::check(experiment, study, (&all, &[]))?;
            let (about, study) = (assembly.about, assembly.study);
            let Study { network, scales, settings, .. } = study;
            let (public, class_weights) = (study.public[0].clone(), settings.class_weights);
            return Ok(Self { network, about, public, scales, class_weights });
        }
        let network = Graph::new(experiment, files, None)?.network;
        let keys = &experiment.data;
        let missing = |what: &str| {
            let file = keys.file.display();
            Error::input(format!("'{file}' is not here, so the experiment must give {what}"))
        };
        let listed = keys.features.clone().ok_or_else(|| missing("data.features"))?;
        let columns = declared_plan(experiment, &listed)?;
        let needs_classes = match keys.task {
            Some(TaskKey::Auto) => return Err(missing("data.task, regression or classification")),
            Some(task) => task == TaskKey::Classification,
            None => !experiment.model.predicts(Task::Regression),
        };
        if needs_classes && keys.classes.is_none() {
            return Err(missing("data.classes, the names of the classes"));
        }
        let classes = target::class_names(keys.classes.as_deref().unwrap_or_default());
        let task = match classes.len() {
            0 => Task::Regression,
            classes => Task::Classification { classes },
        };
        let has_points = experiment.public.kind == PublicKind::File;
        let table = if has_points { files.points()? } else { None };
        let table = table.ok_or_else(|| missing("public.file"))?;
        let class_weights = match &keys.class_weights {
            None => None,
            Some(ClassWeights::Balanced) => {
                return Err(missing("data.class_weights as numbers, one for each class"));
            }
            Some(ClassWeights::Given(given)) => Some(of_classes(experiment, given, &classes)?),
        };
        for_classes_only(experiment, task)?;
        let about = DataSchema::new(experiment, (task, classes), columns);
        let graph = Graph::from(network);
        let experiment = &experiment.settled(task);
        let models = checked_models(experiment, &graph, &about)?;
        let (network, (points, _)) = (graph.network, super::features_of(&table, &about)?);
        // All that is known of the units of features here; that of the target is not.
        let scales = match &experiment.privacy {
            Some(keys) => privacy::scales_of_points(keys, &points)?,
            None => Scales::of_points(&points, &models.models)?
                .filter(|_| !experiment.federation.own_models),
        };
        let public = scales.as_ref().map_or_else(|| Ok(points.clone()), |s| s.features(&points))?;
        Ok(Self { network, about, public: Arc::new(public), scales, class_weights })
    }

    /// The most bytes that a message along each edge of a network of these nodes takes, in any round.
    pub fn largest_messages(
        &self,
        experiment: &Experiment,
        network: &Network,
    ) -> Result<Vec<usize>> {
        let is_tuned = experiment.is_tuned_at_sites();
        let choosing = if is_tuned { MessageTuning::Choosing } else { MessageTuning::None };
        self.messages(experiment, network, choosing)
    }

    /// The same in a round after the strength is chosen.
    pub fn largest_messages_of_fit(
        &self,
        experiment: &Experiment,
        network: &Network,
    ) -> Result<Vec<usize>> {
        let is_tuned = experiment.is_tuned_at_sites();
        let chosen = if is_tuned { MessageTuning::Chosen } else { MessageTuning::None };
        self.messages(experiment, network, chosen)
    }

    fn messages(
        &self,
        experiment: &Experiment,
        network: &Network,
        tuning: MessageTuning,
    ) -> Result<Vec<usize>> {
        let (task, columns) = (self.about.task, self.about.features.len());
        let models = models::models(experiment, &Graph::from(network.clone()), task)?.models;
        let weights = models.iter().filter_map(|model| model.as_parametric());
        let weights = weights.map(|model| model.size(columns, task)).max().unwrap_or(0);
        let names: Arc<[String]> = self.about.features.clone().into();
        let points = (self.public.rows(), self.public.rows());
        let fronts = Arc::new(FrontSizes::along(network).unwrap_or_default());
        let at_sites = experiment.method.approach.at_sites();
        let of_edge = |edge: &Edge| {
            let (names, fronts) = (names.clone(), fronts.clone());
            let edge = (edge.source, edge.target);
            let sizes = MessageSizes { task, names, weights, points, fronts, edge, tuning };
            at_sites.map_or(0, |method| method.largest_message(&sizes))
        };
        Ok(network.edges().iter().map(of_edge).collect())
    }
}

/// The column plan of an experiment whose rows are with sites: it says itself what rows would otherwise.
fn declared_plan(experiment: &Experiment, listed: &[String]) -> Result<ColumnPlan> {
    let keys = &experiment.data;
    let column = |name: &String| -> Result<PlannedColumn> {
        let given = keys.columns.get(name).cloned().unwrap_or_default();
        let rule = given.missing.unwrap_or(keys.missing);
        let kind = given.kind.unwrap_or(ColumnKind::Number);
        let is_level = rule == MissingRule::Indicator && kind == ColumnKind::Category;
        let is_filled = !is_level && !matches!(rule, MissingRule::Refuse | MissingRule::Drop);
        let needed = [
            ("levels", kind == ColumnKind::Category && given.levels.is_none()),
            ("parts", kind == ColumnKind::Time && given.parts.is_none()),
            ("start", kind == ColumnKind::Time && given.start.is_none()),
            ("fill", is_filled && given.fill.is_none()),
        ];
        if let Some((key, _)) = needed.iter().find(|(_, is_needed)| *is_needed) {
            let file = keys.file.display();
            return Err(Error::input(format!(
                "'{file}' is not here, so the experiment must give data.columns.{name}.{key}"
            )));
        }
        let complete = ColumnKeys { kind: Some(kind), missing: Some(rule), ..given };
        Ok(PlannedColumn { name: name.clone(), role: ColumnRole::Feature { keys: complete } })
    };
    // What is made of earlier values was asked for, too.
    let made = keys.lag_names();
    let all = listed.iter().chain(made.iter().filter(|name| !listed.contains(name)));
    let columns = all.map(column).collect::<Result<_>>()?;
    Ok(ColumnPlan { columns, missing_values: keys.missing_values.clone(), lags: None })
}

/// The models of all nodes, if their method can take them between sites.
pub(super) fn checked_models(
    experiment: &Experiment,
    graph: &Graph,
    about: &DataSchema,
) -> Result<models::Models> {
    let models = models::models(experiment, graph, about.task)?;
    check_all(experiment, &models, graph, about)?;
    Ok(models)
}

/// Refuses models that a method cannot take between sites.
fn check_all(
    experiment: &Experiment,
    models: &models::Models,
    graph: &Graph,
    about: &DataSchema,
) -> Result<()> {
    let (names, task) = (graph.network.names(), about.task);
    models.check_method(&experiment.method, (names, &about.features), task)?;
    models.check_known(about.known.as_ref(), names)?;
    if experiment.method.approach.facts().needs_weights {
        let (kind, columns) = (experiment.method.name(), about.features.len());
        models.check_weights(kind, names, columns, task)?;
    }
    check_models(experiment, task, &models.models, &graph.network)
}

/// Refuses what needs rows of all nodes in one place.
pub(super) fn check(experiment: &Experiment) -> Result<()> {
    if experiment.privacy.is_some() {
        let given = experiment.method.strength.given().is_some();
        let is_relaxation = experiment.method.approach.kind() == MethodKind::FedRelax;
        if !is_relaxation || !given || experiment.model.tunes_ridge() {
            return Err(Error::input(
                "there is a section [privacy], expected method.kind = \"fedrelax\", and method.alpha and model.ridge as numbers, in a federation: rehearse \
                 with fit, on rows that may be pooled",
            ));
        }
    }
    let method = &experiment.method;
    let refused = |key: &str, found: &str, expected: &str| {
        Err(Error::input(format!("{key} is {found}, expected {expected} in a federation")))
    };
    // To choose a method takes errors on rows of all nodes.
    let Some(at_sites) = method.approach.at_sites().filter(|_| !method.is_chosen) else {
        let found = format!("\"{}\"", method.name());
        return refused("method.kind", &found, "fedrelax, gtv, mixed or persfl");
    };
    if experiment.is_tuned_at_sites() {
        check_tuning(experiment, at_sites, refused)?;
    }
    check_judging(experiment, refused)?;
    if method.run.weighting == Weighting::Rows {
        return refused("method.weighting", "\"rows\"", "\"nodes\"");
    }
    if method.run.order == Order::InTurn {
        return refused("method.order", "\"in-turn\"", "\"at-once\"");
    }
    if let Err([key, found, expected]) = at_sites.check_keys() {
        return refused(&key, &found, &expected);
    }
    if experiment.public.per_node {
        return refused("public.per_node", "true", "false");
    }
    check_split(experiment)
}

/// Refuses what lets sites choose no strength together.
fn check_tuning(
    experiment: &Experiment,
    at_sites: &dyn AtSites,
    refused: impl Fn(&str, &str, &str) -> Result<()>,
) -> Result<()> {
    let method = &experiment.method;
    let key = method.strength_name();
    if !at_sites.can_be_tuned() {
        let expected = "a number (choose one with fit, on data that you may pool)";
        return refused(&key, "\"auto\"", expected);
    }
    // Models of rows that take turns differ by a few rows, and neighbours would see what these are.
    if !experiment.data.has_validation() {
        let expected = "a number, or validation rows to choose it on (data.validation = 0.2, or rows that the \
                        column data.split marks)";
        return refused(&key, "\"auto\"", expected);
    }
    if let Approach::Gtv(Gtv { stop_on: StopOn::Decrease, .. }) = &method.approach {
        let expected = "\"gap\" or \"residual\" where method.alpha is \"auto\"";
        return refused("method.stop_on", "\"decrease\"", expected);
    }
    Ok(())
}

/// Refuses shuffles of which nothing would be judged, and those of methods that tell strangers more than predictions or
/// weights.
fn check_judging(
    experiment: &Experiment,
    refused: impl Fn(&str, &str, &str) -> Result<()>,
) -> Result<()> {
    let (method, keys) = (&experiment.method, &experiment.federation);
    let found = keys.shuffles.to_string();
    if keys.shuffles > 0 && !keys.judge {
        return refused("federation.shuffles", &found, "0, or federation.judge = true");
    }
    let facts = method.approach.facts();
    if keys.shuffles > 0 && (facts.asks_and_answers || facts.is_led) {
        let expected = format!(
            "0 (by method.kind = \"{}\" strangers would tell each other sums over rows, or answer probes)",
            method.name()
        );
        return refused("federation.shuffles", &found, &expected);
    }
    Ok(())
}

/// Refuses splits by time that need the times of all nodes in one place.
fn check_split(experiment: &Experiment) -> Result<()> {
    let Some(split) = experiment.data.time_split() else { return Ok(()) };
    let dates = "dates (validation_from, test_from)";
    let refused = |found: &str, expected: &str| {
        Err(Error::input(format!("data.split.{found}, expected {expected} in a federation")))
    };
    if let Some(origins) = split.origins {
        return refused(&format!("origins is {origins}"), dates);
    }
    if split.train.is_some() && split.cut.unwrap_or_default() == CutKey::Common {
        return refused("cut is \"common\"", &format!("\"per-node\", or {dates}"));
    }
    Ok(())
}

/// Refuses models and networks that a method cannot take between sites.
fn check_models(
    experiment: &Experiment,
    task: Task,
    models: &[Arc<dyn LocalModel>],
    network: &Network,
) -> Result<()> {
    let method = &experiment.method;
    let Some(at_sites) = method.approach.at_sites() else { return Ok(()) };
    at_sites.check_models(task, models).map_err(Error::input)?;
    if experiment.is_tuned_at_sites() {
        check_budget(experiment, network)?;
    }
    if experiment.federation.judge && leader(network).is_none() {
        return Err(Error::input(
            "federation.judge is true, expected false in a federation whose network falls apart: nodes that cannot reach \
             each other cannot add anything up",
        ));
    }
    // Made for its refusals only: what a network lacks must be said before there are kits.
    at_sites.federated(method.strength.given(), Place { network, nodes: &[], scales: None })?;
    Ok(())
}

/// Refuses networks whose nodes cannot agree on a strength, and too few rounds to do it in.
fn check_budget(experiment: &Experiment, network: &Network) -> Result<()> {
    let key = experiment.method.strength_name();
    let Some(budget) =
        TuningBudget::of(network, &*experiment.method.approach, experiment.compare.quick)
    else {
        return Err(Error::input(format!(
            "{key} is \"auto\", expected a number in a federation whose network falls apart: nodes that cannot reach \
             each other cannot agree on one"
        )));
    };
    match experiment.federation.tuning_rounds {
        Some(rounds) if rounds < budget.fewest_rounds => Err(Error::input(format!(
            "federation.tuning_rounds is {rounds}, expected at least {}: the farthest node is {} edges from the one \
             that leads, and fewer rounds do not compare the coarsest strengths",
            budget.fewest_rounds, budget.height
        ))),
        _ => Ok(()),
    }
}

/// What a site brings itself, beside its rows.
#[derive(Debug, Clone, Default)]
pub struct OwnModels {
    /// The models of some of its nodes, in the place of those of the experiment.
    pub models: Vec<CustomModel>,
    /// The names of nodes for which nobody measures what predictions tell of single rows.
    pub unmeasured: Vec<String>,
}

impl OwnModels {
    /// Refuses models where none may be brought, and names that are not theirs.
    fn check(&self, experiment: &Experiment, network: &Network, own: &[NodeId]) -> Result<()> {
        let names = network.names();
        if let Some(first) = self.models.first().filter(|_| !experiment.federation.own_models) {
            return Err(Error::input(format!(
                "node '{}' has a {} of its own, which this federation does not take: whoever makes the project must \
                 write own_models = true in [federation] of the experiment, by which all sites train in the units of \
                 the table",
                names[first.node], first.kind
            )));
        }
        if let Some(other) = self.models.iter().find(|brought| !own.contains(&brought.node)) {
            let name = &names[other.node];
            return Err(Error::input(format!(
                "there is a model for '{name}', which is no node of this site"
            )));
        }
        let has_model = |name: &String| self.models.iter().any(|own| names[own.node] == *name);
        match self.unmeasured.iter().find(|name| !has_model(name)) {
            None => Ok(()),
            Some(name) => Err(Error::input(format!(
                "the floor is waived for '{name}', which is no node of this site with a model of its own"
            ))),
        }
    }

    /// The models of all nodes with these in their places, and the nodes that have them.
    fn placed(
        &self,
        experiment: &Experiment,
        graph: &Graph,
        about: &DataSchema,
    ) -> Result<(models::Models, Vec<NodeId>)> {
        let models = models::models(experiment, graph, about.task)?;
        // The others were checked when the kits were made.
        if self.models.is_empty() {
            return Ok((models, Vec::new()));
        }
        let models = models.with(self.models.clone());
        check_all(experiment, &models, graph, about)?;
        Ok((models, self.models.iter().map(|model| model.node).collect()))
    }
}

impl Assembly {
    /// The study of one site: rows of its own nodes, in the network that all share, with the models that it brings.
    pub fn at_site(
        experiment: &Experiment,
        table: &Table,
        common: Common,
        (own, brought): (&[NodeId], OwnModels),
    ) -> Result<Self> {
        let table = &TimedTable::read(&experiment.data, table.clone())?;
        let Common { network, mut about, public, scales, class_weights } = common;
        // Where no table was at hand, it was not known how sites write their times.
        if about.columns.lags.is_none() {
            about.columns.lags.clone_from(&table.lags);
        }
        check_class_weights(&about, class_weights.as_deref())?;
        if let Some(scales) = &scales {
            scales.check()?;
            if *scales.names() != about.features[..] {
                return Err(Error::input("wrong kit: its scales are for other features"));
            }
        }
        check_own(table, &about, &network, own)?;
        brought.check(experiment, &network, own)?;
        let graph = Graph::from(network);
        let plan = about.column_plan();
        let known =
            rows::Known { classes: Some(&about.classes), plan: Some(&plan), is_of_run: false };
        let mut rows = rows::Rows::new(experiment, table, &graph, (about.task, known))?;
        rows.notes.splice(0..0, table.described.iter().cloned());
        let plan = rows.plan(experiment, &graph);
        check_training(experiment, &table.source, &plan)?;
        target::check_metric(experiment, about.task, &rows.data)?;
        rows.scale(scales.as_ref())?;
        let (models, own_models) = brought.placed(experiment, &graph, &about)?;
        let nodes = graph.network.len();
        let mut settings = settings(experiment, &graph, AllowedMethods::default());
        // Training alone is tuned as fit tunes it; the models of the federation keep their ridge.
        settings.direct = false;
        rows.notes.extend(class_weights.as_ref().map(|own| class_note(&about.classes, own)));
        settings.class_weights = class_weights;
        settings.privacy = privacy::privacy(experiment, (&models, graph.network.names()), &about)?;
        let study = Study {
            network: graph.network,
            rows: rows.data,
            models: models.models,
            public: vec![public; nodes],
            plan,
            scales,
            settings,
        };
        leakage::check(experiment, &study, (own, &own_models))?;
        let measured = floor::check(&study, (&own_models, &brought.unmeasured), &models.kinds)?;
        rows.notes.extend(measured);
        Ok(Self {
            study,
            about,
            model_kinds: models.kinds,
            positions: None,
            labels: None,
            notes: rows.notes.clone(),
            node_notes: vec![None; nodes],
            public: "points that all sites share".into(),
            fingerprint: table.fingerprint,
            rows_fingerprint: None,
            chosen: None,
            row_notes: rows.notes,
            places: None,
        })
    }

    /// The same with these nodes only, and the edges between them.
    pub fn of_nodes(&self, own: &[NodeId]) -> Result<Self> {
        let study = &self.study;
        // The nodes of a site are in ascending order.
        let index = |node: NodeId| own.binary_search(&node).ok();
        let inside = study.network.edges().iter().filter_map(|edge| {
            let (source, target) = (index(edge.source)?, index(edge.target)?);
            Some(Edge { source, target, weight: edge.weight })
        });
        let names = own.iter().map(|&node| study.network.names()[node].clone()).collect();
        let chosen = |all: &[Vec<usize>]| own.iter().map(|&node| all[node].clone()).collect();
        let folds = study
            .plan
            .folds
            .iter()
            .map(|fold| Fold { train: chosen(&fold.train), validation: chosen(&fold.validation) });
        let plan = Plan {
            folds: folds.collect(),
            train: chosen(&study.plan.train),
            test: chosen(&study.plan.test),
        };
        let study = Study {
            network: Network::new(names, inside)?,
            rows: own.iter().map(|&node| study.rows[node].clone()).collect(),
            models: own.iter().map(|&node| study.models[node].clone()).collect(),
            public: own.iter().map(|&node| study.public[node].clone()).collect(),
            plan,
            scales: study.scales.clone(),
            settings: study.settings.clone(),
        };
        Ok(Self {
            study,
            model_kinds: own.iter().map(|&node| self.model_kinds[node].clone()).collect(),
            node_notes: own.iter().map(|&node| self.node_notes[node].clone()).collect(),
            ..self.clone()
        })
    }
}

/// Refuses weights of other classes than those of the kit, and what is no weight.
fn check_class_weights(about: &DataSchema, weights: Option<&[f64]>) -> Result<()> {
    let is_weight = |weight: &f64| weight.is_finite() && *weight > 0.0;
    match weights {
        Some(own) if own.len() != about.classes.len() || !own.iter().all(is_weight) => {
            Err(Error::input("wrong kit: its weights are for other classes"))
        }
        _ => Ok(()),
    }
}

/// Refuses rows of nodes that live elsewhere.
pub(super) fn check_own(
    table: &Table,
    about: &DataSchema,
    network: &Network,
    own: &[NodeId],
) -> Result<()> {
    let names: Vec<&str> = own.iter().map(|&node| network.names()[node].as_str()).collect();
    let nodes = table.names_in(&about.node)?;
    match nodes.iter().enumerate().find(|(_, name)| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some((row, name)) => {
            let found = format!("is '{name}', expected a node of this site: {}", names.join(", "));
            Err(table.at(row, &about.node, &found))
        }
    }
}

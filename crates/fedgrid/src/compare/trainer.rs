//! Training one contestant at one strength on given training rows.

use std::sync::{Arc, OnceLock};

use super::{
    Contestant, Fitted, Strength, Study, Watch,
    few_rows::FewRows,
    fitted::{Effort, FitRequest, StartingPoint},
    kept_losses::AskedLosses,
    nodes::{mean_of, weigh, with_ridge},
    undetermined,
};
use crate::{
    data::{Dataset, Labels},
    error::Result,
    method::{Hypotheses, Local, Pooled},
    model::{Hypothesis, LocalModel},
    network::{Network, Node, NodeId},
    optimum::{LinearNetwork, SmoothNetwork, gtv::Losses},
    runtime::InProcess,
};

/// The training rows of all nodes at one ridge, ready for every contestant.
pub struct Trainer<'a> {
    pub(super) study: &'a Study,
    pub(super) watch: &'a dyn Watch,
    shared: Arc<SharedRows>,
    ridge: Option<f64>,
    rows: &'a [Vec<usize>],
    /// The nodes, once they are needed: linear networks are solved by their moments.
    nodes: OnceLock<Vec<Node>>,
    /// Linear models coupled by predictions, which are solved directly.
    pub(super) linear: Option<LinearNetwork>,
    /// Other models with smooth losses that are solved directly, once they are needed.
    smooth: OnceLock<Option<SmoothNetwork>>,
    /// The losses of models coupled by weights, once they are needed.
    losses: OnceLock<Result<Arc<Losses>>>,
}

/// What trainers of the same rows have in common, whatever their ridge.
pub(super) struct SharedRows {
    /// The columns of the nodes, where there are more features than rows.
    few_rows: Option<FewRows>,
    /// The nodes with the models of the study; none where the moments suffice.
    nodes: Option<Vec<Node>>,
    /// Whether a node has rows that count.
    has_rows: Vec<bool>,
    /// The moments of linear models.
    linear: Option<LinearNetwork>,
    mean: Arc<dyn Hypothesis>,
    /// The pooled models, once they are needed.
    anchor: OnceLock<Result<Hypotheses>>,
    /// What they predict for the public points of each node.
    anchor_predictions: OnceLock<Arc<[Arc<Labels>]>>,
}

impl SharedRows {
    pub(super) fn new(study: &Study, rows: &[Vec<usize>]) -> Result<Self> {
        let nodes = study.nodes_with(rows, None);
        let few_rows = FewRows::new(study, &nodes);
        let nodes = match &few_rows {
            Some(few_rows) => few_rows.nodes(nodes)?,
            None => nodes,
        };
        let settings = &study.settings;
        let facts = settings.method.facts();
        let linear = if settings.direct && facts.solves_directly {
            LinearNetwork::new(&nodes, facts.is_symmetric, facts.couples_intercepts)?
        } else {
            None
        };
        let mean = Arc::new(mean_of(&nodes));
        let has_rows = nodes.iter().map(|node| node.data.total_weight() > 0.0).collect();
        // Nodes hold copies of rows: where the moments suffice, these are dropped until a model asks for them.
        let is_kept = linear.is_none() || few_rows.is_some();
        let nodes = is_kept.then_some(nodes);
        let (anchor, anchor_predictions) = (OnceLock::new(), OnceLock::new());
        Ok(Self { few_rows, nodes, has_rows, linear, mean, anchor, anchor_predictions })
    }
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        study: &'a Study,
        watch: &'a dyn Watch,
        rows: &'a [Vec<usize>],
        ridge: Option<f64>,
    ) -> Result<Self> {
        let shared = Arc::new(SharedRows::new(study, rows)?);
        Self::sharing(study, watch, (rows, shared), ridge)
    }

    /// A trainer of rows that others have, too.
    pub(super) fn sharing(
        study: &'a Study,
        watch: &'a dyn Watch,
        (rows, shared): (&'a [Vec<usize>], Arc<SharedRows>),
        ridge: Option<f64>,
    ) -> Result<Self> {
        let linear = match &shared.linear {
            Some(linear) => Some(linear.with_ridges(&with_ridge(&study.models, ridge))?),
            None => None,
        };
        let (nodes, smooth, losses) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Ok(Self { study, watch, shared, ridge, rows, nodes, linear, smooth, losses })
    }

    /// The nodes with their training rows.
    pub(super) fn nodes(&self) -> &[Node] {
        let made = || match &self.shared.nodes {
            Some(nodes) => {
                let models = with_ridge(&self.study.models, self.ridge);
                let own = |(node, model): (&Node, _)| Node { model, ..node.clone() };
                nodes.iter().zip(models).map(own).collect()
            }
            None => self.study.nodes_with(self.rows, self.ridge),
        };
        self.nodes.get_or_init(made)
    }

    /// Whether a node has rows that count.
    pub(super) fn has_rows(&self, node: NodeId) -> bool {
        self.shared.has_rows[node]
    }

    /// Models with smooth losses, coupled by predictions; none if there are others, or rounds are asked for.
    pub(super) fn smooth(&self) -> Option<&SmoothNetwork> {
        let made =
            || self.study.settings.direct.then(|| SmoothNetwork::new(self.nodes())).flatten();
        self.smooth.get_or_init(made).as_ref()
    }

    /// Trains a contestant at a strength.
    pub(super) fn train(&self, contestant: Contestant, request: FitRequest) -> Result<Fitted> {
        if let Some(privacy) = self.study.privacy_of(contestant) {
            let strength = Strength { alpha: request.strength, ridge: self.ridge };
            let of = (contestant, strength);
            return self.study.fit_beside_twins(of, self.rows, privacy, self.watch);
        }
        let method = self.study.method_of(contestant);
        let is_given = self.study.settings.alpha.is_some() && self.study.is_own(contestant);
        let is_estimated = method.estimates_strength() && !is_given;
        if let Some(key) = method.strength_key() {
            key.check(request.strength)?;
        }
        let mut fitted = method.fit(self, FitRequest { is_estimated, ..request })?;
        if let Some(few_rows) = &self.shared.few_rows {
            for hypothesis in fitted.hypotheses.iter_mut().chain(&mut fitted.common) {
                *hypothesis = few_rows.of_all_features(hypothesis);
            }
        }
        Ok(fitted)
    }

    /// Trains a contestant as it is kept.
    fn finally(&self, contestant: Contestant, strength: Strength) -> Result<Fitted> {
        let network = &self.study.network_of(contestant);
        let (start, effort) = (StartingPoint::Cold, Effort::Final);
        self.train(contestant, FitRequest::new(network, strength.alpha, start, effort))
    }

    /// The training rows of all nodes, each of which counts once on average.
    pub(super) fn raw_rows(&self) -> Vec<Dataset> {
        self.study.raw_rows(self.rows)
    }

    /// Every node alone. A node without rows predicts the mean of all training labels, a shared
    /// statistic: there is no honest local model to compare with.
    pub(super) fn local(&self) -> Result<Fitted> {
        let views = self.study.network.without_edges().views(self.nodes().to_vec())?;
        let run = InProcess::default().run(&Local, views)?;
        let filled =
            run.hypotheses.into_iter().map(|h| h.unwrap_or_else(|| self.shared.mean.clone()));
        Ok(Fitted::exact(filled.collect()))
    }

    /// Without a pull: local training, which knows what to do with fewer rows than features; nodes
    /// without rows get the pooled model.
    pub(super) fn alone(&self) -> Result<Fitted> {
        let network = self.study.network.without_edges();
        let mut hypotheses = vec![None; self.nodes().len()];
        self.fit_isolated(&network, 0.0, &mut hypotheses)?;
        Ok(Fitted::exact(self.fill_undetermined(&network, 0.0, hypotheses)?))
    }

    /// The pooled models that nodes may be pulled to, or fall back to. They have rows enough, so
    /// their ridge is what the models say, whatever is tried at single nodes.
    pub(super) fn anchor(&self) -> Result<Hypotheses> {
        let fit = || {
            let own = |(node, model): (&Node, &Arc<dyn LocalModel>)| Node {
                model: model.clone(),
                ..node.clone()
            };
            let nodes: Vec<Node> = self.nodes().iter().zip(&self.study.models).map(own).collect();
            Pooled.fit(&nodes).map(Into::into)
        };
        self.shared.anchor.get_or_init(fit).clone()
    }

    /// What the pooled models predict for the public points of each node: most nodes have one model and one set in
    /// common, which are asked once.
    pub(super) fn anchor_predictions(&self) -> Result<Arc<[Arc<Labels>]>> {
        let pooled = self.anchor()?;
        let predict = || {
            let mut known: Vec<Arc<Labels>> = Vec::with_capacity(pooled.len());
            for (id, hypothesis) in pooled.iter().enumerate() {
                let public = &self.nodes()[id].public;
                let is_last = |last: usize| {
                    Arc::ptr_eq(&pooled[last], hypothesis)
                        && Arc::ptr_eq(&self.nodes()[last].public, public)
                };
                let last = id.checked_sub(1).filter(|last| is_last(*last));
                let same = last.map(|last| known[last].clone());
                known.push(same.unwrap_or_else(|| hypothesis.predict(public).into()));
            }
            known.into()
        };
        Ok(self.shared.anchor_predictions.get_or_init(predict).clone())
    }

    /// The losses of models that are coupled by weights.
    pub(super) fn losses(&self, couple_intercept: bool) -> Result<&Losses> {
        let make = || {
            let (study, nodes) = (self.study, self.nodes());
            let asked = AskedLosses::new(&study.models, self.ridge, couple_intercept, nodes);
            let make = |like: Option<&Losses>| Losses::beside(like, nodes, couple_intercept);
            study.settings.kept_losses.found_or(asked, make)
        };
        self.losses.get_or_init(make).as_deref().map_err(Clone::clone)
    }

    /// A node without neighbours is trained alone, exactly as local training does it.
    pub(super) fn fit_isolated(
        &self,
        network: &Network,
        hub: f64,
        hypotheses: &mut [Option<Arc<dyn Hypothesis>>],
    ) -> Result<()> {
        // A method may start somewhere else than local training, and with nobody to hear would stay there.
        let is_lonely = |node: &usize| network.neighbours(*node).is_empty() && self.has_rows(*node);
        for node in (0..network.len()).filter(|node| hub == 0.0 && is_lonely(node)) {
            let Node { model, data, .. } = &self.nodes()[node];
            hypotheses[node] = Some(model.fit(data)?.into());
        }
        Ok(())
    }

    /// Nodes that nothing determines get the pooled model.
    pub(super) fn fill_undetermined(
        &self,
        network: &Network,
        hub: f64,
        mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    ) -> Result<Vec<Arc<dyn Hypothesis>>> {
        // With a hub every node hears of the rows of others.
        if hub == 0.0 {
            for node in undetermined(network, |node| self.has_rows(node)) {
                hypotheses[node] = None;
            }
        }
        if hypotheses.iter().all(Option::is_some) {
            return Ok(hypotheses.into_iter().flatten().collect());
        }
        let pooled = self.anchor()?;
        let filled = hypotheses.into_iter().zip(pooled.iter());
        Ok(filled.map(|(own, pooled)| own.unwrap_or_else(|| pooled.clone())).collect())
    }
}

impl Study {
    /// The given rows of each node.
    pub(super) fn select(&self, rows: &[Vec<usize>]) -> Vec<Dataset> {
        self.rows.iter().zip(rows).map(|(all, rows)| all.select(rows)).collect()
    }

    /// The given rows of each node to be trained on, counting as their classes say.
    pub(super) fn training(&self, rows: &[Vec<usize>]) -> Vec<Dataset> {
        let rows = self.select(rows);
        match &self.settings.class_weights {
            Some(classes) => rows.into_iter().map(|own| own.weighed_by_class(classes)).collect(),
            None => rows,
        }
    }

    /// The given rows of each node, each of which counts once on average, or as often as it stands for.
    pub(super) fn raw_rows(&self, rows: &[Vec<usize>]) -> Vec<Dataset> {
        let mut rows = self.training(rows);
        Dataset::weigh_all(&mut rows, Dataset::row_count);
        rows.into_iter().map(Dataset::rates).collect()
    }

    /// The final training rows of every node as models see them, each node with a weight of one.
    #[must_use]
    pub fn training_data(&self) -> Vec<Dataset> {
        let rows = self.training(&self.plan.train).into_iter();
        Dataset::all_rates(rows.map(|data| data.with_total_weight(1.0)).collect())
    }

    /// The nodes with their final training rows, weighed and with a ridge as a fit sees them.
    #[must_use]
    pub fn nodes(&self, ridge: Option<f64>) -> Vec<Node> {
        self.nodes_with(&self.plan.train, ridge)
    }

    fn nodes_with(&self, rows: &[Vec<usize>], ridge: Option<f64>) -> Vec<Node> {
        let models = with_ridge(&self.models, ridge);
        let mut data = self.training(rows);
        weigh(&mut data, self.settings.weighting);
        // Models see rates, of which all that is said of weights is true; errors are those of counts.
        data.into_iter()
            .map(Dataset::rates)
            .enumerate()
            .zip(models)
            .map(|((id, data), model)| Node { id, data, model, public: self.public[id].clone() })
            .collect()
    }

    /// Fits the study's own method at a given strength to the final training rows.
    pub fn fit(&self, strength: Strength, watch: &dyn Watch) -> Result<Fitted> {
        let fitted = self.fit_by_name(self.main(), strength, watch)?;
        Ok(Fitted { weak: self.weak_pulls(strength), ..fitted })
    }

    /// Fits a contestant with nodes in the order of their names.
    pub fn fit_by_name(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        match self.by_name() {
            Some((study, order)) => {
                Ok(study.fit_contestant(contestant, strength, watch)?.put_back(&order))
            }
            None => self.fit_contestant(contestant, strength, watch),
        }
    }

    /// Fits any contestant at a given strength to the final training rows.
    pub fn fit_contestant(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let trainer = Trainer::new(self, watch, &self.plan.train, strength.ridge)?;
        trainer.finally(contestant, strength)
    }

    /// Fits several contestants, each at its strength, to the final training rows, with nodes in the order of their names.
    /// Each is what [`Self::fit_by_name`] gives; what they need in common of the rows is made ready once.
    pub fn fit_several(
        &self,
        asked: &[(Contestant, Strength)],
        watch: &dyn Watch,
    ) -> Result<Vec<Fitted>> {
        let mut all = match self.by_name() {
            Some((study, order)) => {
                let found = study.fit_sharing(asked, watch)?;
                found.into_iter().map(|fitted| fitted.put_back(&order)).collect()
            }
            None => self.fit_sharing(asked, watch)?,
        };
        for (fitted, (contestant, strength)) in all.iter_mut().zip(asked) {
            if *contestant == self.main() {
                fitted.weak = self.weak_pulls(*strength);
            }
        }
        Ok(all)
    }

    fn fit_sharing(
        &self,
        asked: &[(Contestant, Strength)],
        watch: &dyn Watch,
    ) -> Result<Vec<Fitted>> {
        let rows = &self.plan.train;
        let shared = Arc::new(SharedRows::new(self, rows)?);
        let fit = |&(contestant, strength): &(Contestant, Strength)| {
            Trainer::sharing(self, watch, (rows, shared.clone()), strength.ridge)?
                .finally(contestant, strength)
        };
        asked.iter().map(fit).collect()
    }
}

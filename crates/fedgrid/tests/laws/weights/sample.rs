//! Rows with whole weights and exposures, and the same rows as many times.

use std::sync::Arc;

use fedgrid::{
    compare::{Approach, Settings, Study, Weighting},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task, weighted_normal_points},
    model::{LocalModel, Model, Scales},
    network::{Edge, Network},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::InProcess,
};

pub(super) const CLASSES: Task = Task::Classification { classes: 2 };
const FEATURES: usize = 2;
const NODES: usize = 7;

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Numbers,
    Classes,
    Counts,
}

/// The rows of a node.
#[derive(Clone)]
pub(super) struct Rows {
    pub(super) x: Vec<[f64; FEATURES]>,
    pub(super) y: Vec<f64>,
    pub(super) counts: Vec<usize>,
    pub(super) roles: Vec<Role>,
}

/// Rows, and how they are used.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) rows: Vec<Rows>,
    pub(super) target: Target,
    pub(super) model: Model,
    pub(super) method: Approach,
    pub(super) weighting: Weighting,
    pub(super) class_weights: Option<Vec<f64>>,
    /// When iterations stop.
    pub(super) stop: Stop,
    /// The strength, where it is given.
    pub(super) alpha: Option<f64>,
}

impl Sample {
    /// Nodes on a ring whose slopes change along it.
    pub(super) fn new(seed: u64, target: Target, model: Model) -> Self {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let mut node = |node: usize| {
            let angle = node as f64 / NODES as f64 * std::f64::consts::TAU;
            let count = 20 + node % 3;
            let mut rows = Rows { x: vec![], y: vec![], counts: vec![], roles: vec![] };
            for row in 0..count {
                let x = [stream.normal(), 3.0 + 2.0 * stream.normal()];
                let eta = (1.0 + 0.5 * angle.sin()) * x[0] - 0.3 * x[1] + angle.cos();
                let noisy = eta + 0.4 * stream.normal();
                rows.x.push(x);
                rows.y.push(match target {
                    Target::Numbers => noisy,
                    Target::Classes => f64::from(u8::from(noisy > -0.5)),
                    Target::Counts => (0.5 * noisy + 1.0).exp().round(),
                });
                rows.counts.push(1 + stream.index(3));
                rows.roles.push(match row % 5 {
                    0 => Role::Validation,
                    1 => Role::Test,
                    _ => Role::Train,
                });
            }
            rows
        };
        let rows = (0..NODES).map(&mut node).collect();
        let (method, weighting) = (Approach::default(), Weighting::Nodes);
        let stop = Stop { rounds: 30, ..Stop::default() };
        Self { rows, target, model, method, weighting, class_weights: None, stop, alpha: None }
    }

    /// Features that no row has.
    #[expect(clippy::unused_self, reason = "they are points for the models of a sample")]
    pub(super) fn points(&self) -> Features {
        let mut stream = Stream::new(9, 0, 0, Purpose::Data);
        let values = (0..40).map(|k| stream.normal() + 3.0 * f64::from(k % 2)).collect();
        Features::new(names(), values).unwrap()
    }

    /// The study of weighted rows.
    pub(super) fn weighted(&self) -> Study {
        let data = |rows: &Rows| {
            let counts = rows.counts.iter().map(|&count| count as f64).collect();
            Dataset::counted(rows.features(), self.labels(rows), counts).unwrap()
        };
        self.study(self.rows.iter().map(data).collect(), |rows| rows.roles.clone())
    }

    /// The study of rows that are repeated instead.
    pub(super) fn repeated(&self) -> Study {
        let copies = |rows: &Rows| -> Vec<usize> {
            (0..rows.x.len()).flat_map(|row| vec![row; rows.counts[row]]).collect()
        };
        let data = |rows: &Rows| {
            let all = Dataset::new(rows.features(), self.labels(rows)).unwrap();
            let chosen = all.select(&copies(rows));
            Dataset::new(chosen.features().clone(), chosen.labels().clone()).unwrap()
        };
        self.study(self.rows.iter().map(data).collect(), |rows| {
            copies(rows).into_iter().map(|row| rows.roles[row]).collect()
        })
    }

    fn labels(&self, rows: &Rows) -> Labels {
        match self.target {
            Target::Classes => {
                let class = |y: &f64| usize::from(*y > 0.5);
                Labels::classes(2, &rows.y.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
            Target::Numbers | Target::Counts => Labels::values(rows.y.clone()),
        }
    }

    /// The study of some rows, as experiments are put together.
    pub(super) fn study(&self, rows: Vec<Dataset>, roles: impl Fn(&Rows) -> Vec<Role>) -> Study {
        let names: Vec<String> = (0..NODES).map(|node| format!("n{node}")).collect();
        let edges =
            (0..NODES).map(|node| Edge { source: node, target: (node + 1) % NODES, weight: 1.0 });
        let network = Network::new(names.clone(), edges).unwrap();
        let roles: Vec<Vec<Role>> = self.rows.iter().map(roles).collect();
        let draws = RowDraws { names: &names, rows: &rows, seed: 1 };
        let plan = Plan::new(&roles, 5, &draws);
        let model: Arc<dyn LocalModel> = self.model.clone().shared(false);
        let models = vec![model; rows.len()];
        let trained = |rows: &[Dataset]| -> Vec<Dataset> {
            let own = plan.training_rows(rows).into_iter();
            own.map(|data| match &self.class_weights {
                Some(classes) => data.weighed_by_class(classes),
                None => data,
            })
            .collect()
        };
        let seen = Dataset::all_rates(trained(&rows));
        let scales = Scales::of(&names, &seen, &models).unwrap();
        let rows: Vec<Dataset> = match &scales {
            Some(scales) => rows.iter().map(|data| scales.rows(data).unwrap()).collect(),
            None => rows,
        };
        let training = plan.training_features(&rows).unwrap();
        let counts: Vec<f64> = trained(&rows)
            .iter()
            .flat_map(|data| (0..data.rows()).map(|row| data.count(row)).collect::<Vec<_>>())
            .collect();
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        let public = weighted_normal_points(&training, Some(&counts), 15, &mut stream).unwrap();
        let runtime = InProcess { stop: self.stop, ..InProcess::default() };
        Study {
            public: std::iter::repeat_n(Arc::new(public), rows.len()).collect(),
            settings: Settings {
                method: self.method.clone(),
                weighting: self.weighting,
                class_weights: self.class_weights.clone(),
                alpha: self.alpha,
                shuffles: 1,
                likelihood_shuffles: 9,
                runtime,
                ..Settings::default()
            },
            scales,
            network,
            rows,
            models,
            plan,
        }
    }
}

impl Rows {
    pub(super) fn features(&self) -> Features {
        Features::new(names(), self.x.concat()).unwrap()
    }
}

fn names() -> Arc<[String]> {
    ["a", "b"].map(String::from).into()
}

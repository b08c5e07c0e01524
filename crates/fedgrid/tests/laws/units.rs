//! Units change nothing: a table with its features multiplied and shifted, its target multiplied, and its rows,
//! nodes and columns in another order has the same verdict and, in units of its target, the same errors.

use std::sync::Arc;

use fedgrid::{
    compare::{
        Approach, Card, Contestant, Member, MethodKind, Settings, Study, Unwatched, Verdict,
    },
    data::{Dataset, Features, Labels, Plan, RowDraws, Task, normal_points},
    model::{LocalModel, Model, ModelKind, Perceptron, Scales},
    network::{Edge, Network},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::InProcess,
};

/// Tables that every law is held on.
const TABLES: u64 = 12;
/// Tables of classes and counts, whose models are found by iterations and take longer.
const CLASS_TABLES: u64 = 3;
/// The methods that one is chosen from where none is named.
const MEMBERS: [MethodKind; 3] = [MethodKind::FedRelax, MethodKind::Gtv, MethodKind::Mixed];
/// How far errors may be apart, relative to their size: what is left of rounding after a fit.
const TOLERANCE: f64 = 1e-6;

/// A table as a file has it.
#[derive(Clone)]
struct Table {
    nodes: Vec<String>,
    columns: Vec<String>,
    /// The features and the target of the rows of each node.
    rows: Vec<Vec<(Vec<f64>, f64)>>,
    edges: Vec<(String, String)>,
    task: Task,
    /// Whether the target counts, so that it has no unit.
    is_of_counts: bool,
}

impl Table {
    /// Nodes on a ring with a chord, whose slopes change along it; units and columns of all sizes.
    fn random(seed: u64, task: Task) -> Self {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let (nodes, columns) = (6 + stream.index(4), 2 + stream.index(3));
        let names: Vec<String> =
            (0..nodes).map(|node| format!("n{}", (node * 11) % nodes)).collect();
        let units: Vec<f64> = (0..columns).map(|_| 10_f64.powf(3.0 * stream.normal())).collect();
        let shifts: Vec<f64> = units.iter().map(|unit| 5.0 * unit * stream.normal()).collect();
        let mut rows = Vec::new();
        for node in 0..nodes {
            let angle = node as f64 / nodes as f64 * std::f64::consts::TAU;
            let row = |_| {
                let z: Vec<f64> = (0..columns).map(|_| stream.normal()).collect();
                let slope = |k: usize| 1.0 + 0.5 * (angle + k as f64).sin();
                let sum: f64 = z.iter().enumerate().map(|(k, z)| slope(k) * z).sum();
                let y = 3.0 + angle.cos() + sum + 0.5 * stream.normal();
                let y = match task {
                    Task::Regression => y,
                    Task::Classification { .. } => f64::from(u8::from(y > 3.0)),
                };
                (z.iter().enumerate().map(|(k, z)| shifts[k] + units[k] * z).collect(), y)
            };
            rows.push((0..12 + node % 3).map(row).collect());
        }
        let ring = (0..nodes).map(|node| (node, (node + 1) % nodes)).chain([(0, nodes / 2)]);
        let edges = ring.map(|(a, b)| (names[a].clone(), names[b].clone())).collect();
        let columns =
            (0..columns).map(|k| format!("x{}", (k * 3) % columns.max(2) + 10 * k)).collect();
        Self { nodes: names, columns, rows, edges, task, is_of_counts: false }
    }

    /// The same with counts in the place of numbers.
    fn counted(mut self) -> Self {
        for (_, y) in self.rows.iter_mut().flatten() {
            *y = (0.3 * *y).exp().round();
        }
        self.is_of_counts = true;
        self
    }

    /// The same in other units and another order; and the unit of the target.
    fn changed(&self, seed: u64) -> (Self, f64) {
        let mut stream = Stream::new(seed, 1, 0, Purpose::Data);
        let (nodes, columns) =
            (stream.permutation(self.nodes.len()), stream.permutation(self.columns.len()));
        let mut unit = || 10_f64.powf(2.0 * stream.normal());
        let factors: Vec<f64> = columns.iter().map(|_| unit()).collect();
        let has_unit = self.task == Task::Regression && !self.is_of_counts;
        let target = if has_unit { unit() } else { 1.0 };
        // By as much as a column is wide, so that rounding stays rounding.
        let width = |column: usize| {
            let values = || self.rows.iter().flatten().map(move |(x, _)| x[column]);
            values().fold(f64::NEG_INFINITY, f64::max) - values().fold(f64::INFINITY, f64::min)
        };
        let shifts: Vec<f64> =
            columns.iter().map(|&column| width(column) * stream.normal()).collect();
        let row = |(x, y): &(Vec<f64>, f64)| {
            let value = |(k, &column): (usize, &usize)| factors[k] * (x[column] + shifts[k]);
            (columns.iter().enumerate().map(value).collect(), target * y)
        };
        let mut rows = Vec::new();
        for &node in &nodes {
            let mut own: Vec<(Vec<f64>, f64)> = self.rows[node].iter().map(row).collect();
            stream.shuffle(&mut own);
            rows.push(own);
        }
        let mut edges = self.edges.clone();
        stream.shuffle(&mut edges);
        let changed = Self {
            nodes: nodes.iter().map(|&node| self.nodes[node].clone()).collect(),
            columns: columns.iter().map(|&column| self.columns[column].clone()).collect(),
            rows,
            edges,
            ..self.clone()
        };
        (changed, target)
    }

    fn data(&self, node: usize) -> Dataset {
        let rows = &self.rows[node];
        let values = rows.iter().flat_map(|(x, _)| x.clone()).collect();
        let features = Features::new(self.columns.clone().into(), values).unwrap();
        let labels = match self.task {
            Task::Regression => Labels::values(rows.iter().map(|(_, y)| *y).collect()),
            Task::Classification { classes } => {
                let class = |(_, y): &(Vec<f64>, f64)| usize::from(*y > 0.5);
                Labels::classes(classes, &rows.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
        };
        let data = Dataset::new(features, labels).unwrap();
        data.ranked_rows().map_or(data.clone(), |order| data.select(&order))
    }

    /// The study of a table, as experiments are put together.
    fn study(&self, method: Approach, model: &Arc<dyn LocalModel>) -> Study {
        let id = |name: &String| self.nodes.iter().position(|node| node == name).unwrap();
        let edges =
            self.edges.iter().map(|(a, b)| Edge { source: id(a), target: id(b), weight: 1.0 });
        let network = Network::new(self.nodes.clone(), edges).unwrap();
        let rows: Vec<Dataset> = (0..self.nodes.len()).map(|node| self.data(node)).collect();
        let draws = RowDraws { names: &self.nodes, rows: &rows, seed: 1 };
        let plan = Plan::new(&Plan::draw(0.4, 0.3, &draws), 5, &draws);
        let models = vec![model.clone(); rows.len()];
        let scales = Scales::of(&self.nodes, &plan.training_rows(&rows), &models).unwrap().unwrap();
        let rows: Vec<Dataset> = rows.iter().map(|data| scales.rows(data).unwrap()).collect();
        let training = plan.training_features(&rows).unwrap();
        let mut stream = Stream::new(1, 0, 0, Purpose::Public);
        let public = Arc::new(normal_points(&training, 20, &mut stream).unwrap());
        let runtime =
            InProcess { stop: Stop { rounds: 60, ..Stop::default() }, ..InProcess::default() };
        Study {
            public: vec![public; rows.len()],
            settings: Settings { method, shuffles: 1, runtime, ..Settings::default() },
            scales: Some(scales),
            network,
            rows,
            models,
            plan,
        }
    }
}

/// Refuses cards of a changed table that are not those of the table.
fn check_same(what: &str, cards: &[Card], other: &[Card], unit: f64) {
    for (card, other) in cards.iter().zip(other) {
        let name = card.contestant;
        for (error, found) in [(card.validation, other.validation), (card.error(), other.error())] {
            let found = found / (unit * unit);
            let difference = (found / error - 1.0).abs();
            assert!(
                difference < TOLERANCE,
                "{what}, {name}: {error} and {found}, {:?} and {:?}",
                card.strength,
                other.strength
            );
        }
    }
}

/// The cards of a table and of the same table changed, for the contestants that are asked for.
fn check(what: &str, table: &Table, seed: u64, made: impl Fn(&Table) -> (Study, Vec<Contestant>)) {
    check_cards(what, table, seed, |table| {
        let (study, asked) = made(table);
        let cards = asked.iter().map(|&one| study.card(one, &Unwatched).unwrap()).collect();
        (study, cards)
    });
}

/// Refuses a table whose cards or verdict change with it.
fn check_cards(what: &str, table: &Table, seed: u64, cards: impl Fn(&Table) -> (Study, Vec<Card>)) {
    let (changed, unit) = table.changed(seed);
    let [before, after] = [cards(table), cards(&changed)];
    let methods = [&before, &after].map(|(study, _)| study.settings.method.kind());
    assert_eq!(methods[0], methods[1], "{what}");
    check_same(what, &before.1, &after.1, unit);
    let verdicts = [before, after].map(|(study, cards)| {
        Verdict::of(&cards, study.main(), &study.network).map(|verdict| verdict.kind)
    });
    assert_eq!(verdicts[0], verdicts[1], "{what}");
}

/// The cards of all contestants, with the method that validation rows choose.
fn chosen(mut study: Study) -> (Study, Vec<Card>) {
    study.settings.members = MEMBERS.map(|kind| Member::new(kind.with_defaults())).to_vec();
    let tune = |one: Contestant| study.tune(one, &Unwatched).unwrap();
    let tuned: Vec<Card> = study.members().into_iter().map(tune).collect();
    study.choose(&tuned);
    let card = |one: &Contestant| study.completed(*one, &tuned, &Unwatched).unwrap();
    let cards = study.contestants().iter().map(card).collect();
    (study, cards)
}

fn linear() -> Arc<dyn LocalModel> {
    ModelKind::Linear.with_defaults().shared(false)
}

#[test]
fn no_unit_and_no_order_changes_a_comparison_of_predictions() {
    for seed in 0..TABLES {
        check(&format!("table {seed}"), &Table::random(seed, Task::Regression), seed, |table| {
            let study = table.study(Approach::default(), &linear());
            let contestants = study.contestants();
            (study, contestants)
        });
    }
}

#[test]
fn no_unit_and_no_order_changes_a_method() {
    for kind in [MethodKind::Gtv, MethodKind::PersFl, MethodKind::Mixed] {
        for seed in 0..TABLES {
            let table = Table::random(seed, Task::Regression);
            check(&format!("{kind}, table {seed}"), &table, seed, |table| {
                let study = table.study(kind.with_defaults(), &linear());
                let main = study.main();
                (study, vec![main, Contestant::Shuffled(0)])
            });
        }
    }
}

#[test]
fn no_unit_and_no_order_changes_the_choice_of_a_method() {
    let logistic: Arc<dyn LocalModel> = ModelKind::Logistic.with_defaults().shared(false);
    for (task, model, tables) in [
        (Task::Regression, linear(), TABLES),
        (Task::Classification { classes: 2 }, logistic, CLASS_TABLES),
    ] {
        for seed in 0..tables {
            let what = format!("{task:?}, table {seed}");
            check_cards(&what, &Table::random(seed, task), seed, |table| {
                chosen(table.study(Approach::default(), &model))
            });
        }
    }
}

#[test]
fn no_unit_and_no_order_changes_a_mixed_model_of_counts() {
    let poisson: Arc<dyn LocalModel> = ModelKind::Poisson.with_defaults().shared(false);
    for seed in 0..CLASS_TABLES {
        let table = Table::random(seed, Task::Regression).counted();
        check(&format!("counts, table {seed}"), &table, seed, |table| {
            let study = table.study(MethodKind::Mixed.with_defaults(), &poisson);
            (study, vec![Contestant::Mixed, Contestant::Network])
        });
    }
}

#[test]
fn no_unit_and_no_order_changes_a_baseline() {
    for kind in MethodKind::baselines() {
        for seed in 0..3 {
            let table = Table::random(seed, Task::Regression);
            check(&format!("{kind}, table {seed}"), &table, seed, |table| {
                (table.study(Approach::default(), &linear()), vec![Contestant::Baseline(kind)])
            });
        }
    }
}

#[test]
fn no_unit_and_no_order_changes_a_model() {
    for kind in ModelKind::ALL {
        // Training of perceptrons is chaotic: rounding grows with every epoch.
        let model: Arc<dyn LocalModel> = match kind.with_defaults() {
            Model::Perceptron(model) => Arc::new(Perceptron { epochs: 5, ..model }),
            model => model.shared(false),
        };
        for task in [Task::Regression, Task::Classification { classes: 2 }] {
            // A target of counts has no unit.
            if !model.predicts(task) || *kind == ModelKind::Poisson {
                continue;
            }
            let seed = 5;
            check(&format!("{kind}, {task:?}"), &Table::random(seed, task), seed, |table| {
                let study = table.study(Approach::default(), &model);
                (study, vec![Contestant::Local, Contestant::Pooled, Contestant::Network])
            });
        }
    }
}

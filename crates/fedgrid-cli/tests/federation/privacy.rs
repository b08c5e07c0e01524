//! Sites beside twins: the models of one process, releases that are paid for once, and a neighbour that asks by lying.

use std::{
    fs,
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};

use fedgrid::{
    bytes::{Reader, Writer},
    compare::Study,
    data::{Dataset, Features, Labels, Task},
    method::{
        Durable, Memory, Method, Participant, Report,
        fedrelax::{PredictionMessage, PredictionShape},
    },
    model::{Hypothesis, LinearHypothesis},
    network::{NodeId, View},
    observe::Stop,
    privacy::Reading,
    runtime::protocol::ProtocolSettings,
};
use fedgrid_lab::{assembly::Assembly, experiment::Experiment};
use fedgrid_zenoh::{
    agent::{self, Options},
    identity::now,
    site_bundle::SiteBundle,
};
use serde_json::Value;

use crate::{
    common::Folder,
    sites::{Joined, Plan, SITES, assert_models_of_one_process, fitted, free_address, join, model},
};

const METHOD: &str = "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 30\ntolerance = 0.0\nsolver = \"rounds\"\n\
     [model]\nridge = 0\n";
const PRIVATE: &str = "[privacy]\nepsilon = 4.4\nlabels = { least = -3, most = 7 }\n";

fn private() -> Folder {
    let method = format!("{METHOD}{PRIVATE}");
    Plan { method: &method, ..Plan::default() }.provisioned()
}

/// A site joins, telling no errors.
fn join_private(folder: &Folder, run: &str, site: &str, arguments: &[&str]) -> Joined {
    let (kit, data) = (format!("home/kits/{site}"), format!("{site}.csv"));
    let out = format!("{run}/{site}");
    let join = ["federation", "join", &kit, "--data", &data, "--out", &out];
    Joined::new(folder, &[&join, arguments].concat())
}

fn all(folder: &Folder, run: &str, arguments: &[&str]) -> Vec<String> {
    let parts = SITES.map(|(site, _)| join_private(folder, run, site, arguments));
    parts.into_iter().map(Joined::ended).collect()
}

#[test]
fn twins_between_sites_are_those_of_one_process() {
    let folder = private();
    for (part, (site, _)) in all(&folder, "runs", &["--rehearsal"]).iter().zip(SITES) {
        assert!(part.contains("protects nothing"), "{part}");
        fs::rename(folder.path(&format!("runs/{site}")), folder.path(&format!("run-{site}")))
            .unwrap();
    }
    fitted(&folder, &[]);
    assert_models_of_one_process(&folder);
}

#[test]
fn rows_are_noised_once_over_all_runs_and_what_is_beyond_the_budget_is_refused() {
    let folder = private();
    let said = all(&folder, "runs", &[]);
    assert!(said.iter().all(|said| said.contains("Rows were noised, once")), "{said:?}");
    let first = model(&folder, "runs/east", "a");
    // The same rows again: for nothing, and bit for bit.
    let said = all(&folder, "runs", &["--force"]);
    assert!(said.iter().all(|said| said.contains("tells nothing more")), "{said:?}");
    assert_eq!(model(&folder, "runs/east", "a"), first);
    // Nothing that was drawn from the seed of the experiment.
    all(&folder, "rehearsed", &["--rehearsal"]);
    assert_ne!(model(&folder, "rehearsed/east", "a"), first);
    // Other rows are another release.
    folder.set_cell("east.csv", 1, 3, "0.5");
    let arguments = ["--force"];
    let refused = join_private(&folder, "runs", "east", &arguments).over();
    assert_eq!(refused.code, Some(2), "{}", refused.complained);
    assert!(refused.complained.contains("above the 4.400"), "{}", refused.complained);
    let ledgers = fs::read_dir(folder.path("runs/ledgers")).unwrap();
    let ledgers = ledgers.map(|entry| entry.unwrap().path());
    let ledgers = ledgers.filter(|path| path.extension().is_some_and(|end| end == "privacy"));
    let backups: Vec<_> = ledgers.map(|path| (fs::read(&path).unwrap(), path)).collect();
    assert_eq!(backups.len(), 6);
    let parts = SITES.map(|(site, _)| {
        let more = ["--force", "--most-epsilon", "9"];
        join_private(&folder, "runs", site, &more)
    });
    let said = parts.map(Joined::ended);
    assert!(said[0].contains("over all runs"), "{}", said[0]);
    // A ledger that was put back forgets what was told.
    for (bytes, path) in backups {
        fs::write(path, bytes).unwrap();
    }
    let old = join_private(&folder, "runs", "east", &["--force", "--most-epsilon", "9"]).over();
    assert!(old.complained.contains("it is an old copy"), "{}", old.complained);
    assert_eq!(old.code, Some(2));
}

#[test]
fn what_a_private_federation_would_tell_beside_is_refused() {
    let folder = private();
    let refused = join(&folder, "east").over();
    assert!(refused.complained.contains("--share would tell"), "{}", refused.complained);
    let describe = ["federation", "describe", "experiment.toml", "--data", "east.csv", "--yes"];
    assert!(folder.refusal(&describe).contains("a summary would tell"));
    let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "none"];
    let auto = folder.refusal(&[&new[..], &["--set", "method.alpha=auto"]].concat());
    assert!(auto.contains("and method.alpha and model.ridge as numbers"), "{auto}");
    let judge = folder.refusal(&[&new[..], &["--set", "federation.judge=true"]].concat());
    assert!(judge.contains("[privacy] and [federation]"), "{judge}");
}

/// A neighbour with a valid kit that says what it likes and keeps all answers.
struct Liar {
    /// What was said to the victim, and what it answered in the round after.
    kept: Arc<Mutex<Vec<Exchange>>>,
}

#[derive(Clone, Default)]
struct Exchange {
    asked: Vec<f64>,
    answered: Vec<f64>,
}

/// The node that is asked, and the one that asks.
const VICTIM: NodeId = 0;
const ASKER: NodeId = 1;

struct LyingParticipant {
    id: NodeId,
    public: Arc<Features>,
    neighbours: Vec<NodeId>,
    kept: Arc<Mutex<Vec<Exchange>>>,
    asked: Vec<f64>,
    rounds: i32,
    nothing: Arc<dyn Hypothesis>,
}

impl Method for Liar {
    type Participant = LyingParticipant;

    fn join(&self, view: View) -> fedgrid::Result<LyingParticipant> {
        let names = view.node.public.names().clone();
        let slopes = vec![0.0; names.len()];
        Ok(LyingParticipant {
            id: view.node.id,
            public: view.node.public.clone(),
            neighbours: view.neighbours.iter().map(|neighbour| neighbour.id).collect(),
            kept: self.kept.clone(),
            asked: Vec::new(),
            rounds: 0,
            nothing: Arc::new(LinearHypothesis { names, slopes, intercept: 0.0 }),
        })
    }
}

impl Participant for LyingParticipant {
    type Message = PredictionMessage;

    fn send(&mut self) -> Vec<(NodeId, PredictionMessage)> {
        if self.id != ASKER {
            return Vec::new();
        }
        // Another direction each time; ever smaller, so that nothing looks as if it were growing.
        let place = usize::try_from(self.rounds).unwrap() % (self.public.columns() + 2);
        let reach = 0.9_f64.powi(self.rounds);
        let said = |x: &[f64]| match place {
            0 => reach,
            k if k <= x.len() => reach * x[k - 1],
            _ => 0.0,
        };
        self.asked = self.public.iter().map(said).collect();
        self.rounds += 1;
        let own = Arc::new(Labels::values(self.asked.clone()));
        vec![(VICTIM, PredictionMessage { own, yours: None })]
    }

    fn receive(&mut self, inbox: &[(NodeId, PredictionMessage)]) -> fedgrid::Result<()> {
        if self.id == ASKER {
            let mut kept = self.kept.lock().unwrap();
            let answer = inbox.iter().find(|(from, _)| *from == VICTIM);
            if let (Some(last), Some((_, answer))) = (kept.last_mut(), answer) {
                last.answered = answer.own.as_slice().to_vec();
            }
            kept.push(Exchange { asked: self.asked.clone(), answered: Vec::new() });
        }
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        Some(&self.nothing)
    }

    fn report(&self) -> Report {
        Report::default()
    }
}

impl Durable for LyingParticipant {
    fn shape(&self, from: NodeId) -> Option<PredictionShape> {
        let own = self.public.rows();
        self.neighbours.contains(&from).then_some(PredictionShape {
            task: Task::Regression,
            own,
            yours: None,
        })
    }

    fn snapshot(&self, _: &mut Writer) -> fedgrid::Result<()> {
        Ok(())
    }

    fn restore(&mut self, _: &mut Reader<'_>) -> fedgrid::Result<()> {
        Ok(())
    }

    fn memory(&self) -> Memory {
        Memory::Replaceable
    }
}

/// Products of (1, x) with itself and with labels, each summed over rows and over their number.
#[derive(Debug)]
struct Moments {
    products: Vec<f64>,
    labels: Vec<f64>,
}

/// What a liar knows of its only victim, a process of its own, after some rounds; and the victim's study.
fn attacked(more: &str) -> (Folder, Moments, Study) {
    let folder = Folder::new();
    folder.append("experiment.toml", &format!("[method]\n{METHOD}{more}"));
    let rows = folder.read("rows.csv");
    let own = |line: &&str| line.starts_with("node,") || line.starts_with("a,");
    folder.write("victim.csv", rows.lines().filter(own).collect::<Vec<_>>().join("\n") + "\n");
    let site = |name: &str, nodes: &str| {
        let address = free_address();
        format!("[[site]]\nname = \"{name}\"\nnodes = {nodes}\naddress = \"{address}\"\n")
    };
    let others = "[\"b\", \"c\", \"d\", \"e\", \"f\"]";
    folder.write("sites.toml", site("victim", "[\"a\"]") + &site("liar", others));
    folder.done(&[
        "federation",
        "new",
        "experiment.toml",
        "--sites",
        "sites.toml",
        "--out",
        "home",
    ]);
    let victim = Joined::new(
        &folder,
        &["federation", "join", "home/kits/victim", "--data", "victim.csv", "--out", "runs/victim"],
    );
    let text = folder.read("experiment.toml");
    let table = Experiment::table_from_text(&text, "experiment.toml").unwrap();
    let experiment = Experiment::from_table(table, "experiment.toml").unwrap();
    let study = Assembly::new(&experiment, &folder.path("")).unwrap().study;
    let bundle = SiteBundle::read(&folder.path("home/kits/liar"), now()).unwrap();
    let views = study.network.views(study.nodes(None)).unwrap();
    let views = views.into_iter().filter(|view| view.node.id != VICTIM).collect();
    let protocol = ProtocolSettings {
        stop: Stop { rounds: 30, tolerance: 0.0 },
        check_every: 10,
        checkpoint_every: bundle.manifest.checkpoint_every,
        ..ProtocolSettings::default()
    };
    let options = Options {
        linger: Duration::from_secs(20),
        ..Options::new(folder.path("liar-state"), protocol)
    };
    let liar = Liar { kept: Arc::default() };
    let ended =
        agent::run(&bundle, &liar, views, &options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(ended.finished);
    victim.ended();
    let kept = liar.kept.lock().unwrap();
    let known = solved(&kept[..5], &study);
    (folder, known, study)
}

/// M and g of `M w = g + α u`, from answers to more questions than there are weights, without the pull of the liar.
fn solved(kept: &[Exchange], study: &Study) -> Moments {
    let (public, alpha) = (&study.public[VICTIM], 0.5);
    let (size, points) = (public.columns() + 1, public.rows() as f64);
    let reading = Reading::off(public);
    let design: Vec<Vec<f64>> =
        public.iter().map(|x| [1.0].into_iter().chain(x.iter().copied()).collect()).collect();
    let sums = |values: &[f64]| -> Vec<f64> {
        let sum = |k: usize| design.iter().zip(values).map(|(z, v)| z[k] * v).sum::<f64>();
        (0..size).map(|k| alpha * sum(k) / points).collect()
    };
    let said: Vec<Vec<f64>> = kept.iter().map(|one| sums(&one.asked)).collect();
    let answers: Vec<Vec<f64>> = kept
        .iter()
        .map(|one| reading.coefficients(&Labels::values(one.answered.clone())))
        .collect();
    let minus = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<f64>>();
    // Rows of W and U: differences from the last; Wᵀ Mᵀ = Uᵀ.
    let mut left: Vec<Vec<f64>> = (0..size).map(|k| minus(&answers[k], &answers[size])).collect();
    let mut right: Vec<Vec<f64>> = (0..size).map(|k| minus(&said[k], &said[size])).collect();
    for pivot in 0..size {
        let largest = (pivot..size)
            .max_by(|a, b| left[*a][pivot].abs().total_cmp(&left[*b][pivot].abs()))
            .unwrap();
        left.swap(pivot, largest);
        right.swap(pivot, largest);
        let (own, own_right, value) =
            (left[pivot].clone(), right[pivot].clone(), left[pivot][pivot]);
        for row in (0..size).filter(|row| *row != pivot) {
            let factor = left[row][pivot] / value;
            for k in 0..size {
                left[row][k] -= factor * own[k];
                right[row][k] -= factor * own_right[k];
            }
        }
    }
    let matrix: Vec<Vec<f64>> = (0..size)
        .map(|row| right[row].iter().map(|entry| entry / left[row][row]).collect())
        .collect();
    let labels = (0..size).map(|row| {
        (0..size).map(|k| matrix[k][row] * answers[size][k]).sum::<f64>() - said[size][row]
    });
    let gram = |a: usize, b: usize| design.iter().map(|z| z[a] * z[b]).sum::<f64>() / points;
    let products = (0..size * size)
        .map(|at| matrix[at % size][at / size] - alpha * gram(at / size, at % size));
    Moments { labels: labels.collect(), products: products.collect() }
}

/// The same of rows.
fn moments(rows: &Dataset) -> Moments {
    let (size, count) = (rows.features().columns() + 1, rows.rows() as f64);
    let (mut products, mut labels) = (vec![0.0; size * size], vec![0.0; size]);
    for (x, y) in rows.features().iter().zip(rows.labels().as_slice()) {
        let z: Vec<f64> = [1.0].into_iter().chain(x.iter().copied()).collect();
        for a in 0..size {
            labels[a] += z[a] * y / count;
            (0..size).for_each(|b| products[a * size + b] += z[a] * z[b] / count);
        }
    }
    Moments { products, labels }
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
    square.sqrt() / b.iter().map(|b| b * b).sum::<f64>().sqrt()
}

#[test]
fn a_lying_neighbour_reads_all_rows_off_where_nothing_is_private() {
    let (_, known, study) = attacked("");
    let truth = moments(&study.rows[VICTIM].select(&study.plan.train[VICTIM]));
    assert!(far(&known.products, &truth.products) < 1e-8, "{known:?} {truth:?}");
    assert!(far(&known.labels, &truth.labels) < 1e-8, "{known:?} {truth:?}");
}

#[test]
fn a_lying_neighbour_reads_the_release_off_twins_and_nothing_else() {
    let (folder, known, study) = attacked(PRIVATE);
    // What was released, as the site has kept it.
    let files = fs::read_dir(folder.path("runs/ledgers")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "release")).unwrap();
    let kept: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let size = study.public[VICTIM].columns() + 2;
    let mut sums = vec![0.0; size * size];
    for part in kept["parts"].as_array().unwrap() {
        let numbers = part["moments"].as_array().unwrap();
        sums.iter_mut().zip(numbers).for_each(|(sum, own)| *sum += own.as_f64().unwrap());
    }
    let middle = study.settings.privacy.unwrap().middle;
    let released = (0..size - 1)
        .map(|k| (sums[k * size + size - 1] + middle * sums[k * size]) / sums[0])
        .collect::<Vec<f64>>();
    assert!(far(&known.labels, &released) < 1e-6, "{known:?} {released:?}");
    // The attack of the test before has learnt as little of labels as everybody may know.
    let fold = &study.plan.folds[0];
    let rows = [&fold.train[VICTIM][..], &fold.validation[VICTIM]].concat();
    let truth = moments(&study.rows[VICTIM].select(&rows));
    let (attack, noise) = (far(&known.labels, &truth.labels), far(&released, &truth.labels));
    assert!(noise > 0.01 && (attack / noise - 1.0).abs() < 1e-4, "{attack} {noise}");
}

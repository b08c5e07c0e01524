//! Do our models learn what scikit-learn's learn from the same weighted rows?

use fedgrid::{
    data::{Dataset, Features, Labels},
    loss::Loss,
    model::{
        Boosting, ElasticNet, ExtraTrees, Forest, Kernel, KernelRidge, Linear, LocalModel,
        Logistic, Tree, TreeHypothesis, TreeNodes,
    },
    random::{Purpose, Stream},
};
use serde_json::Value;

use crate::peer::{Peer, difference, numbers};

const SEEDS: usize = 10;
const ROWS: usize = 300;
const TESTS: usize = 1000;
const COLUMNS: usize = 9;
const RIDGE: f64 = 0.5;
const LASSO: f64 = 100.0;
const WIDTH: f64 = 2.0;

/// How much the predictions of a model with one minimiser may differ.
const SAME_MINIMISER: f64 = 1e-6;
/// How much rounding may add to an error that is not worse.
const NOT_WORSE: f64 = 1e-9;
/// How much the mean error over seeds may be above scikit-learn's.
const SAME_ERROR: f64 = 0.03;

/// The table, and whether all models agree.
pub(crate) fn report(peer: &Peer) -> (String, bool) {
    let seeds: Vec<Sample> = (0..SEEDS).map(Sample::new).collect();
    write(peer, &seeds);
    let sizes = [SEEDS, ROWS, TESTS, COLUMNS].map(|size| size as f64);
    let answer = peer.run("agreement.py", &[&sizes[..], &[RIDGE, LASSO, WIDTH]].concat());
    let lines =
        [exact(&seeds[0], &answer), vec![tree(&seeds[0], &answer)], errors(&seeds, &answer)]
            .concat();
    let mut text = format!(
        "agreement with scikit-learn, {ROWS} weighted rows of {COLUMNS} features\n  \
         {:<34} {:>13} {:>13} {:>12} {:>8}\n",
        "model", "ours", "scikit-learn", "difference", "within"
    );
    for line in &lines {
        text += &line.text();
    }
    (text, lines.iter().all(Line::holds))
}

/// One line of the table.
#[derive(Clone)]
struct Line {
    model: String,
    ours: f64,
    theirs: f64,
    /// Relative; for errors, by how much ours is larger.
    difference: f64,
    within: f64,
}

impl Line {
    fn holds(&self) -> bool {
        self.difference <= self.within
    }

    fn text(&self) -> String {
        let Self { model, ours, theirs, difference, within } = self;
        let verdict = if self.holds() { "" } else { "  FAILED" };
        format!(
            "  {model:<34} {ours:>13.8} {theirs:>13.8} {difference:>12.1e} {within:>8.0e}{verdict}\n"
        )
    }
}

/// The rows of one seed: numbers, two and three classes, and features with many ties.
struct Sample {
    train: Features,
    coarse: Features,
    test: Features,
    labels: [Labels; 2],
    classes: [Vec<usize>; 2],
    three: Vec<usize>,
    weights: Vec<f64>,
}

impl Sample {
    fn new(seed: usize) -> Self {
        let mut stream = Stream::new(7, seed, 0, Purpose::Data);
        // scikit-learn's trees see features as 32-bit numbers, so both sides get such.
        #[expect(clippy::cast_possible_truncation, reason = "that is the point")]
        let mut draw = |rows: usize| {
            let values = (0..rows * COLUMNS).map(|_| f64::from(stream.normal() as f32));
            features(values.collect())
        };
        let (train, test) = (draw(ROWS), draw(TESTS));
        let rounded = train.values().iter().map(|value| value.round()).collect();
        let signal = |x: &[f64]| x[0] + (2.0 * x[1]).sin() + x[2] * x[3] + 0.5 * x[4].abs();
        let mut noisy = |points: &Features| -> Vec<f64> {
            points.iter().map(|x| signal(x) + 0.5 * stream.normal()).collect()
        };
        let numbers = [noisy(&train), noisy(&test)];
        let above = |limit: f64| move |y: &f64| usize::from(*y > limit);
        let classes = numbers.each_ref().map(|y| y.iter().map(above(0.5)).collect());
        let three = numbers[0].iter().map(|y| above(-0.5)(y) + above(1.0)(y)).collect();
        let weights = (0..ROWS).map(|row| 0.5 + (row % 4) as f64).collect();
        let labels = numbers.map(Labels::values);
        Self { train, coarse: features(rounded), test, labels, classes, three, weights }
    }

    fn data(&self, features: &Features, labels: Labels) -> Dataset {
        Dataset::weighted(features.clone(), labels, self.weights.clone()).expect("sizes agree")
    }
}

fn features(values: Vec<f64>) -> Features {
    let names = (0..COLUMNS).map(|column| format!("x{column}")).collect();
    Features::new(names, values).expect("normal draws are finite")
}

fn certain(count: usize, classes: &[usize]) -> Labels {
    Labels::classes(count, classes).expect("classes are below their count")
}

fn write(peer: &Peer, seeds: &[Sample]) {
    let all = |part: &dyn Fn(&Sample) -> Vec<f64>| seeds.iter().flat_map(part).collect::<Vec<_>>();
    let floats = |classes: &[usize]| classes.iter().map(|class| *class as f64).collect();
    peer.write("x", &all(&|sample| sample.train.values().to_vec()));
    peer.write("xt", &all(&|sample| sample.test.values().to_vec()));
    peer.write("coarse", &all(&|sample| sample.coarse.values().to_vec()));
    peer.write("y", &all(&|sample| sample.labels[0].as_slice().to_vec()));
    peer.write("yt", &all(&|sample| sample.labels[1].as_slice().to_vec()));
    peer.write("c", &all(&|sample| floats(&sample.classes[0])));
    peer.write("ct", &all(&|sample| floats(&sample.classes[1])));
    peer.write("k", &all(&|sample| floats(&sample.three)));
    peer.write("w", &all(&|sample| sample.weights.clone()));
}

/// Models with one minimiser: their predictions are compared; the table shows the first.
fn exact(sample: &Sample, answer: &Value) -> Vec<Line> {
    let values = || sample.labels[0].clone();
    let logistic = || Box::new(Logistic { ridge: RIDGE, ..Logistic::default() });
    let linear = |ridge| Box::new(Linear { ridge, intercept: true });
    let lasso = Box::new(ElasticNet { ridge: 0.0, lasso: LASSO, intercept: true });
    let kernel = Kernel::Gaussian { width: WIDTH };
    let kernel = KernelRidge { kernel, ridge: RIDGE, intercept: false, standardise: false };
    let two = certain(2, &sample.classes[0]);
    let models: [(&str, Box<dyn LocalModel>, Labels); 6] = [
        ("linear", linear(0.0), values()),
        ("ridge", linear(RIDGE), values()),
        ("lasso", lasso, values()),
        ("logistic, two classes", logistic(), two),
        ("logistic, three classes", logistic(), certain(3, &sample.three)),
        ("kernel ridge", Box::new(kernel), values()),
    ];
    let line = |(name, model, labels): (&str, Box<dyn LocalModel>, Labels)| {
        let hypothesis = model.fit(&sample.data(&sample.train, labels)).expect("the fit converges");
        let (ours, theirs) = (hypothesis.predict(&sample.test), numbers(answer, name));
        let difference = difference(ours.as_slice(), &theirs);
        let (model, ours, theirs) = (name.to_string(), ours.as_slice()[0], theirs[0]);
        Line { model, ours, theirs, difference, within: SAME_MINIMISER }
    };
    models.into_iter().map(line).collect()
}

/// A tree on rows without ties: splits, thresholds and leaves are compared; the table shows how many
/// leaves there are. Leaves hold a share of the weight, because two rows are split alike by all
/// features.
fn tree(sample: &Sample, answer: &Value) -> Line {
    let data = sample.data(&sample.train, sample.labels[0].clone());
    let tree = Tree { max_depth: 5, min_leaf_weight: 0.02 };
    let tree = tree
        .fit(&data)
        .expect("the tree grows")
        .downcast_ref::<TreeHypothesis>()
        .expect("a tree stores a tree")
        .clone();
    let TreeNodes { features, thresholds, right, labels, .. } = &tree.nodes;
    let of = |inner: bool| (0..right.len()).filter(move |&node| (right[node] > 0) == inner);
    let pick = |values: &[f64], inner: bool| of(inner).map(|node| values[node]).collect::<Vec<_>>();
    let splits: Vec<f64> = of(true).map(|node| f64::from(features[node])).collect();
    let leaves = pick(labels, false);
    let theirs = numbers(answer, "leaves");
    let same = splits == numbers(answer, "splits");
    let difference = if same {
        difference(&pick(thresholds, true), &numbers(answer, "thresholds"))
            .max(difference(&leaves, &theirs))
    } else {
        f64::INFINITY
    };
    let (ours, theirs) = (leaves.len() as f64, theirs.len() as f64);
    Line { model: "tree without ties".into(), ours, theirs, difference, within: SAME_MINIMISER }
}

/// Models of chance and of ties: mean squared errors over all seeds are compared.
fn errors(seeds: &[Sample], answer: &Value) -> Vec<Line> {
    let mean = |errors: &[f64]| errors.iter().sum::<f64>() / errors.len() as f64;
    let line = |name: &str, within: f64, error: &dyn Fn(&Sample, u64) -> f64| {
        let ours: Vec<f64> =
            seeds.iter().zip(0..).map(|(sample, seed)| error(sample, seed)).collect();
        let (ours, theirs) = (mean(&ours), mean(&numbers(answer, name)));
        let difference = ours / theirs - 1.0;
        Line { model: name.to_string(), ours, theirs, difference, within }
    };
    let value = |model: &dyn LocalModel, sample: &Sample| {
        let fitted = model.fit(&sample.data(&sample.train, sample.labels[0].clone()));
        let predictions = fitted.expect("the model can be fitted").predict(&sample.test);
        Loss::Squared.mean(&sample.labels[1], &predictions)
    };
    let class = |model: &dyn LocalModel, sample: &Sample| {
        let [train, test] = sample.classes.each_ref().map(|classes| certain(2, classes));
        let fitted =
            model.fit(&sample.data(&sample.train, train)).expect("the model can be fitted");
        // Both probabilities are off by the same.
        0.5 * Loss::Squared.mean(&test, &fitted.predict(&sample.test))
    };
    let ties = |sample: &Sample, _| {
        let data = sample.data(&sample.coarse, sample.labels[0].clone());
        let predictions = Tree::default().fit(&data).expect("a tree").predict(data.features());
        let losses = Loss::Squared.rows(data.labels(), &predictions);
        let sum: f64 = losses.iter().zip(data.weights()).map(|(loss, weight)| loss * weight).sum();
        sum / data.total_weight()
    };
    let forest = |seed| Forest { seed, ..Forest::default() };
    let boosting = |seed| Boosting { seed, ..Boosting::default() };
    vec![
        line("tree, training error with ties", NOT_WORSE, &ties),
        line("forest", SAME_ERROR, &|sample, seed| value(&forest(seed), sample)),
        line("forest, two classes", SAME_ERROR, &|sample, seed| class(&forest(seed), sample)),
        line("extra trees", SAME_ERROR, &|sample, seed| {
            value(&ExtraTrees(Forest { seed, ..ExtraTrees::default().0 }), sample)
        }),
        line("boosting", SAME_ERROR, &|sample, seed| value(&boosting(seed), sample)),
        line("boosting, two classes", SAME_ERROR, &|sample, seed| class(&boosting(seed), sample)),
    ]
}

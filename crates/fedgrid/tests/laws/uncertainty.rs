//! Intervals hold what they promise, on rows of which everything is known.

use std::sync::Arc;

use fedgrid::{
    compare::{Approach, Fitted, Mixed, Settings, Strength, Study, Unwatched},
    data::{Dataset, Features, Labels, Plan, Role, RowDraws},
    model::{Linear, LocalModel, Scales, Tree},
    network,
    random::{Purpose, Stream},
    uncertainty::{Band, CalibrationRows, Intervals, Residuals},
};

const LEVEL: f64 = 0.9;
const STRENGTH: Strength = Strength { alpha: 0.0, ridge: None };

/// Rows at the nodes of a ring whose coefficients are drawn around 1 and −2, with a level around 3.
fn study(seed: u64, nodes: usize, role: impl Fn(usize) -> Role, method: Approach) -> Study {
    let names: Arc<[String]> = ["b".to_string(), "a".to_string()].into();
    let rows: Vec<Dataset> = (0..nodes)
        .map(|node| {
            let mut stream = Stream::new(seed, node, 0, Purpose::Data);
            let own = [1.0, -2.0, 3.0].map(|mean| mean + 0.8 * stream.normal());
            let x: Vec<f64> = (0..60).map(|_| stream.normal()).collect();
            let label = |x: &[f64]| own[0] * x[0] + own[1] * x[1] + own[2] + 0.7 * stream.normal();
            let labels = Labels::values(x.chunks_exact(2).map(label).collect());
            Dataset::new(Features::new(names.clone(), x).unwrap(), labels).unwrap()
        })
        .collect();
    let roles = vec![(0..30).map(role).collect(); nodes];
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: true });
    let public = Arc::new(rows[0].features().clone());
    let network = network::ring(nodes).unwrap();
    let plan = Plan::new(&roles, 4, &RowDraws { names: network.names(), rows: &rows, seed: 1 });
    Study {
        network,
        models: vec![model; nodes],
        public: vec![public; nodes],
        plan,
        scales: None,
        settings: Settings { method, ..Settings::default() },
        rows,
    }
}

/// Four rows train, as many validate, and the others test.
fn in_three(row: usize) -> Role {
    [Role::Train, Role::Validation].get(row / 4).copied().unwrap_or(Role::Test)
}

/// Four rows train, and the others test.
fn in_two(row: usize) -> Role {
    if row < 4 { Role::Train } else { Role::Test }
}

fn mixed() -> Approach {
    Approach::Mixed(Mixed::default())
}

/// What was fitted, its intervals, and the share of test rows that they cover.
fn checked(study: &Study, refits: bool) -> (Fitted, Intervals, f64) {
    let mut fitted = study.fit(STRENGTH, &Unwatched).unwrap();
    let refit: Option<(_, Strength, &dyn fedgrid::compare::Watch)> =
        refits.then_some((study.main(), STRENGTH, &Unwatched));
    fitted.unseen = study.residuals(&fitted, refit).unwrap();
    let intervals = study.intervals(&fitted).unwrap();
    let coverage = study.coverage(&fitted, &intervals, &intervals.bands(LEVEL).unwrap());
    let rows: usize = coverage.iter().map(|node| node.rows).sum();
    let covered: f64 = coverage.iter().map(|node| node.covered).sum();
    (fitted, intervals, covered / rows as f64)
}

/// The mean coverage over seeds, with its standard error.
fn mean_coverage(seeds: u64, coverage: impl Fn(u64) -> f64) -> (f64, f64) {
    let found: Vec<f64> = (0..seeds).map(coverage).collect();
    let mean = found.iter().sum::<f64>() / seeds as f64;
    let squares: f64 = found.iter().map(|share| (share - mean).powi(2)).sum();
    (mean, (squares / (seeds - 1) as f64 / seeds as f64).sqrt())
}

#[test]
fn posterior_intervals_cover_as_many_rows_of_the_model_as_they_say() {
    let (mean, error) = mean_coverage(8, |seed| {
        // Variances of a few nodes are rough estimates, which costs coverage: 4 points with 30 nodes.
        let (_, intervals, covered) = checked(&study(seed, 150, in_two, mixed()), false);
        assert_eq!(intervals.calibration, CalibrationRows::None);
        assert!(intervals.bands(LEVEL).unwrap().iter().all(|b| matches!(b, Band::Modelled { .. })));
        covered
    });
    assert!((mean - LEVEL).abs() < 3.0 * error + 0.01, "{mean} ± {error}");
}

#[test]
fn calibrated_intervals_cover_what_they_say_with_and_without_a_posterior() {
    for method in [mixed(), Approach::Local(fedgrid::compare::LocalRow::default())] {
        let (mean, error) =
            mean_coverage(8, |seed| checked(&study(seed, 30, in_three, method.clone()), true).2);
        assert!(mean > LEVEL - 3.0 * error, "{mean} ± {error}");
        // What finite numbers of rows cost: a row more beyond all others.
        assert!(mean < LEVEL + 0.03 + 3.0 * error, "{mean} ± {error}");
    }
}

#[test]
fn training_rows_that_take_turns_calibrate_where_none_are_set_aside() {
    let (mean, error) = mean_coverage(8, |seed| {
        let (fitted, intervals, covered) = checked(&study(seed, 30, in_two, mixed()), true);
        assert_eq!(intervals.calibration, CalibrationRows::Folds);
        assert!(fitted.unseen.unwrap().nodes.iter().all(|own| own.len() == 4));
        covered
    });
    assert!((mean - LEVEL).abs() < 0.03 + 3.0 * error, "{mean} ± {error}");
}

/// Residuals of nodes with so many rows each, and one more that is new, all alike.
fn alike(seed: usize, counts: &[usize]) -> (Residuals, f64) {
    let mut stream = Stream::new(9, seed, 0, Purpose::Data);
    // Heavy tails: nothing may depend on the distribution.
    let mut draw = || stream.normal() / (0.2 + stream.uniform());
    let nodes = counts.iter().map(|count| (0..*count).map(|_| draw()).collect()).collect();
    (Residuals { rows: CalibrationRows::Validation, nodes, counts: None }, draw().abs())
}

/// How often the first node's interval holds the new row, over many draws.
fn held(network: &network::Network, counts: &[usize], draws: usize) -> f64 {
    let is_held = |seed: usize| {
        let (residuals, new) = alike(seed, counts);
        let intervals = Intervals::new(&residuals, None, network);
        new <= intervals.bands(LEVEL).unwrap()[0].factor().unwrap()
    };
    (0..draws).filter(|seed| is_held(*seed)).count() as f64 / draws as f64
}

#[test]
fn rows_that_are_alike_are_covered_with_exactly_the_level_where_that_is_possible() {
    // ⌈0.9 · 50⌉ of 50 places: nine tenths, for any distribution.
    let network = network::path(1).unwrap();
    let (share, error) = (held(&network, &[49], 4_000), (0.09_f64 / 4_000.0).sqrt());
    assert!((share - LEVEL).abs() < 3.5 * error, "{share}");
}

#[test]
fn rows_of_neighbours_keep_the_level_whatever_they_weigh() {
    let draws = 4_000;
    let error = (0.09_f64 / draws as f64).sqrt();
    let star = network::star(9).unwrap();
    for (network, counts) in [
        (&network::ring(9).unwrap(), &[2, 5, 6, 6, 6, 6, 6, 6, 5][..]),
        (&star, &[0, 5, 4, 6, 5, 4, 7, 8, 3]),
        (&network::path(9).unwrap(), &[6; 9]),
        (&network::ring(9).unwrap().without_edges(), &[2, 5, 6, 6, 6, 6, 6, 6, 5]),
    ] {
        let share = held(network, counts, draws);
        assert!(share > LEVEL - 3.5 * error, "{share}");
        assert!(share < 0.97, "an interval that is hardly ever left says little: {share}");
    }
}

#[test]
fn a_node_with_two_rows_is_told_what_it_can_have() {
    let bands = |nodes: usize, joined: bool, level: f64| {
        let (residuals, _) = alike(1, &vec![2; nodes]);
        let ring = network::ring(nodes.max(3)).unwrap();
        let network = match (nodes, joined) {
            (1, _) => network::path(1).unwrap(),
            (_, true) => ring,
            (_, false) => ring.without_edges(),
        };
        Intervals::new(&residuals, None, &network).bands(level).unwrap()[0]
    };
    // Two rows of its own, and nobody else: of three places two are covered.
    let Band::TooFew { rows: 2, largest_level } = bands(1, true, LEVEL) else { panic!("too few") };
    assert!((largest_level - 2.0 / 3.0).abs() < 1e-12);
    assert!(matches!(bands(1, true, 0.6), Band::Calibrated { own: 2, others: 0, .. }));
    // With others there is an interval, and it says whose rows it rests on.
    assert!(matches!(bands(40, true, LEVEL), Band::Calibrated { own: 2, others: 1.., .. }));
    let alone = bands(40, false, LEVEL);
    let expected = fedgrid::uncertainty::Reach::All;
    assert!(
        matches!(alone, Band::Calibrated { own: 2, others: 78, reach, .. } if reach == expected)
    );
}

#[test]
fn levels_that_are_no_shares_are_refused() {
    let (residuals, _) = alike(1, &[9]);
    let intervals = Intervals::new(&residuals, None, &network::path(1).unwrap());
    for level in [0.0, 1.0, 1.5, -0.1, f64::NAN] {
        let sentence = intervals.bands(level).unwrap_err().to_string();
        assert!(
            sentence.ends_with("expected a share between zero and one, such as 0.9"),
            "{sentence}"
        );
    }
}

#[test]
fn a_higher_level_is_never_narrower() {
    let (residuals, _) = alike(3, &[6; 30]);
    let intervals = Intervals::new(&residuals, None, &network::ring(30).unwrap());
    let factor = |level| intervals.bands(level).unwrap()[4].factor().unwrap();
    // The rows of more nodes may be asked for a higher level, so only far levels are compared.
    assert!(factor(0.5) < factor(0.8) && factor(0.8) < factor(0.99));
}

#[test]
fn errors_do_not_depend_on_the_units_of_features() {
    let plain = study(2, 12, in_three, mixed());
    let training = plain.plan.training_rows(&plain.rows);
    let scales = Scales::of(plain.network.names(), &training, &plain.models).unwrap().unwrap();
    let rows = plain.rows.iter().map(|data| scales.rows(data).unwrap()).collect();
    let scaled = Study { rows, scales: Some(scales), ..plain.clone() };
    let (before, plain_intervals, _) = checked(&plain, true);
    let (after, intervals, _) = checked(&scaled, true);
    let posterior = scaled.posterior(&after).unwrap();
    let hypotheses = scaled.for_table(&after.hypotheses);
    let expected = before.posterior.unwrap();
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-5 * (a.abs() + b.abs());
    for (node, learnt) in hypotheses.iter().enumerate() {
        let errors = posterior.standard_errors(node).into_iter().flatten();
        for (a, b) in errors.zip(expected.standard_errors(node).into_iter().flatten()) {
            assert!(is_near(a.unwrap(), b.unwrap()), "{a:?} {b:?}");
        }
        let own = learnt.coefficients().unwrap().remove(0);
        let plain = before.hypotheses[node].coefficients().unwrap().remove(0);
        assert!(own.iter().zip(&plain).all(|(a, b)| is_near(*a, *b)), "{own:?} {plain:?}");
    }
    let (own, plain) = (posterior.predictors[0].spreads(), expected.predictors[0].spreads());
    for (a, b) in own.iter().zip(&plain) {
        assert!(
            is_near(a.mean, b.mean) && is_near(a.variance.unwrap(), b.variance.unwrap()),
            "{a:?} {b:?}"
        );
        assert!(is_near(a.deviation, b.deviation) && is_near(a.effect, b.effect), "{a:?} {b:?}");
    }
    assert_eq!(intervals.calibration, CalibrationRows::Validation);
    let band = |intervals: &Intervals| intervals.bands(0.9).unwrap()[3].factor().unwrap();
    let ends = |intervals: &Intervals| intervals.interval((3, band(intervals)), &[0.4, -1.0], 2.0);
    let ((a, b), (c, d)) = (ends(&intervals), ends(&plain_intervals));
    assert!(is_near(a, c) && is_near(b, d), "{a} {b} {c} {d}");
}

#[test]
fn the_spread_over_nodes_is_that_of_the_draws() {
    let (fitted, _, _) = checked(&study(5, 120, in_three, mixed()), false);
    for spread in fitted.posterior.unwrap().predictors[0].spreads() {
        assert!((spread.deviation - 0.8).abs() < 0.16, "{spread:?}");
        assert!(
            (spread.variance.unwrap().sqrt() / spread.deviation - 1.0).abs() < 0.1,
            "{spread:?}"
        );
        assert!((spread.effect / spread.deviation - 1.0).abs() < 0.1, "{spread:?}");
    }
}

#[test]
fn models_without_coefficients_have_intervals_all_the_same() {
    let mut trees = study(3, 20, in_three, Approach::Local(fedgrid::compare::LocalRow::default()));
    let tree: Arc<dyn LocalModel> = Arc::new(Tree { max_depth: 2, ..Tree::default() });
    trees.models = vec![tree; 20];
    let (fitted, _, covered) = checked(&trees, true);
    assert!(fitted.posterior.is_none() && fitted.hypotheses[0].coefficients().is_none());
    assert!((0.85..0.98).contains(&covered), "{covered}");
}

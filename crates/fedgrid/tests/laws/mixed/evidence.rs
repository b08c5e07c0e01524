//! What a network adds to the likelihood of the training rows, beside its shuffles.

use fedgrid::{
    data::{Dataset, Labels},
    mixed::{Design, Family, LaplaceModel, NetworkRatio, Precision},
    network::grid,
    random::{Purpose, Stream},
};
use rayon::ThreadPoolBuilder;

use super::{
    assert_close,
    sample::{ALL, COLUMNS, Sample},
};

const SIDE: usize = 6;
const NODES: usize = SIDE * SIDE;
const SHUFFLES: usize = 19;
/// How far from its maximum a likelihood may be that is only compared with others.
const ROUGH: f64 = 5e-3;

/// Rows on a grid whose levels rise from one side to the other, or that are in places that mean nothing.
fn sample(follows: bool) -> Sample {
    let mut sample = Sample::new(&[8; NODES]);
    sample.network = grid(SIDE, SIDE).unwrap();
    let mut stream = Stream::new(3, 0, 0, Purpose::Data);
    for (node, rows) in sample.rows.iter_mut().enumerate() {
        let level = if follows { (node / SIDE) as f64 } else { stream.normal() };
        for (x, y, _) in rows {
            *y = level + 0.5 * x[1] + stream.normal();
        }
    }
    sample
}

fn orders() -> Vec<Vec<usize>> {
    let order = |number| Stream::new(1, number, 0, Purpose::Shuffle).permutation(NODES);
    (0..SHUFFLES).map(order).collect()
}

fn ratio(sample: &Sample, orders: &[Vec<usize>], most_work: f64) -> NetworkRatio {
    let precision = Precision::along(&sample.network);
    sample.try_with(&ALL, &precision, |model| model.network_ratio(orders, most_work)).unwrap()
}

#[test]
fn rows_that_follow_a_network_speak_for_it_and_others_do_not() {
    let most = |found: &NetworkRatio| found.shuffled.iter().copied().fold(0.0, f64::max);
    let found = ratio(&sample(true), &orders(), f64::INFINITY);
    assert!(found.ratio() > 20.0 && found.ratio() > 3.0 * most(&found), "{found:?}");
    assert!(found.shuffled.iter().all(|other| *other >= 0.0) && found.rho > 0.5);
    let found = ratio(&sample(false), &orders(), f64::INFINITY);
    assert!((0.0..=most(&found)).contains(&found.ratio()), "{found:?}");
}

#[test]
fn the_likelihoods_are_those_of_the_fits() {
    let sample = sample(true);
    let found = ratio(&sample, &[], f64::INFINITY);
    let with = sample.fit(&ALL);
    let without = sample.fit_with(&ALL, &Precision::independent(NODES));
    assert!((found.along - with.deviance).abs() < ROUGH, "{} {}", found.along, with.deviance);
    assert!((found.rho - with.rho).abs() < 0.01, "{} {}", found.rho, with.rho);
    assert_close(&[found.independent], &[without.deviance], 1e-9, "without");
    assert_close(&[with.independent.unwrap()], &[without.deviance], 1e-9, "told by the fit");
}

#[test]
fn nodes_that_stay_in_place_leave_the_ratio_and_so_does_a_network_turned_round() {
    let sample = sample(true);
    let same: Vec<usize> = (0..NODES).collect();
    let turned: Vec<usize> = (0..NODES).rev().collect();
    let found = ratio(&sample, &[same, turned], f64::INFINITY);
    assert_eq!(found.shuffled[0].to_bits(), found.ratio().to_bits());
    assert!((found.shuffled[1] - found.ratio()).abs() < ROUGH, "{found:?}");
}

#[test]
fn a_shuffle_of_rows_is_the_fit_along_a_shuffled_network() {
    let sample = sample(true);
    let orders = orders();
    let found = ratio(&sample, &orders[..3], f64::INFINITY);
    for (order, shuffled) in orders.iter().zip(&found.shuffled) {
        let precision = Precision::along(&sample.network.shuffled(order));
        let along = sample.fit_with(&ALL, &precision).deviance;
        assert!((found.independent - along - shuffled).abs() < ROUGH, "{along} {found:?}");
    }
}

#[test]
fn the_largest_of_many_are_sought_to_the_end_and_no_other_is_too_large() {
    for follows in [true, false] {
        let (sample, orders) = (sample(follows), orders());
        let found = ratio(&sample, &orders, f64::INFINITY);
        let whole = |order: &Vec<usize>| {
            ratio(&sample, std::slice::from_ref(order), f64::INFINITY).shuffled[0]
        };
        let whole: Vec<f64> = orders.iter().map(whole).collect();
        let pairs = || found.shuffled.iter().zip(&whole);
        assert!(pairs().all(|(found, whole)| *found <= whole + ROUGH), "{found:?} {whole:?}");
        let ended = pairs().filter(|(found, whole)| (*found - *whole).abs() < ROUGH).count();
        assert!(ended >= 4, "{ended}: {found:?} {whole:?}");
        let most = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
        assert!((most(&found.shuffled) - most(&whole)).abs() < ROUGH, "{found:?} {whole:?}");
    }
}

#[test]
fn as_many_shuffles_are_made_as_the_count_of_their_work_allows() {
    let sample = sample(false);
    let order = |number| Stream::new(1, number, 0, Purpose::Shuffle).permutation(NODES);
    let orders: Vec<_> = (0..25).map(order).collect();
    let all = ratio(&sample, &orders, f64::INFINITY);
    assert!(all.shuffled.len() == 25 && !all.is_first_look);
    // Of 19, which are the fewest that tell one of twenty, to all; else none, and a first look at the network.
    let powers = (10..60).map(|power| 2_f64.powi(power));
    let enough = powers.into_iter().find(|work| !ratio(&sample, &orders, *work).is_first_look);
    let enough = enough.expect("some work is enough");
    let some = (0..40).map(|step| enough * (0.5 + 0.03 * f64::from(step)));
    let some: Vec<_> = some.map(|work| ratio(&sample, &orders, work)).collect();
    for some in &some {
        assert_eq!(some.is_first_look, some.shuffled.is_empty());
        assert!(some.shuffled.is_empty() || some.shuffled.len() >= 19);
        assert!(some.ratio() <= all.ratio() + ROUGH);
    }
    let mut counts: Vec<usize> = some.iter().map(|some| some.shuffled.len()).collect();
    assert!(counts.is_sorted());
    counts.dedup();
    assert_eq!(counts, [0, 19, 20, 21, 22, 23, 24, 25]);
    // Where fewer are asked for, fewer are enough.
    assert_eq!(ratio(&sample, &orders[..3], f64::INFINITY).shuffled.len(), 3);
}

#[test]
fn classes_and_counts_have_a_ratio_on_any_number_of_threads() {
    let sample = sample(true);
    let precision = &Precision::along(&sample.network);
    let data = sample.datasets().into_iter();
    let rows: Vec<Dataset> = data
        .map(|data| {
            let labels = data.labels().as_slice().iter();
            let classes: Vec<usize> = labels.map(|y| usize::from(*y > 2.5)).collect();
            Dataset::new(data.features().clone(), Labels::classes(2, &classes).unwrap()).unwrap()
        })
        .collect();
    let design = Design::new(&rows, false).unwrap();
    let family = Family::Classes(2);
    let nodes: Vec<_> = rows.iter().map(|data| design.rows(data, family)).collect();
    let model = LaplaceModel {
        nodes: &nodes,
        columns: COLUMNS,
        fixed: design.fixed(),
        random: &[0, 1],
        variances: &[],
        free: 0,
        correlated: false,
        precision,
        rho: None,
    };
    let on = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let classes = model.network_ratio(&orders()[..5], f64::INFINITY).unwrap();
            (classes, ratio(&sample, &orders()[..5], f64::INFINITY))
        })
    };
    let (classes, numbers) = on(1);
    assert!(classes.ratio() > 3.0, "{classes:?}");
    assert!(classes.shuffled.iter().all(|other| *other < classes.ratio()), "{classes:?}");
    assert_eq!(on(8), (classes, numbers));
}

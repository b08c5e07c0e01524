//! Laws of PersFL: messages and the fast paths agree, and steps are what they are said to be.

mod authors;
mod models;
mod privacy;
pub(crate) mod setting;

use fedgrid::{
    method::{
        PersFl,
        persfl::{Adoption, LinearPool, Probe, RefitPool, Start},
    },
    model::{Hypothesis, Linear, LinearHypothesis},
    network::NodeId,
};

use setting::{close, made, weights_of};

#[test]
fn messages_and_the_fast_path_take_the_same_steps() {
    // Four rows of six features are kept as rows, nine as moments; ten iterations are enough for
    // inner products of rows to be kept, too.
    for rows in [4, 9] {
        for (probe, intercept, ridge) in [
            (Probe::Gradient, false, 0.0),
            (Probe::Gradient, true, 0.1),
            (Probe::Proximal, true, 0.0),
        ] {
            let clusters = (0..12).map(|id| id % 2).collect();
            let made = made(clusters, [rows, 6], 0.3, 4).with_model(Linear { ridge, intercept });
            let top = Adoption::Top { count: 2, by_reward: true };
            for (adoption, held, own) in [(Adoption::Best, 0.0, false), (top, 0.4, true)] {
                let start = if own { Start::Local } else { Start::Zero };
                let base = PersFl { probe, adoption, held, own, start, ..PersFl::default() };
                let method = PersFl { candidates: 4, seed: 3, ..base };
                let run = made.by_messages(&method, 25);
                let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
                (0..25).for_each(|_| pool.step());
                for (node, hypothesis) in pool.hypotheses() {
                    let slow = weights_of(run.hypotheses[node].as_deref().unwrap());
                    assert!(close(&slow, &weights_of(&hypothesis), 1e-11), "{probe:?} {rows}");
                }
                let adopted = |tallies: &mut dyn Iterator<Item = (usize, usize)>| {
                    tallies.filter(|(probes, _)| *probes > 0).collect::<Vec<_>>()
                };
                let fast = adopted(&mut pool.tallies().map(|t| (t.probes, t.adopted)));
                assert_eq!(adopted(&mut run.tallies.iter().map(|t| (t.probes, t.adopted))), fast);
            }
        }
    }
}

#[test]
fn refits_of_linear_models_are_the_same_by_messages_and_in_one_process() {
    let made = made((0..8).map(|id| id % 2).collect(), [5, 3], 0.3, 4);
    let method = PersFl { probe: Probe::Refit, step: 0.5, candidates: 3, ..PersFl::default() };
    let run = made.by_messages(&method, 6);
    let mut pool = RefitPool::new(&method, &made.nodes).unwrap();
    (0..6).for_each(|_| pool.step().unwrap());
    for (node, hypothesis) in pool.hypotheses() {
        let slow = weights_of(run.hypotheses[node].as_deref().unwrap());
        assert_eq!(slow, weights_of(hypothesis.as_ref()));
    }
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let made = made((0..30).map(|id| id % 3).collect(), [4, 6], 0.3, 4);
    let weights = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut pool = LinearPool::new(&PersFl::default(), &made.nodes).unwrap().unwrap();
            (0..30).for_each(|_| pool.step());
            pool.weights().flat_map(|(_, weights)| weights.to_vec()).collect::<Vec<_>>()
        })
    };
    assert_eq!(weights(1), weights(4));
}

#[test]
fn a_small_proximal_step_is_a_gradient_step_of_half_the_size() {
    let made = made(vec![0, 0], [5, 3], 0.1, 2);
    let first = |probe, step| {
        let method = PersFl { probe, step, ..PersFl::default() };
        let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
        pool.step();
        pool.weights().next().unwrap().1.to_vec()
    };
    let step = 1e-5;
    let (proximal, gradient) = (first(Probe::Proximal, step), first(Probe::Gradient, step / 2.0));
    let size = gradient.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    assert!(size > 0.0 && close(&proximal, &gradient, 1e-3 * size));
    // A large one ends at the candidate's own minimiser.
    let alone = made.nodes[1].model.fit(&made.nodes[1].data).unwrap();
    let mut fitted = weights_of(alone.as_ref());
    fitted.pop();
    assert!(close(&first(Probe::Proximal, 1e9), &fitted, 1e-6));
}

#[test]
fn a_step_that_must_help_never_makes_the_loss_larger() {
    let made = made((0..6).collect(), [4, 5], 0.5, 3);
    for only_if_better in [false, true] {
        let method = PersFl { step: 0.2, only_if_better, candidates: 2, ..PersFl::default() };
        let mut pool = LinearPool::new(&method, &made.nodes).unwrap().unwrap();
        let losses = |pool: &LinearPool| -> Vec<f64> {
            let loss = |(node, hypothesis): (NodeId, LinearHypothesis)| {
                let data = &made.nodes[node].data;
                let predicted = hypothesis.predict(data.features());
                fedgrid::loss::Loss::Squared.mean(data.labels(), &predicted)
            };
            pool.hypotheses().map(loss).collect()
        };
        let mut grew = false;
        for _ in 0..30 {
            let before = losses(&pool);
            pool.step();
            grew |= losses(&pool).iter().zip(&before).any(|(now, then)| *now > then + 1e-12);
        }
        assert_eq!(grew, !only_if_better);
    }
}

//! Plain rounds of the paper's iteration against the same loop with numpy and scipy.sparse.

use fedgrid::{
    network::random_regular,
    optimum::gtv::{Coupled, FirstOrder, Losses, run_iterations},
};

use super::{
    NORM,
    instance::Instance,
    on_one_thread,
    peer::{Peer, seconds},
};

/// Plain rounds on a 4-regular network of a thousand nodes.
pub(crate) fn rounds() {
    let peer = match Peer::new() {
        Ok(peer) => peer,
        Err(reason) => return println!("the numpy loop is skipped: {reason}"),
    };
    let (nodes, features, rounds) = (1000, 10, 500);
    let network = random_regular(nodes, 4, 1).expect("the network can be made");
    let instance = Instance { nodes, features, seed: 1 };
    let data = instance.full(10);
    let losses = Losses::new(&data, true).expect("linear models can be coupled");
    let coupled = Coupled { alpha: 0.1, penalty: NORM };
    let time = |steps: usize| {
        on_one_thread(|| {
            let count = (steps, usize::MAX);
            run_iterations(&losses, &network, coupled, FirstOrder::Plain, count, |_, _| false)
                .expect("the strength is right");
        })
    };
    // The difference of a long and a short run leaves the set-up out, as the peer's loop does.
    let ours = (time(5 * rounds) - time(rounds)) / 4.0;
    let answer = peer.run("../gtv/numpy_rounds.py", &[nodes as f64, rounds as f64]);
    if let Some(reason) = answer["skipped"].as_str() {
        return println!("the numpy loop is skipped: {reason}");
    }
    let theirs = seconds(&answer, "rounds_per_second");
    let ours = rounds as f64 / ours;
    println!(
        "plain rounds per processor second, 1000 nodes, 10 features, 4-regular: {ours:.0}, numpy {theirs:.0}, {:.1}x (8)",
        ours / theirs
    );
}

//! PersFL against the authors' numbers and against numpy, as ratios in one run.
//!
//! The peer runs in the Python of `FEDGRID_PYTHON`; without it that part says so and is left out.
//! An argument names the only part to run: reference, large, algorithm.

mod algorithm;
mod large;
mod made;
#[path = "../peers/peer.rs"]
#[expect(dead_code, reason = "the other benchmarks use the rest of it")]
mod peer;
mod reference;

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|word| word == part);
    if wanted("reference") {
        println!("{}", reference::report());
    }
    if wanted("algorithm") {
        match peer::Peer::new() {
            Ok(peer) => println!("{}", algorithm::report(&peer)),
            Err(reason) => println!("skipped: {reason}"),
        }
    }
    if wanted("large") {
        println!("{}", large::report());
    }
}

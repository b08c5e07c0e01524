//! fedgrid against numpy and scikit-learn on the same numbers, as ratios in one run.
//!
//! The peers run in the Python of `FEDGRID_PYTHON` (`make bench` makes one in `.venv`); without it
//! this benchmark says so and measures nothing.

mod linear_experiment;
mod peer;
mod tree_experiment;
mod tree_fit;

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() {
    let peer = match peer::Peer::new() {
        Ok(peer) => peer,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    for report in [tree_fit::report, tree_experiment::report, linear_experiment::report] {
        println!("{}", report(&peer));
    }
}

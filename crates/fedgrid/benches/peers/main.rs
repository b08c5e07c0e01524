//! fedgrid against numpy and scikit-learn on the same numbers, as ratios in one run.
//!
//! The peers run in the Python of `FEDGRID_PYTHON` (`make bench` makes one in `.venv`); without it
//! this benchmark says so and measures nothing.

mod agreement;
mod linear_experiment;
mod peer;
mod tree_experiment;
mod tree_fit;

use std::process::ExitCode;

#[expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
fn main() -> ExitCode {
    let peer = match peer::Peer::new() {
        Ok(peer) => peer,
        Err(reason) => {
            println!("skipped: {reason}");
            return ExitCode::SUCCESS;
        }
    };
    let (table, agree) = agreement::report(&peer);
    println!("{table}");
    for report in [tree_fit::report, tree_experiment::report, linear_experiment::report] {
        println!("{}", report(&peer));
    }
    if agree {
        return ExitCode::SUCCESS;
    }
    println!("FAILED: some models do not agree with scikit-learn");
    ExitCode::FAILURE
}

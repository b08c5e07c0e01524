//! Mixed models of many nodes: seconds and memory.
//!
//! An argument names the only part to run: groups, large (`large 20000 8`: so many nodes, of that mean degree).
//! The counties of `covid_counties` are in `crates/fedgrid-lab/benches/counties.rs`, which can read their file.

#![expect(clippy::print_stdout, reason = "a bench tells what it measured")]

mod groups;
mod large;
mod resources;

use fedgrid::mixed::{Likelihood, MixedEstimate, MixedModel, NodeMoments, Precision};

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let wanted = |part: &str| asked.is_empty() || asked[0] == part;
    if wanted("groups") {
        groups::groups();
    }
    if wanted("large") {
        let word = |at: usize| asked.get(at).map_or("", String::as_str);
        match (word(1).parse(), word(2).parse()) {
            (Ok(nodes), Ok(degree)) => large::large(nodes, degree),
            _ => [8.0, 12.0].into_iter().for_each(|degree| large::large(100_000, degree)),
        }
    }
}

/// All columns have a mean and deviate; variances and ρ are estimated.
fn estimate(
    nodes: &[NodeMoments],
    columns: usize,
    correlated: bool,
    precision: &Precision,
) -> MixedEstimate {
    let all: Vec<usize> = (0..columns).collect();
    let model = MixedModel {
        nodes,
        columns,
        fixed: &all,
        random: &all,
        variances: &[],
        free: 0,
        correlated,
        likelihood: Likelihood::Restricted,
        precision,
        rho: None,
        factor: None,
    };
    model.fit().expect("drawn rows determine all coefficients")
}

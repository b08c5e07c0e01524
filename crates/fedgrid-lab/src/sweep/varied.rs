//! What the seeds of a sweep vary, in words: a standard error over seeds is that of these draws, and of nothing else.

use super::Sweep;
use crate::{
    assembly::Assembly,
    experiment::{Experiment, PublicKind},
};

/// What a study draws that its keys do not tell.
#[derive(Debug)]
pub(super) struct Drawn {
    /// Whether training rows validate in turns.
    has_folds: bool,
}

impl Drawn {
    pub(super) fn of(assembly: &Assembly) -> Self {
        Self { has_folds: assembly.study.plan.folds.len() > 1 }
    }
}

/// What the seeds vary, and what they do not, in a sentence or two.
pub(super) fn sentence(sweep: &Sweep, drawn: &[Drawn]) -> String {
    let seeds = sweep.seeds();
    let first = seeds[0];
    let Some(last) = seeds.get(1).and(seeds.last()) else {
        return format!("One seed ({first}): there are no standard errors.");
    };
    let experiments = || sweep.cases.iter().map(|case| &case.experiment);
    let any = |is: &dyn Fn(&Experiment) -> bool| experiments().any(is);
    let has_shares = any(&|one| one.data.split.is_none() && one.data.train.is_some());
    let is_drawn =
        |one: &Experiment| matches!(one.public.kind, PublicKind::Normal | PublicKind::Box);
    let is_random = |one: &Experiment| {
        let kinds = ["forest", "extra-trees", "boosting", "perceptron"];
        one.model.models().any(|model| kinds.contains(&model.kind().name()))
    };
    let all = [
        (has_shares, "which rows train, validate and test"),
        (drawn.iter().any(|one| one.has_folds), "the folds of training rows"),
        (any(&is_drawn), "the public points"),
        (any(&is_random), "what models draw"),
        (any(&|one| one.compare.enabled && one.compare.shuffles > 0), "the shuffled networks"),
    ];
    let varied: Vec<&str> = all.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
    let seeds = format!("Seeds {first} to {last} vary");
    let said = match &varied[..] {
        [] => format!("{seeds} nothing that is known beforehand."),
        [one] => format!("{seeds} {one}."),
        [most @ .., one] => format!("{seeds} {} and {one}.", most.join(", ")),
    };
    let fixed = if has_shares { "" } else { " Test rows are the same for every seed." };
    said + fixed
}

//! What the sites of a federation have found together, in words. What could not be judged is said first.

use fedgrid::compare::{Contestant, FEWEST_ROWS, JointVerdict, NodeScore, RoleMeasures};

use super::verdict::VerdictText;
use crate::{
    number::counted,
    outcome::{Comparison, Entry, FederationOutcome, JudgedNode},
};

/// What a site knows of the verdict of all.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The names of its nodes.
    pub names: &'a [String],
    /// The numbers.
    pub joint: JointVerdict,
    /// The pull to the mean model, where one was chosen.
    pub shrunk_pull: Option<f64>,
    /// Whether a pull to the mean model was tried, and why not.
    pub untried_shrunk: Option<&'static str>,
    /// How its own nodes do on their test rows, method by method; of shuffles the mean.
    pub scores: Vec<(Contestant, Vec<NodeScore>)>,
}

/// The outcome of a judged federation at one of its sites.
#[must_use]
pub fn federation(judged: &Judged) -> FederationOutcome {
    FederationOutcome {
        unjudged: unjudged(judged),
        verdict: sentence(&judged.joint),
        joint: judged.joint.clone(),
        shrunk_pull: judged.shrunk_pull,
        nodes: nodes(judged),
    }
}

fn nodes(judged: &Judged) -> Vec<JudgedNode> {
    let of = |contestant: Contestant, node: usize| {
        let found = judged.scores.iter().find(|(other, _)| *other == contestant);
        found.map(|(_, scores)| scores[node])
    };
    let node = |(node, name): (usize, &String)| {
        let error = |contestant| of(contestant, node).and_then(|score| score.mean());
        JudgedNode {
            name: name.clone(),
            rows: of(Contestant::Network, node).map_or(0, |score| score.rows),
            local: error(Contestant::Local),
            mean: error(Contestant::Pooled),
            shrunk: error(Contestant::Shrunk),
            network: error(Contestant::Network),
            shuffled: error(Contestant::Shuffled(0)),
        }
    };
    judged.names.iter().enumerate().map(node).collect()
}

/// What the verdict does not tell, and why.
fn unjudged(judged: &Judged) -> Vec<String> {
    let joint = &judged.joint;
    let mut said = Vec::new();
    let left_out = |count: usize, why: &str| {
        let is_one = count == 1;
        let verb = if is_one { "is" } else { "are" };
        (count > 0).then(|| format!("{} {verb} not in it: {why}.", counted(count, "node")))
    };
    said.extend(left_out(joint.without_rows, "no rows were held back for tests"));
    let few = format!(
        "sums over fewer than {FEWEST_ROWS} test rows, or with one that counts for most of them, would tell errors of rows"
    );
    said.extend(left_out(joint.few_rows, &few));
    said.extend(left_out(joint.not_finite, "an error there is no finite number"));
    if joint.verdict.is_none() {
        return said;
    }
    if let Some(why) = judged.untried_shrunk {
        said.push(format!(
            "Nodes that are pulled to the mean model, without a network, were not tried: {why}."
        ));
    }
    // What fit compares with takes sums of squares and products of all rows.
    said.push(
        "A mixed model without the network, with which fit compares too, was not tried.".into(),
    );
    if joint.shuffles().is_empty() {
        said.push(
            "Whether the shape of the network matters cannot be told, because no shuffled network was allowed \
             (federation.shuffles)."
                .into(),
        );
    }
    said
}

fn sentence(joint: &JointVerdict) -> String {
    let Some(verdict) = &joint.verdict else {
        return format!(
            "Whether the network helps all sites is not judged: fewer than two nodes have {FEWEST_ROWS} test rows or more."
        );
    };
    let comparison = comparison(joint);
    let text = VerdictText {
        verdict: Some(verdict),
        comparison: &comparison,
        main: Contestant::Network,
        nodes: joint.judged,
        rows: rows(joint),
        is_quick: false,
        pooled: "the mean model",
    };
    format!("On {} of all sites: {}", rows(joint), uncapitalised(&text.sentence()))
}

/// The rows that errors are of, such as `11,716 test rows`.
fn rows(joint: &JointVerdict) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rows are counted")]
    let count = joint.rows.round() as usize;
    counted(count, "test row")
}

fn uncapitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The errors as those of a comparison in one place.
fn comparison(joint: &JointVerdict) -> Comparison {
    let entry = |error: f64| Entry {
        validation: error,
        test: Some(error),
        accuracy: None,
        metrics: RoleMeasures::default(),
        alpha: None,
        ridge: None,
        spread: None,
    };
    let own = |contestant| joint.error(contestant).map(entry);
    let shuffles = joint.shuffles();
    let mean = shuffles.iter().sum::<f64>() / shuffles.len().max(1) as f64;
    Comparison {
        local: own(Contestant::Local),
        pooled: own(Contestant::Pooled),
        shrunk: own(Contestant::Shrunk),
        network: own(Contestant::Network),
        shuffled: (!shuffles.is_empty())
            .then(|| Entry { spread: Some(super::spread(&shuffles)), ..entry(mean) }),
        ..Comparison::default()
    }
}

//! Who helps whom, as a matrix: rows learn, columns help, and nodes of one cluster stand together.
//!
//! ```text
//! colour   what the helper's steps were worth to the learner
//! strength how sure that is
//! blank    not probed
//! ```

use std::fmt::Write;

use fedgrid::compare::MethodKind;
use minijinja::{HtmlEscape, Value, context};

use super::{
    chart::shortened,
    figures::quantile,
    map::{cluster_class, shade},
};
use crate::{
    number,
    outcome::{Help, NodeOutcome, Outcome},
};

/// Up to so many nodes have their names beside their rows and above their columns.
const MAX_NAMED_NODES: usize = 40;
/// How many strengths there are, from unsure to sure.
const STRENGTH_COUNT: usize = 3;
/// How many helpers are named.
const LISTED_HELPERS: usize = 3;

/// The matrix with its legend and what it shows in words; none without probes.
pub(super) fn helps(outcome: &Outcome, helps: &[Help]) -> Option<Value> {
    let known = |help: &&Help| {
        let inside = help.learner < outcome.nodes.len() && help.helper < outcome.nodes.len();
        inside && help.reward.is_finite()
    };
    let helps: Vec<Help> = helps.iter().filter(known).copied().collect();
    if helps.is_empty() {
        return None;
    }
    let matrix = Matrix::new(&outcome.nodes, &helps);
    let [low, high] = matrix.limits;
    Some(context! {
        svg => matrix.draw(),
        low => number::significant(-low),
        high => number::significant(high),
        meaning => meaning(outcome),
        sentences => sentences(outcome, &helps),
        names => serde_json::to_string(&matrix.names()).expect("names are text"),
        cells => matrix.cells(),
    })
}

fn meaning(outcome: &Outcome) -> &'static str {
    let kind = MethodKind::named(&outcome.method.kind);
    if kind.is_some_and(|kind| kind.facts().asks_and_answers) {
        "Rows learn, columns help. The colour is the mean reward of the helper’s steps, relative to \
         the learner’s loss before them; the stronger it is, the more often the step was taken. \
         Pairs that were never probed are blank."
    } else {
        "Rows learn, columns help. The colour says what steps along the helper’s gradient were worth \
         to the learner, relative to the loss it was left with; the stronger it is, the surer it is \
         that the two help each other. Pairs that were not probed are blank."
    }
}

fn sentences(outcome: &Outcome, helps: &[Help]) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(learned) = &outcome.network.learned {
        lines.push(format!(
            "{} of nodes were probed, {} of all; {} kept.",
            number::counted(learned.pairs_probed, "pair"),
            number::percent(learned.share),
            number::counted(learned.edges, "edge"),
        ));
    }
    let mut helped = vec![0_usize; outcome.nodes.len()];
    let mut has_help = vec![false; outcome.nodes.len()];
    for help in helps.iter().filter(|help| help.kept && help.reward > 0.0) {
        helped[help.helper] += 1;
        has_help[help.learner] = true;
    }
    let mut order: Vec<usize> = (0..helped.len()).filter(|&node| helped[node] > 0).collect();
    order.sort_by_key(|&node| (std::cmp::Reverse(helped[node]), node));
    let named: Vec<String> = order
        .iter()
        .take(LISTED_HELPERS)
        .map(|&node| format!("{} ({})", outcome.nodes[node].called(), number::count(helped[node])))
        .collect();
    if !named.is_empty() {
        lines.push(format!("Helps most others: {}.", named.join(", ")));
    }
    let alone = has_help.iter().filter(|has| !**has).count();
    if alone > 0 {
        lines.push(format!("Helped by no one: {}.", number::counted(alone, "node")));
    }
    lines
}

struct Matrix<'a> {
    nodes: &'a [NodeOutcome],
    helps: &'a [Help],
    /// The node at each index of a row or column.
    order: Vec<usize>,
    /// The index of each node's row and column.
    index_of: Vec<usize>,
    /// The sizes of harm and of help at which colours are full.
    limits: [f64; 2],
}

impl<'a> Matrix<'a> {
    fn new(nodes: &'a [NodeOutcome], helps: &'a [Help]) -> Self {
        let order = ordered(nodes, helps);
        let mut index_of = vec![0; nodes.len()];
        order.iter().enumerate().for_each(|(at, &node)| index_of[node] = at);
        // Harm can be many times as large as help, so each has its own scale.
        let limit = |sign: f64| {
            let sizes = helps.iter().map(|help| sign * help.reward).filter(|size| *size > 0.0);
            let mut sizes: Vec<f64> = sizes.collect();
            sizes.sort_by(f64::total_cmp);
            // Colours are full at the upper quartile: the largest alone would make all others pale.
            if sizes.is_empty() { 0.0 } else { quantile(&sizes, 0.75) }
        };
        Self { nodes, helps, order, index_of, limits: [limit(-1.0), limit(1.0)] }
    }

    fn names(&self) -> Vec<&str> {
        self.order.iter().map(|&node| self.nodes[node].called()).collect()
    }

    /// What the script shows where the reader points: row, column, reward, confidence.
    fn cells(&self) -> String {
        let cell = |help: &Help| {
            let (row, column) = (self.index_of[help.learner], self.index_of[help.helper]);
            // Short numbers, because there may be one for every pair of nodes.
            format!("{row},{column},{:.3e},{:.2}", help.reward, help.confidence)
        };
        self.helps.iter().map(cell).collect::<Vec<_>>().join(";")
    }

    fn draw(&self) -> String {
        let size = self.nodes.len() as f64;
        let strip = 0.018 * size;
        // All lengths grow with the matrix, because the view box shrinks it to the width of the page.
        let names = if self.nodes.len() <= MAX_NAMED_NODES { 0.24 * size } else { 0.0 };
        let margin = names + 2.0 * strip;
        let whole = size + margin;
        let mut svg = format!(
            r#"<svg class="matrix" id="helps-matrix" role="img" aria-label="Matrix of who helps whom" viewBox="{:.3} {:.3} {whole:.3} {whole:.3}" data-size="{}"><rect class="ground" width="{size}" height="{size}"/>"#,
            -margin,
            -margin,
            self.nodes.len()
        );
        let mut write = |text: std::fmt::Arguments| {
            svg.write_fmt(text).expect("a string takes all that is written");
        };
        for (from, to, cluster) in self.blocks() {
            let (class, length) = (cluster_class(cluster), to - from);
            write(format_args!(
                r#"<rect class="strip {class}" x="{from}" y="{:.3}" width="{length}" height="{strip:.3}"/><rect class="strip {class}" x="{:.3}" y="{from}" width="{strip:.3}" height="{length}"/>"#,
                -1.5 * strip,
                -1.5 * strip
            ));
        }
        write(format_args!(r#"<path class="own" d="M0 0L{size} {size}"/>"#));
        for (class, path) in self.paths() {
            write(format_args!(r#"<path class="{class}" d="{path}"/>"#));
        }
        if names > 0.0 {
            let font = (0.026 * size).min(0.8);
            for (at, name) in self.names().into_iter().enumerate() {
                let (middle, name) = (at as f64 + 0.5, shortened(name));
                let name = HtmlEscape(&name);
                let edge = -2.2 * strip;
                write(format_args!(
                    r#"<text class="end" font-size="{font:.3}" x="{edge:.3}" y="{middle}">{name}</text><text font-size="{font:.3}" transform="translate({middle} {edge:.3}) rotate(-60)">{name}</text>"#
                ));
            }
        }
        svg.push_str("</svg>");
        svg
    }

    /// One path for each colour and strength, so that thousands of cells stay light.
    fn paths(&self) -> Vec<(String, String)> {
        let mut paths = vec![String::new(); 9 * STRENGTH_COUNT];
        for help in self.helps {
            let limit = self.limits[usize::from(help.reward > 0.0)];
            let colour = usize::try_from(shade(help.reward, limit)).unwrap_or_default();
            let strength = [0.5, 0.9].iter().filter(|level| help.confidence >= **level).count();
            let (row, column) = (self.index_of[help.learner], self.index_of[help.helper]);
            write!(paths[STRENGTH_COUNT * colour + strength], "M{column} {row}h1v1h-1z")
                .expect("a string takes all that is written");
        }
        let class = |at: usize| format!("d{} k{}", at / STRENGTH_COUNT, at % STRENGTH_COUNT);
        let drawn = paths.into_iter().enumerate().filter(|(_, path)| !path.is_empty());
        drawn.map(|(at, path)| (class(at), path)).collect()
    }

    /// Runs of indices of one cluster: first, end, cluster.
    fn blocks(&self) -> Vec<(usize, usize, usize)> {
        let mut blocks: Vec<(usize, usize, usize)> = Vec::new();
        for (at, &node) in self.order.iter().enumerate() {
            let cluster = self.nodes[node].cluster;
            match blocks.last_mut() {
                Some((_, end, last)) if *last == cluster => *end = at + 1,
                _ => blocks.push((at, at + 1, cluster)),
            }
        }
        blocks
    }
}

/// Nodes by cluster; within one, helpers follow those they help (breadth first).
fn ordered(nodes: &[NodeOutcome], helps: &[Help]) -> Vec<usize> {
    let mut near = vec![Vec::new(); nodes.len()];
    for help in helps.iter().filter(|help| help.kept && help.reward > 0.0) {
        if nodes[help.learner].cluster == nodes[help.helper].cluster {
            near[help.learner].push(help.helper);
            near[help.helper].push(help.learner);
        }
    }
    let mut starts: Vec<usize> = (0..nodes.len()).collect();
    // From nodes of few friends on, as Cuthill and McKee order a matrix: friends end up side by side.
    starts.sort_by_key(|&node| (nodes[node].cluster, near[node].len(), node));
    let mut seen = vec![false; nodes.len()];
    let mut order = Vec::with_capacity(nodes.len());
    let mut clusters: Vec<usize> = nodes.iter().map(|node| node.cluster).collect();
    clusters.sort_unstable();
    clusters.dedup();
    for cluster in clusters {
        for &start in starts.iter().filter(|&&node| nodes[node].cluster == cluster) {
            if std::mem::replace(&mut seen[start], true) {
                continue;
            }
            let mut next = order.len();
            order.push(start);
            while let Some(&node) = order.get(next) {
                next += 1;
                for &other in &near[node] {
                    if !std::mem::replace(&mut seen[other], true) {
                        order.push(other);
                    }
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::complete;

    fn help(learner: usize, helper: usize, reward: f64, kept: bool) -> Help {
        Help { learner, helper, reward, confidence: if kept { 0.95 } else { 0.1 }, kept }
    }

    #[test]
    fn nodes_of_one_cluster_stand_together_and_friends_beside_each_other() {
        let mut outcome = complete();
        let node = outcome.nodes[0].clone();
        outcome.nodes.extend([node.clone(), node]);
        for (node, cluster) in outcome.nodes.iter_mut().zip([1, 0, 1, 0, 0]) {
            node.cluster = cluster;
        }
        let helps = [help(1, 4, 0.5, true), help(4, 3, 0.2, true), help(0, 3, -9.0, false)];
        assert_eq!(ordered(&outcome.nodes, &helps), [1, 4, 3, 0, 2]);
        let matrix = Matrix::new(&outcome.nodes, &helps);
        assert_eq!(matrix.blocks(), [(0, 3, 0), (3, 5, 1)]);
        // Node 1, at index 0, learns from node 4, at index 1.
        assert!(matrix.cells().starts_with("0,1,5.000e-1,0.95;"));
        let paths = matrix.paths();
        assert_eq!(paths.len(), 3);
        assert_eq!(paths[0], ("d0 k0".to_string(), "M2 3h1v1h-1z".to_string()));
    }

    #[test]
    fn who_helps_most_and_whom_no_one_helps_is_said() {
        let outcome = complete();
        let helps = [help(0, 1, 0.5, true), help(2, 1, 0.2, true), help(1, 0, -1.0, false)];
        let lines = sentences(&outcome, &helps);
        let probed = "3 pairs of nodes were probed, 100 % of all; 2 edges kept.";
        assert_eq!(lines, [probed, "Helps most others: b (2).", "Helped by no one: 1 node."]);
    }
}

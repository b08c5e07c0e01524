//! Where elimination fills in blocks, and which columns are worked on as one.
//!
//! Columns whose rows are nearly the same make up a *supernode*: a dense panel, whose products are large
//! enough for fast kernels. A supernode hands what it does to later columns to its parent, the supernode of
//! its first row; what does not depend on each other are the subtrees of that tree. [Duff and Reid, "The
//! multifrontal solution of indefinite sparse symmetric linear equations", 1983; Ashcraft and Grimes, "The
//! influence of relaxed supernode partitions on the multifrontal method", 1989.]

use std::{ops::Range, sync::Arc};

use super::order::{Elimination, eliminate};

/// The order of elimination and the blocks of every column of the factor. Columns are numbered by their
/// place in that order, supernode by supernode. All but the nodes is shared by networks of the same shape.
#[derive(Debug)]
pub struct Pattern {
    /// The node of each column.
    pub(super) nodes: Vec<usize>,
    /// Every one after those below it in the tree.
    pub(super) supernodes: Arc<[Supernode]>,
    /// Whole subtrees of about the same work, as ranges of supernodes.
    pub(super) subtrees: Arc<[Range<usize>]>,
    /// The supernodes above all of these, in levels: every one in a later level than those below it.
    pub(super) levels: Arc<[Vec<usize>]>,
}

/// Columns that are worked on as one, and the rows below them.
#[derive(Debug)]
pub(super) struct Supernode {
    pub(super) columns: Range<usize>,
    /// The rows of blocks below, ascending.
    pub(super) rows: Vec<usize>,
    pub(super) parent: Option<usize>,
    pub(super) children: Vec<usize>,
    /// Where its rows are in the front of the parent, which has its columns first and then its rows.
    pub(super) runs: Vec<Run>,
    /// The edges among its front's blocks that belong to its columns.
    pub(super) edges: Vec<EdgeBlock>,
}

/// Consecutive rows of a supernode that are consecutive in the front of its parent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) length: usize,
}

/// The place of an edge in a front, below the diagonal, and its weight.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeBlock {
    pub(super) row: usize,
    pub(super) column: usize,
    pub(super) weight: f64,
}

/// How many multiplications take as long as to hand on an entry: it is read and written several times, and
/// kernels multiply some 20 numbers in a nanosecond.
const COST_OF_HANDING_ON: f64 = 15.0;
/// How many take as long as the rest of a supernode: its memory and some calls.
const COST_OF_SUPERNODE: f64 = 1e4;
/// Into how many parts the work is divided, so that all threads have enough of them.
const PARTS: f64 = 48.0;

impl Pattern {
    /// For blocks of about this size; none if there would be more numbers in the factor than that.
    #[must_use]
    pub fn new(neighbours: &[Vec<(usize, f64)>], size: usize, most_numbers: usize) -> Option<Self> {
        let elimination = eliminate(neighbours, most_numbers / size.pow(2).max(1))?;
        let tree = Tree::new(elimination, size);
        Some(tree.numbered(neighbours, size))
    }

    /// The pattern of the same edges between other nodes: what was node `i` is now `order[i]`.
    #[must_use]
    pub fn moved(&self, order: &[usize]) -> Self {
        Self {
            nodes: self.nodes.iter().map(|&node| order[node]).collect(),
            supernodes: self.supernodes.clone(),
            subtrees: self.subtrees.clone(),
            levels: self.levels.clone(),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The work of a factor with blocks of this size, in multiplications.
    #[must_use]
    pub fn work(&self, size: usize) -> f64 {
        let of_one = |one: &Supernode| cost(one.columns.len(), one.rows.len(), size);
        self.supernodes.iter().map(of_one).sum()
    }

    /// How many blocks a factor has, and how many products of them it takes, about.
    #[must_use]
    pub fn blocks(&self) -> (usize, usize) {
        let of_supernode = |one: &Supernode| {
            let (columns, rows) = (one.columns.len(), one.rows.len());
            (1..=columns).map(move |left| left + rows)
        };
        let own = self.supernodes.iter().flat_map(of_supernode);
        own.fold((0, 0), |(blocks, pairs), own| (blocks + own, pairs + own * own))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// The work on a supernode of so many columns and rows below: its factor, and twice as much for the inverse.
fn cost(columns: usize, rows: usize, size: usize) -> f64 {
    let (w, m) = ((columns * size) as f64, (rows * size) as f64);
    3.0 * w * (w * w / 6.0 + w * m / 2.0 + m * m / 2.0)
        + COST_OF_HANDING_ON * m * m
        + COST_OF_SUPERNODE
}

/// Supernodes before they are numbered: columns are places in the order of elimination.
struct Tree {
    order: Vec<usize>,
    filled: Vec<Vec<usize>>,
    /// The columns of the supernode that ends with a column; none if it is part of a later one.
    members: Vec<Vec<usize>>,
    /// The supernodes right below the one that ends with a column.
    children: Vec<Vec<usize>>,
    roots: Vec<usize>,
}

impl Tree {
    /// Merges a supernode with its parent where one of both together is less work.
    fn new(Elimination { order, filled }: Elimination, size: usize) -> Self {
        let count = order.len();
        let mut place = vec![0; count];
        order.iter().enumerate().for_each(|(column, &node)| place[node] = column);
        let mut tree = Self {
            members: (0..count).map(|column| vec![column]).collect(),
            children: vec![Vec::new(); count],
            roots: Vec::new(),
            order,
            filled,
        };
        for column in 0..count {
            let rows = tree.filled[column].len();
            let mut own = vec![column];
            let mut below = Vec::new();
            for child in std::mem::take(&mut tree.children[column]) {
                let width = tree.members[child].len();
                let apart =
                    cost(width, tree.filled[child].len(), size) + cost(own.len(), rows, size);
                // Together they have the rows of the parent: where the child has fewer, zeros are computed with.
                if cost(width + own.len(), rows, size) <= apart {
                    own.append(&mut tree.members[child]);
                    below.append(&mut tree.children[child]);
                } else {
                    below.push(child);
                }
            }
            // Those of children first.
            own.sort_unstable();
            (tree.members[column], tree.children[column]) = (own, below);
            let parent = tree.filled[column].iter().map(|&node| place[node]).min();
            match parent {
                Some(parent) => tree.children[parent].push(column),
                None => tree.roots.push(column),
            }
        }
        tree
    }

    /// The last columns of supernodes, every one after those below it.
    fn after_children(&self) -> Vec<usize> {
        // Parents first, the last child before the others, and then turned around.
        let mut open = self.roots.clone();
        let mut all = Vec::new();
        while let Some(last) = open.pop() {
            all.push(last);
            open.extend(&self.children[last]);
        }
        all.reverse();
        all
    }

    fn numbered(self, neighbours: &[Vec<(usize, f64)>], size: usize) -> Pattern {
        let ends = self.after_children();
        let nodes: Vec<usize> =
            ends.iter().flat_map(|&end| &self.members[end]).map(|&at| self.order[at]).collect();
        let mut columns = vec![0; nodes.len()];
        nodes.iter().enumerate().for_each(|(column, &node)| columns[node] = column);
        let mut supernodes: Vec<Supernode> = Vec::with_capacity(ends.len());
        let mut supernode_of = vec![0; nodes.len()];
        let mut first = 0;
        for &end in &ends {
            let own = first..first + self.members[end].len();
            supernode_of[own.clone()].fill(supernodes.len());
            first = own.end;
            let mut rows: Vec<usize> = self.filled[end].iter().map(|&node| columns[node]).collect();
            rows.sort_unstable();
            let mut supernode = Supernode {
                columns: own,
                rows,
                parent: None,
                children: Vec::new(),
                runs: Vec::new(),
                edges: Vec::new(),
            };
            supernode.edges = edges_of(&supernode, &nodes, &columns, neighbours);
            supernodes.push(supernode);
        }
        for index in 0..supernodes.len() {
            let Some(&row) = supernodes[index].rows.first() else { continue };
            let parent = supernode_of[row];
            supernodes[index].runs = runs(&supernodes[index].rows, &supernodes[parent]);
            supernodes[index].parent = Some(parent);
            supernodes[parent].children.push(index);
        }
        let (subtrees, top) = divided(&supernodes, size);
        let levels = levels(&supernodes, &top);
        Pattern {
            nodes,
            supernodes: supernodes.into(),
            subtrees: subtrees.into(),
            levels: levels.into(),
        }
    }
}

/// The edges from the columns of a supernode to these and later ones.
fn edges_of(
    supernode: &Supernode,
    nodes: &[usize],
    columns: &[usize],
    neighbours: &[Vec<(usize, f64)>],
) -> Vec<EdgeBlock> {
    let own = &supernode.columns;
    let mut edges = Vec::new();
    for column in own.clone() {
        for &(node, weight) in &neighbours[nodes[column]] {
            let other = columns[node];
            if other <= column {
                continue;
            }
            let row = place_in_front(own, &supernode.rows, other);
            edges.push(EdgeBlock { row, column: column - own.start, weight });
        }
    }
    edges
}

/// The place of a row among the columns and rows of a front.
fn place_in_front(columns: &Range<usize>, rows: &[usize], row: usize) -> usize {
    if row < columns.end {
        return row - columns.start;
    }
    let place = rows.binary_search(&row);
    columns.len() + place.expect("a later neighbour is a row of the front")
}

/// Where rows are in the front of a parent; no run reaches over the end of its columns.
fn runs(rows: &[usize], parent: &Supernode) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let width = parent.columns.len();
    for (from, &row) in rows.iter().enumerate() {
        let to = place_in_front(&parent.columns, &parent.rows, row);
        match runs.last_mut() {
            // Columns and rows of a front lie in different arrays.
            Some(run) if run.to + run.length == to && to != width => run.length += 1,
            _ => runs.push(Run { from, to, length: 1 }),
        }
    }
    runs
}

/// Whole subtrees of about the same work, and what is above.
fn divided(supernodes: &[Supernode], size: usize) -> (Vec<Range<usize>>, Vec<usize>) {
    let mut work: Vec<f64> =
        supernodes.iter().map(|own| cost(own.columns.len(), own.rows.len(), size)).collect();
    // Before work is added up along the tree, which counts it several times.
    let most = work.iter().sum::<f64>() / PARTS;
    for index in 0..supernodes.len() {
        if let Some(parent) = supernodes[index].parent {
            work[parent] += work[index];
        }
    }
    let is_below = |index: usize| work[index] <= most;
    let (mut subtrees, mut top): (Vec<Range<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    let (mut first, mut sum) = (0, 0.0);
    for (index, supernode) in supernodes.iter().enumerate() {
        let is_root = !supernode.parent.is_some_and(is_below);
        if !is_below(index) {
            top.push(index);
            if first < index {
                subtrees.push(first..index);
            }
            (first, sum) = (index + 1, 0.0);
        } else if is_root {
            sum += work[index];
            if sum > most {
                subtrees.push(first..index + 1);
                (first, sum) = (index + 1, 0.0);
            }
        }
    }
    if first < supernodes.len() {
        subtrees.push(first..supernodes.len());
    }
    (subtrees, top)
}

/// The supernodes above all subtrees, each in the first level after those of its children.
fn levels(supernodes: &[Supernode], top: &[usize]) -> Vec<Vec<usize>> {
    let mut level = vec![0; supernodes.len()];
    let mut levels: Vec<Vec<usize>> = Vec::new();
    for &index in top {
        let own = level[index];
        if levels.len() <= own {
            levels.push(Vec::new());
        }
        levels[own].push(index);
        if let Some(parent) = supernodes[index].parent {
            level[parent] = level[parent].max(own + 1);
        }
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of so many nodes on a side.
    fn square(side: usize) -> Vec<Vec<(usize, f64)>> {
        let mut neighbours = vec![Vec::new(); side * side];
        for node in 0..side * side {
            let right = (node % side + 1 < side).then_some(node + 1);
            let below = (node + side < side * side).then_some(node + side);
            for other in right.into_iter().chain(below) {
                neighbours[node].push((other, 1.0));
                neighbours[other].push((node, 1.0));
            }
        }
        neighbours
    }

    #[test]
    fn supernodes_make_up_the_columns_and_rows_are_in_the_front_of_the_parent() {
        let neighbours = square(40);
        let pattern = Pattern::new(&neighbours, 3, usize::MAX).unwrap();
        let mut next = 0;
        for (index, own) in pattern.supernodes.iter().enumerate() {
            assert_eq!(own.columns.start, next);
            next = own.columns.end;
            let Some(parent) = own.parent else {
                assert!(own.rows.is_empty());
                continue;
            };
            assert!(parent > index && pattern.supernodes[parent].children.contains(&index));
            let parent = &pattern.supernodes[parent];
            let front: Vec<usize> = parent.columns.clone().chain(parent.rows.clone()).collect();
            let mapped: Vec<usize> = own
                .runs
                .iter()
                .flat_map(|run| front[run.to..run.to + run.length].to_vec())
                .collect();
            assert_eq!(mapped, own.rows);
        }
        assert_eq!(next, neighbours.len());
        // Some columns are worked on as one, and some subtrees at the same time.
        assert!(pattern.supernodes.len() < neighbours.len() / 2);
        assert!(pattern.subtrees.len() > 8 && pattern.levels[0].len() > 1);
        let edges: usize = pattern.supernodes.iter().map(|own| own.edges.len()).sum();
        assert_eq!(edges, neighbours.iter().map(Vec::len).sum::<usize>() / 2);
    }

    impl Pattern {
        fn is_in_subtree(&self, index: usize) -> bool {
            self.subtrees.iter().any(|range| range.contains(&index))
        }
    }

    #[test]
    fn subtrees_are_whole_and_with_what_is_above_they_are_all() {
        let pattern = Pattern::new(&square(40), 3, usize::MAX).unwrap();
        let mut seen = vec![0; pattern.supernodes.len()];
        for &index in pattern.levels.iter().flatten() {
            let children = &pattern.supernodes[index].children;
            assert!(
                children.iter().all(|child| seen[*child] == 1 || pattern.is_in_subtree(*child))
            );
            seen[index] += 1;
        }
        for range in pattern.subtrees.iter() {
            for index in range.clone() {
                seen[index] += 1;
                let children = &pattern.supernodes[index].children;
                assert!(children.iter().all(|child| range.contains(child)));
            }
        }
        assert!(seen.iter().all(|count| *count == 1));
    }
}

//! In which order the nodes of a network are eliminated, and where that fills in blocks.

use std::collections::BTreeSet;

/// The order of elimination and the blocks below the diagonal of every column of the factor. Columns
/// are numbered by their place in that order.
#[derive(Debug)]
pub struct Pattern {
    /// The node of each column.
    pub(super) nodes: Vec<usize>,
    /// The column of each node.
    pub(super) columns: Vec<usize>,
    /// The blocks of column k are in rows `rows[starts[k]..starts[k + 1]]`, ascending.
    starts: Vec<usize>,
    rows: Vec<usize>,
    /// The earlier columns with a block in row k, and the place of that block among their rows.
    updates: Vec<Vec<(usize, usize)>>,
    /// The entries of the matrix in each column: the place among its rows, and the weight of the edge.
    pub(super) edges: Vec<Vec<(usize, f64)>>,
    /// Columns that do not depend on each other, those without earlier ones first.
    pub(super) from_leaves: Vec<Vec<usize>>,
    /// The same from the other end: columns on which no later one of theirs depends first.
    pub(super) from_roots: Vec<Vec<usize>>,
}

impl Pattern {
    /// Eliminates the node of fewest neighbours first; none if there would be more blocks than that.
    #[must_use]
    pub fn new(neighbours: &[Vec<(usize, f64)>], most_blocks: usize) -> Option<Self> {
        let (nodes, filled) = eliminate(neighbours, most_blocks)?;
        let mut columns = vec![0; nodes.len()];
        nodes.iter().enumerate().for_each(|(column, &node)| columns[node] = column);
        let mut starts = vec![0];
        let mut rows = Vec::new();
        for own in filled {
            let first = rows.len();
            rows.extend(own.into_iter().map(|node| columns[node]));
            rows[first..].sort_unstable();
            starts.push(rows.len());
        }
        let mut updates = vec![Vec::new(); nodes.len()];
        for column in 0..nodes.len() {
            for (place, &row) in rows[starts[column]..starts[column + 1]].iter().enumerate() {
                updates[row].push((column, place));
            }
        }
        let mut pattern = Self {
            edges: Vec::new(),
            from_leaves: Vec::new(),
            from_roots: Vec::new(),
            nodes,
            columns,
            starts,
            rows,
            updates,
        };
        pattern.edges =
            (0..pattern.len()).map(|column| pattern.edges_of(column, neighbours)).collect();
        pattern.arrange();
        Some(pattern)
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The rows of the blocks below the diagonal of a column.
    pub(super) fn rows(&self, column: usize) -> &[usize] {
        &self.rows[self.starts[column]..self.starts[column + 1]]
    }

    pub(super) fn updates(&self, column: usize) -> &[(usize, usize)] {
        &self.updates[column]
    }

    /// The edges from a column to later ones.
    fn edges_of(&self, column: usize, neighbours: &[Vec<(usize, f64)>]) -> Vec<(usize, f64)> {
        let rows = self.rows(column);
        let later = neighbours[self.nodes[column]].iter().filter_map(|&(node, weight)| {
            let place = rows.binary_search(&self.columns[node]).ok()?;
            Some((place, weight))
        });
        later.collect()
    }

    /// A column depends on those below it in the tree in which its parent is its first row.
    fn arrange(&mut self) {
        let mut height = vec![0; self.len()];
        let mut depth = vec![0; self.len()];
        for column in 0..self.len() {
            if let Some(&parent) = self.rows(column).first() {
                height[parent] = height[parent].max(height[column] + 1);
            }
        }
        for column in (0..self.len()).rev() {
            if let Some(&parent) = self.rows(column).first() {
                depth[column] = depth[parent] + 1;
            }
        }
        self.from_leaves = by_level(&height);
        self.from_roots = by_level(&depth);
    }
}

fn by_level(levels: &[usize]) -> Vec<Vec<usize>> {
    let count = levels.iter().max().map_or(0, |most| most + 1);
    let mut groups = vec![Vec::new(); count];
    levels.iter().enumerate().for_each(|(column, &level)| groups[level].push(column));
    groups
}

/// The order, and the nodes still there that each is joined to when it goes.
fn eliminate(
    neighbours: &[Vec<(usize, f64)>],
    most_blocks: usize,
) -> Option<(Vec<usize>, Vec<Vec<usize>>)> {
    let mut open: Vec<Vec<usize>> = neighbours
        .iter()
        .map(|own| {
            let mut own: Vec<usize> = own.iter().map(|&(node, _)| node).collect();
            own.sort_unstable();
            own.dedup();
            own
        })
        .collect();
    // Ordered sets, so that ties are broken by nodes and every run has the same bits.
    let mut queue: BTreeSet<(usize, usize)> =
        open.iter().enumerate().map(|(node, own)| (own.len(), node)).collect();
    let mut order = Vec::with_capacity(open.len());
    let mut filled = Vec::with_capacity(open.len());
    let mut blocks = 0;
    while let Some((degree, node)) = queue.pop_first() {
        blocks += degree;
        // A dense rest costs its square; stop before it is built.
        if blocks + degree * queue.len().min(degree) / 2 > most_blocks {
            return None;
        }
        let own = std::mem::take(&mut open[node]);
        for &other in &own {
            queue.remove(&(open[other].len(), other));
            open[other] = joined(&open[other], &own, (node, other));
            queue.insert((open[other].len(), other));
        }
        order.push(node);
        filled.push(own);
    }
    Some((order, filled))
}

/// Two ascending lists as one, without two nodes.
fn joined(a: &[usize], b: &[usize], without: (usize, usize)) -> Vec<usize> {
    let mut all = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) | (None, Some(&x)) => x,
            (None, None) => break,
        };
        i += usize::from(a.get(i) == Some(&next));
        j += usize::from(b.get(j) == Some(&next));
        if next != without.0 && next != without.1 {
            all.push(next);
        }
    }
    all
}

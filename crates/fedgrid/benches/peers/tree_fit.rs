//! One weighted tree of depth 5 on 6,000 rows.

use fedgrid::{
    data::{Dataset, Features, Labels},
    model::{LocalModel, Tree},
    random::{Purpose, Stream},
};

use crate::peer::{Peer, difference, numbers, on_threads, seconds, timed};

const ROWS: usize = 6000;

pub(crate) fn report(peer: &Peer) -> String {
    let lines: Vec<String> = [10, 50].map(|columns| line(peer, columns)).into();
    format!("one weighted tree, depth 5, one thread\n{}\n", lines.join("\n"))
}

fn line(peer: &Peer, columns: usize) -> String {
    let mut stream = Stream::new(1, columns, 0, Purpose::Data);
    // scikit-learn's trees see features as 32-bit numbers, so both sides get such.
    #[expect(clippy::cast_possible_truncation, reason = "that is the point")]
    let mut draw = || f64::from(stream.normal() as f32);
    let x: Vec<f64> = (0..ROWS * columns).map(|_| draw()).collect();
    let y: Vec<f64> =
        x.chunks_exact(columns).map(|x| x[0] + (3.0 * x[1]).sin() + x[2] * x[3]).collect();
    let weights: Vec<f64> = (0..ROWS).map(|row| 0.5 + (row % 7) as f64).collect();
    for (name, values) in [("x", &x), ("y", &y), ("weight", &weights)] {
        peer.write(name, values);
    }
    let answer = peer.run("tree_fit.py", &[ROWS as f64, columns as f64]);
    let names = (0..columns).map(|k| format!("x{k}")).collect();
    let features = Features::new(names, x).expect("normal draws are finite");
    let data = Dataset::weighted(features, Labels::values(y), weights).expect("sizes agree");
    let (ours, tree) =
        on_threads(1, || timed(|| Tree::default().fit(&data).expect("the tree can be fitted")));
    let theirs = seconds(&answer, "seconds");
    let apart =
        difference(tree.predict(data.features()).as_slice(), &numbers(&answer, "predictions"));
    format!(
        "  {ROWS} × {columns}: {:.2} ms, scikit-learn {:.2} ms: {:.1}x, predictions differ by {apart:.1e}",
        1e3 * ours,
        1e3 * theirs,
        theirs / ours
    )
}

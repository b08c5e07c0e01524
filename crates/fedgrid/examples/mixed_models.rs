//! Different kinds of models in one network: a line, a tree and a forest learn from each other's
//! predictions on public points.
//!
//! ```sh
//! cargo run -p fedgrid --example mixed_models
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it gives")]

use std::sync::Arc;

use fedgrid::{
    Result,
    data::{Dataset, Features, Labels},
    method::FedRelax,
    model::{Forest, Linear, LocalModel, Tree},
    network::{self, Node},
    random::{Purpose, Stream},
    runtime::InProcess,
};

pub(crate) fn main() -> Result<()> {
    let points: Vec<[f64; 1]> = (-20..=20).map(|k| [0.1 * f64::from(k)]).collect();
    let public = Arc::new(Features::from_rows(&["x"], &points)?);
    let models: [(&str, Arc<dyn LocalModel>); 3] = [
        ("linear", Arc::new(Linear::default())),
        ("tree", Arc::new(Tree { max_depth: 3, ..Tree::default() })),
        ("forest", Arc::new(Forest { trees: 30, ..Forest::default() })),
    ];
    let node = |(id, (_, model)): (usize, &(&str, Arc<dyn LocalModel>))| {
        let mut stream = Stream::new(3, id, 0, Purpose::Data);
        let x: Vec<[f64; 1]> = (0..12).map(|_| [stream.normal()]).collect();
        let y = x.iter().map(|x| 2.0 * x[0] + 0.5 * stream.normal()).collect();
        let data = Dataset::new(Features::from_rows(&["x"], &x)?, Labels::values(y))?;
        Ok(Node { id, data, model: model.clone(), public: public.clone() })
    };
    let nodes: Vec<Node> = models.iter().enumerate().map(node).collect::<Result<_>>()?;
    for alpha in [0.0, 1.0] {
        let views = network::complete(models.len())?.views(nodes.clone())?;
        let method = FedRelax { alpha, ..FedRelax::default() };
        let run = InProcess::default().run(&method, views)?;
        println!("alpha {alpha}:");
        for ((name, _), hypothesis) in models.iter().zip(run.hypotheses.iter().flatten()) {
            let predictions = hypothesis.predict(&public);
            let wrong = (0..public.rows())
                .map(|row| (predictions.row(row)[0] - 2.0 * public.row(row)[0]).powi(2));
            println!("  {name:<8} error {:.4}", wrong.sum::<f64>() / public.rows() as f64);
        }
    }
    Ok(())
}

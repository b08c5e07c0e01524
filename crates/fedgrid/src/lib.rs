//! fedgrid trains one tailored model for every node of a network of small, private datasets.
//!
//! Raw rows never leave a node; neighbours help each other by exchanging predictions on public
//! points. This crate is the mathematics: it reads no file, opens no socket, asks no clock and
//! prints nothing. The command `fedgrid` and the federation stand on it.
//!
//! The modules are listed in the order data flows, and a module uses only those above it.
//!
//! ```
//! use fedgrid::{data::*, method::FedRelax, model::Linear, network::{self, Node}, runtime::InProcess};
//! use std::sync::Arc;
//!
//! # fn main() -> fedgrid::Result<()> {
//! // Two stations on one line through the origin, y = x and y = 3 x, with one reading each.
//! let public = Arc::new(Features::from_rows(&["x"], &[[-1.0], [1.0]])?);
//! let model = Arc::new(Linear { ridge: 0.0, intercept: false });
//! let nodes = [1.0, 3.0].iter().enumerate().map(|(id, slope)| {
//!     let rows = Features::from_rows(&["x"], &[[1.0]])?;
//!     let data = Dataset::new(rows, Labels::values(vec![*slope]))?;
//!     Ok(Node { id, data, model: model.clone(), public: public.clone() })
//! });
//! let views = network::path(2)?.views(nodes.collect::<fedgrid::Result<_>>()?)?;
//!
//! let method = FedRelax { alpha: 1.0, ..FedRelax::default() };
//! let run = InProcess::default().run(&method, views)?;
//! let hypothesis = run.hypotheses[0].as_ref().expect("the node has a row");
//! let slope = hypothesis.predict(&public).row(1)[0];
//! assert!((slope - 5.0 / 3.0).abs() < 1e-4); // the minimiser of (w − 1)² + (v − 3)² + (w − v)²
//! # Ok(())
//! # }
//! ```

mod kinds;
pub mod error;
pub mod bytes;
pub mod random;
pub mod algebra;
pub mod descent;
pub mod data;
pub mod loss;
pub mod metric;
pub mod model;
pub mod explain;
pub mod network;
pub mod synthetic;
pub mod penalty;
pub mod optimum;
pub mod mixed;
pub mod uncertainty;
pub mod privacy;
pub mod method;
pub mod network_learning;
pub mod bound;
pub mod observe;
pub mod runtime;
pub mod compare;
pub mod audit;
pub mod testing;

pub use error::{Error, Result};

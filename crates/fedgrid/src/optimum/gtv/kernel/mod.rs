//! The passes over nodes and edges that all engines are made of: where rows lie (`layout`), how tiles of
//! edges are shared out (`tiles`), how passes are compiled for widths of rows (`width`), the two
//! passes of a primal-dual step (`sweep`), and products with D and Dᵀ (`operators`).

mod edge_pass;
pub(super) mod layout;
pub(super) mod next_point;
mod node_pass;
pub(super) mod operators;
mod packed;
pub(super) mod sweep;
pub(super) mod tiles;
pub(super) mod width;

//! Laws that cross modules: limits, optima and equivalences.

mod comparison;
mod limits;
mod rounds;
mod setting;

//! Laws that cross modules: limits, optima and equivalences.

mod collapsed;
mod comparison;
mod gtv;
mod limits;
mod primal_dual;
mod relaxation;
mod rounds;
mod setting;

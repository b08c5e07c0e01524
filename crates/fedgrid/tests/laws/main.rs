//! Laws that cross modules: limits, optima and equivalences.

mod baselines;
mod bounds;
mod choice;
mod collapsed;
mod common_set;
mod comparison;
mod condensed;
mod critical;
mod few_rows;
mod gtv;
mod gtv_smooth;
mod learned;
mod limits;
mod metrics;
mod mixed;
mod persfl;
mod primal_dual;
mod protocol;
mod relaxation;
mod rounds;
mod setting;
mod smooth;
mod uncertainty;
mod units;
mod vanishing;
mod weights;

//! The command, as a person runs it. One program, because each would link everything again.

#[path = "../common/mod.rs"]
mod common;

mod allowed;
mod bad_input;
mod baselines;
mod browser;
mod choice;
mod columns;
mod commands;
mod comparing;
mod datasets;
mod diff;
mod explaining;
mod export;
mod files;
mod formats;
mod honest;
mod intervals;
mod learned;
mod messy;
mod metrics;
mod mixed;
mod models;
mod named;
mod new_nodes;
mod predicting;
mod privacy;
mod probing;
mod raw_hospitals;
mod relaxation;
mod reproduce;
mod runs;
mod server;
mod serving;
mod shell;
mod show;
mod simulate;
mod sweeping;
mod time;
mod units;
mod updating;
mod variation;
mod weights;

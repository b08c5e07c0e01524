//! A federation by its command: kits, sites as processes of their own, and what a mistake gets.

#![cfg(feature = "federation")]

#[path = "../common/mod.rs"]
mod common;

mod sites;
mod time;
mod training;
mod tuning;
mod operation;
mod privacy;
mod watching;
mod mistakes;
mod verdicts;
mod leakage;
mod classes;
mod weights;
mod agreement;
mod canaries;
mod judging;
mod members;

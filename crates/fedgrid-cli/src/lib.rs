//! The command `fedgrid`: flags in, words and files out. What it runs is `fedgrid-lab`.

mod streams;
mod colour;
mod progress;
pub mod terminal;
mod server;
pub mod command;

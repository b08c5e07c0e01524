//! The command `fedgrid`: flags in, words and files out. What it runs is `fedgrid-lab`.

pub mod terminal;
mod server;
pub mod command;

#[path = "laws/protocol/mod.rs"]
mod protocol;

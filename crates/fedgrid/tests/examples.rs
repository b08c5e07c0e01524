//! The examples run to their end.

#[path = "../examples/mixed_models.rs"]
mod mixed_models;
#[path = "../examples/own_method.rs"]
mod own_method;
#[path = "../examples/own_model.rs"]
mod own_model;
#[path = "../examples/quickstart.rs"]
mod quickstart;

#[test]
fn every_example_runs() {
    for (name, main) in [
        ("mixed_models", mixed_models::main as fn() -> fedgrid::Result<()>),
        ("own_method", own_method::main),
        ("own_model", own_model::main),
        ("quickstart", quickstart::main),
    ] {
        assert!(main().is_ok(), "{name}");
    }
}

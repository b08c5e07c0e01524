//! placeholder
use super::Outcome;
/// x
#[must_use]
pub fn render(_outcomes: &[Outcome], _seconds: f64) -> String {
    String::new()
}

//! placeholder
use super::Outcome;
/// x
#[must_use]
pub fn draw(_outcome: &Outcome) -> String {
    String::new()
}

//! Colours where a person looks: on a terminal, unless the variable `NO_COLOR` is set (<https://no-color.org>).
//!
//! `CLICOLOR_FORCE` asks for colours in a pipe, too; `NO_COLOR` has its way over it.

use std::{
    env,
    io::{IsTerminal, stderr, stdout},
};

/// Where something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Standard,
    Error,
}

/// How something is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    /// What the command was asked for: bold.
    Answer,
    /// What should be read before it: yellow.
    Warning,
    /// Why there is none: red.
    Mistake,
}

impl Output {
    /// Whether colours are shown there.
    pub(crate) fn has_colours(self) -> bool {
        let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let is_terminal = match self {
            Self::Standard => stdout().is_terminal(),
            Self::Error => stderr().is_terminal(),
        };
        let names = ["NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "TERM"];
        wants_colours(names.map(set).each_ref().map(Option::as_deref), is_terminal)
    }
}

/// Whether colours are wanted, by the values of `NO_COLOR`, `CLICOLOR_FORCE`, `CLICOLOR` and `TERM`.
fn wants_colours(
    [no_colour, force, colour, terminal]: [Option<&str>; 4],
    is_terminal: bool,
) -> bool {
    let is_forced = force.is_some_and(|value| value != "0");
    let is_plain = colour == Some("0") || terminal == Some("dumb");
    no_colour.is_none() && (is_forced || is_terminal && !is_plain)
}

/// A text as it is printed there.
pub(crate) fn painted(text: &str, paint: Paint, output: Output) -> String {
    if !output.has_colours() {
        return text.into();
    }
    let code = match paint {
        Paint::Answer => "1",
        Paint::Warning => "33",
        Paint::Mistake => "1;31",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

#[cfg(test)]
mod tests {
    use super::wants_colours;

    #[test]
    fn a_terminal_has_colours_unless_it_is_told_otherwise() {
        let none = [None; 4];
        assert!(wants_colours(none, true));
        assert!(!wants_colours(none, false));
        assert!(!wants_colours([Some("1"), None, None, None], true));
        assert!(!wants_colours([None, None, Some("0"), None], true));
        assert!(!wants_colours([None, None, None, Some("dumb")], true));
        assert!(wants_colours([None, Some("1"), None, Some("dumb")], false));
        assert!(!wants_colours([None, Some("0"), None, None], false));
        assert!(!wants_colours([Some("1"), Some("1"), None, None], true));
    }
}

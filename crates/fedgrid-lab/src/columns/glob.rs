//! Names of columns with `*` and `?` for any letters.

use crate::{
    error::{Error, Result},
    experiment::advice,
    source::matches,
};

/// The columns that a list of names and patterns means, each once, in the order of the list; those of a pattern in
/// the order of the table.
pub(super) fn chosen(
    key: &str,
    patterns: &[String],
    source: &str,
    names: &[&str],
) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for pattern in patterns {
        // A name that happens to hold a star is a name.
        let is_name = names.contains(&pattern.as_str());
        let fits = |name: &&&str| if is_name { **name == pattern } else { matches(pattern, name) };
        let found: Vec<&&str> = names.iter().filter(fits).collect();
        if is_name
            && all.contains(pattern)
            && patterns.iter().filter(|one| *one == pattern).count() > 1
        {
            let sentence = format!("{key}: '{pattern}' is listed twice, expected each once");
            return Err(Error::input(sentence));
        }
        if found.is_empty() {
            let is_pattern = pattern.contains(['*', '?']);
            let advice = advice(pattern, names.iter().copied());
            return Err(Error::input(if is_pattern {
                format!("{key}: '{pattern}' matches no column of {source}")
            } else {
                format!("{source}: there is no column '{pattern}'{advice}")
            }));
        }
        let known: Vec<String> = found.into_iter().map(ToString::to_string).collect();
        all.extend(known.into_iter().filter(|name| !all.contains(name)).collect::<Vec<_>>());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_in_their_own_order_and_patterns_in_that_of_the_table() {
        let names = ["sin1", "x*", "sin2", "y"];
        let chosen = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
            chosen("data.features", &patterns, "t.csv", &names).map_err(|error| error.to_string())
        };
        assert_eq!(chosen(&["y", "sin*"]).unwrap(), ["y", "sin1", "sin2"]);
        assert_eq!(chosen(&["sin2", "*"]).unwrap(), ["sin2", "sin1", "x*", "y"]);
        assert_eq!(chosen(&["x*"]).unwrap(), ["x*"]);
        assert_eq!(
            chosen(&["cos*"]).unwrap_err(),
            "data.features: 'cos*' matches no column of t.csv"
        );
        assert_eq!(
            chosen(&["y", "y"]).unwrap_err(),
            "data.features: 'y' is listed twice, expected each once"
        );
        assert_eq!(
            chosen(&["sin3"]).unwrap_err(),
            "t.csv: there is no column 'sin3'; did you mean 'sin1'?"
        );
    }
}

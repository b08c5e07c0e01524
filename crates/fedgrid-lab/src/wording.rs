//! What a file's reader finds wrong, in the words of the file: the reader speaks of fields, variants and
//! types of this program, a person of keys, choices and numbers.

/// The line of a text, counted from one, that its reader finds something wrong with.
#[must_use]
pub fn line_of(error: &toml::de::Error, text: &str) -> usize {
    // Line breaks before it, because what begins a line has nothing of that line before it.
    error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count())
}

/// A message of the reader of TOML and JSON files, in plain words.
pub fn in_plain_words(message: &str) -> String {
    let mut lines: Vec<&str> =
        message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    // The last line may say which key it is about.
    if let Some(key) = lines.last().and_then(|line| line.strip_prefix("in `")?.strip_suffix('`')) {
        lines.pop();
        return format!("{key}: {}", in_plain_words(&lines.join("\n")));
    }
    let message = lines.join("; ");
    // Where in the text it was; the caller says that in lines.
    let message = message.split(" at line ").next().unwrap_or_default();
    // Serde quotes names in backticks: every second part of the text is a name.
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (first, rest) = quoted.split_first().map_or(("", &[][..]), |(first, rest)| (*first, rest));
    let known =
        if rest.is_empty() { String::new() } else { format!("; known are {}", rest.join(", ")) };
    if message.starts_with("missing field") {
        format!("the key '{first}' is missing")
    } else if message.starts_with("unknown field") {
        format!("unknown key '{first}'{known}")
    } else if message.starts_with("duplicate field") {
        format!("the key '{first}' is given twice")
    } else if message.starts_with("unknown variant") {
        format!("'{first}' is no choice here{known}")
    } else if let Some((found, expected)) = mismatch(message) {
        format!("found {}, expected {}", found_as(found), expected_as(expected))
    } else {
        message.to_string()
    }
}

/// The two sides of `invalid type: string "a", expected f64`.
fn mismatch(message: &str) -> Option<(&str, &str)> {
    let rest =
        ["invalid type: ", "invalid value: "].iter().find_map(|m| message.strip_prefix(m))?;
    rest.split_once(", expected ")
}

fn found_as(found: &str) -> String {
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    match kind {
        "string" => format!("the text {value}"),
        "integer" | "boolean" => value.trim_matches('`').to_string(),
        "floating" => value.trim_start_matches("point ").trim_matches('`').to_string(),
        "sequence" => "a list".into(),
        "map" => "a section of keys".into(),
        "null" | "unit" => "nothing".into(),
        _ => found.to_string(),
    }
}

fn expected_as(expected: &str) -> &str {
    match expected {
        "f64" | "f32" => "a number",
        "usize" | "u64" | "u32" | "u16" | "u8" => "a whole number, zero or more",
        "i64" | "i32" => "a whole number",
        "a boolean" | "bool" => "true or false",
        "a string" => "text",
        "a sequence" => "a list",
        "a map" => "a section of keys",
        "a character" => "one character",
        other if other.starts_with("struct ") => "a section of keys",
        other if other.contains("enum ") => "the name of a choice",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{in_plain_words, line_of};

    #[test]
    fn what_begins_a_line_is_found_in_that_line() {
        for (text, line) in [
            ("share = 0.5\ncount = 2\nwhat = 1\n", 3),
            ("share = 0.5\ncount = \"two\"\n", 2),
            ("share = 0.5\n\n= 3\n", 3),
            ("= 3\n", 1),
        ] {
            let error = toml::from_str::<File>(text).unwrap_err();
            assert_eq!(line_of(&error, text), line, "{text}");
        }
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its messages are read")]
    struct File {
        share: f64,
        count: usize,
        names: Vec<String>,
        kind: Kind,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        Ring,
        Star,
    }

    #[test]
    fn a_readers_words_are_put_in_those_of_the_file() {
        let whole = "share = 1.0\ncount = 2\nnames = []\nkind = 'ring'\n";
        assert!(matches!(toml::from_str::<File>(whole).unwrap().kind, Kind::Ring));
        for (from, to, said) in [
            ("share = 1.0", "share = 'a'", "found the text \"a\", expected a number"),
            ("share = 1.0\n", "", "the key 'share' is missing"),
            ("count = 2", "count = -2", "found -2, expected a whole number, zero or more"),
            ("count = 2", "count = []", "found a list, expected a whole number, zero or more"),
            ("names = []", "names = 3", "found 3, expected a list"),
            ("'ring'", "'rong'", "'rong' is no choice here; known are ring, star"),
            ("count", "size", "unknown key 'size'; known are share, count, names, kind"),
        ] {
            let error = toml::from_str::<File>(&whole.replace(from, to)).unwrap_err();
            assert_eq!(in_plain_words(error.message()), said);
        }
        assert_eq!(in_plain_words("missing field `x`\nin `a.b`\n"), "a.b: the key 'x' is missing");
    }
}

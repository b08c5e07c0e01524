//! Names with `*` and `?` for any letters.

/// Whether a name fits a pattern.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // Where the last star stands, and how much of the name it takes: it takes one letter more at each dead end.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
            }
            Some(&letter) if letter == '?' || letter == name[place] => {
                (at, place) = (at + 1, place + 1);
            }
            _ => match star {
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    (at, place) = (back + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (pattern, name) in [
            ("*", ""),
            ("a*", "a"),
            ("a*c", "abbc"),
            ("?b*", "ab"),
            ("*x*x", "axbxcx"),
            ("é?", "éa"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("a", "ab"), ("a*c", "abcd"), ("?", ""), ("*x", "xa"), ("", "a")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}

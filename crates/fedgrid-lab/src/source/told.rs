//! What the cells of a column tell of decimal commas and separators of thousands.

use std::borrow::Cow;

use super::cells::{Cells, is_usual_gap};

/// The parts of a cell that may be a number.
pub(super) struct NumberShape<'a> {
    sign: &'a str,
    /// Digits, and the character before each run of them but the first.
    first: &'a str,
    rest: Vec<(char, &'a str)>,
    exponent: &'a str,
}

/// What a cell or a column tells.
#[derive(Debug, Clone, Default)]
pub(super) struct ToldSeparators {
    /// An example of a decimal point, and of a decimal comma.
    pub(super) point: Option<String>,
    pub(super) comma: Option<String>,
    /// Characters between thousands, in the order in which they were found.
    pub(super) thousands: Vec<char>,
    /// A comma, or a point, that may be either, with an example.
    pub(super) unclear_comma: Option<String>,
    pub(super) unclear_point: Option<String>,
    numbers: usize,
    others: usize,
}

impl<'a> NumberShape<'a> {
    pub(super) fn read(cell: &'a str) -> Option<Self> {
        let (sign, rest) = match cell.strip_prefix(['-', '+']) {
            Some(rest) => cell.split_at(cell.len() - rest.len()),
            None => ("", cell),
        };
        let (rest, exponent) = match rest.find(['e', 'E']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let power = exponent.get(1..).unwrap_or_default().trim_start_matches(['-', '+']);
        if !exponent.is_empty() && (power.is_empty() || !is_digits(power)) {
            return None;
        }
        let is_part = |letter: char| letter.is_ascii_digit();
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let (first, mut rest_text) = rest.split_at(end);
        let mut rest = Vec::new();
        while let Some(between) = rest_text.chars().next() {
            let after = &rest_text[between.len_utf8()..];
            let end = after.find(|letter| !is_part(letter)).unwrap_or(after.len());
            let (digits, others) = after.split_at(end);
            if digits.is_empty() || !is_separator(between) {
                return None;
            }
            rest.push((between, digits));
            rest_text = others;
        }
        (!first.is_empty()).then_some(Self { sign, first, rest, exponent })
    }

    /// Whether all but the last run, or all, are groups of thousands with one character between them.
    fn is_grouped(&self, groups: &[(char, &str)]) -> bool {
        // Nobody writes 0,123 with a separator of thousands.
        let leads = (1..=3).contains(&self.first.len()) && !self.first.starts_with('0');
        leads && groups.iter().all(|(one, digits)| *one == groups[0].0 && digits.len() == 3)
    }

    /// The number in the way that programs write it, if this is one with that character before decimals.
    pub(super) fn plain(&self, decimal: char) -> Option<String> {
        let (groups, decimals) = match self.rest.split_last() {
            Some(((between, digits), groups)) if *between == decimal => (groups, Some(*digits)),
            _ => (&self.rest[..], None),
        };
        if !groups.is_empty() && (groups[0].0 == decimal || !self.is_grouped(groups)) {
            return None;
        }
        let whole: String =
            std::iter::once(self.first).chain(groups.iter().map(|(_, digits)| *digits)).collect();
        let fraction = decimals.map_or_else(String::new, |digits| format!(".{digits}"));
        Some(format!("{}{whole}{fraction}{}", self.sign, self.exponent))
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_separator(letter: char) -> bool {
    matches!(letter, ',' | '.' | ' ' | '\'' | '\u{a0}' | '\u{202f}')
}

impl ToldSeparators {
    /// What the cells of a column tell.
    pub(super) fn of(cells: &Cells) -> Self {
        let mut told = Self::default();
        match cells {
            Cells::Text(cells) => {
                for cell in cells.iter().filter(|cell| !is_usual_gap(cell)) {
                    told.add(cell);
                    // Whatever follows, this is no column of numbers.
                    if 2 * told.others > cells.len() {
                        break;
                    }
                }
            }
            Cells::Numbers(numbers) => {
                // What these are is known but for points before three digits; of the others none needs to be shown.
                told.point = numbers.has_clear_point.then(String::new);
                if numbers.has_unclear_point {
                    let texts = (0..numbers.values.len()).map(|row| numbers.text(row));
                    told.unclear_point =
                        texts.into_iter().find(|text| text.contains('.')).map(Cow::into_owned);
                }
                told.numbers = 1;
            }
            Cells::Integers(_) | Cells::Nested(_) => {}
        }
        told
    }

    fn add(&mut self, cell: &str) {
        let Some(shape) = NumberShape::read(cell) else {
            self.others += 1;
            return;
        };
        let keep = |example: &mut Option<String>| {
            example.get_or_insert_with(|| cell.to_string());
        };
        match &shape.rest[..] {
            [] => {}
            [(between @ (',' | '.'), digits)] => {
                let is_group = digits.len() == 3 && shape.exponent.is_empty();
                match (between, is_group && shape.is_grouped(&shape.rest)) {
                    (',', true) => keep(&mut self.unclear_comma),
                    (_, true) => keep(&mut self.unclear_point),
                    (',', false) => keep(&mut self.comma),
                    (_, false) => keep(&mut self.point),
                }
            }
            all if shape.is_grouped(all) => self.add_thousands(all[0].0, cell),
            [groups @ .., (between @ (',' | '.'), _)]
                if shape.is_grouped(groups) && groups[0].0 != *between =>
            {
                keep(if *between == ',' { &mut self.comma } else { &mut self.point });
                self.add_thousands(groups[0].0, cell);
            }
            _ => {
                self.others += 1;
                return;
            }
        }
        self.numbers += 1;
    }

    fn add_thousands(&mut self, between: char, cell: &str) {
        if !self.thousands.contains(&between) {
            self.thousands.push(between);
        }
        // What parts thousands does not stand before decimals.
        let example = match between {
            ',' => &mut self.point,
            '.' => &mut self.comma,
            _ => return,
        };
        example.get_or_insert_with(|| cell.to_string());
    }

    /// Whether most cells are numbers, some of them not as programs write them.
    pub(super) fn is_of_numbers(&self) -> bool {
        self.numbers > self.others
    }

    /// The character before decimals, if one alone is told.
    pub(super) fn decimal(&self) -> Option<char> {
        match (&self.point, &self.comma) {
            (Some(_), None) => Some('.'),
            (None, Some(_)) => Some(','),
            _ => None,
        }
    }

    /// Whether nothing tells what a comma or point is that is there.
    pub(super) fn is_open(&self) -> bool {
        self.decimal().is_none() && (self.unclear_comma.is_some() || self.unclear_point.is_some())
    }
}

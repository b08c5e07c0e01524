//! How wide words are in Helvetica, which every reader of PDF has, and the bytes that it has them by.
//!
//! The widths are those of Adobe's metrics of the font, in thousandths of its size. Bytes are those of the encoding
//! `WinAnsi`; raised digits, which it has not all of, are small digits that stand higher.

/// The widths of the letters from the space to the tilde.
#[rustfmt::skip]
const WIDTHS: [u16; 95] = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
    556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
    667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
    333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
    556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
];

/// Raised digits and the raised minus sign are so large, relative to others.
pub(super) const RAISED_SHARE: f64 = 0.7;

/// A letter of a PDF: its byte, and whether it is raised. A letter that the font has not is a question mark.
pub(super) fn glyph(letter: char) -> (u8, bool) {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    /// The en dash, in the place of a minus sign, which `WinAnsi` has not.
    const DASH: u8 = 0x96;
    if let Some(digit) = (b'0'..).zip(RAISED).find(|(_, raised)| *raised == letter) {
        return (digit.0, true);
    }
    match letter {
        '⁻' => (DASH, true),
        '−' | '–' => (DASH, false),
        '—' => (0x97, false),
        '…' => (0x85, false),
        '‘' => (0x91, false),
        '’' => (0x92, false),
        '“' => (0x93, false),
        '”' => (0x94, false),
        '€' => (0x80, false),
        ' '..='~' | '\u{a0}'..='ÿ' => (u8::try_from(u32::from(letter)).unwrap_or(b'?'), false),
        _ => (b'?', false),
    }
}

/// Whether the font has a letter.
pub(super) fn has(letter: char) -> bool {
    letter == '?' || glyph(letter).0 != b'?'
}

/// The width of a text at a size; of letters beyond ASCII that of a digit, which most are near to.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(|letter| glyph_width(letter, size)).sum()
}

pub(super) fn glyph_width(letter: char, size: f64) -> f64 {
    let (byte, is_raised) = glyph(letter);
    let width = WIDTHS.get(usize::from(byte).wrapping_sub(32)).copied().unwrap_or(556);
    let size = if is_raised { size * RAISED_SHARE } else { size };
    f64::from(width) / 1000.0 * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // Helvetica: N 722, e 556, t 278, digits 556.
        assert!((text_width("Net", 10.0) - 15.56).abs() < 1e-9);
        assert!((text_width("10⁻⁶", 10.0) - (11.12 + 2.0 * 5.56 * RAISED_SHARE)).abs() < 1e-9);
        // Every letter of ASCII has a width, and the last is the tilde's.
        assert!((text_width("~", 1000.0) - 584.0).abs() < 1e-9);
    }

    #[test]
    fn letters_that_the_font_has_not_are_known() {
        assert!("Pull α".chars().any(|letter| !has(letter)));
        assert!("5.59 ± 0.03 × 10⁻⁶ Zürich − why?".chars().all(has));
        assert_eq!(glyph('±'), (0xb1, false));
        assert_eq!(glyph('⁷'), (b'7', true));
    }
}

//! A drawing of lines, discs and words in one size for a page of its own, as SVG and as PDF.
//!
//! Lengths are points, from the upper left corner. Both files hold the same marks, so that what one shows the other
//! does, and neither needs another file, a style sheet or the network.

mod helvetica;
mod pdf;
mod svg;

pub(crate) use helvetica::text_width;

/// A drawing.
#[derive(Debug, Clone, Default)]
pub struct Drawing {
    /// How wide it is.
    pub(crate) width: f64,
    /// How high.
    pub(crate) height: f64,
    /// What it shows, in words.
    pub(crate) title: String,
    /// Its marks, from the lowest to the uppermost.
    pub(crate) marks: Vec<Mark>,
}

/// Something that is drawn.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    /// Points joined by straight lines.
    Line { points: Vec<(f64, f64)>, colour: Colour, width: f64, dashes: Vec<f64> },
    /// A filled disc.
    Disc { at: (f64, f64), radius: f64, colour: Colour },
    /// Words in one line, whose foot is at a height.
    Text { at: (f64, f64), text: String, size: f64, side: Side, is_bold: bool, colour: Colour },
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Start,
    Middle,
    End,
}

/// Red, green and blue, up to 255.
pub(crate) type Colour = [u8; 3];

/// A length as files have it: to a hundredth of a point, the same on every machine.
fn length(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short_and_never_minus_zero() {
        assert_eq!([0.0, -0.001, 1.5, 20.0, 2.345_67].map(length), ["0", "0", "1.5", "20", "2.35"]);
    }
}

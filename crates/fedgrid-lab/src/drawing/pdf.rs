//! A drawing as PDF 1.4: one page, its marks as plain operators, words in Helvetica, which no file needs to hold.
//!
//! ```text
//! 1 catalogue ─▶ 2 pages ─▶ 3 page ─▶ 4 marks      5, 6 fonts       then where each object begins
//! ```
//!
//! [ISO 32000-1, 7.5 (structure), 8.5 (paths), 9.4 (text).] There is no date in it, so that the same drawing has the same
//! bytes.

use super::{
    Colour, Drawing, Mark, Side,
    helvetica::{RAISED_SHARE, glyph, has, text_width},
    length,
};

impl Drawing {
    /// The drawing as a file of its own.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        let (width, height) = (length(self.width), length(self.height));
        let marks: Vec<u8> = self.marks.iter().flat_map(|mark| self.operators(mark)).collect();
        let font = |name: &str| {
            format!(
                "<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
            )
        };
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {width} {height}] /Contents 4 0 R \
             /Resources << /Font << /F 5 0 R /B 6 0 R >> >> >>"
        );
        let mut stream = format!("<< /Length {} >>\nstream\n", marks.len()).into_bytes();
        stream.extend_from_slice(&marks);
        stream.extend_from_slice(b"\nendstream");
        let objects = [
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            page.into_bytes(),
            stream,
            font("Helvetica").into_bytes(),
            font("Helvetica-Bold").into_bytes(),
        ];
        file(&objects)
    }

    /// The letters of the drawing that a PDF has no sign for, each once; they are question marks there.
    #[must_use]
    pub fn missing_letters(&self) -> String {
        let mut missing: Vec<char> = Vec::new();
        for mark in &self.marks {
            if let Mark::Text { text, .. } = mark {
                missing.extend(text.chars().filter(|letter| !has(*letter)));
            }
        }
        missing.sort_unstable();
        missing.dedup();
        missing.into_iter().collect()
    }

    /// A mark in the language of pages, whose heights count from the bottom.
    fn operators(&self, mark: &Mark) -> Vec<u8> {
        let place = |(x, y): (f64, f64)| format!("{} {}", length(x), length(self.height - y));
        match mark {
            Mark::Line { points, colour, width, dashes } => {
                let dashes: Vec<String> = dashes.iter().map(|dash| length(*dash)).collect();
                let path = points.iter().enumerate().map(|(at, point)| {
                    format!("{} {}\n", place(*point), if at == 0 { "m" } else { "l" })
                });
                let path: String = path.collect();
                format!(
                    "{} RG {} w [{}] 0 d\n{path}S\n",
                    shares(*colour),
                    length(*width),
                    dashes.join(" ")
                )
                .into_bytes()
            }
            Mark::Disc { at: (x, y), radius, colour } => {
                format!("{} rg\n{}", shares(*colour), disc((*x, self.height - y), *radius))
                    .into_bytes()
            }
            Mark::Text { at, text, size, side, is_bold, colour } => {
                let width = text_width(text, *size);
                let before = match side {
                    Side::Start => 0.0,
                    Side::Middle => width / 2.0,
                    Side::End => width,
                };
                let font = if *is_bold { "B" } else { "F" };
                let start = place((at.0 - before, at.1));
                let mut words = format!("BT {} rg {start} Td\n", shares(*colour)).into_bytes();
                words.extend(shown(text, font, *size));
                words.extend_from_slice(b"ET\n");
                words
            }
        }
    }
}

/// A colour in parts of one.
fn shares(colour: Colour) -> String {
    colour.map(|part| length(f64::from(part) / 255.0)).join(" ")
}

/// A disc as four curves.
fn disc((x, y): (f64, f64), radius: f64) -> String {
    // The distance of the control points at which a cubic curve is a quarter of a circle to 0.03 %.
    let bend = 0.5523 * radius;
    let point = |dx: f64, dy: f64| format!("{} {}", length(x + dx), length(y + dy));
    let curve = |a: (f64, f64), b: (f64, f64), c: (f64, f64)| {
        format!("{} {} {} c\n", point(a.0, a.1), point(b.0, b.1), point(c.0, c.1))
    };
    let r = radius;
    [
        format!("{} m\n", point(r, 0.0)),
        curve((r, bend), (bend, r), (0.0, r)),
        curve((-bend, r), (-r, bend), (-r, 0.0)),
        curve((-r, -bend), (-bend, -r), (0.0, -r)),
        curve((bend, -r), (r, -bend), (r, 0.0)),
        "f\n".into(),
    ]
    .concat()
}

/// The letters of a text, those that are raised smaller and higher.
fn shown(text: &str, font: &str, size: f64) -> Vec<u8> {
    let mut out = Vec::new();
    let letters: Vec<(u8, bool)> = text.chars().map(glyph).collect();
    for run in letters.chunk_by(|a, b| a.1 == b.1) {
        let is_raised = run[0].1;
        let (own, rise) = if is_raised { (RAISED_SHARE * size, 0.35 * size) } else { (size, 0.0) };
        out.extend(format!("/{font} {} Tf {} Ts (", length(own), length(rise)).into_bytes());
        for &(byte, _) in run {
            if matches!(byte, b'(' | b')' | b'\\') {
                out.push(b'\\');
            }
            out.push(byte);
        }
        out.extend_from_slice(b") Tj\n");
    }
    out
}

/// The objects with their places.
fn file(objects: &[Vec<u8>]) -> Vec<u8> {
    // Bytes above 127 in a comment tell programs that copy it that this is no text.
    let mut file = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n", number + 1).into_bytes());
        file.extend_from_slice(object);
        file.extend_from_slice(b"\nendobj\n");
    }
    let (start, count) = (file.len(), objects.len() + 1);
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").into_bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").into_bytes());
    }
    let end = format!("trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
    file.extend(end.into_bytes());
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Drawing {
        let text = |text: &str, side| Mark::Text {
            at: (50.0, 20.0),
            text: text.into(),
            size: 10.0,
            side,
            is_bold: false,
            colour: [0, 0, 0],
        };
        let line = Mark::Line {
            points: vec![(0.0, 0.0), (100.0, 40.0)],
            colour: [255, 0, 0],
            width: 1.5,
            dashes: vec![4.0, 2.0],
        };
        let disc = Mark::Disc { at: (50.0, 20.0), radius: 3.0, colour: [0, 255, 0] };
        let marks = vec![line, disc, text("10⁻⁶ (±)", Side::Start), text("1010", Side::End)];
        Drawing { width: 100.0, height: 40.0, title: "t".into(), marks }
    }

    #[test]
    fn every_object_begins_where_the_table_says() {
        let file = sample().pdf();
        let text = String::from_utf8_lossy(&file);
        assert!(text.starts_with("%PDF-1.4\n") && text.ends_with("%%EOF\n"));
        let start: usize = text.lines().rev().nth(1).unwrap().parse().unwrap();
        let table = std::str::from_utf8(&file[start..]).unwrap();
        let places: Vec<usize> =
            table.lines().skip(3).take(6).map(|line| line[..10].parse().unwrap()).collect();
        for (number, place) in places.into_iter().enumerate() {
            assert!(file[place..].starts_with(format!("{} 0 obj\n", number + 1).as_bytes()));
        }
    }

    #[test]
    fn the_stream_is_as_long_as_it_says() {
        let file = sample().pdf();
        let find = |what: &[u8]| file.windows(what.len()).position(|part| part == what).unwrap();
        let told = &file[find(b"/Length ") + 8..];
        let told: String =
            told.iter().take_while(|b| b.is_ascii_digit()).map(|b| *b as char).collect();
        let begin = find(b"stream\n") + 7;
        assert_eq!(told.parse::<usize>().unwrap(), find(b"\nendstream") - begin);
    }

    #[test]
    fn heights_are_turned_and_texts_end_where_they_are_told_to() {
        let file = sample().pdf();
        let text: String = file.iter().map(|byte| *byte as char).collect();
        assert!(text.contains("1 0 0 RG 1.5 w [4 2] 0 d\n0 40 m\n100 0 l\nS\n"), "{text}");
        // Four digits of 5.56 points before 50.
        assert!(text.contains("27.76 20 Td\n/F 10 Tf 0 Ts (1010) Tj"), "{text}");
        assert!(text.contains("/F 10 Tf 0 Ts (10) Tj\n/F 7 Tf 3.5 Ts (\u{96}6) Tj\n"), "{text}");
        assert!(text.contains("( \\(\u{b1}\\)) Tj"), "{text}");
        assert_eq!(sample().missing_letters(), "");
    }
}

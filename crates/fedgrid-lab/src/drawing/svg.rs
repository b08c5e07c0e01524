//! A drawing as SVG, with every property at its mark: programs that make PDF or Word of it read no style sheets.

use std::fmt::Write as _;

use minijinja::HtmlEscape;

use super::{Colour, Drawing, Mark, Side, length};

impl Drawing {
    /// The drawing as a file of its own.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (length(self.width), length(self.height));
        let title = HtmlEscape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" \
             viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        for mark in &self.marks {
            svg.push_str(&marked(mark));
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn hex([red, green, blue]: Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

fn marked(mark: &Mark) -> String {
    match mark {
        Mark::Line { points, colour, width, dashes } => {
            let points: Vec<String> =
                points.iter().map(|(x, y)| format!("{},{}", length(*x), length(*y))).collect();
            let mut line = format!(
                "<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" points=\"{}\"",
                hex(*colour),
                length(*width),
                points.join(" ")
            );
            if !dashes.is_empty() {
                let dashes: Vec<String> = dashes.iter().map(|dash| length(*dash)).collect();
                write!(line, " stroke-dasharray=\"{}\"", dashes.join(" "))
                    .expect("a string takes all");
            }
            line + "/>\n"
        }
        Mark::Disc { at: (x, y), radius, colour } => format!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n",
            length(*x),
            length(*y),
            length(*radius),
            hex(*colour)
        ),
        Mark::Text { at: (x, y), text, size, side, is_bold, colour } => {
            let anchor = match side {
                Side::Start => "",
                Side::Middle => " text-anchor=\"middle\"",
                Side::End => " text-anchor=\"end\"",
            };
            let weight = if *is_bold { " font-weight=\"bold\"" } else { "" };
            format!(
                "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{weight} fill=\"{}\">{}</text>\n",
                length(*x),
                length(*y),
                length(*size),
                hex(*colour),
                HtmlEscape(text)
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_do_not_end_the_markup() {
        let text = Mark::Text {
            at: (1.0, 2.0),
            text: "</text><script>".into(),
            size: 9.0,
            side: Side::End,
            is_bold: false,
            colour: [0, 0, 255],
        };
        let drawing =
            Drawing { width: 10.0, height: 5.5, title: "a \"b\"".into(), marks: vec![text] };
        let svg = drawing.svg();
        assert!(svg.contains("&lt;&#x2f;text&gt;&lt;script&gt;"), "{svg}");
        assert!(svg.contains("aria-label=\"a &quot;b&quot;\""), "{svg}");
        assert!(
            svg.contains("viewBox=\"0 0 10 5.5\"") && svg.contains("fill=\"#0000ff\""),
            "{svg}"
        );
    }
}

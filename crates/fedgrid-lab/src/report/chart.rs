//! Charts as SVG. A chart's box is its plot area; what stands around it (names, ticks) overflows
//! into margins that the style sheet keeps free. Positions are percentages of the box, so a chart fits
//! any width while its text keeps its size, and colours are classes, so it fits light and dark.

use std::fmt;

use minijinja::HtmlEscape;

use super::axis::{Axis, AxisScale};
use crate::number;

/// One bar of a bar chart.
#[derive(Debug, Clone)]
pub(super) struct Bar {
    /// Its colour.
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) value: f64,
    /// Its value as it is printed.
    pub(super) text: String,
    /// The smallest and largest of repetitions.
    pub(super) spread: Option<(f64, f64)>,
}

/// Horizontal bars from zero with their values beside them, on an axis that ends at `limit`;
/// longer bars are cut and show it.
pub(super) fn bars(label: &str, bars: &[Bar], limit: f64) -> String {
    // A bar of 18 pixels and room for its whisker and text.
    const ROW_HEIGHT_PX: f64 = 34.0;
    let ends = bars.iter().flat_map(|bar| {
        let (low, high) = bar.spread.unwrap_or((bar.value, bar.value));
        [bar.value, low, high]
    });
    // With zero, because the lengths of bars are compared.
    let axis = Axis::within(ends.map(|end| end.min(limit)).chain([0.0]));
    let height = ROW_HEIGHT_PX * bars.len() as f64;
    let mut svg = Drawing::open("chart bars", label, height);
    svg.vertical_grid(&axis);
    let zero = axis.percent_of(0.0).unwrap_or(0.0);
    for (row, bar) in bars.iter().enumerate() {
        let middle = ROW_HEIGHT_PX * (row as f64 + 0.5);
        let end = axis.percent_of(bar.value).unwrap_or(zero);
        let (x, width, cut) = (zero.min(end), (end - zero).abs(), bar.value > axis.ends().1);
        let (name, class, text) = (shortened(&bar.name), bar.class, &bar.text);
        svg.add(format_args!(
            r#"<text class="name" x="-8" y="{middle}">{}</text>"#,
            HtmlEscape(&name)
        ));
        svg.add(format_args!(
            r#"<rect class="{class}" x="{x:.2}%" y="{:.1}" width="{width:.2}%" height="18"><title>{}: {text}</title></rect>"#,
            middle - 9.0,
            HtmlEscape(&bar.name)
        ));
        if cut {
            svg.add(format_args!(r#"<text class="cut" x="94%" y="{middle}">//</text>"#));
        }
        svg.add(format_args!(r#"<text class="value" x="100%" dx="8" y="{middle}">{text}</text>"#));
        if let Some((low, high)) = bar.spread {
            svg.whisker(
                axis.percent_of(low).unwrap_or(zero),
                axis.percent_of(high).unwrap_or(zero),
                middle,
            );
        }
    }
    svg.add(format_args!(
        r#"<line class="zero" x1="{zero:.2}%" x2="{zero:.2}%" y1="0" y2="100%"/>"#
    ));
    svg.close()
}

/// One column of a histogram.
#[derive(Debug, Clone)]
pub(super) struct HistogramColumn {
    pub(super) class: &'static str,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) count: usize,
    /// What it counts.
    pub(super) title: String,
}

/// A histogram.
pub(super) fn columns(label: &str, columns: &[HistogramColumn]) -> String {
    let x = Axis::within(columns.iter().flat_map(|column| [column.from, column.to]));
    let highest = columns.iter().map(|column| column.count).max().unwrap_or(1);
    let y = Axis::over(AxisScale::Linear, [0.0, highest as f64]);
    let mut svg = Drawing::open("chart plot", label, 220.0);
    svg.horizontal_grid(&y);
    svg.vertical_ticks(&x);
    for column in columns {
        let (Some(left), Some(right), Some(top)) =
            (x.percent_of(column.from), x.percent_of(column.to), y.percent_of(column.count as f64))
        else {
            continue;
        };
        svg.add(format_args!(
            r#"<rect class="{}" x="{:.2}%" y="{:.2}%" width="{:.2}%" height="{top:.2}%"><title>{}</title></rect>"#,
            column.class,
            // Columns keep a gap between them, so that their number can be seen.
            left + 0.08 * (right - left),
            100.0 - top,
            0.84 * (right - left),
            HtmlEscape(&column.title)
        ));
    }
    if let Some(zero) = x.percent_of(0.0).filter(|_| x.ends().0 <= 0.0 && x.ends().1 >= 0.0) {
        svg.add(format_args!(
            r#"<line class="zero" x1="{zero:.2}%" x2="{zero:.2}%" y1="0" y2="100%"/>"#
        ));
    }
    svg.close()
}

/// One line of a line chart.
#[derive(Debug, Clone)]
pub(super) struct ChartLine {
    /// Its colour and stroke.
    pub(super) class: &'static str,
    pub(super) points: Vec<(f64, f64)>,
    /// Whether every point is dotted.
    pub(super) dotted: bool,
    /// A point to mark.
    pub(super) mark: Option<(f64, f64)>,
}

/// Lines over two axes.
pub(super) fn lines(label: &str, x: &Axis, y: &Axis, lines: &[ChartLine]) -> String {
    let mut svg = Drawing::open("chart plot", label, 240.0);
    svg.horizontal_grid(y);
    svg.vertical_ticks(x);
    let at = |&(a, b): &(f64, f64)| Some((x.percent_of(a)?, 100.0 - y.percent_of(b)?));
    // Lines stretch with the box, their strokes do not.
    svg.add(format_args!(
        r#"<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">"#
    ));
    for line in lines {
        let corners: Vec<String> =
            line.points.iter().filter_map(at).map(|(a, b)| format!("{a:.2},{b:.2}")).collect();
        svg.add(format_args!(
            r#"<polyline class="{}" points="{}"/>"#,
            line.class,
            corners.join(" ")
        ));
    }
    svg.add(format_args!("</svg>"));
    for line in lines {
        let dots = if line.dotted { line.points.as_slice() } else { &[] };
        for ((a, b), point) in dots.iter().filter_map(|point| Some((at(point)?, point))) {
            svg.dot(&format!("dot {}", line.class), (a, b), 2.5, *point);
        }
        if let Some((position, point)) = line.mark.and_then(|point| Some((at(&point)?, point))) {
            svg.dot(&format!("mark {}", line.class), position, 6.0, point);
        }
    }
    svg.close()
}

/// One node of a caterpillar plot.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Its place among the nodes.
    pub(super) node: usize,
    pub(super) value: f64,
    /// From where to where it may be, if that is known.
    pub(super) range: Option<(f64, f64)>,
    /// Its value in words.
    pub(super) told: String,
}

/// One of so many segments, evenly chosen, where all would be narrower than a pixel.
pub(super) fn thinned(segments: Vec<Segment>) -> (usize, Vec<Segment>) {
    const MAX_SEGMENTS: usize = 1_500;
    let every = segments.len().div_ceil(MAX_SEGMENTS).max(1);
    (every, segments.into_iter().step_by(every).collect())
}

/// Values side by side in the order given, with their ranges and a line across. Whose they are, the script tells.
pub(super) fn caterpillar(label: &str, segments: &[Segment], across: f64) -> String {
    // More dots than these touch, and are drawn as one line.
    const MAX_DOTS: usize = 400;
    let ends = segments.iter().flat_map(|one| {
        let (low, high) = one.range.unwrap_or((one.value, one.value));
        [one.value, low, high]
    });
    let y = Axis::over(AxisScale::Linear, ends.chain([across]));
    let mut svg = Drawing::open("chart plot caterpillar", label, 260.0);
    let nodes: Vec<String> = segments.iter().map(|one| one.node.to_string()).collect();
    let told: Vec<&str> = segments.iter().map(|one| one.told.as_str()).collect();
    svg.0.pop();
    svg.add(format_args!(
        r#" data-nodes="{}" data-told="{}">"#,
        nodes.join(" "),
        HtmlEscape(&told.join(";"))
    ));
    svg.horizontal_grid(&y);
    let x = |place: usize| 100.0 * (place as f64 + 0.5) / segments.len() as f64;
    let at = |value: f64| y.percent_of(value).map(|share| 100.0 - share);
    let ranges = segments.iter().enumerate().filter_map(|(place, one)| {
        let (low, high) = one.range?;
        Some(format!("M{:.2} {:.2}V{:.2}", x(place), at(low)?, at(high)?))
    });
    let points = segments.iter().enumerate();
    let points: Vec<(f64, f64)> =
        points.filter_map(|(place, one)| Some((x(place), at(one.value)?))).collect();
    svg.add(format_args!(
        r#"<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none"><path class="range" d="{}"/>"#,
        ranges.collect::<String>()
    ));
    if segments.len() > MAX_DOTS {
        let corners: Vec<String> = points.iter().map(|(x, y)| format!("{x:.2},{y:.2}")).collect();
        let corners = corners.join(" ");
        svg.add(format_args!(r#"<polyline class="network" points="{corners}"/>"#));
    } else {
        // The round ends of lines without a length; one element, however many nodes there are.
        let dots: Vec<String> = points.iter().map(|(x, y)| format!("M{x:.2} {y:.2}h0")).collect();
        let dots = dots.concat();
        svg.add(format_args!(r#"<path class="points network" d="{dots}"/>"#));
    }
    svg.add(format_args!("</svg>"));
    if let Some(across) = at(across) {
        svg.add(format_args!(
            r#"<line class="zero" x1="0" x2="100%" y1="{across:.2}%" y2="{across:.2}%"/>"#
        ));
    }
    svg.close()
}

/// An SVG being written.
struct Drawing(String);

impl Drawing {
    fn open(class: &str, label: &str, height: f64) -> Self {
        let label = HtmlEscape(label);
        Self(format!(r#"<svg class="{class}" role="img" aria-label="{label}" height="{height}">"#))
    }

    fn add(&mut self, text: fmt::Arguments) {
        fmt::Write::write_fmt(&mut self.0, text).expect("a string takes all that is written");
    }

    fn close(mut self) -> String {
        self.0.push_str("</svg>");
        self.0
    }

    fn vertical_grid(&mut self, axis: &Axis) {
        for (x, _) in axis.ticks() {
            self.add(format_args!(
                r#"<line class="grid" x1="{x:.2}%" x2="{x:.2}%" y1="0" y2="100%"/>"#
            ));
        }
        self.vertical_ticks(axis);
    }

    fn vertical_ticks(&mut self, axis: &Axis) {
        for (x, text) in axis.ticks() {
            self.add(format_args!(
                r#"<text class="tick x" x="{x:.2}%" y="100%" dy="18">{text}</text>"#
            ));
        }
    }

    fn horizontal_grid(&mut self, axis: &Axis) {
        for (share, text) in axis.ticks() {
            let y = 100.0 - share;
            self.add(format_args!(
                r#"<line class="grid" x1="0" x2="100%" y1="{y:.2}%" y2="{y:.2}%"/><text class="tick y" x="-8" y="{y:.2}%">{text}</text>"#
            ));
        }
    }

    fn whisker(&mut self, low: f64, high: f64, y: f64) {
        for (x1, x2, y1, y2) in
            [(low, high, y, y), (low, low, y - 5.0, y + 5.0), (high, high, y - 5.0, y + 5.0)]
        {
            self.add(format_args!(
                r#"<line class="whisker" x1="{x1:.2}%" x2="{x2:.2}%" y1="{y1:.1}" y2="{y2:.1}"/>"#
            ));
        }
    }

    fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, value: (f64, f64)) {
        let title = format!("{} at {}", number::significant(value.1), number::significant(value.0));
        self.add(format_args!(
            r#"<circle class="{class}" cx="{x:.2}%" cy="{y:.2}%" r="{radius}"><title>{title}</title></circle>"#
        ));
    }
}

/// A name that fits beside a bar or under a node.
pub(super) fn shortened(name: &str) -> String {
    // The margin beside bars (page.css, .chart.bars) holds as many characters.
    const MAX_NAME_CHARS: usize = 12;
    if name.chars().count() <= MAX_NAME_CHARS {
        return name.into();
    }
    let start: String = name.chars().take(MAX_NAME_CHARS - 1).collect();
    format!("{}…", start.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beside_bars_are_escaped_and_shortened() {
        let (name, text) = ("<b>".into(), "1.00".into());
        let bar = Bar { class: "network", name, value: 1.0, text, spread: None };
        assert!(bars("x", &[bar], 2.0).contains("&lt;b&gt;"));
        assert_eq!(shortened("AKRON WASHINGTON COUNTY"), "AKRON WASHI…");
    }

    #[test]
    fn a_bar_beyond_the_limit_is_cut_and_keeps_its_number() {
        let bar = |value| {
            let (name, text) = ("local".into(), number::significant(value));
            Bar { class: "local", name, value, text, spread: None }
        };
        let cut = bars("x", &[bar(1.0), bar(900.0)], 5.0);
        assert!(cut.contains(r#"class="cut""#) && cut.contains(">900<"));
        assert!(!bars("x", &[bar(1.0), bar(2.0)], 5.0).contains(r#"class="cut""#));
    }
}

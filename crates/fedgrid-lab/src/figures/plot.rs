//! A figure as SVG: its panels side by side with the paper's axes, lines with their spread as shades,
//! the authors' values as rings. Solid lines do what the authors' code did, dotted ones the corrected
//! form, dashed ones are bounds and rivals.
//!
//! The charts of reports (`report::chart`) are percentages of a box that stretches with the page; a figure
//! is a file of its own with panels of fixed size, so that only the axes are shared.

use std::fmt::Write as _;

use minijinja::HtmlEscape;

use super::{
    FigureLine, FigureOutcome,
    figure::{Draw, LineMode},
};
use crate::report::axis::{Axis, AxisScale};

/// The style of a drawing that stands alone; the page has the same in its own.
pub(super) const STYLE: &str = include_str!("plot.css");

/// More points on a line than these cannot be told apart on 300 pixels.
const MAX_POINTS: usize = 240;
/// How many panels stand side by side at most.
const MAX_COLUMNS: usize = 3;
/// The plot area of a panel, and what is left around it, in pixels.
const WIDTH_PX: f64 = 300.0;
const HEIGHT_PX: f64 = 210.0;
const LEFT_PX: f64 = 58.0;
const TOP_PX: f64 = 44.0;
const BELOW_PX: f64 = 46.0;
/// The height of a line of the legend, and the space between panels, in pixels.
const LEGEND_LINE_PX: f64 = 16.0;
const GAP_PX: f64 = 22.0;
/// How many colours the style sheet has.
const COLOUR_COUNT: usize = 8;

/// The figure as a file of its own.
#[must_use]
pub fn draw(outcome: &FigureOutcome) -> String {
    drawing(outcome, &format!("<style>{STYLE}</style>"))
}

/// The figure with something at its beginning.
pub(super) fn drawing(outcome: &FigureOutcome, style: &str) -> String {
    let figure = &outcome.figure;
    let of_panel =
        |panel: usize| outcome.lines.iter().filter(move |line| line.series.panel == panel);
    // A quick run may leave out all lines of a panel.
    let panels: Vec<usize> =
        (0..figure.panels.len().max(1)).filter(|&panel| of_panel(panel).next().is_some()).collect();
    let columns = match panels.len() {
        // Two rows of two or three of two leave no gap.
        4 | 6 => 2,
        few => few.clamp(1, MAX_COLUMNS),
    };
    let entries = panels.iter().map(|&panel| legend(&of_panel(panel)).len()).max().unwrap_or(0);
    let (wide, high) = (
        LEFT_PX + WIDTH_PX + GAP_PX,
        TOP_PX + HEIGHT_PX + BELOW_PX + LEGEND_LINE_PX * entries as f64 + GAP_PX,
    );
    let (width, height) = (columns as f64 * wide, panels.len().div_ceil(columns) as f64 * high);
    let label = HtmlEscape(&figure.title);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" class="reproduced" role="img" aria-label="{label}" viewBox="0 0 {width} {height}" width="{width}" height="{height}">{style}"#
    );
    for (index, &panel) in panels.iter().enumerate() {
        let lines: Vec<&FigureLine> = of_panel(panel).collect();
        let (column, row) = (index % columns, index / columns);
        let (x, y) = (column as f64 * wide + LEFT_PX, row as f64 * high + TOP_PX);
        let title = figure.panels.get(panel).map_or("", String::as_str);
        put(&mut svg, format_args!(r#"<g transform="translate({x} {y})">"#));
        Panel::new(outcome, &lines).draw(&mut svg, title, outcome, &lines);
        svg.push_str("</g>");
    }
    svg.push_str("</svg>");
    svg
}

fn put(svg: &mut String, text: std::fmt::Arguments) {
    svg.write_fmt(text).expect("a string takes all that is written");
}

/// The axes of a panel.
struct Panel {
    x: Axis,
    y: Axis,
}

impl Panel {
    fn new(outcome: &FigureOutcome, lines: &[&FigureLine]) -> Self {
        let scale = |log: bool| if log { AxisScale::Log } else { AxisScale::Linear };
        let figure = &outcome.figure;
        let xs = lines.iter().flat_map(|line| line.measured.xs.iter().copied());
        let least = figure.y.from.unwrap_or(f64::NEG_INFINITY);
        let middles = lines.iter().flat_map(|line| line.measured.middle());
        let references = lines.iter().flat_map(|line| &line.series.references);
        let marked = references.map(|reference| {
            if reference.x.is_some() {
                reference.value
            } else {
                reference.below.unwrap_or(f64::NAN)
            }
        });
        let bottom = figure.y.from.filter(|_| figure.y.log);
        let ys = middles.chain(marked).filter(|y| *y >= least).chain(bottom);
        // A linear axis that left zero out would make small differences look large.
        let zero = (!figure.y.log).then_some(0.0);
        let x = if figure.x.log { Axis::over(AxisScale::Log, xs) } else { Axis::within(xs) };
        Self { x, y: Axis::over(scale(figure.y.log), ys.chain(zero)) }
    }

    /// Where a point is drawn.
    fn position(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        // A logarithmic axis has no zero; errors that reach it are drawn at the bottom.
        let y = self.y.percent_of(y).or_else(|| (y <= 0.0).then_some(0.0))?;
        Some((self.x.percent_of(x)? / 100.0 * WIDTH_PX, (1.0 - y / 100.0) * HEIGHT_PX))
    }

    fn draw(&self, svg: &mut String, title: &str, outcome: &FigureOutcome, lines: &[&FigureLine]) {
        let figure = &outcome.figure;
        put(
            svg,
            format_args!(r#"<text class="r-title" x="0" y="-28">{}</text>"#, HtmlEscape(title)),
        );
        self.axes(svg, &figure.x.label, &figure.y.label);
        // Shades below lines below rings: nothing that is compared is covered.
        for line in lines {
            self.shade(svg, line);
        }
        for line in lines {
            self.line(svg, line);
        }
        for line in lines {
            self.rings(svg, line);
        }
        for (row, (class, text)) in legend(&lines.iter().copied()).into_iter().enumerate() {
            let y = HEIGHT_PX + BELOW_PX + LEGEND_LINE_PX * (row as f64 + 0.5);
            put(
                svg,
                format_args!(
                    r#"<line class="{class}" x1="0" x2="26" y1="{y}" y2="{y}"/><text class="r-name" x="34" y="{y}">{}</text>"#,
                    HtmlEscape(&text)
                ),
            );
        }
    }

    fn axes(&self, svg: &mut String, x_label: &str, y_label: &str) {
        for (share, text) in self.y.ticks() {
            let y = (1.0 - share / 100.0) * HEIGHT_PX;
            put(
                svg,
                format_args!(
                    r#"<line class="r-grid" x1="0" x2="{WIDTH_PX}" y1="{y:.1}" y2="{y:.1}"/><text class="r-tick r-y" x="-7" y="{y:.1}">{text}</text>"#
                ),
            );
        }
        for (share, text) in self.x.ticks() {
            let x = share / 100.0 * WIDTH_PX;
            put(
                svg,
                format_args!(
                    r#"<text class="r-tick r-x" x="{x:.1}" y="{}">{text}</text>"#,
                    HEIGHT_PX + 16.0
                ),
            );
        }
        put(
            svg,
            format_args!(
                r#"<text class="r-tick r-end" x="{WIDTH_PX}" y="{}">{}</text><text class="r-tick" x="{}" y="-11" text-anchor="start">{}</text>"#,
                HEIGHT_PX + 32.0,
                HtmlEscape(x_label),
                -LEFT_PX + 6.0,
                HtmlEscape(y_label)
            ),
        );
    }

    /// The spread of the repeats; flat lines of bounds and minimisers are left plain.
    fn shade(&self, svg: &mut String, line: &FigureLine) {
        if line.series.mode == LineMode::Corrected
            || line.series.draw == Draw::Dashed
            || line.measured.runs.len() < 2
        {
            return;
        }
        let range = line.measured.range();
        let kept = kept(line.measured.xs.len());
        let upper = kept.iter().map(|&at| (line.measured.xs[at], range[at].1));
        let lower = kept.iter().rev().map(|&at| (line.measured.xs[at], range[at].0));
        let corners: Vec<(f64, f64)> = upper.chain(lower).collect();
        self.corners(svg, "polygon", &format!("r-shade {}", colour(line)), &corners);
    }

    fn line(&self, svg: &mut String, line: &FigureLine) {
        let (xs, middle) = (&line.measured.xs, line.measured.middle());
        let points: Vec<(f64, f64)> =
            kept(xs.len()).iter().map(|&at| (xs[at], middle[at])).collect();
        self.corners(svg, "polyline", &class(line), &points);
    }

    fn corners(&self, svg: &mut String, element: &str, class: &str, points: &[(f64, f64)]) {
        let positions = points.iter().filter_map(|&(x, y)| self.position(x, y));
        let text: Vec<String> = positions.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        put(svg, format_args!(r#"<{element} class="{class}" points="{}"/>"#, text.join(" ")));
    }

    /// The authors' values.
    fn rings(&self, svg: &mut String, line: &FigureLine) {
        for reference in &line.series.references {
            let (x, y) = match (reference.x, reference.below) {
                (Some(x), _) => (x, reference.value),
                (None, level) => (reference.value, level.unwrap_or(f64::NAN)),
            };
            let inside = line.measured.xs.last().is_some_and(|last| x <= *last);
            if let Some((x, y)) = self.position(x, y).filter(|_| inside) {
                put(
                    svg,
                    format_args!(
                        r#"<circle class="r-ring {}" cx="{x:.1}" cy="{y:.1}" r="3.5"><title>{}: theirs {}</title></circle>"#,
                        colour(line),
                        HtmlEscape(&line.series.name),
                        crate::number::significant(reference.value)
                    ),
                );
            }
        }
    }
}

/// The indices of the points that are drawn: all of few, some of many.
fn kept(count: usize) -> Vec<usize> {
    // The last point is always kept: it is the one that the papers quote.
    let every = count.div_ceil(MAX_POINTS).max(1);
    let last = count.saturating_sub(1);
    (0..count).filter(|at| at % every == 0 || *at == last).collect()
}

fn colour(line: &FigureLine) -> String {
    format!("c{}", line.series.colour % COLOUR_COUNT)
}

fn class(line: &FigureLine) -> String {
    let stroke = match (line.series.draw == Draw::Dashed, line.series.mode) {
        (true, _) => "r-dashed",
        (false, LineMode::Corrected) => "r-dotted",
        (false, LineMode::PaperCompat) => "r-solid",
    };
    format!("r-line {stroke} {}", colour(line))
}

/// The classes and names of the lines that the legend names: all but corrected ones beside a line of
/// their colour.
fn legend<'a>(lines: &(impl Iterator<Item = &'a FigureLine> + Clone)) -> Vec<(String, String)> {
    let beside = |own: &FigureLine| {
        let mut others = lines.clone();
        others.any(|line| {
            line.series.mode == LineMode::PaperCompat && line.series.colour == own.series.colour
        })
    };
    let named =
        lines.clone().filter(|line| line.series.mode == LineMode::PaperCompat || !beside(line));
    named.map(|line| (class(line), line.series.name.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_points_some_are_drawn_and_always_the_ends() {
        assert_eq!(kept(3), [0, 1, 2]);
        let many = kept(1500);
        assert!(many.len() <= MAX_POINTS + 1 && many[0] == 0 && many.last() == Some(&1499));
        assert!(kept(0).is_empty());
    }
}

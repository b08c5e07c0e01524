//! The plot of a sweep: errors against the first key whose values are numbers, a line for each combination of the other
//! keys, bars of one standard error to both sides.
//!
//! With a single key there is a line for each method instead. Where no key has numbers, the values of the first are places
//! along the axis, and points are not joined; without any key these are the methods. Methods far above the run's own would press
//! all others together: they are named below the plot instead.

use super::{CaseResult, SeedMean, SweepResult, tables::methods};
use crate::{
    drawing::{Colour, Drawing, Mark, Side, text_width},
    number::{significant, tick},
    report::axis::{Axis, AxisScale},
};

/// The area of the plot, and what is left around it, in points.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 46.0;
const BELOW: f64 = 44.0;
/// The height of a line of the legend, and the length of its samples.
const LEGEND_LINE: f64 = 16.0;
const SAMPLE: f64 = 24.0;
/// The distance of points that stand at one name.
const ASIDE: f64 = 7.0;
/// Sizes of letters.
const SMALL: f64 = 9.0;
const USUAL: f64 = 10.0;
const LARGE: f64 = 11.5;

const INK: Colour = [27, 31, 36];
const SOFT: Colour = [87, 96, 106];
const RULE: Colour = [223, 227, 232];
/// Colours that people with any kind of sight tell apart [Okabe and Ito], the light ones darkened.
const COLOURS: [Colour; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 95, 154],
    [107, 76, 154],
    [230, 159, 0],
    [86, 180, 233],
    [138, 122, 31],
];

/// From this ratio of the largest to the smallest value on, an axis is logarithmic.
const LOG_RATIO: f64 = 10.0;

/// Methods whose errors are all more than so many times the largest of the run's own are named, not drawn.
const FAR_RATIO: f64 = 2.0;

/// A line of the plot.
struct PlotLine {
    name: String,
    /// The place along the axis, and the error there.
    points: Vec<(f64, SeedMean)>,
}

/// What the horizontal axis shows.
enum Across {
    /// The numbers of a key.
    Numbers { key: String, values: Vec<f64> },
    /// Names at whole places.
    Names { key: String, names: Vec<String> },
}

/// The plot of a sweep.
#[must_use]
pub fn plot(result: &SweepResult) -> Drawing {
    let (drawn, far) = drawn_methods(result);
    let (across, lines) = content(result, &drawn);
    let error = result.metric().unwrap_or("error");
    let has_bars =
        lines.iter().flat_map(|line| &line.points).any(|(_, one)| one.standard_error.is_some());
    let bars = if has_bars { " ± standard error" } else { "" };
    let whose = if result.keys.len() > 1 { ", run's own method" } else { "" };
    let y_label = format!("mean {error} over {} seeds{bars}{whose}", result.seeds.len());
    let y_label = if result.seeds.len() == 1 { format!("{error}{whose}") } else { y_label };
    let legend = legend(&lines);
    let rows = legend.last().map_or(0.0, |entry| entry.row + 1.0);
    let far = if result.keys.len() < 2 { far } else { String::new() };
    let rows_below = rows + if far.is_empty() { 0.0 } else { 1.0 };
    let mut drawing = Drawing {
        width: LEFT + WIDTH + RIGHT,
        height: TOP + HEIGHT + BELOW + LEGEND_LINE * rows_below,
        title: result.title.clone(),
        marks: Vec::new(),
    };
    let frame = Frame::new(&across, &lines);
    drawing.text((LEFT - 40.0, 16.0), &result.title, (LARGE, Side::Start, INK), true);
    drawing.text((LEFT - 40.0, TOP - 14.0), &y_label, (SMALL, Side::Start, SOFT), false);
    frame.axes(&mut drawing, &across);
    for (at, line) in lines.iter().enumerate() {
        // Points of several lines at one name would hide each other.
        let aside = (at as f64 - (lines.len() as f64 - 1.0) / 2.0) * ASIDE;
        let aside = matches!(across, Across::Names { .. }).then_some(aside);
        frame.line(&mut drawing, line, at, aside);
    }
    let foot = TOP + HEIGHT + BELOW + LEGEND_LINE * (rows + 0.4);
    drawing.text((LEFT, foot + 3.2), &far, (SMALL, Side::Start, SOFT), false);
    for (at, (entry, line)) in legend.iter().zip(&lines).enumerate() {
        let y = TOP + HEIGHT + BELOW + LEGEND_LINE * (entry.row + 0.4);
        let x = LEFT + entry.x;
        drawing.line(vec![(x, y), (x + SAMPLE, y)], (COLOURS[at % COLOURS.len()], 1.6), dashes(at));
        drawing.marks.push(Mark::Disc {
            at: (x + SAMPLE / 2.0, y),
            radius: 2.6,
            colour: COLOURS[at % COLOURS.len()],
        });
        drawing.text((x + SAMPLE + 5.0, y + 3.2), &line.name, (SMALL, Side::Start, INK), false);
    }
    drawing
}

impl Drawing {
    fn text(
        &mut self,
        at: (f64, f64),
        text: &str,
        (size, side, colour): (f64, Side, Colour),
        is_bold: bool,
    ) {
        if text.is_empty() {
            return;
        }
        self.marks.push(Mark::Text { at, text: text.into(), size, side, is_bold, colour });
    }

    fn line(&mut self, points: Vec<(f64, f64)>, (colour, width): (Colour, f64), dashes: Vec<f64>) {
        self.marks.push(Mark::Line { points, colour, width, dashes });
    }
}

/// Lines beyond the first four are dashed, so that prints without colours tell them apart.
fn dashes(at: usize) -> Vec<f64> {
    match (at / 4) % 3 {
        0 => Vec::new(),
        1 => vec![5.0, 3.0],
        _ => vec![1.5, 2.5],
    }
}

/// The methods that are drawn, the run's own first, and a sentence on those that are not.
fn drawn_methods(result: &SweepResult) -> (Vec<&str>, String) {
    let own = result.cases.iter().find_map(|case| case.own.as_deref());
    let means = |name: &str| -> Vec<f64> {
        result.cases.iter().filter_map(|case| Some(case.error(name)?.mean)).collect()
    };
    let most = own.map_or(f64::NAN, |own| means(own).into_iter().fold(f64::NEG_INFINITY, f64::max));
    let least = |name: &str| means(name).into_iter().fold(f64::INFINITY, f64::min);
    let (far, mut drawn): (Vec<&str>, Vec<&str>) =
        methods(result).into_iter().partition(|name| least(name) > FAR_RATIO * most);
    drawn.sort_by_key(|name| Some(*name) != own);
    let named: Vec<String> =
        far.iter().map(|name| format!("{name} (from {})", significant(least(name)))).collect();
    let sentence = if named.is_empty() {
        String::new()
    } else {
        format!("above the plot: {}", named.join(", "))
    };
    (drawn, sentence)
}

/// The axis and the lines that a result has, of these methods where lines are methods.
fn content(result: &SweepResult, methods: &[&str]) -> (Across, Vec<PlotLine>) {
    let own = |case: &CaseResult| case.own.as_deref().and_then(|own| case.error(own));
    let numbers = |(_, values): &(String, Vec<String>)| -> Option<Vec<f64>> {
        values
            .iter()
            .map(|value| value.parse::<f64>().ok().filter(|number| number.is_finite()))
            .collect()
    };
    let place = result.keys.iter().position(|key| numbers(key).is_some());
    let of_methods = |value: &dyn Fn(usize) -> f64| -> Vec<PlotLine> {
        let line = |name: &&str| {
            let cases = result.cases.iter().enumerate();
            let points = cases.filter_map(|(at, case)| Some((value(at), case.error(name)?)));
            PlotLine { name: (*name).to_string(), points: points.collect() }
        };
        methods.iter().map(line).collect()
    };
    match (result.keys.first(), place) {
        (None, _) => {
            let names = methods;
            let errors = |case: &CaseResult| {
                let points = names.iter().enumerate();
                points.filter_map(|(at, name)| Some((at as f64, case.error(name)?))).collect()
            };
            let line = |case| PlotLine { name: String::new(), points: errors(case) };
            let lines = result.cases.iter().map(line).collect();
            let names = names.iter().map(ToString::to_string).collect();
            (Across::Names { key: String::new(), names }, lines)
        }
        (Some(first), _) => {
            let at = place.unwrap_or(0);
            let (key, values) = &result.keys[at];
            let found = numbers(&result.keys[at]);
            let position = |value: &String| {
                let index = values.iter().position(|known| known == value).unwrap_or(0);
                found.as_ref().map_or(index as f64, |numbers| numbers[index])
            };
            let lines = if result.keys.len() == 1 {
                of_methods(&|case| position(&result.cases[case].values[0]))
            } else {
                series(result, at, &|case| Some((position(&case.values[at]), own(case)?)))
            };
            let across = match found {
                Some(values) => Across::Numbers { key: key.clone(), values },
                None => Across::Names { key: first.0.clone(), names: values.clone() },
            };
            (across, lines)
        }
    }
}

/// A line for each combination of the values of the other keys, in the order of cases.
fn series(
    result: &SweepResult,
    at: usize,
    point: &dyn Fn(&CaseResult) -> Option<(f64, SeedMean)>,
) -> Vec<PlotLine> {
    let mut lines: Vec<PlotLine> = Vec::new();
    for case in &result.cases {
        let others =
            case.values.iter().zip(&result.keys).enumerate().filter(|(place, _)| *place != at);
        let others = others.map(|(_, (value, (key, _)))| {
            // A kind says by itself what it is a kind of.
            if key == "method.kind" || key == "model.kind" {
                value.clone()
            } else {
                format!("{key} = {value}")
            }
        });
        let name = others.collect::<Vec<_>>().join(", ");
        let known = lines.iter().position(|line| line.name == name);
        let place = known.unwrap_or(lines.len());
        if known.is_none() {
            lines.push(PlotLine { name, points: Vec::new() });
        }
        lines[place].points.extend(point(case));
    }
    lines
}

/// Where an entry of the legend stands.
struct LegendEntry {
    x: f64,
    row: f64,
}

fn legend(lines: &[PlotLine]) -> Vec<LegendEntry> {
    let (mut x, mut row) = (0.0, 0.0);
    let mut entries = Vec::new();
    for line in lines.iter().filter(|line| !line.name.is_empty()) {
        let wide = SAMPLE + 5.0 + text_width(&line.name, SMALL) + 18.0;
        if x > 0.0 && x + wide > WIDTH + RIGHT {
            (x, row) = (0.0, row + 1.0);
        }
        entries.push(LegendEntry { x, row });
        x += wide;
    }
    entries
}

/// The axes of the plot.
struct Frame {
    x: Axis,
    y: Axis,
}

impl Frame {
    fn new(across: &Across, lines: &[PlotLine]) -> Self {
        let ends = |one: &SeedMean| {
            let error = one.standard_error.unwrap_or(0.0);
            [one.mean - error, one.mean + error]
        };
        let ys: Vec<f64> =
            lines.iter().flat_map(|line| &line.points).flat_map(|(_, one)| ends(one)).collect();
        let x = match across {
            Across::Numbers { values, .. } => match scale(values) {
                AxisScale::Log => Axis::over(AxisScale::Log, values.iter().copied()),
                AxisScale::Linear => padded(values),
            },
            Across::Names { names, .. } => Axis::within([-0.5, names.len() as f64 - 0.5]),
        };
        Self { x, y: Axis::over(scale(&ys), ys.iter().copied()) }
    }

    /// Where a value is drawn; what an axis cannot show is at its lower end.
    fn place(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |axis: &Axis, value| axis.percent_of(value).unwrap_or(0.0) / 100.0;
        (LEFT + share(&self.x, x) * WIDTH, TOP + (1.0 - share(&self.y, y)) * HEIGHT)
    }

    fn axes(&self, drawing: &mut Drawing, across: &Across) {
        for (share, text) in self.y.ticks() {
            let y = TOP + (1.0 - share / 100.0) * HEIGHT;
            drawing.line(vec![(LEFT, y), (LEFT + WIDTH, y)], (RULE, 0.8), Vec::new());
            drawing.text((LEFT - 6.0, y + 3.2), &text, (SMALL, Side::End, SOFT), false);
        }
        let foot = TOP + HEIGHT;
        drawing.line(vec![(LEFT, foot), (LEFT + WIDTH, foot)], (SOFT, 0.8), Vec::new());
        let (key, ticks) = self.ticks(across);
        let mut free = f64::NEG_INFINITY;
        for (x, text) in ticks {
            drawing.line(vec![(x, foot), (x, foot + 4.0)], (SOFT, 0.8), Vec::new());
            let half = text_width(&text, SMALL) / 2.0;
            // Values that lie close together keep their marks, and every text stays readable.
            if x - half > free {
                drawing.text((x, foot + 14.0), &text, (SMALL, Side::Middle, SOFT), false);
                free = x + half + 4.0;
            }
        }
        drawing.text((LEFT + WIDTH / 2.0, foot + 29.0), key, (USUAL, Side::Middle, INK), false);
    }

    /// The name of the axis, and what is written where along it.
    fn ticks<'a>(&self, across: &'a Across) -> (&'a str, Vec<(f64, String)>) {
        let x = |value: f64| self.place(value, 0.0).0;
        match across {
            Across::Numbers { key, values } => {
                let mut values = values.clone();
                values.sort_by(f64::total_cmp);
                (key, values.into_iter().map(|value| (x(value), tick(value))).collect())
            }
            Across::Names { key, names } => {
                let names = names.iter().enumerate();
                let room = WIDTH / names.len() as f64 - 6.0;
                (key, names.map(|(at, name)| (x(at as f64), fitted(name, room))).collect())
            }
        }
    }

    /// Draws a line; or its points only, so far aside of their places.
    fn line(&self, drawing: &mut Drawing, line: &PlotLine, at: usize, aside: Option<f64>) {
        let colour = COLOURS[at % COLOURS.len()];
        let mut points = line.points.clone();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let places: Vec<(f64, f64)> =
            points.iter().map(|(x, one)| self.place(*x, one.mean)).collect();
        if aside.is_none() && places.len() > 1 {
            drawing.line(places.clone(), (colour, 1.6), dashes(at));
        }
        for (&(x, y), (value, one)) in places.iter().zip(&points) {
            let x = x + aside.unwrap_or(0.0);
            if let Some(error) = one.standard_error {
                let ends =
                    [one.mean - error, one.mean + error].map(|end| self.place(*value, end).1);
                drawing.line(vec![(x, ends[0]), (x, ends[1])], (colour, 1.1), Vec::new());
                for end in ends {
                    drawing.line(vec![(x - 3.0, end), (x + 3.0, end)], (colour, 1.1), Vec::new());
                }
            }
            drawing.marks.push(Mark::Disc { at: (x, y), radius: 2.6, colour });
        }
    }
}

/// A name that is no wider than its place; what is cut, the table has.
fn fitted(name: &str, room: f64) -> String {
    if text_width(name, SMALL) <= room {
        return name.into();
    }
    let mut cut = String::new();
    for letter in name.chars() {
        if text_width(&cut, SMALL) + text_width(&format!("{letter}…"), SMALL) > room {
            break;
        }
        cut.push(letter);
    }
    cut + "…"
}

/// The scale that shows all values.
fn scale(values: &[f64]) -> AxisScale {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least > 0.0 && most / least > LOG_RATIO { AxisScale::Log } else { AxisScale::Linear }
}

/// A linear axis with a little room at both ends, so that bars are not drawn on the frame.
fn padded(values: &[f64]) -> Axis {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = 0.05 * (most - least);
    Axis::within([least - room, most + room])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_to_their_place_and_axes_follow_their_values() {
        assert_eq!(fitted("gtv", 40.0), "gtv");
        let cut = fitted("[\"sin1\", \"cos1\"]", 40.0);
        assert!(cut.starts_with("[\"sin") && cut.ends_with('…'), "{cut}");
        assert!(text_width(&cut, SMALL) <= 40.0);
        assert_eq!(scale(&[4.0, 8.0, 16.0]), AxisScale::Linear);
        assert_eq!(scale(&[0.01, 0.1, 1.0]), AxisScale::Log);
        // Zero has no place on a logarithmic axis.
        assert_eq!(scale(&[0.0, 0.1, 10.0]), AxisScale::Linear);
    }
}

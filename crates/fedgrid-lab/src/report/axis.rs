//! Axes: their ranges, their round numbers, and where along them a value lies.

use crate::number;

/// How values are spaced along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AxisScale {
    Linear,
    Log,
}

/// The share of a value that may be rounding.
const ROUNDING_SHARE: f64 = 1e-9;

/// The range of an axis and where it is labelled.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    scale: AxisScale,
    low: f64,
    high: f64,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis over all values, with its ends on ticks if it is linear.
    pub(crate) fn over(scale: AxisScale, values: impl IntoIterator<Item = f64>) -> Self {
        let drawable = |v: &f64| v.is_finite() && (scale == AxisScale::Linear || *v > 0.0);
        let range = values.into_iter().filter(drawable).fold(None, |range, v| match range {
            None => Some((v, v)),
            Some((low, high)) => Some((v.min(low), v.max(high))),
        });
        match (scale, range) {
            (AxisScale::Linear, range) => Self::linear(range.unwrap_or((0.0, 1.0))),
            (AxisScale::Log, range) => Self::log(range.unwrap_or((1.0, 10.0))),
        }
    }

    fn linear((low, high): (f64, f64)) -> Self {
        let size = low.abs().max(high.abs());
        // Values that differ by their rounding are one: between them there are no round numbers.
        let room = if high - low > ROUNDING_SHARE * size { high - low } else { size.max(1.0) };
        // About five ticks: fewer leave a reader guessing, more run into each other on a phone.
        let step = nice_step(room / 5.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let last = if last > first { last } else { first + 1.0 };
        let ticks = steps(first, last).map(|k| k * step).collect();
        Self { scale: AxisScale::Linear, low: first * step, high: last * step, ticks }
    }

    /// A linear axis that ends with its values, with ticks between.
    pub(crate) fn within(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let axis = Self::over(AxisScale::Linear, values.iter().copied());
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // One value has no range, and keeps the room that round numbers give it.
        if low >= high {
            return axis;
        }
        let ticks = axis.ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        Self { low, high, ticks, ..axis }
    }

    fn log((low, high): (f64, f64)) -> Self {
        // A little room on both sides, so that the ends are not drawn on the frame.
        let room = (high / low).powf(0.04).max(1.15);
        let (low, high) = (low / room, high * room);
        let decades = high.log10() - low.log10();
        // At most eight powers of ten are labelled; the texts of more would overlap.
        let every = (decades / 8.0).ceil().max(1.0);
        let fine: &[f64] = if decades < 2.5 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let ticks = steps((low.log10() / every).floor(), (high.log10() / every).ceil())
            .flat_map(|k| fine.iter().map(move |digit| digit * 10_f64.powf(k * every)))
            .filter(|tick| (low..=high).contains(tick))
            .collect::<Vec<_>>();
        // Between two powers of ten that are near, round numbers of a linear axis do.
        let near = || Self::within([low, high]).ticks;
        let ticks = if ticks.len() < 2 { near() } else { ticks };
        Self { scale: AxisScale::Log, low, high, ticks }
    }

    /// Where a value lies, in per cent of the axis; none if it cannot be drawn.
    pub(crate) fn percent_of(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            AxisScale::Linear => (value - self.low) / (self.high - self.low),
            AxisScale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        share.is_finite().then(|| 100.0 * share.clamp(0.0, 1.0))
    }

    /// Its smallest and largest value.
    pub(crate) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The ticks: where, and what they say.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        // Plain numbers from 0.001 to 10,000 are as short as powers of ten; the limits leave room for rounding.
        let far = |tick: &f64| *tick < 0.9e-3 || *tick > 1.1e4;
        let wide = self.scale == AxisScale::Log && self.ticks.iter().any(far);
        let text = move |tick| if wide { number::power(tick) } else { number::tick(tick) };
        self.ticks.iter().filter_map(move |&tick| Some((self.percent_of(tick)?, text(tick))))
    }
}

/// Whole numbers from one to the other, both included.
fn steps(first: f64, last: f64) -> impl Iterator<Item = f64> {
    std::iter::successors(Some(first), |k| Some(k + 1.0)).take_while(move |k| *k <= last)
}

/// The smallest of 1, 2, 5 times a power of ten that is at least the value.
fn nice_step(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    // A value that rounding put just above a round step must not get the next one.
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= value * 0.999);
    digit.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &Axis) -> Vec<String> {
        axis.ticks().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_axes_end_on_round_numbers() {
        assert_eq!(
            texts(&Axis::over(AxisScale::Linear, [0.0, 9.3])),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(texts(&Axis::over(AxisScale::Linear, [-0.3, 0.9])), ["−0.5", "0", "0.5", "1"]);
    }

    #[test]
    fn log_axes_are_labelled_by_powers_of_ten() {
        let axis = Axis::over(AxisScale::Log, [0.001, 0.0, 100.0]);
        assert_eq!(texts(&axis), ["0.001", "0.01", "0.1", "1", "10", "100"]);
        assert_eq!(texts(&Axis::over(AxisScale::Log, [1.0, 10.0])), ["1", "2", "5", "10"]);
    }

    #[test]
    fn an_axis_over_nothing_or_one_value_can_still_be_drawn() {
        // The models of all nodes may be the same but for rounding.
        let alike = vec![1.5, 1.5 + f64::EPSILON];
        for values in [vec![], vec![f64::NAN], vec![3.0], vec![0.0], alike] {
            for scale in [AxisScale::Linear, AxisScale::Log] {
                let axis = Axis::over(scale, values.clone());
                assert!(axis.high > axis.low && !axis.ticks.is_empty());
            }
        }
    }

    #[test]
    fn what_cannot_be_on_a_log_axis_has_no_place() {
        let axis = Axis::over(AxisScale::Log, [0.1, 10.0]);
        assert_eq!(axis.percent_of(0.0), None);
        assert!((axis.percent_of(1.0).unwrap() - 50.0).abs() < 1e-9);
    }
}

//! What part of the plane a map shows.

use super::{
    figures::quantile,
    layout::{Point, bounds},
};

/// The area of a map in its own units; its shape follows the network's.
pub(super) const MAP_AREA: f64 = 640_000.0;

/// A part of the plane of the map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) low: Point,
    pub(super) size: Point,
}

impl Frame {
    /// All positions, with a margin.
    pub(super) fn around(positions: &[Point], margin: f64) -> Self {
        if positions.is_empty() {
            return Self { low: (0.0, 0.0), size: (MAP_AREA.sqrt(), MAP_AREA.sqrt()) };
        }
        let (low, high) = bounds(positions);
        let size = (high.0 - low.0 + 2.0 * margin, high.1 - low.1 + 2.0 * margin);
        Self { low: (low.0 - margin, low.1 - margin), size }
    }

    pub(super) fn shows(&self, (x, y): Point) -> bool {
        let inside = |value: f64, low: f64, size: f64| value >= low && value <= low + size;
        inside(x, self.low.0, self.size.0) && inside(y, self.low.1, self.size.1)
    }

    pub(super) fn text(&self) -> String {
        let Self { low, size } = self;
        format!("{:.0} {:.0} {:.0} {:.0}", low.0, low.1, size.0, size.1)
    }
}

/// The positions in the units of the map, y downwards, and what is shown of it at first: nearly all nodes, without places so
/// far off that the others would be squeezed.
pub(super) fn fitted(points: &[Point], margin: f64) -> (Vec<Point>, Frame) {
    if points.is_empty() {
        return (Vec::new(), Frame::around(&[], margin));
    }
    let (low, high) = bounds(&near(points));
    let (wide, tall) = (high.0 - low.0, high.1 - low.1);
    let extent = wide.max(tall);
    let shape = if extent > 0.0 { (tall / extent) / (wide / extent).max(1e-9) } else { 0.6 };
    // A path laid out as a line would be a page high or invisibly thin.
    let shape = shape.clamp(0.4, 1.6);
    let size = ((MAP_AREA / shape).sqrt(), (MAP_AREA * shape).sqrt());
    let room = (size.0 - 2.0 * margin, size.1 - 2.0 * margin);
    let scale = (room.0 / wide).min(room.1 / tall);
    // Nodes that are all in one place have no extent to be scaled.
    let scale = if scale.is_finite() { scale } else { 1.0 };
    let middle = (low.0.midpoint(high.0), low.1.midpoint(high.1));
    let to_map = |&(x, y): &Point| {
        (size.0 / 2.0 + scale * (x - middle.0), size.1 / 2.0 - scale * (y - middle.1))
    };
    (points.iter().map(to_map).collect(), Frame { low: (0.0, 0.0), size })
}

/// The points without the few that would squeeze the rest: those beyond a quarter of the extent of 96 % of all, if the map
/// is much smaller without them.
fn near(points: &[Point]) -> Vec<Point> {
    /// Below this share of the area, far places squeeze the rest.
    const SQUEEZED: f64 = 0.6;
    let fence = |of: fn(&Point) -> f64| {
        let mut values: Vec<f64> = points.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let (low, high) = (quantile(&values, 0.02), quantile(&values, 0.98));
        let beyond = 0.25 * (high - low);
        (low - beyond, high + beyond)
    };
    let (x, y) = (fence(|point| point.0), fence(|point| point.1));
    let is_near =
        |point: &&Point| point.0 >= x.0 && point.0 <= x.1 && point.1 >= y.0 && point.1 <= y.1;
    let kept: Vec<Point> = points.iter().filter(is_near).copied().collect();
    let area = |points: &[Point]| {
        let (low, high) = bounds(points);
        (high.0 - low.0) * (high.1 - low.1)
    };
    let is_better = !kept.is_empty() && area(&kept) < SQUEEZED * area(points);
    if is_better { kept } else { points.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN_UNITS: f64 = 20.0;

    #[test]
    fn a_map_fits_its_frame_and_keeps_north_up() {
        let (positions, frame) =
            fitted(&[(-109.0, 37.0), (-102.0, 41.0), (-105.0, 39.0)], MARGIN_UNITS);
        assert!(positions.iter().all(|position| frame.shows(*position)));
        assert!(positions[1].1 < positions[0].1 && positions[1].0 > positions[0].0);
    }

    #[test]
    fn a_place_far_off_does_not_squeeze_the_rest() {
        let grid = (0..100).map(|i| (f64::from(i % 10), f64::from(i / 10)));
        let points: Vec<Point> = grid.chain([(300.0, 40.0)]).collect();
        let (positions, frame) = fitted(&points, MARGIN_UNITS);
        let shown = positions.iter().filter(|position| frame.shows(**position)).count();
        assert_eq!(shown, 100);
        // The grid fills what is shown, and the whole has the far place, too.
        assert!(positions[9].0 - positions[0].0 > 0.7 * frame.size.0);
        let whole = Frame::around(&positions, MARGIN_UNITS);
        assert!(positions.iter().all(|position| whole.shows(*position)));
        // Without it, all are shown.
        let (positions, frame) = fitted(&points[..100], MARGIN_UNITS);
        assert!(positions.iter().all(|position| frame.shows(*position)));
    }

    #[test]
    fn points_on_a_line_or_in_one_place_fit_too() {
        for points in [vec![(1.0, 1.0)], vec![(0.0, 0.0), (1.0, 0.0)], vec![(2.0, 0.0), (2.0, 5.0)]]
        {
            assert!(
                fitted(&points, MARGIN_UNITS).0.iter().all(|(x, y)| x.is_finite() && y.is_finite())
            );
        }
    }
}

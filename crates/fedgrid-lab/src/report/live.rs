//! What pages that show work as it goes on share with reports: the style, and charts over rounds.

use super::{axis::AxisScale, figures};

/// The style of a page.
#[must_use]
pub fn style() -> &'static str {
    super::STYLE
}

/// A chart of positive numbers by round, on a logarithmic axis, as SVG for pages of this style; none if there is
/// nothing to draw.
#[must_use]
pub fn chart_over_rounds(
    label: &str,
    points: impl IntoIterator<Item = (u64, f64)>,
) -> Option<String> {
    let points = points.into_iter().filter(|(_, value)| value.is_finite() && *value > 0.0);
    let points: Vec<(f64, f64)> = points.map(|(round, value)| (round as f64, value)).collect();
    // One point is no line.
    (points.len() > 1).then(|| figures::over_rounds(label, points, AxisScale::Log))
}

#[cfg(test)]
mod tests {
    use super::chart_over_rounds;

    #[test]
    fn numbers_that_a_logarithm_has_not_are_left_out() {
        let points = [(1, 1.0), (2, 0.0), (3, f64::NAN), (4, 0.1), (5, -1.0)];
        let svg = chart_over_rounds("Residual <by> round", points).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("Residual &lt;by&gt; round"), "{svg}");
        let corners = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(corners.split(' ').count(), 2, "{corners}");
        assert_eq!(chart_over_rounds("x", [(1, 1.0), (2, 0.0)]), None);
    }
}

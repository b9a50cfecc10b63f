//! The layers that a plot shows over its two axes, and the drawing of each kind.

use std::collections::BTreeMap;
use std::ops::Range;

use plotters::coord::ranged1d::Ranged;
use plotters::prelude::*;

use super::axis::Axis;
use super::canvas::{Drawn, SvgBackend, px};

/// Cells of a density along x and along y.
const CELLS: (usize, usize) = (56, 36);
/// Shades of a density.
const SHADES: f64 = 8.0;

/// One thing in a plot. After [`PlotLayer::on_axes`] its numbers are positions on the axes.
#[derive(Clone, Debug)]
pub(super) enum PlotLayer {
    /// `(x, y)`
    Line(Vec<(f64, f64)>),
    /// `(x, low, high)`
    Band(Vec<(f64, f64, f64)>),
    /// `(x, y)`
    Scatter(Vec<(f64, f64)>),
    /// `(x, y, weight)`
    Density(Vec<(f64, f64, f64)>),
    /// `(left, right, height)`
    Columns(Vec<(f64, f64, f64)>),
}

/// The chart that layers are drawn on.
type Chart<'a, 'b, X, Y> = ChartContext<'a, SvgBackend<'b>, Cartesian2d<X, Y>>;

impl PlotLayer {
    /// Returns the shares of the weight by bin, percent.
    pub(super) fn histogram(values: &[(f64, f64)], bin_width: f64) -> PlotLayer {
        let mut bins: BTreeMap<i64, f64> = BTreeMap::new();
        let mut sum = 0.0;
        for &(value, weight) in values.iter().filter(|(value, weight)| value.is_finite() && *weight > 0.0) {
            *bins.entry((value / bin_width).floor() as i64).or_default() += weight;
            sum += weight;
        }
        let column = |(bin, weight): (i64, f64)| {
            (bin as f64 * bin_width, (bin + 1) as f64 * bin_width, 100.0 * weight / sum)
        };
        PlotLayer::Columns(bins.into_iter().map(column).collect())
    }

    /// Returns the same with positions on the axes in place of numbers.
    pub(super) fn on_axes(&self, x: &Axis, y: &Axis) -> PlotLayer {
        let point = |&(a, b): &(f64, f64)| (x.position(a), y.position(b));
        match self {
            PlotLayer::Line(points) => PlotLayer::Line(points.iter().map(point).collect()),
            PlotLayer::Scatter(points) => PlotLayer::Scatter(points.iter().map(point).collect()),
            PlotLayer::Band(edges) => PlotLayer::Band(
                edges.iter().map(|e| (x.position(e.0), y.position(e.1), y.position(e.2))).collect(),
            ),
            PlotLayer::Density(points) => {
                PlotLayer::Density(points.iter().map(|p| (x.position(p.0), y.position(p.1), p.2)).collect())
            }
            PlotLayer::Columns(columns) => PlotLayer::Columns(
                columns.iter().map(|c| (x.position(c.0), x.position(c.1), y.position(c.2))).collect(),
            ),
        }
    }

    /// Returns all positions along x.
    pub(super) fn xs(&self) -> Vec<f64> {
        match self {
            PlotLayer::Line(points) | PlotLayer::Scatter(points) => points.iter().map(|p| p.0).collect(),
            PlotLayer::Band(points) | PlotLayer::Density(points) => points.iter().map(|p| p.0).collect(),
            PlotLayer::Columns(columns) => columns.iter().flat_map(|c| [c.0, c.1]).collect(),
        }
    }

    /// Returns all positions along y.
    pub(super) fn ys(&self) -> Vec<f64> {
        match self {
            PlotLayer::Line(points) | PlotLayer::Scatter(points) => points.iter().map(|p| p.1).collect(),
            PlotLayer::Density(points) => points.iter().map(|p| p.1).collect(),
            PlotLayer::Band(edges) => edges.iter().flat_map(|e| [e.1, e.2]).collect(),
            PlotLayer::Columns(columns) => columns.iter().flat_map(|c| [0.0, c.2]).collect(),
        }
    }

    /// Draws it in its colour, nothing outside `x` and `y`.
    pub(super) fn draw<X, Y>(
        &self,
        chart: &mut Chart<'_, '_, X, Y>,
        color: RGBColor,
        (x, y): (&Range<f64>, &Range<f64>),
    ) -> Drawn
    where
        X: Ranged<ValueType = f64>,
        Y: Ranged<ValueType = f64>,
    {
        let shown = |&(a, b): &(f64, f64)| x.contains(&a) | (a == x.end) && b.is_finite();
        let within = |(a, b): (f64, f64)| (a.clamp(x.start, x.end), b.clamp(y.start, y.end));
        match self {
            PlotLayer::Line(points) => {
                for piece in points.split(|point| !shown(point)).filter(|piece| !piece.is_empty()) {
                    let path: Vec<_> = piece.iter().copied().map(within).collect();
                    chart.draw_series([PathElement::new(path, color.stroke_width(px(2)))])?;
                }
            }
            PlotLayer::Scatter(points) => {
                let inside = points.iter().filter(|p| shown(p) && within(**p) == **p);
                chart.draw_series(inside.map(|&p| Circle::new(p, px(4), color.mix(0.6).filled())))?;
            }
            PlotLayer::Band(edges) => {
                let edges: Vec<_> =
                    edges.iter().filter(|e| shown(&(e.0, e.1)) && shown(&(e.0, e.2))).collect();
                let low = edges.iter().map(|e| within((e.0, e.1)));
                let outline: Vec<_> = low.chain(edges.iter().rev().map(|e| within((e.0, e.2)))).collect();
                if !outline.is_empty() {
                    chart.draw_series([Polygon::new(outline, color.mix(0.22).filled())])?;
                }
            }
            PlotLayer::Density(points) => {
                let cells = density(points, x, y);
                let shade = |(from, to, shade): (_, _, f64)| {
                    Rectangle::new([from, to], color.mix(0.08 + 0.92 * shade).filled())
                };
                chart.draw_series(cells.into_iter().map(shade))?;
            }
            PlotLayer::Columns(columns) => {
                let visible = columns.iter().filter(|c| c.1 > x.start && c.0 < x.end && c.2.is_finite());
                let rectangle = |c: &(f64, f64, f64)| {
                    let corners = [within((c.0, 0.0)), within((c.1, c.2))];
                    Rectangle::new(corners, color.mix(0.45).filled())
                };
                chart.draw_series(visible.map(rectangle))?;
            }
        }
        Ok(())
    }
}

/// A rectangle from one corner to the other with its shade, above 0 to 1.
type ShadedCell = ((f64, f64), (f64, f64), f64);

/// Returns cells with their shades by the logarithm of their weight; neighbours of a shade in a row are one.
fn density(points: &[(f64, f64, f64)], x: &Range<f64>, y: &Range<f64>) -> Vec<ShadedCell> {
    let width = (x.end - x.start) / CELLS.0 as f64;
    let height = (y.end - y.start) / CELLS.1 as f64;
    let mut weights = vec![0.0; CELLS.0 * CELLS.1];
    for &(a, b, weight) in points {
        let (column, row) = ((a - x.start) / width, (b - y.start) / height);
        if (0.0..CELLS.0 as f64).contains(&column) && (0.0..CELLS.1 as f64).contains(&row) {
            weights[row as usize * CELLS.0 + column as usize] += weight;
        }
    }
    let highest = weights.iter().copied().fold(0.0, f64::max);
    let shade = |weight: f64| (SHADES * weight.ln_1p() / highest.ln_1p()).ceil() / SHADES;
    let mut cells = Vec::new();
    for (row, weights) in weights.chunks(CELLS.0).enumerate() {
        let (bottom, top) = (y.start + row as f64 * height, y.start + (row + 1) as f64 * height);
        let mut column = 0;
        for run in weights.chunk_by(|&a, &b| shade(a) == shade(b)) {
            let (left, right) = (column, column + run.len());
            column = right;
            if run[0] > 0.0 {
                let corner = |column: usize, at: f64| (x.start + column as f64 * width, at);
                cells.push((corner(left, bottom), corner(right, top), shade(run[0])));
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_shows_shares_of_the_weight() {
        let PlotLayer::Columns(columns) = PlotLayer::histogram(&[(0.5, 1.0), (1.5, 2.0), (1.7, 1.0)], 1.0)
        else {
            panic!("a histogram has columns");
        };
        assert_eq!(columns, [(0.0, 1.0, 25.0), (1.0, 2.0, 75.0)]);
    }

    #[test]
    fn a_density_merges_equal_neighbours_and_is_darkest_at_the_most_weight() {
        let points = [(0.5, 0.5, 1.0), (1.5, 0.5, 1.0), (9.5, 9.5, 1000.0)];
        let cells = density(&points, &(0.0..CELLS.0 as f64), &(0.0..CELLS.1 as f64));
        assert_eq!(cells.len(), 2);
        assert_eq!((cells[0].0, cells[0].1), ((0.0, 0.0), (2.0, 1.0)));
        assert_eq!(cells[1].2, 1.0);
    }
}

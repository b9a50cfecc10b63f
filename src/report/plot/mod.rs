//! Plots as SVG: lines, bands, points, densities and histograms over two number axes; bars with error bars.
//!
//! An SVG carries its colours for light and dark surroundings (`prefers-color-scheme`), alone as inside a page, and has
//! no size of its own, so that it fills the width it is given. Drawing is by `plotters`.

mod axis;
mod bars;
mod canvas;
mod layer;

use plotters::prelude::*;

pub use bars::{Bar, BarPlot};

use axis::{Axis, AxisScale, Ticked};
use canvas::{Canvas, INK_STYLE, px};
use layer::PlotLayer;

/// Height of a plot without its legend, in the units of its `viewBox`.
const HEIGHT: u32 = 400;

/// A plot over two number axes. Things of one name share one colour and one entry of the legend; nameless ones have
/// none.
///
/// ```
/// use zeitnot::report::Plot;
/// let svg = Plot::new("Error by ply", "ply", "mean absolute error, full moves")
///     .band("mle-mlh", &[(0.0, 20.0, 22.0), (10.0, 18.0, 19.5)])
///     .line("mle-mlh", &[(0.0, 21.0), (10.0, 18.7)])
///     .y_from(0.0)
///     .to_svg();
/// assert!(svg.starts_with("<svg"));
/// ```
#[derive(Clone, Debug)]
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    /// Names in the order of their colours; layers refer to them by place.
    names: Vec<String>,
    layers: Vec<(usize, PlotLayer)>,
}

impl Plot {
    /// Returns an empty plot; the axes' labels name quantity and unit.
    pub fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Plot {
        Plot {
            title: title.into(),
            x: Axis::new(x.into()),
            y: Axis::new(y.into()),
            names: Vec::new(),
            layers: Vec::new(),
        }
    }

    /// Adds a line through the points `(x, y)`; it is broken where a number is not finite.
    pub fn line(self, name: &str, points: &[(f64, f64)]) -> Plot {
        self.layer(name, PlotLayer::Line(points.to_vec()))
    }

    /// Adds an area from low to high, `(x, low, high)`, such as a confidence band.
    pub fn band(self, name: &str, edges: &[(f64, f64, f64)]) -> Plot {
        self.layer(name, PlotLayer::Band(edges.to_vec()))
    }

    /// Adds a dot for each point `(x, y)`; for more than a thousand take [`Self::density`].
    pub fn scatter(self, name: &str, points: &[(f64, f64)]) -> Plot {
        self.layer(name, PlotLayer::Scatter(points.to_vec()))
    }

    /// Shades the plane by how much weight falls there, from points `(x, y, weight)`, in steps of the logarithm.
    pub fn density(self, name: &str, points: &[(f64, f64, f64)]) -> Plot {
        self.layer(name, PlotLayer::Density(points.to_vec()))
    }

    /// Adds a histogram of `(value, weight)`s: the share of the weight in each bin of this width, percent.
    pub fn histogram(self, name: &str, values: &[(f64, f64)], bin_width: f64) -> Plot {
        let layer = PlotLayer::histogram(values, bin_width);
        self.layer(name, layer)
    }

    fn layer(mut self, name: &str, layer: PlotLayer) -> Plot {
        let place = self.names.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.layers.push((place, layer));
        self
    }

    /// Shows x from `low` to `high` only.
    pub fn x_range(mut self, low: f64, high: f64) -> Plot {
        (self.x.low, self.x.high) = (Some(low), Some(high));
        self
    }

    /// Shows y from `low` to `high` only.
    pub fn y_range(mut self, low: f64, high: f64) -> Plot {
        (self.y.low, self.y.high) = (Some(low), Some(high));
        self
    }

    /// Lets y begin at `low`, as at zero, so that lengths can be compared.
    pub fn y_from(mut self, low: f64) -> Plot {
        self.y.low = Some(low);
        self
    }

    /// Makes the x axis logarithmic; values that are not positive are left out.
    pub fn log_x(mut self) -> Plot {
        self.x.scale = AxisScale::Log;
        self
    }

    /// Makes the y axis logarithmic; values that are not positive are left out.
    pub fn log_y(mut self) -> Plot {
        self.y.scale = AxisScale::Log;
        self
    }

    /// Returns the picture as SVG.
    pub fn to_svg(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Canvas { title: &self.title, names: &names, height: HEIGHT }.draw(|area| self.draw(area))
    }

    fn draw(&self, area: &canvas::Area<'_>) -> canvas::Drawn {
        let layers: Vec<(usize, PlotLayer)> =
            self.layers.iter().map(|(place, layer)| (*place, layer.on_axes(&self.x, &self.y))).collect();
        let x = self.x.range(layers.iter().flat_map(|(_, layer)| layer.xs()));
        let y = self.y.range(layers.iter().flat_map(|(_, layer)| layer.ys()));
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(px(54))
            .y_label_area_size(px(70))
            .margin_right(px(14))
            .margin_top(px(6))
            .build_cartesian_2d(
                Ticked { axis: &self.x, range: x.clone() },
                Ticked { axis: &self.y, range: y.clone() },
            )?;
        canvas::mesh(&mut chart.configure_mesh())
            .x_desc(self.x.label.as_str())
            .y_desc(self.y.label.as_str())
            .draw()?;
        for (place, layer) in &layers {
            layer.draw(&mut chart, canvas::series(*place), (&x, &y))?;
        }
        // The frame over the layers, so that bars stand on a line.
        chart.draw_series([PathElement::new([(x.start, y.start), (x.end, y.start)], INK_STYLE)])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_layer_gives_well_formed_svg() {
        let points: Vec<_> = (0..50).map(|i| (f64::from(i), f64::from(i * i) / 7.0)).collect();
        let plot = Plot::new("A < B & \"C\"", "x, plies", "y, full moves")
            .line("line", &points)
            .band("line", &[(0.0, 1.0, 2.0), (5.0, 3.0, 9.0)])
            .scatter("dots", &points)
            .density("", &[(1.0, 2.0, 3.0), (1.1, 2.0, 300.0)])
            .histogram("histogram", &[(1.0, 1.0), (2.5, 1.0), (2.6, 1.0)], 1.0);
        let svg = plot.to_svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt; B &amp; &quot;C&quot;"));
        assert_eq!(svg.matches(">\ndots\n<").count(), 1, "one entry in the legend");
        assert!(!svg.contains("#01"), "a colour that no style sheet knows");
        assert!(svg.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn plots_of_nothing_and_of_nonsense_are_drawn() {
        for points in [vec![], vec![(1.0, 1.0)], vec![(f64::NAN, 1.0), (0.0, f64::INFINITY)]] {
            let plot = Plot::new("t", "x", "y").line("a", &points).scatter("b", &points);
            assert!(plot.clone().to_svg().contains("</svg>"));
            assert!(plot.log_x().log_y().to_svg().contains("</svg>"));
        }
    }

    #[test]
    fn what_lies_outside_the_range_is_not_drawn_over_the_labels() {
        let svg = Plot::new("t", "x", "y").line("a", &[(0.0, 0.0), (1.0, 1e6)]).y_range(0.0, 1.0).to_svg();
        let coordinates = svg.split("points=\"").skip(1).flat_map(|rest| {
            rest.split('"').next().unwrap_or("").split([' ', ',']).filter_map(|n| n.parse::<i64>().ok())
        });
        assert!(coordinates.into_iter().all(|n| (0..=4000).contains(&n)));
    }
}

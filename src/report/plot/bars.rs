//! Bars with error bars, lying, so that long names fit beside them on a phone too.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::page::printable;
use super::axis::{Axis, Ticked, number};
use super::canvas::{self, Area, Canvas, Drawn, INK_STYLE, px};

/// Height of a bar, units.
const BAR: u32 = 19;
/// Space between groups of bars, units.
const GAP: u32 = 13;

/// A bar's length and the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// The length; none is drawn where it is not finite.
    pub value: f64,
    /// Low and high end of the error bar.
    pub error: Option<(f64, f64)>,
}

/// Groups of bars: a group for each category, in it a bar for each series.
///
/// ```
/// use zeitnot::report::{Bar, BarPlot};
/// let svg = BarPlot::new("Error by phase", "mean absolute error, full moves", &["opening", "endgame"])
///     .series("mle-mlh", &[Bar { value: 20.0, error: Some((19.0, 21.0)) }, Bar { value: 12.5, error: None }])
///     .to_svg();
/// assert!(svg.contains("endgame"));
/// ```
#[derive(Clone, Debug)]
pub struct BarPlot {
    title: String,
    axis: Axis,
    categories: Vec<String>,
    series: Vec<(String, Vec<Bar>)>,
}

impl BarPlot {
    /// Returns a plot without bars; `value` names the quantity and its unit.
    pub fn new(title: impl Into<String>, value: impl Into<String>, categories: &[&str]) -> BarPlot {
        BarPlot {
            title: title.into(),
            axis: Axis::new(value.into()),
            categories: categories.iter().map(|&name| printable(name)).collect(),
            series: Vec::new(),
        }
    }

    /// Adds a bar to each group, in the order of the categories. An empty name gets no entry in the legend.
    pub fn series(mut self, name: &str, bars: &[Bar]) -> BarPlot {
        self.series.push((name.to_owned(), bars.to_vec()));
        self
    }

    /// Returns the picture as SVG.
    pub fn to_svg(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let height = self.categories.len() as u32 * self.group() + 68;
        Canvas { title: &self.title, names: &names, height }.draw(|area| self.draw(area))
    }

    /// Returns the height of a group with the gap below it, units.
    fn group(&self) -> u32 {
        BAR * self.series.len() as u32 + GAP
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let bars = self.series.iter().flat_map(|(_, bars)| bars);
        let ends = bars.flat_map(|bar| {
            let (low, high) = bar.error.unwrap_or((bar.value, bar.value));
            [bar.value, low, high]
        });
        let x = self.axis.range(ends.chain([0.0]));
        // Zero is an end of the axis unless bars go both ways.
        let x = if x.start > -0.04 * x.end { 0.0..x.end * 1.08 } else { x };
        let bottom = (self.categories.len() as u32 * self.group()).max(1) as f64;
        let longest = self.categories.iter().map(|name| name.chars().count() as u32).max().unwrap_or(0);
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(px(54))
            .y_label_area_size(px((longest * 21 / 2 + 14).clamp(40, 260)))
            .margin_right(px(14))
            .build_cartesian_2d(Ticked { axis: &self.axis, range: x.clone() }, bottom..0.0)?;
        canvas::mesh(&mut chart.configure_mesh())
            .disable_y_mesh()
            .y_label_formatter(&|_| String::new())
            .x_desc(self.axis.label.as_str())
            .draw()?;
        let zero = 0f64.clamp(x.start, x.end);
        for (place, (_, bars)) in self.series.iter().enumerate() {
            for (category, bar) in bars.iter().take(self.categories.len()).enumerate() {
                if !bar.value.is_finite() {
                    continue;
                }
                let top = f64::from(category as u32 * self.group() + GAP / 2 + place as u32 * BAR);
                let corners = [(zero, top + 1.0), (bar.value, top + f64::from(BAR) - 1.0)];
                chart.draw_series([Rectangle::new(corners, canvas::series(place).filled())])?;
                let middle = top + f64::from(BAR) / 2.0;
                let mut end = bar.value;
                if let Some((low, high)) = bar.error.filter(|(l, h)| l.is_finite() && h.is_finite()) {
                    end = end.max(high);
                    let whisker = |path: [(f64, f64); 2]| PathElement::new(path, INK_STYLE);
                    let tick = |at: f64| whisker([(at, middle - 3.0), (at, middle + 3.0)]);
                    chart.draw_series([whisker([(low, middle), (high, middle)]), tick(low), tick(high)])?;
                }
                let style = canvas::text().pos(Pos::new(HPos::Left, VPos::Center));
                let label = EmptyElement::at((end.max(zero), middle))
                    + Text::new(number(round3(bar.value)), (px(5) as i32, 0), style);
                chart.draw_series([label])?;
            }
        }
        self.draw_names(area, &chart.backend_coord(&(x.start, 0.0)), &chart.backend_coord(&(x.start, bottom)))
    }

    /// Writes the categories' names at the left of their groups.
    fn draw_names(&self, area: &Area<'_>, top: &(i32, i32), bottom: &(i32, i32)) -> Drawn {
        let (_, origin) = area.get_pixel_range();
        let group = f64::from(bottom.1 - top.1) / self.categories.len().max(1) as f64;
        for (i, name) in self.categories.iter().enumerate() {
            let y = top.1 - origin.start + ((i as f64 + 0.5) * group) as i32;
            let style = canvas::text().pos(Pos::new(HPos::Right, VPos::Center));
            area.draw(&Text::new(name.clone(), (top.0 - px(8) as i32, y), style))?;
        }
        Ok(())
    }
}

/// Writes a value with three digits, which are enough beside a bar.
fn round3(value: f64) -> f64 {
    let digits = 10f64.powf((2.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0));
    (value * digits).round() / digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_carry_names_values_and_errors() {
        let bar = |value: f64| Bar { value, error: Some((value - 0.5, value + 0.5)) };
        let svg = BarPlot::new("title", "full moves", &["opening", "end & game"])
            .series("a", &[bar(20.04), bar(12.0)])
            .series("b", &[bar(-3.0), Bar { value: f64::NAN, error: None }])
            .to_svg();
        for text in ["opening", "end &amp; game", "20", "12", "-3"] {
            assert!(svg.contains(&format!(">\n{text}\n<")), "{text}\n{svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("#01"));
        assert!(BarPlot::new("nothing", "x", &[]).to_svg().contains("</svg>"));
    }
}

//! Plots as SVG: lines, bands, points and densities over two number axes; bars with error bars.
//!
//! An SVG carries its colours for light and dark surroundings (`prefers-color-scheme`), alone as inside a page, and has
//! no size of its own, so that it fills the width it is given. Drawing is by `plotters`, which knows fixed colours only: plots are
//! drawn in stand-ins, each the number of a class. [`finish`] puts the class in the place of the stand-in, and a style sheet inside
//! the SVG gives the class its colour in light and in dark.

use std::ops::Range;

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::page::{escape, printable};

/// Height of a plot without its legend, in the units of its `viewBox`.
const HEIGHT: u32 = 400;

/// A plot over two number axes. Things of one name share one colour and one entry of the legend; nameless ones have
/// none.
#[derive(Clone, Debug)]
pub(crate) struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    /// Names in the order of their colours; layers refer to them by place.
    names: Vec<String>,
    layers: Vec<(usize, LayerKind, Vec<Part>)>,
}

impl Plot {
    /// Returns an empty plot; the axes' labels name quantity and unit.
    pub(crate) fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Plot {
        Plot {
            title: title.into(),
            x: Axis::new(x.into()),
            y: Axis::new(y.into()),
            names: Vec::new(),
            layers: Vec::new(),
        }
    }

    pub(crate) fn line(self, name: &str, points: &[(f64, f64)]) -> Plot {
        self.layer(name, LayerKind::Line, points.iter().map(Part::point).collect())
    }

    pub(crate) fn band(self, name: &str, edges: &[(f64, f64, f64)]) -> Plot {
        let edge = |&(x, low, high): &_| Part { x: (x, x), y: (low, high), weight: 1.0 };
        self.layer(name, LayerKind::Band, edges.iter().map(edge).collect())
    }

    /// Adds a dot for each point `(x, y)`; for more than a thousand take [`Self::density`].
    pub(crate) fn scatter(self, name: &str, points: &[(f64, f64)]) -> Plot {
        self.layer(name, LayerKind::Scatter, points.iter().map(Part::point).collect())
    }

    /// Shades the plane by how much weight falls there, from points `(x, y, weight)`, in steps of the logarithm.
    pub(crate) fn density(self, name: &str, points: &[(f64, f64, f64)]) -> Plot {
        let point = |&(x, y, weight): &_| Part { weight, ..Part::point(&(x, y)) };
        self.layer(name, LayerKind::Density, points.iter().map(point).collect())
    }

    fn layer(mut self, name: &str, kind: LayerKind, parts: Vec<Part>) -> Plot {
        let place = self.names.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.layers.push((place, kind, parts));
        self
    }

    pub(crate) fn x_range(mut self, low: f64, high: f64) -> Plot {
        (self.x.low, self.x.high) = (Some(low), Some(high));
        self
    }

    pub(crate) fn y_range(mut self, low: f64, high: f64) -> Plot {
        (self.y.low, self.y.high) = (Some(low), Some(high));
        self
    }

    /// Lets y begin at `low`, as at zero, so that lengths can be compared.
    pub(crate) fn y_from(mut self, low: f64) -> Plot {
        self.y.low = Some(low);
        self
    }

    /// Makes the x axis logarithmic; values that are not positive are left out.
    pub(crate) fn log_x(mut self) -> Plot {
        self.x.scale = AxisScale::Log;
        self
    }

    /// Makes the y axis logarithmic; values that are not positive are left out.
    pub(crate) fn log_y(mut self) -> Plot {
        self.y.scale = AxisScale::Log;
        self
    }

    /// Whether there is any point to be drawn; a line needs two.
    pub(crate) fn has_data(&self) -> bool {
        let is_shown = |part: &&Part| {
            let Part { x, y, .. } = part.on_axes(&self.x, &self.y);
            [x.0, x.1, y.0, y.1].iter().all(|at| at.is_finite())
        };
        self.layers.iter().any(|(_, kind, parts)| {
            let least = if *kind == LayerKind::Line { 2 } else { 1 };
            parts.iter().filter(is_shown).count() >= least
        })
    }

    pub(crate) fn to_svg(&self) -> String {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        Canvas { title: &self.title, names: &names, height: HEIGHT }.draw(|area| self.draw(area))
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let on_axes = |part: &Part| part.on_axes(&self.x, &self.y);
        let layers: Vec<(usize, LayerKind, Vec<Part>)> = self
            .layers
            .iter()
            .map(|(place, kind, parts)| (*place, *kind, parts.iter().map(on_axes).collect()))
            .collect();
        let parts = || layers.iter().flat_map(|(_, _, parts)| parts);
        let x = self.x.range(parts().flat_map(|part| [part.x.0, part.x.1]));
        let y = self.y.range(parts().flat_map(|part| [part.y.0, part.y.1]));
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(px(54))
            .y_label_area_size(px(70))
            .margin_right(px(14))
            .margin_top(px(6))
            .build_cartesian_2d(
                Ticked { axis: &self.x, range: x.clone() },
                Ticked { axis: &self.y, range: y.clone() },
            )?;
        mesh(&mut chart.configure_mesh())
            .x_desc(self.x.label.as_str())
            .y_desc(self.y.label.as_str())
            .draw()?;
        for (place, kind, parts) in &layers {
            draw_layer(&mut chart, (*kind, parts), series(*place), (&x, &y))?;
        }
        // The frame over the layers, so that bars stand on a line.
        chart.draw_series([PathElement::new([(x.start, y.start), (x.end, y.start)], INK_STYLE)])?;
        Ok(())
    }
}

/// Cells of a density along x and along y.
const CELLS: (usize, usize) = (56, 36);
/// Shades of a density.
const SHADES: f64 = 8.0;

#[derive(Clone, Copy, Debug, PartialEq)]
enum LayerKind {
    Line,
    Band,
    Scatter,
    Density,
}

/// A part of a layer, from low to high on both axes: a point of a line, an edge of a band, a column.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    x: (f64, f64),
    y: (f64, f64),
    weight: f64,
}

impl Part {
    fn point(&(x, y): &(f64, f64)) -> Part {
        Part { x: (x, x), y: (y, y), weight: 1.0 }
    }

    fn on_axes(self, x: &Axis, y: &Axis) -> Part {
        let position = |axis: &Axis, (low, high)| (axis.position(low), axis.position(high));
        Part { x: position(x, self.x), y: position(y, self.y), ..self }
    }
}

fn draw_layer<X, Y>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>,
    (kind, parts): (LayerKind, &[Part]),
    color: RGBColor,
    (x, y): (&Range<f64>, &Range<f64>),
) -> Drawn
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
{
    let shown = |part: &Part| {
        (x.contains(&part.x.0) || part.x.0 == x.end) && part.y.0.is_finite() && part.y.1.is_finite()
    };
    let within = |a: f64, b: f64| (a.max(x.start).min(x.end), b.max(y.start).min(y.end));
    let low = |part: &Part| within(part.x.0, part.y.0);
    let high = |part: &Part| within(part.x.1, part.y.1);
    match kind {
        LayerKind::Line => {
            for piece in parts.split(|part| !shown(part)).filter(|piece| !piece.is_empty()) {
                let path: Vec<_> = piece.iter().map(low).collect();
                chart.draw_series([PathElement::new(path, color.stroke_width(px(2)))])?;
            }
        }
        LayerKind::Scatter => {
            let inside = parts.iter().filter(|part| shown(part) && low(part) == (part.x.0, part.y.0));
            let dot = |part| Circle::new(low(part), px(4), color.mix(0.6).filled());
            chart.draw_series(inside.map(dot))?;
        }
        LayerKind::Band => {
            let edges: Vec<_> = parts.iter().filter(|part| shown(part)).collect();
            let lower = edges.iter().map(|part| low(part));
            let outline: Vec<_> = lower.chain(edges.iter().rev().map(|part| high(part))).collect();
            if !outline.is_empty() {
                chart.draw_series([Polygon::new(outline, color.mix(0.22).filled())])?;
            }
        }
        LayerKind::Density => {
            let shade = |(from, to, shade): ShadedCell| {
                Rectangle::new([from, to], color.mix(0.08 + 0.92 * shade).filled())
            };
            chart.draw_series(density(parts, x, y).into_iter().map(shade))?;
        }
    }
    Ok(())
}

type ShadedCell = ((f64, f64), (f64, f64), f64);

/// Returns cells with their shades by the logarithm of their weight; neighbours of a shade in a row are one.
fn density(points: &[Part], x: &Range<f64>, y: &Range<f64>) -> Vec<ShadedCell> {
    let width = (x.end - x.start) / CELLS.0 as f64;
    let height = (y.end - y.start) / CELLS.1 as f64;
    let mut weights = vec![0.0; CELLS.0 * CELLS.1];
    for &Part { x: (a, _), y: (b, _), weight } in points {
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

/// Height of a bar, units.
const BAR: u32 = 19;
/// The longest name that stands beside its bars, characters.
const LONG_NAME: u32 = 23;
/// Space between groups of bars, units.
const GAP: u32 = 13;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bar {
    /// The length; none is drawn where it is not finite.
    pub(crate) value: f64,
    /// Low and high end of the error bar.
    pub(crate) error: Option<(f64, f64)>,
}

/// Groups of bars: a group for each category, in it a bar for each series.
#[derive(Clone, Debug)]
pub(crate) struct BarPlot {
    title: String,
    axis: Axis,
    categories: Vec<String>,
    series: Vec<(String, Vec<Bar>)>,
}

impl BarPlot {
    /// Returns a plot without bars; `value` names the quantity and its unit.
    pub(crate) fn new(title: impl Into<String>, value: impl Into<String>, categories: &[&str]) -> BarPlot {
        BarPlot {
            title: title.into(),
            axis: Axis::new(value.into()),
            categories: categories.iter().map(|&name| printable(name)).collect(),
            series: Vec::new(),
        }
    }

    /// Adds a bar to each group, in the order of the categories. An empty name gets no entry in the legend.
    pub(crate) fn series(mut self, name: &str, bars: &[Bar]) -> BarPlot {
        self.series.push((name.to_owned(), bars.to_vec()));
        self
    }

    pub(crate) fn has_data(&self) -> bool {
        self.series.iter().flat_map(|(_, bars)| bars).any(|bar| bar.value.is_finite())
    }

    pub(crate) fn to_svg(&self) -> String {
        let names: Vec<&str> = self.series.iter().map(|(name, _)| name.as_str()).collect();
        let height = self.categories.len() as u32 * self.group() + 68;
        Canvas { title: &self.title, names: &names, height }.draw(|area| self.draw(area))
    }

    /// Height of a group: the bars, and above them its name where names are too long to stand beside them.
    fn group(&self) -> u32 {
        self.name_line() + BAR * self.series.len() as u32 + GAP
    }

    fn longest_name(&self) -> u32 {
        self.categories.iter().map(|name| name.chars().count() as u32).max().unwrap_or(0)
    }

    fn name_line(&self) -> u32 {
        if self.longest_name() > LONG_NAME { BAR } else { 0 }
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
        let beside = if self.name_line() > 0 { 8 } else { self.longest_name() * 21 / 2 + 14 };
        let mut chart = ChartBuilder::on(area)
            .x_label_area_size(px(54))
            .y_label_area_size(px(beside.max(8)))
            .margin_right(px(14))
            .build_cartesian_2d(Ticked { axis: &self.axis, range: x.clone() }, bottom..0.0)?;
        mesh(&mut chart.configure_mesh())
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
                let top = category as u32 * self.group() + GAP / 2 + self.name_line() + place as u32 * BAR;
                let top = f64::from(top);
                let corners = [(zero, top + 1.0), (bar.value, top + f64::from(BAR) - 1.0)];
                chart.draw_series([Rectangle::new(corners, series(place).filled())])?;
                let middle = top + f64::from(BAR) / 2.0;
                let mut end = bar.value;
                if let Some((low, high)) = bar.error.filter(|(l, h)| l.is_finite() && h.is_finite()) {
                    end = end.max(high);
                    let whisker = |path: [(f64, f64); 2]| PathElement::new(path, INK_STYLE);
                    let tick = |at: f64| whisker([(at, middle - 3.0), (at, middle + 3.0)]);
                    chart.draw_series([whisker([(low, middle), (high, middle)]), tick(low), tick(high)])?;
                }
                let style = text().pos(Pos::new(HPos::Left, VPos::Center));
                let label = EmptyElement::at((end.max(zero), middle))
                    + Text::new(number(round3(bar.value)), (px(5) as i32, 0), style);
                chart.draw_series([label])?;
            }
        }
        self.draw_names(area, &chart.backend_coord(&(x.start, 0.0)), &chart.backend_coord(&(x.start, bottom)))
    }

    fn draw_names(&self, area: &Area<'_>, top: &(i32, i32), bottom: &(i32, i32)) -> Drawn {
        let (_, origin) = area.get_pixel_range();
        let group = f64::from(bottom.1 - top.1) / self.categories.len().max(1) as f64;
        for (i, name) in self.categories.iter().enumerate() {
            let middle = |from: f64| top.1 - origin.start + from as i32;
            let (x, y, side) = match self.name_line() {
                0 => (top.0 - px(8) as i32, middle((i as f64 + 0.5) * group), HPos::Right),
                line => (top.0, middle(i as f64 * group + f64::from(px(GAP + line)) / 2.0), HPos::Left),
            };
            area.draw(&Text::new(name.clone(), (x, y), text().pos(Pos::new(side, VPos::Center))))?;
        }
        Ok(())
    }
}

fn round3(value: f64) -> f64 {
    let digits = 10f64.powf((2.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0));
    (value * digits).round() / digits
}

/// Ticks of an axis, about.
const TICKS: f64 = 7.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisScale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long. Inside a plot positions on such an axis are log₂ of the numbers.
    Log,
}

#[derive(Clone, Debug)]
struct Axis {
    label: String,
    scale: AxisScale,
    /// Asked-for ends, in the data's numbers.
    low: Option<f64>,
    high: Option<f64>,
}

impl Axis {
    fn new(label: String) -> Axis {
        Axis { label, scale: AxisScale::Linear, low: None, high: None }
    }

    /// Returns a number's position; not finite if it has none.
    fn position(&self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => value,
            AxisScale::Log if value > 0.0 => value.log2(),
            AxisScale::Log => f64::NAN,
        }
    }

    /// Returns the positions to show: what was asked for, else all of `positions` and a little more. Never empty,
    /// always finite.
    fn range(&self, positions: impl Iterator<Item = f64>) -> Range<f64> {
        let finite = positions.filter(|at| at.is_finite());
        let (low, high) =
            finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), at| (l.min(at), h.max(at)));
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let margin = 0.03 * (high - low);
        let asked = |end: Option<f64>| end.map(|end| self.position(end)).filter(|at| at.is_finite());
        let low = asked(self.low).unwrap_or(low - margin);
        let high = asked(self.high).unwrap_or(high + margin);
        if high - low > 1e-9 * low.abs().max(high.abs()) { low..high } else { low - 0.5..low + 0.5 }
    }

    fn ticks(&self, range: &Range<f64>) -> Vec<f64> {
        let step = match self.scale {
            AxisScale::Linear => nice_step((range.end - range.start) / TICKS),
            AxisScale::Log => ((range.end - range.start) / TICKS).ceil().max(1.0),
        };
        let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    fn format(&self, position: f64) -> String {
        number(if self.scale == AxisScale::Log { position.exp2() } else { position })
    }
}

/// A stretch of an axis with its ticks, as plotters wants it. Its values are positions.
#[derive(Clone, Debug)]
struct Ticked<'a> {
    axis: &'a Axis,
    range: Range<f64>,
}

impl Ranged for Ticked<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (value - self.range.start) / (self.range.end - self.range.start);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.axis.ticks(&self.range) }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Ticked<'_> {
    fn format_ext(&self, position: &f64) -> String {
        self.axis.format(*position)
    }
}

fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|nice| nice * power)
        .find(|&nice| nice >= step * 0.999)
        .unwrap_or(step)
}

fn number(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = if scaled.abs() >= 10.0 { 1 } else { 3 };
    let text = format!("{scaled:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{suffix}", if text == "-0" { "0" } else { text })
}

/// Width of a plot, in the units of its `viewBox`; at this width in CSS pixels its text has its nominal size.
const WIDTH: u32 = 640;
/// Drawn pixels for one unit: plotters rounds to whole pixels.
const FINENESS: u32 = 4;
/// Height of the title.
const TITLE_LINE: u32 = 36;
/// Height of a line of the legend.
const LEGEND_LINE: u32 = 25;
/// Sizes of letters, as plotters counts them; in the SVG they are a fifth smaller.
const TITLE_SIZE: u32 = 23;
const TEXT_SIZE: u32 = 20;
/// Mean width of a letter, in its size: enough to place the entries of a legend.
const LETTER: f64 = 0.45;

/// Colours of series in light and dark surroundings: Okabe and Ito's, which the colour-blind can tell apart, shifted
/// for contrast.
const SERIES: [(&str, &str); 8] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8a3d"),
    ("#008a63", "#2fd3a3"),
    ("#b8528f", "#ee9acb"),
    ("#a87900", "#f0c53e"),
    ("#5a4fcf", "#a8a0ff"),
    ("#6b6b6b", "#b8b8b8"),
    ("#8c2d04", "#d9a383"),
];

/// Stand-in for the colour of text and axes.
const INK: RGBColor = RGBColor(1, 1, 0);
/// Stand-in for the colour of grid lines.
const GRID: RGBColor = RGBColor(1, 2, 0);
/// A thin line in ink.
const INK_STYLE: ShapeStyle =
    ShapeStyle { color: RGBAColor(INK.0, INK.1, INK.2, 1.0), filled: false, stroke_width: FINENESS };

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The result of drawing. Drawing into a string does not fail.
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

const fn px(units: u32) -> u32 {
    units * FINENESS
}

/// Returns the stand-in for the colour of the series at this place; colours repeat when they are used up.
fn series(place: usize) -> RGBColor {
    RGBColor(1, 0, (place % SERIES.len()) as u8)
}

fn text() -> TextStyle<'static> {
    ("sans-serif", px(TEXT_SIZE)).into_font().color(&INK)
}

fn mesh<'m, 'a, 'b, 'c, X, Y>(
    mesh: &'m mut MeshStyle<'a, 'b, X, Y, SVGBackend<'c>>,
) -> &'m mut MeshStyle<'a, 'b, X, Y, SVGBackend<'c>>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    mesh.label_style(text())
        .axis_desc_style(text())
        .axis_style(INK_STYLE)
        .bold_line_style(GRID.stroke_width(FINENESS))
        .light_line_style(TRANSPARENT)
}

struct Canvas<'a> {
    title: &'a str,
    /// Entries of the legend by place; nameless ones are not shown.
    names: &'a [&'a str],
    /// Height of the chart, units.
    height: u32,
}

impl Canvas<'_> {
    fn draw(&self, chart: impl FnOnce(&Area<'_>) -> Drawn) -> String {
        let entries = self.legend();
        let lines = entries.last().map_or(0, |last| last.line + 1);
        let head = TITLE_LINE + LEGEND_LINE * lines;
        let size = (WIDTH, head + self.height);
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (px(size.0), px(size.1))).into_drawing_area();
        let drawn = (|| {
            let (top, body) = root.split_vertically(px(head));
            let title = ("sans-serif", px(TITLE_SIZE)).into_font().style(FontStyle::Bold).color(&INK);
            top.draw(&Text::new(printable(self.title), (px(8) as i32, px(6) as i32), title))?;
            entries.iter().try_for_each(|entry| entry.draw(&top))?;
            chart(&body)?;
            root.present()
        })();
        drop(root);
        // Invariant: ranges are finite and not empty, and a string takes everything.
        drawn.expect("a plot with finite ranges, drawn into a string");
        finish(&svg, self.title, size)
    }

    fn legend(&self) -> Vec<LegendEntry<'_>> {
        let (mut left, mut line) = (8, 0);
        let mut entries = Vec::new();
        for (place, &name) in self.names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            let width = 40 + (LETTER * f64::from(TEXT_SIZE) * name.chars().count() as f64) as u32;
            if left + width > WIDTH && left > 8 {
                (left, line) = (8, line + 1);
            }
            entries.push(LegendEntry { place, name, left, line });
            left += width;
        }
        entries
    }
}

struct LegendEntry<'a> {
    place: usize,
    name: &'a str,
    left: u32,
    line: u32,
}

impl LegendEntry<'_> {
    fn draw(&self, area: &Area<'_>) -> Drawn {
        let middle = px(TITLE_LINE + LEGEND_LINE * self.line + LEGEND_LINE / 2) as i32;
        let patch = [
            (px(self.left) as i32, middle - px(5) as i32),
            (px(self.left + 16) as i32, middle + px(5) as i32),
        ];
        area.draw(&Rectangle::new(patch, series(self.place).filled()))?;
        let style = text().pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(printable(self.name), (px(self.left + 22) as i32, middle), style))
    }
}

/// Gives the SVG its classes, its style sheet, a name for screen readers, and no size of its own.
fn finish(svg: &str, title: &str, (width, height): (u32, u32)) -> String {
    let Some((_, body)) = svg.split_once('>') else { return svg.to_owned() };
    let mut body = body.to_owned();
    let stand_ins = [(INK, "zi".to_owned()), (GRID, "zg".to_owned())];
    let all =
        stand_ins.into_iter().chain((0..SERIES.len()).map(|place| (series(place), format!("z{place}"))));
    let (mut light, mut dark) = (css("i", "#1f2328"), css("i", "#e6e6e6"));
    light += &css("g", "#d9dce0");
    dark += &css("g", "#3d434b");
    for (place, (on_light, on_dark)) in SERIES.iter().enumerate() {
        light += &css(&place.to_string(), on_light);
        dark += &css(&place.to_string(), on_dark);
    }
    for (RGBColor(r, g, b), class) in all {
        let color = format!("#{r:02X}{g:02X}{b:02X}");
        for attribute in ["fill", "stroke"] {
            let kind = &attribute[..1];
            body = body.replace(&format!("{attribute}=\"{color}\""), &format!("class=\"{class}{kind}\""));
        }
    }
    let body = body.replace(" opacity=\"1\"", "").replace(" stroke=\"none\"", "");
    format!(
        "<svg viewBox=\"0 0 {} {}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" \
         style=\"max-width:{}px;width:100%;height:auto\">\n<style>text{{font-family:system-ui,sans-serif}}{light}\
         @media (prefers-color-scheme: dark){{{dark}}}</style>{body}",
        px(width),
        px(height),
        escape(title),
        width * 3 / 2,
    )
}

fn css(class: &str, color: &str) -> String {
    format!(".z{class}f{{fill:{color}}}.z{class}s{{stroke:{color}}}")
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
            .density("", &[(1.0, 2.0, 3.0), (1.1, 2.0, 300.0)]);
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

    #[test]
    fn a_density_merges_equal_neighbours_and_is_darkest_at_the_most_weight() {
        let points = [(0.5, 0.5, 1.0), (1.5, 0.5, 1.0), (9.5, 9.5, 1000.0)]
            .map(|(x, y, weight)| Part { weight, ..Part::point(&(x, y)) });
        let cells = density(&points, &(0.0..CELLS.0 as f64), &(0.0..CELLS.1 as f64));
        assert_eq!(cells.len(), 2);
        assert_eq!((cells[0].0, cells[0].1), ((0.0, 0.0), (2.0, 1.0)));
        assert_eq!(cells[1].2, 1.0);
    }

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

    /// A regression: `smooth(mle-pieces,move-weight=stakes)` began outside the picture.
    #[test]
    fn long_names_stand_above_their_bars() {
        let bar = Bar { value: 2.0, error: None };
        let places = ["short", "smooth(mle-pieces,move-weight=stakes,timeuse=tree)"].map(|name| {
            let svg = BarPlot::new("t", "x", &[name]).series("", &[bar]).to_svg();
            let place = svg[..svg.find(name).unwrap()].rsplit("<text ").next().unwrap().to_owned();
            place.contains("text-anchor=\"end\"")
        });
        assert_eq!(places, [true, false]);
    }

    #[test]
    fn numbers_are_short() {
        let cases =
            [(0.0, "0"), (-0.0, "0"), (0.25, "0.25"), (12.0, "12"), (4096.0, "4096"), (25000.0, "25k")];
        for (value, text) in cases.into_iter().chain([(1.5e6, "1.5M"), (-3.0, "-3"), (1e9, "1G")]) {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        let axis = Axis::new(String::new());
        assert_eq!(axis.ticks(&(0.0..100.0)), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(axis.ticks(&(-1.2..1.2)), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let log = Axis { scale: AxisScale::Log, ..axis };
        let ticks = log.ticks(&log.range([1.0, 128.0].map(|n| log.position(n)).into_iter()));
        assert_eq!(ticks.iter().map(|&at| log.format(at)).collect::<Vec<_>>(), ["1", "4", "16", "64"]);
    }

    #[test]
    fn long_legends_get_more_lines() {
        let names = ["mle-legacy(midpoint=45.2,steepness=5.93)"; 3];
        let canvas = Canvas { title: "t", names: &names, height: 100 };
        let lines: Vec<u32> = canvas.legend().iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [0, 1, 2]);
        let short = Canvas { title: "t", names: &["a", "", "b"], height: 100 };
        assert_eq!(
            short.legend().iter().map(|entry| (entry.place, entry.line)).collect::<Vec<_>>(),
            [(0, 0), (2, 0)]
        );
    }
}

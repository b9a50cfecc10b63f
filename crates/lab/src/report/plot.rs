//! Plots as SVG: lines and bands over two number axes.
//!
//! An SVG carries its colours for light and dark surroundings (`prefers-color-scheme`) as classes of the
//! style sheet at its head. It has no size of its own, so that it fills the width it is given.

use std::fmt::{Display, Write};
use std::ops::Range;

use itertools::Itertools;

use super::text::{escape, printable};

/// Height of a plot without its legend, in the units of its `viewBox`.
const HEIGHT: f64 = 400.0;
const BELOW: f64 = 54.0;
const BESIDE: f64 = 70.0;
const MARGIN: f64 = 14.0;

/// Things of one name share one colour and one entry of the legend. Nameless ones have none.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    pub(super) title: String,
    x: Axis,
    y: Axis,
    /// Names in the order of their colours. Layers refer to them by place.
    names: Vec<String>,
    layers: Vec<Layer>,
}

#[derive(Clone, Debug)]
struct Layer {
    place: usize,
    /// A band otherwise.
    is_line: bool,
    /// x, and the low and the high y, which are one in a line.
    points: Vec<[f64; 3]>,
}

impl Plot {
    /// The axes' labels name quantity and unit.
    pub fn new(title: impl Into<String>, x: impl Into<String>, y: impl Into<String>) -> Plot {
        let axis = |label| Axis {
            label,
            ..Axis::default()
        };
        Plot {
            title: title.into(),
            x: axis(x.into()),
            y: axis(y.into()),
            ..Plot::default()
        }
    }

    pub fn line(self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Plot {
        let points = points.into_iter().map(|(x, y)| [x, y, y]);
        self.layer(name, true, points.collect())
    }

    /// Adds a band between two edges: each x with the low and the high y.
    pub fn band(self, name: &str, edges: impl IntoIterator<Item = (f64, [f64; 2])>) -> Plot {
        let edges = edges.into_iter().map(|(x, [low, high])| [x, low, high]);
        self.layer(name, false, edges.collect())
    }

    fn layer(mut self, name: &str, is_line: bool, points: Vec<[f64; 3]>) -> Plot {
        let place = self.names.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        self.layers.push(Layer {
            place,
            is_line,
            points,
        });
        self
    }

    /// Lets y begin at `low`, as at zero.
    pub fn y_from(mut self, low: f64) -> Plot {
        self.y.low = Some(low);
        self
    }

    /// Makes the x axis logarithmic. Values that are not positive are left out.
    pub fn log_x(mut self) -> Plot {
        self.x.is_log = true;
        self
    }

    /// Makes the y axis logarithmic. Values that are not positive are left out.
    pub fn log_y(mut self) -> Plot {
        self.y.is_log = true;
        self
    }

    fn on_axes(&self, [x, low, high]: [f64; 3]) -> [f64; 3] {
        [self.x.position(x), self.y.position(low), self.y.position(high)]
    }

    /// A line needs two points.
    pub(crate) fn has_data(&self) -> bool {
        self.layers.iter().any(|layer| {
            let positions = layer.points.iter().map(|point| self.on_axes(*point));
            let shown = positions.filter(|point| point.iter().all(|at| at.is_finite()));
            shown.count() > usize::from(layer.is_line)
        })
    }

    pub(super) fn renamed(&self, name: impl Fn(&str) -> String) -> Plot {
        Plot {
            names: self.names.iter().map(|old| name(old)).collect(),
            ..self.clone()
        }
    }

    pub fn to_svg(&self) -> String {
        let mut svg = Svg::new(&self.title, &self.names);
        let on_axes = |layer: &Layer| {
            let points = layer.points.iter().map(|point| self.on_axes(*point)).collect();
            Layer { points, ..*layer }
        };
        let layers: Vec<_> = self.layers.iter().map(on_axes).collect();
        let points = || layers.iter().flat_map(|layer| &layer.points);
        let x = self.x.range(points().map(|point| point[0]));
        let y = self.y.range(points().flat_map(|&[_, low, high]| [low, high]));
        let frame = Frame {
            x,
            y,
            top: svg.top + 6.0,
            bottom: svg.top + HEIGHT - BELOW,
        };
        svg.x_axis(&frame, &self.x);
        svg.y_axis(&frame, &self.y);
        for layer in &layers {
            svg.layer(&frame, layer);
        }
        // Over the layers, so that they stand on a line.
        svg.polyline([(BESIDE, frame.bottom), (RIGHT, frame.bottom)], "zis", 1);
        svg.finish(&self.title)
    }
}

/// Ticks of an axis, about.
const TICKS: f64 = 7.0;

#[derive(Clone, Debug, Default)]
struct Axis {
    label: String,
    /// Equal ratios are equally long. Inside a plot positions on such an axis are log₂ of the numbers.
    is_log: bool,
    /// As asked for, in the data's numbers.
    low: Option<f64>,
}

impl Axis {
    /// Not finite where there is none.
    fn position(&self, value: f64) -> f64 {
        if self.is_log { value.log2() } else { value }
    }

    /// The positions to show: what was asked for, else all of `positions` and a little more. Always finite.
    fn range(&self, positions: impl Iterator<Item = f64>) -> Range<f64> {
        let finite = positions.filter(|at| at.is_finite());
        let (low, high) = finite.minmax().into_option().unwrap_or((0.0, 1.0));
        let margin = 0.03 * (high - low);
        let asked = self.low.map(|end| self.position(end)).filter(|at| at.is_finite());
        let low = asked.unwrap_or(low - margin);
        let high = high + margin;
        if high - low > 1e-9 * low.abs().max(high.abs()) {
            low..high
        } else {
            low - 0.5..low + 0.5
        }
    }

    fn ticks(&self, range: &Range<f64>) -> Vec<f64> {
        let least = (range.end - range.start) / TICKS;
        let step = if self.is_log {
            least.ceil().max(1.0)
        } else {
            nice_step(least)
        };
        let first = (range.start / step).ceil() as i64;
        let last = (range.end / step).floor() as i64;
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    fn format(&self, position: f64) -> String {
        number(if self.is_log { position.exp2() } else { position })
    }
}

fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].map(|nice| nice * power);
    let nice = nice.into_iter().find(|&nice| nice >= step * 0.999);
    nice.unwrap_or(step)
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

/// Width of a plot, in the units of its `viewBox`, in which text has its nominal size.
const WIDTH: f64 = 640.0;
const RIGHT: f64 = WIDTH - MARGIN;
const TITLE_LINE: f64 = 36.0;
const LEGEND_LINE: f64 = 25.0;
/// Width of a line's sample in the legend, which shows its pattern.
const SAMPLE: f64 = 30.0;
/// Mean width of a letter on a narrow screen.
const LETTER: f64 = 11.0;

/// Colours of series in light and dark surroundings: Okabe and Ito's, which the colour-blind can tell apart,
/// shifted for contrast.
const SERIES: [(&str, &str); 9] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8a3d"),
    ("#008a63", "#2fd3a3"),
    ("#b8528f", "#ee9acb"),
    ("#a87900", "#f0c53e"),
    ("#5a4fcf", "#a8a0ff"),
    ("#6b6b6b", "#b8b8b8"),
    ("#8c2d04", "#d9a383"),
    ("#4d7c0f", "#a3d14b"),
];
/// Patterns of lines, as lengths of dashes and gaps, which tell them apart without colours.
const DASHES: [&str; 5] = ["", "9 5", "3 4", "14 4 3 4", "9 3 3 3 3 3"];

/// Colours repeat when they are used up.
fn series(place: usize) -> String {
    format!("z{}", place % SERIES.len())
}

fn line_of_series(place: usize) -> String {
    format!("{}s zd{}", series(place), place % DASHES.len())
}

/// The stretches of two axes, in positions, and the place of the plot in the picture.
struct Frame {
    x: Range<f64>,
    y: Range<f64>,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn x_at(&self, x: f64) -> f64 {
        BESIDE + (x - self.x.start) / (self.x.end - self.x.start) * (RIGHT - BESIDE)
    }

    fn y_at(&self, y: f64) -> f64 {
        self.bottom + (y - self.y.start) / (self.y.end - self.y.start) * (self.top - self.bottom)
    }

    fn within(&self, x: f64, y: f64) -> (f64, f64) {
        let x = x.max(self.x.start).min(self.x.end);
        let y = y.max(self.y.start).min(self.y.end);
        (self.x_at(x), self.y_at(y))
    }
}

/// A picture in the making, with its title and legend at the top.
struct Svg {
    body: String,
    /// The top of what is below the legend.
    top: f64,
}

impl Svg {
    /// Only names that are not empty have an entry of the legend.
    fn new(title: &str, names: &[String]) -> Svg {
        let entries = legend(names);
        let top = TITLE_LINE + LEGEND_LINE * entries.last().map_or(0.0, |last| last.line + 1.0);
        let mut svg = Svg {
            body: String::new(),
            top,
        };
        let title = escape(title);
        svg.put(format_args!(
            "<text class=\"zif zt\" x=\"8\" y=\"22\">{title}</text>"
        ));
        for entry in entries {
            let middle = TITLE_LINE + LEGEND_LINE * (entry.line + 0.5);
            let end = entry.left + SAMPLE;
            let sample = [(entry.left, middle), (end, middle)];
            svg.polyline(sample, &line_of_series(entry.place), 3);
            svg.text((end + 6.0, middle), "start", &printable(entry.name));
        }
        svg
    }

    /// Gives the picture its style sheet, a name for screen readers, and no size of its own.
    fn finish(self, title: &str) -> String {
        let mut light = css("i", "#1f2328") + &css("g", "#d9dce0");
        let mut dark = css("i", "#e6e6e6") + &css("g", "#3d434b");
        for (place, (on_light, on_dark)) in SERIES.iter().enumerate() {
            light += &css(&place.to_string(), on_light);
            dark += &css(&place.to_string(), on_dark);
        }
        for (place, dashes) in DASHES.iter().enumerate().skip(1) {
            light += &format!(".zd{place}{{stroke-dasharray:{dashes}}}");
        }
        let Svg { body, top } = self;
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {:.0}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{}\" \
             style=\"max-width:{}px;width:100%;height:auto\">\n<style>text{{font:16px system-ui,sans-serif}}.zt{{font-weight:bold}}\
             @media (max-width:30rem){{text{{font-size:20px}}}}polyline{{fill:none}}{light}@media (prefers-color-scheme: dark){{{dark}}}</style>\n{body}</svg>\n",
            top + HEIGHT,
            escape(title),
            WIDTH,
        )
    }

    fn put(&mut self, element: impl Display) {
        // Writing into a string does not fail.
        let _ = writeln!(self.body, "{element}");
    }

    fn polyline(&mut self, points: impl IntoIterator<Item = (f64, f64)>, class: &str, width: u32) {
        let points = coordinates(points);
        self.put(format_args!(
            "<polyline class=\"{class}\" stroke-width=\"{width}\" points=\"{points}\"/>"
        ));
    }

    /// Writes text around `y`, with `x` at its start, middle or end.
    fn text(&mut self, (x, y): (f64, f64), anchor: &str, text: &str) {
        let text = escape(text);
        self.put(format_args!(
            "<text class=\"zif\" x=\"{x:.1}\" y=\"{y:.1}\" dy=\".35em\" text-anchor=\"{anchor}\">{text}</text>"
        ));
    }

    fn x_axis(&mut self, frame: &Frame, axis: &Axis) {
        for tick in axis.ticks(&frame.x) {
            let x = frame.x_at(tick);
            self.polyline([(x, frame.top), (x, frame.bottom)], "zgs", 1);
            self.text((x, frame.bottom + 14.0), "middle", &axis.format(tick));
        }
        self.text(
            (0.5 * (BESIDE + RIGHT), frame.bottom + 38.0),
            "middle",
            &axis.label,
        );
    }

    fn y_axis(&mut self, frame: &Frame, axis: &Axis) {
        for tick in axis.ticks(&frame.y) {
            let y = frame.y_at(tick);
            self.polyline([(BESIDE, y), (RIGHT, y)], "zgs", 1);
            self.text((BESIDE - 6.0, y), "end", &axis.format(tick));
        }
        self.polyline([(BESIDE, frame.top), (BESIDE, frame.bottom)], "zis", 1);
        let middle = 0.5 * (frame.top + frame.bottom);
        let label = escape(&axis.label);
        self.put(format_args!(
            "<text class=\"zif\" transform=\"translate(18 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{label}</text>"
        ));
    }

    fn layer(&mut self, frame: &Frame, layer: &Layer) {
        let shown = |[x, low, high]: &[f64; 3]| {
            (frame.x.start..=frame.x.end).contains(x) && low.is_finite() && high.is_finite()
        };
        let low = |point: &[f64; 3]| frame.within(point[0], point[1]);
        let high = |point: &[f64; 3]| frame.within(point[0], point[2]);
        if layer.is_line {
            for piece in layer.points.split(|point| !shown(point)) {
                if !piece.is_empty() {
                    self.polyline(piece.iter().map(low), &line_of_series(layer.place), 2);
                }
            }
            return;
        }
        let edges: Vec<_> = layer.points.iter().copied().filter(shown).collect();
        let outline = coordinates(edges.iter().map(low).chain(edges.iter().rev().map(high)));
        let series = series(layer.place);
        self.put(format_args!(
            "<polygon class=\"{series}f\" opacity=\"0.22\" points=\"{outline}\"/>"
        ));
    }
}

fn coordinates(points: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut points = points.into_iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
    points.join(" ")
}

struct LegendEntry<'a> {
    place: usize,
    name: &'a str,
    left: f64,
    line: f64,
}

fn legend(names: &[String]) -> Vec<LegendEntry<'_>> {
    let mut left = 8.0;
    let mut line = 0.0;
    let mut entries = Vec::new();
    for (place, name) in names.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
        let width = SAMPLE + 24.0 + LETTER * name.chars().count() as f64;
        if left + width > WIDTH && left > 8.0 {
            left = 8.0;
            line += 1.0;
        }
        entries.push(LegendEntry {
            place,
            name,
            left,
            line,
        });
        left += width;
    }
    entries
}

fn css(class: &str, color: &str) -> String {
    format!(".z{class}f{{fill:{color}}}.z{class}s{{stroke:{color}}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_of_layer_gives_well_formed_svg() {
        let points: Vec<_> = (0..50).map(|i| (f64::from(i), f64::from(i * i) / 7.0)).collect();
        let plot = Plot::new("A < B & \"C\"", "x, plies", "y, full moves")
            .line("line", points)
            .band("line", [(0.0, [1.0, 2.0]), (5.0, [3.0, 9.0])]);
        let svg = plot.to_svg();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("A &lt; B &amp; &quot;C&quot;"));
        assert_eq!(svg.matches(">line<").count(), 1, "one entry in the legend");
        assert!(svg.contains("prefers-color-scheme: dark"));
    }

    #[test]
    fn plots_of_nothing_and_of_nonsense_are_drawn() {
        for points in [
            vec![],
            vec![(1.0, 1.0)],
            vec![(f64::NAN, 1.0), (0.0, f64::INFINITY)],
        ] {
            let plot = Plot::new("t", "x", "y").line("a", points);
            assert!(plot.clone().to_svg().contains("</svg>"));
            assert!(plot.log_x().log_y().to_svg().contains("</svg>"));
        }
    }

    #[test]
    fn what_lies_outside_the_range_is_not_drawn_over_the_labels() {
        let svg = Plot::new("t", "x", "y")
            .line("a", [(0.0, -1e6), (1.0, 1.0)])
            .y_from(0.0)
            .to_svg();
        let coordinates = svg.split("points=\"").skip(1).flat_map(|rest| {
            rest.split('"')
                .next()
                .unwrap_or("")
                .split([' ', ','])
                .map(|n| n.parse::<f64>().unwrap())
        });
        assert!(coordinates.into_iter().all(|n| (0.0..=WIDTH).contains(&n)));
    }

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (0.25, "0.25"),
            (12.0, "12"),
            (4096.0, "4096"),
            (25000.0, "25k"),
        ];
        for (value, text) in cases
            .into_iter()
            .chain([(1.5e6, "1.5M"), (-3.0, "-3"), (1e9, "1G")])
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        let axis = Axis::default();
        assert_eq!(axis.ticks(&(0.0..100.0)), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(axis.ticks(&(-1.2..1.2)), [-1.0, -0.5, 0.0, 0.5, 1.0]);
        let log = Axis { is_log: true, ..axis };
        let ticks = log.ticks(&log.range([1.0, 128.0].map(|n| log.position(n)).into_iter()));
        assert_eq!(
            ticks.iter().map(|&at| log.format(at)).collect::<Vec<_>>(),
            ["1", "4", "16", "64"]
        );
    }

    /// A regression: of nine managers two had one colour, and all lines looked alike in print.
    #[test]
    fn nine_series_have_nine_colours_and_lines_differ_without_them() {
        let colors: BTreeSet<_> = SERIES.iter().flat_map(|&(light, dark)| [light, dark]).collect();
        assert_eq!(colors.len(), 2 * SERIES.len());
        let names: Vec<_> = (0..20).map(|place| format!("manager {place}")).collect();
        let points = [(0.0, 0.0), (1.0, 1.0)];
        let plot = names
            .iter()
            .fold(Plot::new("t", "x", "y"), |plot, name| plot.line(name, points));
        let svg = plot.to_svg();
        let lines = svg.lines().filter(|line| line.contains(" zd"));
        let classes: Vec<_> = lines.map(|line| line.split('"').nth(1).unwrap()).collect();
        // Each in the legend and in the plot.
        assert_eq!(
            (classes.len(), classes.iter().collect::<BTreeSet<_>>().len()),
            (40, 20),
            "{classes:?}"
        );
        assert!(svg.contains(".zd4{stroke-dasharray:"), "{svg}");
    }

    #[test]
    fn long_legends_get_more_lines() {
        let names = ["mle-legacy(midpoint=45.2,steepness=5.93)"; 3];
        let lines = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            legend(&names)
                .iter()
                .map(|entry| (entry.place, entry.line))
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(&names), [(0, 0.0), (1, 1.0), (2, 2.0)]);
        assert_eq!(lines(&["a", "", "b"]), [(0, 0.0), (2, 0.0)]);
    }
}

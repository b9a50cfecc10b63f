//! The parts that all plots share: size, title, legend, colours for light and dark.
//!
//! `plotters` knows fixed colours only. Plots are drawn in stand-ins, each the number of a class; [`finish`] puts the
//! class in the place of the stand-in, and a style sheet inside the SVG gives the class its colour in light and in
//! dark.

use plotters::chart::MeshStyle;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::page::{escape, printable};

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
pub(super) const INK: RGBColor = RGBColor(1, 1, 0);
/// Stand-in for the colour of grid lines.
const GRID: RGBColor = RGBColor(1, 2, 0);
/// A thin line in ink.
pub(super) const INK_STYLE: ShapeStyle =
    ShapeStyle { color: RGBAColor(INK.0, INK.1, INK.2, 1.0), filled: false, stroke_width: FINENESS };

/// The backend that all plots draw with.
pub(super) type SvgBackend<'a> = SVGBackend<'a>;
/// The area in which a chart is drawn.
pub(super) type Area<'a> = DrawingArea<SvgBackend<'a>, Shift>;
/// The result of drawing. Drawing into a string does not fail.
pub(super) type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Returns units as pixels.
pub(super) const fn px(units: u32) -> u32 {
    units * FINENESS
}

/// Returns the stand-in for the colour of the series at this place; colours repeat when they are used up.
pub(super) fn series(place: usize) -> RGBColor {
    RGBColor(1, 0, (place % SERIES.len()) as u8)
}

/// Returns the style of text of the usual size.
pub(super) fn text() -> TextStyle<'static> {
    ("sans-serif", px(TEXT_SIZE)).into_font().color(&INK)
}

/// Sets what the meshes of all plots share.
pub(super) fn mesh<'m, 'a, 'b, 'c, X, Y>(
    mesh: &'m mut MeshStyle<'a, 'b, X, Y, SvgBackend<'c>>,
) -> &'m mut MeshStyle<'a, 'b, X, Y, SvgBackend<'c>>
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

/// A picture with a title and a legend.
pub(super) struct Canvas<'a> {
    pub(super) title: &'a str,
    /// Entries of the legend by place; nameless ones are not shown.
    pub(super) names: &'a [&'a str],
    /// Height of the chart, units.
    pub(super) height: u32,
}

impl Canvas<'_> {
    /// Returns the SVG with what `chart` draws below title and legend.
    pub(super) fn draw(&self, chart: impl FnOnce(&Area<'_>) -> Drawn) -> String {
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

    /// Returns the legend's entries, placed in lines.
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

/// An entry of a legend: a patch of the series' colour and its name.
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

/// Returns fill and stroke of a class.
fn css(class: &str, color: &str) -> String {
    format!(".z{class}f{{fill:{color}}}.z{class}s{{stroke:{color}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

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

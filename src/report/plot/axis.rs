//! An axis: its range, its ticks, how its numbers are written.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// Ticks of an axis, about.
const TICKS: f64 = 7.0;

/// The way in which numbers become lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisScale {
    /// Equal differences are equally long.
    Linear,
    /// Equal ratios are equally long. Inside a plot positions on such an axis are log₂ of the numbers.
    Log,
}

/// An axis before the data's range is known.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub(super) label: String,
    pub(super) scale: AxisScale,
    /// Asked-for ends, in the data's numbers.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

impl Axis {
    pub(super) fn new(label: String) -> Axis {
        Axis { label, scale: AxisScale::Linear, low: None, high: None }
    }

    /// Returns a number's position; not finite if it has none.
    pub(super) fn position(&self, value: f64) -> f64 {
        match self.scale {
            AxisScale::Linear => value,
            AxisScale::Log if value > 0.0 => value.log2(),
            AxisScale::Log => f64::NAN,
        }
    }

    /// Returns the positions to show: what was asked for, else all of `positions` and a little more. Never empty,
    /// always finite.
    pub(super) fn range(&self, positions: impl Iterator<Item = f64>) -> Range<f64> {
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

    /// Returns the positions of the ticks.
    pub(super) fn ticks(&self, range: &Range<f64>) -> Vec<f64> {
        let step = match self.scale {
            AxisScale::Linear => nice_step((range.end - range.start) / TICKS),
            AxisScale::Log => ((range.end - range.start) / TICKS).ceil().max(1.0),
        };
        let (first, last) = ((range.start / step).ceil() as i64, (range.end / step).floor() as i64);
        (first..=last).map(|tick| tick as f64 * step).collect()
    }

    /// Returns the number at a position, as it is written at a tick.
    pub(super) fn format(&self, position: f64) -> String {
        number(if self.scale == AxisScale::Log { position.exp2() } else { position })
    }
}

/// A stretch of an axis with its ticks, as plotters wants it. Its values are positions.
#[derive(Clone, Debug)]
pub(super) struct Ticked<'a> {
    pub(super) axis: &'a Axis,
    pub(super) range: Range<f64>,
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

/// Returns the next of 1, 2, 5, 10, 20, … and their fractions.
fn nice_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|nice| nice * power)
        .find(|&nice| nice >= step * 0.999)
        .unwrap_or(step)
}

/// Returns a short text for a number: `0.25`, `12`, `4096`, `25k`, `1.5M`.
pub(super) fn number(value: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}

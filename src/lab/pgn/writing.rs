//! What all writers of PGN have in common: tags, times, lines that are not too long.

use std::io::{self, Write};

/// Most columns of the movetext.
const WIDTH: usize = 100;

/// Writes a tag.
///
/// # Errors
/// The error of `out`.
pub(in crate::lab) fn tag(out: &mut impl Write, name: &str, value: &str) -> io::Result<()> {
    // A line of its own would end the tag.
    let value: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    writeln!(out, "[{name} \"{}\"]", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes a time as `H:MM:SS.mmm`.
pub(in crate::lab) fn hours(ms: f64) -> String {
    let ms = ms.max(0.0).round() as u64;
    let seconds = ms / 1000;
    format!("{}:{:02}:{:02}.{:03}", seconds / 3600, seconds / 60 % 60, seconds % 60, ms % 1000)
}

/// Writes text, broken at spaces so that lines stay within [`WIDTH`].
///
/// # Errors
/// The error of `out`.
pub(in crate::lab) fn write_wrapped(out: &mut impl Write, text: &str) -> io::Result<()> {
    let mut column = 0;
    for word in text.split(' ') {
        if column > 0 && column + 1 + word.len() > WIDTH {
            writeln!(out)?;
            column = 0;
        } else if column > 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += word.len();
    }
    writeln!(out)
}

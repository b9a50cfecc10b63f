//! Holds the positions to bench on: ten built-in ones, sixty for `--spoil`, or a file's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;

use super::super::Failure;
use crate::chess::split_epd;

/// The built-in positions: an opening, a tactical mess, and positions of the Bratko–Kopec test from middlegame to endgame.
pub(super) const BUILT_IN: [&str; 10] = [
    "startpos",
    "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "fen r1b2rk1/2q1b1pp/p2ppn2/1p6/3QP3/1BN1B3/PPP3PP/R4RK1 w - - 0 1",
    "fen r3r1k1/ppqb1ppp/8/4p1NQ/8/2P5/PP3PPP/R3R1K1 b - - 0 1",
    "fen rnbqkb1r/p3pppp/1p6/2ppP3/3N4/2P5/PPP1QPPP/R1B1KB1R w KQkq - 0 1",
    "fen 2q1rr1k/3bbnnp/p2p1pp1/2pPp3/PpP1P1P1/1P2BNNP/2BQ1PRK/7R b - - 0 1",
    "fen 2r2rk1/1bqnbpp1/1p1ppn1p/pP6/N1P1P3/P2B1N1P/1B2QPP1/R2R2K1 b - - 0 1",
    "fen 3r1k2/4npp1/1ppr3p/p6P/P2PPPP1/1NR5/5K2/2R5 w - - 0 1",
    "fen 8/8/1p1r1k2/p1pPN1p1/P3KnP1/1P6/8/3R4 b - - 0 1",
    "fen 8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
];

/// The positions of `--spoil`, in the form that [`read`] takes.
const FOR_SPOIL: &str = include_str!("spoil_positions.txt");

/// Returns the positions of `--spoil`.
pub(super) fn for_spoil() -> Vec<String> {
    parse(FOR_SPOIL)
}

/// The options that say which positions are searched.
#[derive(Debug, Args)]
pub(in crate::tools) struct PositionArgs {
    /// Number of the positions to search
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    num_positions: Option<u32>,
    /// Search this position only
    #[arg(long, value_name = "FEN", conflicts_with = "positions")]
    fen: Option<String>,
    /// Positions to search, one a line: FEN, EPD, or as after UCI's `position`; - is standard input [default: built-in ones, ten with
    /// bench, 60 with bench --spoil, Lc0's 34 with benchmark]
    #[arg(long, value_name = "FILE")]
    positions: Option<PathBuf>,
}

impl PositionArgs {
    /// Returns the positions to search, as after UCI's `position`; unless some are named, the first ones of `default`.
    ///
    /// # Errors
    /// [`Failure`] if the file cannot be read or holds no position.
    pub(in crate::tools) fn read_or(
        &self,
        default: impl FnOnce() -> Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let mut positions = match (&self.fen, &self.positions) {
            (Some(fen), _) => vec![format!("fen {fen}")],
            (None, Some(file)) => read(file)?,
            (None, None) => default(),
        };
        positions.truncate(self.num_positions.map_or(usize::MAX, |count| count as usize));
        Ok(positions)
    }

    /// Returns the flags that say the same, with their values.
    pub(in crate::tools) fn flags(&self) -> Vec<(&'static str, String)> {
        let count = self.num_positions.map(|count| ("num-positions", count.to_string()));
        let fen = self.fen.clone().map(|fen| ("fen", fen));
        let file = self.positions.as_ref().map(|file| ("positions", file.display().to_string()));
        count.into_iter().chain(fen).chain(file).collect()
    }

    /// Returns whether nothing is said about them.
    pub(super) fn is_default(&self) -> bool {
        self.num_positions.is_none() && self.fen.is_none() && self.positions.is_none()
    }
}

/// Reads the positions in the lines of a file, or of stdin where its name is `-`.
///
/// # Errors
/// [`Failure`] if the file cannot be read or holds no position.
fn read(file: &Path) -> Result<Vec<String>, Failure> {
    let is_stdin = file.as_os_str() == "-";
    let text = if is_stdin { io::read_to_string(io::stdin()) } else { fs::read_to_string(file) };
    let text =
        text.map_err(|error| Failure::Input(format!("{}: cannot be read: {error}", file.display())))?;
    let positions = parse(&text);
    if positions.is_empty() {
        return Err(Failure::Input(format!("{}: no position in it", file.display())));
    }
    Ok(positions)
}

fn parse(text: &str) -> Vec<String> {
    text.lines().filter_map(position_in).collect()
}

/// Returns the position in a line as UCI's `position` takes it. The line holds `startpos …`, `fen …`, or a FEN or EPD. Empty lines
/// and `#` comments have none.
pub(in crate::tools) fn position_in(line: &str) -> Option<String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let is_complete = matches!(line.split_ascii_whitespace().next(), Some("startpos" | "fen"));
    Some(if is_complete { line.into() } else { format!("fen {}", split_epd(line).0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{History, Variant};

    #[test]
    fn built_in_positions_are_positions() {
        let for_spoil = for_spoil();
        assert_eq!(for_spoil.len(), 60);
        for text in BUILT_IN.into_iter().chain(for_spoil.iter().map(String::as_str)) {
            let history = History::from_uci_position(text, Variant::Standard).unwrap();
            assert!(!history.legal_moves().is_empty(), "{text}");
        }
    }

    #[test]
    fn epd_operations_are_cut_off() {
        let fen = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -";
        for (line, position) in [
            (format!("{fen} bm b4f4; id \"x\";"), Some(format!("fen {fen} 0 1"))),
            (format!(" {fen} 0 1\r"), Some(format!("fen {fen} 0 1"))),
            ("startpos moves e2e4".into(), Some("startpos moves e2e4".into())),
            ("# mine".into(), None),
            (" ".into(), None),
        ] {
            assert_eq!(position_in(&line), position);
        }
    }
}

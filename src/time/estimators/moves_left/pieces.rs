//! Moves left by the number of pieces on the board.

use crate::options::option_group;
use crate::time::parameters::Named;

use super::{Estimate, MovesLeftEstimate, MovesLeftInput};

/// Fewest and most pieces of a legal position.
const FEWEST: u32 = 2;
const MOST: u32 = 32;

/// Median number of full moves that our side still has to make, for 2, 3, … 32 pieces on the board.
///
/// The values from 8 pieces on come from 3,081 games of TCEC (every eighth of the 24,966 games in
/// TCEC-Chess/tcecgames, without abandoned ones; moves to the game's end, adjudication included). Below, where TCEC
/// adjudicates by tablebases, they come from 2,556 games that Stockfish 15.1 played against itself to mate. Pooling
/// adjacent violators made them monotone. Fitted on every other of the TCEC games, the table's mean absolute error on
/// the rest is 20.8 moves (bias −8.1), where the log-logistic curve of `mle-legacy` has 24.1 (−19.6).
const MEDIAN_MOVES: [f64; (MOST - FEWEST + 1) as usize] = [
    12.7, 12.7, 12.7, 12.7, 12.7, 12.7, 12.7, 15.0, 15.0, 18.6, 18.6, 21.5, 21.5, 24.0, 24.0, 26.0, 27.0,
    29.0, 33.0, 33.0, 37.0, 37.0, 41.0, 42.0, 45.7, 45.7, 48.0, 49.0, 54.0, 56.0, 59.0,
];

/// Numbers of pieces for which parameters give the table's value.
pub const KNOTS: [u32; 5] = [2, 8, 16, 24, 32];

option_group! {
    /// `mle-pieces`: estimates moves left by a table of medians. The differences between the values given here and the table change
    /// evenly from one number of pieces to the next.
    #[derive(Copy)]
    pub struct PieceCountTable {
        /// Factor on all estimates of the table.
        scale: f64 = 1.0, in 0.01..=100.0, "scale";
        /// Estimate in full moves with 2 pieces on the board.
        at_2: f64 = median(KNOTS[0]), in 1.0..=1000.0, "at-2";
        /// Estimate in full moves with 8 pieces on the board.
        at_8: f64 = median(KNOTS[1]), in 1.0..=1000.0, "at-8";
        /// Estimate in full moves with 16 pieces on the board.
        at_16: f64 = median(KNOTS[2]), in 1.0..=1000.0, "at-16";
        /// Estimate in full moves with 24 pieces on the board.
        at_24: f64 = median(KNOTS[3]), in 1.0..=1000.0, "at-24";
        /// Estimate in full moves with 32 pieces on the board.
        at_32: f64 = median(KNOTS[4]), in 1.0..=1000.0, "at-32";
    }
}

/// The names of the parameters that belong to [`KNOTS`].
pub const KNOT_KEYS: [&str; KNOTS.len()] = ["at-2", "at-8", "at-16", "at-24", "at-32"];

/// Returns the entry of the table for `pieces` pieces.
const fn median(pieces: u32) -> f64 {
    MEDIAN_MOVES[(pieces - FEWEST) as usize]
}

impl Named for PieceCountTable {
    const NAME: &'static str = "mle-pieces";
    const SUMMARY: &'static str = "A table by the number of pieces on the board. It holds medians over 3,081 games of TCEC, and \
                                   below 8 pieces over games played to mate. A value given for 2, 8, 16, 24 or 32 pieces changes \
                                   the table between its neighbours.";
    type Params = PieceCountTable;

    fn new(params: PieceCountTable) -> Self {
        params
    }
}

impl Estimate for PieceCountTable {
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        MovesLeftEstimate { moves: self.moves_left(input.pieces), source: Self::NAME }
    }
}

impl PieceCountTable {
    /// Makes a table with these full moves of our side for the numbers of pieces in [`KNOTS`].
    pub fn through([at_2, at_8, at_16, at_24, at_32]: [f64; KNOTS.len()]) -> Self {
        PieceCountTable { at_2, at_8, at_16, at_24, at_32, ..PieceCountTable::default() }
    }

    /// Returns the full moves of our side for the numbers of pieces in [`KNOTS`], without the factor.
    pub(crate) fn knots(&self) -> [f64; KNOTS.len()] {
        [self.at_2, self.at_8, self.at_16, self.at_24, self.at_32]
    }

    /// Returns the full moves of our side with `pieces` pieces on the board, kings included; numbers that no position has
    /// count as the nearest one.
    pub(crate) fn moves_left(&self, pieces: u32) -> f64 {
        let pieces = pieces.clamp(FEWEST, MOST);
        let above = KNOTS.partition_point(|&knot| knot < pieces).max(1);
        let knots = self.knots();
        let bend = |knot: usize| knots[knot] - median(KNOTS[knot]);
        let (low, high) = (KNOTS[above - 1], KNOTS[above]);
        let share = f64::from(pieces - low) / f64::from(high - low);
        self.scale * (median(pieces) + bend(above - 1) * (1.0 - share) + bend(above) * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn from_the_start_to_bare_kings() {
        let table = PieceCountTable::default();
        assert_eq!(table.moves_left(32), 59.0);
        assert_eq!(table.moves_left(17), 26.0);
        assert_eq!(table.moves_left(2), 12.7);
        assert_eq!(table.moves_left(0), 12.7);
        assert_eq!(table.moves_left(99), 59.0);
        assert_eq!(PieceCountTable { scale: 2.0, ..table }.moves_left(17), 52.0);
    }

    #[test]
    fn a_knot_bends_the_table_up_to_its_neighbours() {
        let table = PieceCountTable::default();
        let bent = PieceCountTable { at_24: table.at_24 + 8.0, ..table };
        let added = |pieces| bent.moves_left(pieces) - table.moves_left(pieces);
        assert_eq!([2, 16, 18, 24, 31, 32].map(added), [0.0, 0.0, 2.0, 8.0, 1.0, 0.0]);
    }

    #[test]
    fn fewer_pieces_never_mean_a_longer_game() {
        assert!(MEDIAN_MOVES.is_sorted());
    }
}

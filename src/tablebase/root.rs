//! Finds the root moves that keep the best result: by distances to the next capture or pawn move (DTZ) exactly under
//! the fifty-move rule, or without such tables by results alone.
//!
//! The order of moves is that of Lc0's and Stockfish's root probes.

use std::cmp::Reverse;

use shakmaty_syzygy::{Dtz, MaybeRounded};

use super::Tablebase;
use crate::chess::{History, Move, Position};

/// The first ply at which a draw by the fifty-move rule can be claimed.
const FIFTY_MOVES: i64 = 100;

/// The pace at which a win is to be brought home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootPace {
    /// Any move that keeps the win will do; the search chooses among them.
    Free,
    /// Only the moves will do that lead to the next capture, pawn move or mate soonest.
    Fastest,
}

/// The kind of tables that root moves were chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootTables {
    /// Tables of distances (DTZ): the fifty-move counter is taken into account.
    Dtz,
    /// Tables of results only (WDL): a win is kept, but not brought nearer.
    Wdl,
}

/// Root moves that keep the best result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootMoves {
    /// The moves; at least one.
    pub moves: Vec<Move>,
    /// The tables by which they were chosen.
    pub tables: RootTables,
    /// Positions found in the tables.
    pub hits: u64,
}

/// The prospect after a root move, from worst to best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Prospect {
    /// A loss, whatever is played.
    Loss,
    /// A loss that the fifty-move rule prevents or comes near to: plies by then on its counter.
    LateLoss(i64),
    Draw,
    /// A win that the fifty-move rule may prevent, or that has to be hurried: plies by then on its counter.
    LateWin(Reverse<i64>),
    /// A win with time to spare.
    Win,
}

impl Prospect {
    /// Returns the prospect of a move with distance `dtz` at the fifty-move counter `rule50`, both before the move.
    fn of(dtz: MaybeRounded<Dtz>, rule50: u32, pace: RootPace) -> Prospect {
        let (plies, rule50) = (i64::from(i32::from(dtz.ignore_rounding())), i64::from(rule50));
        // Rounded distances may be one ply too short.
        let rounding = i64::from(dtz.precise().is_none());
        let in_time = plies + rule50 + rounding <= FIFTY_MOVES;
        match plies {
            0 => Prospect::Draw,
            1.. if in_time && pace == RootPace::Free => Prospect::Win,
            1.. => Prospect::LateWin(Reverse(plies + rule50)),
            // With half of the time to spare the defender need not count plies.
            _ if rule50 - 2 * plies < FIFTY_MOVES => Prospect::Loss,
            _ => Prospect::LateLoss(rule50 - plies),
        }
    }
}

impl Tablebase {
    /// Returns those of `candidates`, legal moves of the last position of `game`, that keep the best result that one of them
    /// can reach; `None` if the tables do not know all of them.
    ///
    /// If a position has occurred twice since the last capture or pawn move the pace is [`RootPace::Fastest`]: aimless
    /// moves would lead to a draw by repetition.
    pub fn root_moves(&self, game: &History, candidates: &[Move], pace: RootPace) -> Option<RootMoves> {
        let root = game.current();
        if candidates.is_empty() || !self.covers(root) {
            return None;
        }
        let pace = if has_repeated(game) { RootPace::Fastest } else { pace };
        let by_distance = |mv| Some(Prospect::of(self.dtz_of_move(root, mv)?, root.rule50(), pace));
        if let Some(moves) = best(candidates, by_distance) {
            return Some(RootMoves { moves, tables: RootTables::Dtz, hits: candidates.len() as u64 });
        }
        let by_result = |mv| Some(-self.wdl(&root.play(mv))?);
        let moves = best(candidates, by_result)?;
        Some(RootMoves { moves, tables: RootTables::Wdl, hits: candidates.len() as u64 })
    }

    /// Returns the plies to the next capture, pawn move or mate on the way that begins with `mv`, that move included: positive
    /// for a win, negative for a loss, beyond 100 if the fifty-move rule comes first, 0 for a draw.
    fn dtz_of_move(&self, root: &Position, mv: Move) -> Option<MaybeRounded<Dtz>> {
        let after = root.play(mv);
        if after.rule50() == 0 {
            return Some(MaybeRounded::Precise(Dtz::before_zeroing(-self.wdl(&after)?)));
        }
        if after.is_check() && after.legal_moves().is_empty() {
            return Some(MaybeRounded::Precise(Dtz(1)));
        }
        let dtz = -self.found(self.tables.probe_dtz(after.chess()))?;
        Some(dtz.map(|dtz| dtz.add_plies(1)))
    }
}

/// Returns the moves that `rank` puts highest; `None` if it has no rank for one of them.
fn best<Rank: Ord + Copy>(candidates: &[Move], rank: impl Fn(Move) -> Option<Rank>) -> Option<Vec<Move>> {
    let ranks: Vec<Rank> = candidates.iter().map(|&mv| rank(mv)).collect::<Option<_>>()?;
    let highest = ranks.iter().copied().max()?;
    Some(candidates.iter().zip(ranks).filter(|(_, rank)| *rank == highest).map(|(&mv, _)| mv).collect())
}

/// Returns whether a position has occurred twice since the last capture or pawn move.
fn has_repeated(game: &History) -> bool {
    let reversible = (0..game.len()).rev().take_while(|&index| game.position(index).rule50() > 0);
    reversible.into_iter().any(|index| game.repetitions_at(index) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn precise(dtz: i32, rule50: u32) -> Prospect {
        Prospect::of(MaybeRounded::Precise(Dtz(dtz)), rule50, RootPace::Free)
    }

    #[test]
    fn a_win_in_time_is_a_win_and_its_length_does_not_matter() {
        assert_eq!(precise(1, 0), Prospect::Win);
        assert_eq!(precise(40, 60), Prospect::Win);
        assert_eq!(precise(40, 61), Prospect::LateWin(Reverse(101)));
        assert_eq!(precise(101, 0), Prospect::LateWin(Reverse(101)));
    }

    #[test]
    fn a_rounded_distance_may_be_one_ply_longer() {
        let rounded = |rule50| Prospect::of(MaybeRounded::Rounded(Dtz(40)), rule50, RootPace::Free);
        assert_eq!((rounded(59), rounded(60)), (Prospect::Win, Prospect::LateWin(Reverse(100))));
    }

    #[test]
    fn in_a_hurry_only_the_shortest_way_is_best() {
        let hurried = |dtz| Prospect::of(MaybeRounded::Precise(Dtz(dtz)), 10, RootPace::Fastest);
        assert!(hurried(3) > hurried(5) && hurried(5) > precise(0, 10));
    }

    #[test]
    fn a_loss_is_dragged_out_only_when_the_fifty_move_rule_is_near() {
        assert_eq!(precise(-1, 0), precise(-40, 19));
        assert!(precise(-60, 41) > precise(-58, 41), "beyond fifty moves against just in time");
        assert!(precise(0, 41) > precise(-60, 41), "a draw for certain is better");
    }

    #[test]
    fn the_order_of_prospects() {
        let rising = [
            precise(-1, 0),
            precise(-101, 0),
            precise(0, 0),
            precise(103, 0),
            precise(101, 0),
            precise(9, 0),
        ];
        assert!(rising.is_sorted_by(|a, b| a < b), "{rising:?}");
    }
}

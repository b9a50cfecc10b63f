//! What a search reports while it runs: depth, speed, the best lines, and on demand figures of every root move.

use std::time::Duration;

use super::best_move::principal_variation;
use super::move_stats::RootStats;
use super::snapshot::{RootMove, RootSnapshot, moves_to_mate};
use crate::chess::Move;
use crate::search::leaf::select;
use crate::search::state::SearchContext;
use crate::search::tree::{Proof, ProofOutcome};

/// A line with its value, from the point of view of the side to move at the root. `wl`, `d` and `mu` are free of
/// contempt, as far as the objectivity goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PvLine {
    /// Expected result as the search sees it, `-1..=1`.
    pub q: f32,
    /// Win minus loss, `-1..=1`.
    pub wl: f32,
    /// Draw probability.
    pub d: f32,
    /// Mean advantage at the end of the game, where 1 is an even chance to win; `None` where the network knows no
    /// draws or the result is nearly certain.
    pub mu: Option<f32>,
    /// Visits of the first move.
    pub nodes: u64,
    /// Plies to the end of the game, if the network has a Moves Left Head.
    pub moves_left: Option<f32>,
    /// Moves to a forced mate: positive if we give it, negative if we get it.
    pub mate: Option<i32>,
    /// The moves, first the one to play.
    pub moves: Vec<Move>,
}

/// The state of a search at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchInfo {
    /// Average depth of this search's visits: positions on their way, the root included.
    pub depth: u32,
    /// Depth of the deepest visit, counted likewise.
    pub seldepth: u32,
    /// Time since `go`.
    pub time: Duration,
    /// Visits of the root, those of earlier searches included.
    pub nodes: u64,
    /// New visits per second since `go`.
    pub nps: u64,
    /// Positions that the network evaluated per second since `go`.
    pub eps: u64,
    /// Fill of the evaluation cache, permille.
    pub hashfull: u32,
    /// Positions found in the endgame tables since `go`.
    pub tablebase_hits: u64,
    /// The best lines, best first.
    pub lines: Vec<PvLine>,
    /// Figures of every root move, if they are asked for.
    pub move_stats: Option<RootStats>,
}

/// A change of win minus loss that any form of score shows.
const FINEST_SCORE_STEP: f32 = 0.0001;

impl SearchInfo {
    /// Returns whether something has changed since `other` that a spectator wants to see at once. Without a new visit nothing
    /// has: a line of moves is read from the tree a little later than the numbers, and may be ahead of them.
    pub(crate) fn differs_from(&self, other: &SearchInfo) -> bool {
        let head = |info: &SearchInfo| {
            let lines = info.lines.iter().map(|line| (line.mate, line.moves.clone())).collect::<Vec<_>>();
            (info.depth, info.seldepth, lines)
        };
        let has_moved = |(a, b): (&PvLine, &PvLine)| (a.wl - b.wl).abs() >= FINEST_SCORE_STEP;
        let has_news = || head(self) != head(other) || self.lines.iter().zip(&other.lines).any(has_moved);
        self.nodes != other.nodes && has_news()
    }

    /// Returns the number of lines of text that report all this.
    pub(crate) fn text_lines(&self) -> usize {
        self.lines.len() + self.move_stats.as_ref().map_or(0, |stats| stats.moves.len() + 1)
    }
}

/// Returns the information of `snapshot`, a reported one, without the figures of the root moves; `None` before the root is evaluated. `ranked` are
/// the snapshot's root moves, best first.
pub(crate) fn of(
    context: &SearchContext,
    snapshot: &RootSnapshot,
    ranked: &[&RootMove],
) -> Option<SearchInfo> {
    let (best, others) = ranked.split_first()?;
    // A move without visits is taken to be worth what the root is, unless that is proven by another one.
    let has_score = |root_move: &&&RootMove| root_move.is_visited() || snapshot.root.proof.is_none();
    let shown = std::iter::once(best).chain(others.iter().filter(has_score));
    let counts = snapshot.counts;
    Some(SearchInfo {
        depth: counts.mean_depth().saturating_sub(snapshot.plies as u32).max(1),
        seldepth: counts.max_depth.saturating_sub(snapshot.plies as u32).max(1),
        time: snapshot.elapsed,
        nodes: snapshot.nodes.into(),
        nps: snapshot.per_second(snapshot.new_nodes),
        eps: snapshot.per_second(counts.evaluations),
        hashfull: context.cache.hashfull(),
        tablebase_hits: counts.tablebase_hits,
        lines: shown
            .take(context.reporting.lines.max(1))
            .map(|root_move| line(context, snapshot, root_move))
            .collect(),
        move_stats: None,
    })
}

/// Returns the line of a root move with its value.
fn line(context: &SearchContext, snapshot: &RootSnapshot, root_move: &RootMove) -> PvLine {
    let SearchContext { rescale, history, backend_info, .. } = context;
    let node = Some(root_move.node).filter(|node| node.visits > 0);
    let mean = node.map_or_else(|| snapshot.root.mean.at_child(), |node| node.mean);
    let turn = history.current().turn();
    let mover = if snapshot.plies.is_multiple_of(2) { turn } else { !turn };
    let shown = rescale.shown(mean.into(), mover);
    PvLine {
        q: select::child_q(mean, snapshot.draw_score),
        wl: shown.wl,
        d: shown.d,
        mu: shown.mu.filter(|_| backend_info.has_wdl),
        nodes: root_move.node.visits.into(),
        moves_left: backend_info.has_moves_left.then_some(mean.m + 1.0),
        mate: node.and_then(|node| mate(node.proof)),
        moves: principal_variation(context, snapshot, root_move),
    }
}

/// Returns the moves to the mate that a root move with this proof leads to, as [`PvLine::mate`].
fn mate(proof: Option<Proof>) -> Option<i32> {
    let proof = proof.filter(|proof| proof.is_mate)?;
    let moves = moves_to_mate(proof.plies + 1.0) as i32;
    match proof.outcome {
        ProofOutcome::Win => Some(moves),
        ProofOutcome::Loss => Some(-moves),
        ProofOutcome::Draw => None,
    }
}

//! Figures of every root move, for people who want to look into a search.
//!
//! All values are from the point of view of the side to move at the root. Collected by the `controller` when options ask
//! for it; `uci` writes them as text.

use super::snapshot::{NodeReading, RootMove, RootSnapshot};
use crate::chess::{History, Move};
use crate::network::cache::EvalCache;
use crate::network::encode::Transform;
use crate::network::policy_map;
use crate::search::leaf::select::{self, MovesLeftUtility};
use crate::search::state::SearchContext;
use crate::search::tree::NodeValue;

/// The mean of a node's visits, free of contempt as far as the objectivity goes, from the point of view of the side to move
/// at the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStats {
    /// Win minus loss.
    pub wl: f32,
    /// Draw probability.
    pub d: f32,
    /// Plies from the node to the end of the game.
    pub m: f32,
    /// Win minus loss, and what the draws are worth.
    pub q: f32,
}

/// The figures of the root, or of the position after a root move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeStats {
    /// Finished visits.
    pub visits: u32,
    /// Visits under way.
    pub in_flight: u32,
    /// Policy of the move; at the root that of all visited moves together.
    pub policy: f32,
    /// The mean of the visits; `None` without any.
    pub mean: Option<MeanStats>,
    /// The value that the move is chosen by, contempt and all; first-play urgency without visits.
    pub q: f32,
    /// The network's value of the position, or the result if it is certain; `None` if that is not known any more.
    pub v: Option<f32>,
    /// True if the result is certain.
    pub is_certain: bool,
}

/// The figures of a root move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    /// The move.
    pub mv: Move,
    /// Its index in the network's policy.
    pub policy_index: u16,
    /// The figures of the position after it.
    pub node: NodeStats,
    /// The term that is added to Q for exploration.
    pub u: f32,
    /// The score by which the next visit is given.
    pub s: f32,
}

/// The figures of the root and of its moves.
#[derive(Clone, Debug, PartialEq)]
pub struct RootStats {
    /// The moves with the fewest visits first, and the ones with equal visits by rising Q + U.
    pub moves: Vec<MoveStats>,
    /// The root itself.
    pub root: NodeStats,
}

/// Returns the figures of `snapshot`.
pub(crate) fn of(context: &SearchContext, snapshot: &RootSnapshot) -> RootStats {
    let params = &context.params;
    let visited_policy = snapshot.visited_policy();
    let children_visits = snapshot.children.iter().map(|child| child.node.visits).sum();
    let mean = snapshot.root.mean;
    let (exploration, fpu) = params.formula_at(0);
    let has_moves_left = context.backend_info.has_moves_left;
    let terms = ScoreTerms {
        draw_score: snapshot.draw_score,
        fpu: select::fpu(fpu, select::parent_q(mean, snapshot.draw_score), visited_policy),
        exploration: select::exploration(&exploration, children_visits),
        moves_left: MovesLeftUtility::new(params, has_moves_left, mean),
    };
    let mut history = context.history.clone();
    let mut moves = Vec::new();
    for mv in &context.history.legal_moves() {
        if let Some(root_move) = snapshot.moves().find(|root_move| root_move.mv == *mv) {
            moves.push(move_stats(context, &mut history, root_move, &terms));
        }
    }
    moves.sort_by(|a, b| {
        a.node.visits.cmp(&b.node.visits).then((a.node.q + a.u).total_cmp(&(b.node.q + b.u)))
    });
    RootStats { moves, root: root_stats(context, snapshot) }
}

/// The terms that the scores of all moves share.
struct ScoreTerms<'a> {
    draw_score: f32,
    fpu: f32,
    exploration: f32,
    moves_left: Option<MovesLeftUtility<'a>>,
}

fn move_stats(
    context: &SearchContext,
    history: &mut History,
    root_move: &RootMove,
    terms: &ScoreTerms,
) -> MoveStats {
    let RootMove { mv, policy, node, .. } = *root_move;
    let policy_index = policy_map::index(mv, history.current().turn(), Transform::NONE);
    let is_visited = root_move.is_visited();
    let q = if is_visited { root_move.q } else { terms.fpu };
    let is_certain = is_visited && node.is_certain;
    history.push(mv);
    let network_value = || network_value(&context.cache, history).map(|q| -q).filter(|_| is_visited);
    let node_stats = NodeStats {
        visits: node.visits,
        in_flight: node.in_flight,
        policy,
        mean: is_visited.then(|| mean_stats(context, node.mean, terms.draw_score)),
        q,
        v: if is_certain { Some(q) } else { network_value() },
        is_certain,
    };
    history.pop();
    let u = policy * terms.exploration / (1 + node.visits + node.in_flight) as f32;
    let utility = terms.moves_left.filter(|_| is_visited);
    let moves_left = utility.map_or(0.0, |utility| utility.of(q, node.mean.m));
    MoveStats { mv, policy_index, node: node_stats, u, s: q + u + moves_left }
}

fn root_stats(context: &SearchContext, snapshot: &RootSnapshot) -> NodeStats {
    let NodeReading { visits, in_flight, mean, is_certain, .. } = snapshot.root;
    // The root's own mean is from the point of view of the side that moved last.
    let own = NodeValue { v: -mean.v, ..mean };
    NodeStats {
        visits,
        in_flight,
        policy: snapshot.visited_policy(),
        mean: (visits > 0).then(|| mean_stats(context, own, snapshot.draw_score)),
        q: select::parent_q(mean, snapshot.draw_score),
        v: network_value(&context.cache, &context.history),
        is_certain,
    }
}

/// Returns a mean, for the side to move at the root, as it is shown.
fn mean_stats(context: &SearchContext, mean: NodeValue, draw_score: f32) -> MeanStats {
    let SearchContext { rescale, history, .. } = context;
    let shown = rescale.shown(mean.into(), history.current().turn());
    MeanStats { wl: shown.wl, d: shown.d, m: mean.m, q: shown.wl + draw_score * shown.d }
}

/// Returns what the network said of the last position, for its side to move, if the cache still knows.
fn network_value(cache: &EvalCache, history: &History) -> Option<f32> {
    let moves = history.legal_moves().len();
    cache.get(history.evaluation_key(), moves, &mut Vec::new()).map(|evaluation| evaluation.q)
}

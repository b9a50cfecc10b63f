//! What a search reports while it runs. Values are for the side to move at the root.

use std::time::Duration;

use super::snapshot::{NodeReading, RootMove, RootSnapshot, moves_to_mate};
use crate::chess::{History, Move};
use crate::network::Value;
use crate::network::cache::EvalCache;
use crate::network::encode::Transform;
use crate::network::policy_map;
use crate::search::leaf::select::{self, MovesLeftUtility};
use crate::search::state::{CounterValues, SearchContext};
use crate::search::tree::{Inside, Proof, Unvisited};

/// A move of the root, and what is expected after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PvLine {
    /// `None` where the move has no visit. Only the first line then has the position's own value, unless the
    /// moves to search were chosen.
    pub value: Option<LineValue>,
    /// Visits of the move.
    pub nodes: u64,
    /// The move first.
    pub moves: Vec<Move>,
}

/// What a line is worth. `wl`, `d` and `mu` are free of contempt, as far as the objectivity goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LineValue {
    /// Expected result with contempt, `-1..=1`.
    pub q: f32,
    /// Win minus loss, `-1..=1`.
    pub wl: f32,
    pub d: f32,
    /// Mean advantage: 1 is an even chance to win. `None` without draws or if the result is nearly certain.
    pub mu: Option<f32>,
    /// Plies to the end of the game, if the network has a Moves Left Head.
    pub moves_left: Option<f32>,
    /// Moves to a forced mate, negative if we are mated.
    pub mate: Option<i32>,
}

impl PvLine {
    /// Moves to a forced mate, negative if we are mated.
    pub fn mate(&self) -> Option<i32> {
        self.value.as_ref()?.mate
    }
}

/// If draws and the likelier of win and loss are above this share, the mean advantage says nothing.
const SURE_RESULT: f32 = 0.996;

impl LineValue {
    /// The score `WDL_mu`, in centipawns: the mean advantage while it says something, else a score that
    /// continues it.
    pub fn mean_advantage(&self) -> f64 {
        let fallback = 45.0 * (1.567_280_716_28 * f64::from(self.wl)).tan();
        match self.mu {
            Some(mu) if self.wl.abs() + self.d < SURE_RESULT => {
                let score = 100.0 * f64::from(mu);
                // Beyond an even chance to win the larger of both counts.
                if mu.abs() < 1.0 || fallback.abs() < score.abs() {
                    score
                } else {
                    fallback
                }
            }
            _ => fallback,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchInfo {
    /// Average length of this search's visits in positions, including the root.
    pub depth: u32,
    /// Likewise, of the deepest visit.
    pub seldepth: u32,
    pub time: Duration,
    /// Visits of the root, including earlier searches.
    pub nodes: u64,
    pub nps: u64,
    pub eps: u64,
    /// Permille.
    pub hashfull: u32,
    pub counts: CounterValues,
    pub lines: Vec<PvLine>,
    pub move_stats: Option<RootStats>,
}

/// Visible in any form of score.
const FINEST_SCORE_STEP: f32 = 0.0001;

impl SearchInfo {
    /// Without a new visit nothing has changed.
    pub(crate) fn differs_from(&self, other: &SearchInfo) -> bool {
        let head = |info: &SearchInfo| {
            let lines = info
                .lines
                .iter()
                .map(|line| (line.mate(), line.moves.clone()))
                .collect::<Vec<_>>();
            (info.depth, info.seldepth, lines)
        };
        let wl = |line: &PvLine| line.value.as_ref().map(|value| value.wl);
        let has_moved = |(a, b): (&PvLine, &PvLine)| match (wl(a), wl(b)) {
            (Some(a), Some(b)) => (a - b).abs() >= FINEST_SCORE_STEP,
            (a, b) => a != b,
        };
        let has_news = || head(self) != head(other) || self.lines.iter().zip(&other.lines).any(has_moved);
        self.nodes != other.nodes && has_news()
    }

    pub(crate) fn text_lines(&self) -> usize {
        self.lines.len() + self.move_stats.as_ref().map_or(0, |stats| stats.moves.len() + 1)
    }
}

impl RootSnapshot<'_> {
    /// Without move figures. `None` before the root is evaluated. `ranked` is best first.
    pub(crate) fn info(&self, ranked: &[&RootMove], inside: &Inside<'_>) -> Option<SearchInfo> {
        let SearchContext { cache, reporting, .. } = &self.state.context;
        let best = ranked.first()?;
        let depth = |depth: u32| depth.saturating_sub(self.plies as u32).max(1);
        Some(SearchInfo {
            depth: depth(self.counts.mean_depth()),
            seldepth: depth(self.counts.max_depth),
            time: self.elapsed,
            nodes: self.nodes.into(),
            nps: self.per_second(self.new_nodes),
            eps: self.per_second(self.counts.evaluations),
            hashfull: cache.hashfull(),
            counts: self.counts,
            lines: ranked
                .iter()
                .take(reporting.lines.max(1))
                .map(|root_move| PvLine {
                    value: self
                        .mean_after(root_move, best)
                        .map(|mean| self.line_value(mean, root_move)),
                    nodes: root_move.node.visits.into(),
                    moves: self.principal_variation(root_move, inside),
                })
                .collect(),
            move_stats: None,
        })
    }

    /// The `best` of all legal moves stands for the position.
    fn mean_after(&self, root_move: &RootMove, best: &RootMove) -> Option<Value> {
        let stands_for_all = root_move.mv == best.mv && self.state.context.answer_moves().is_empty();
        if root_move.is_visited() {
            Some(root_move.node.mean)
        } else if stands_for_all && self.root.visits > 0 {
            Some(self.root.mean.at_child())
        } else {
            None
        }
    }

    fn line_value(&self, mean: Value, root_move: &RootMove) -> LineValue {
        let SearchContext {
            rescale,
            history,
            backend_info,
            ..
        } = &self.state.context;
        let turn = history.current().turn();
        let mover = if self.plies.is_multiple_of(2) { turn } else { !turn };
        let (shown, mu) = rescale.shown(mean, mover);
        LineValue {
            q: select::child_q(mean, self.draw_score()),
            wl: shown.wl,
            d: shown.d,
            mu: mu.filter(|_| backend_info.has_wdl),
            moves_left: backend_info.has_moves_left.then_some(mean.m + 1.0),
            mate: mate(root_move.node.proof),
        }
    }
}

fn mate(proof: Option<Proof>) -> Option<i32> {
    let proof = proof.filter(|proof| proof.is_mate)?;
    let moves = moves_to_mate(proof.plies + 1.0) as i32;
    Some(if proof.is_loss() { -moves } else { moves })
}

/// A node's mean value for the side to move at the root.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStats {
    /// Free of contempt as far as the objectivity goes. `m` is plies from the node on.
    pub value: Value,
    /// `value.wl` plus the worth of draws.
    pub q: f32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeStats {
    pub visits: u32,
    pub in_flight: u32,
    /// The search's prior of the move, after PolicyTemperature and noise. At the root the sum over visited
    /// moves.
    pub policy: f32,
    pub mean: Option<MeanStats>,
    /// The value that the move is chosen by, with contempt, or the first-play urgency.
    pub q: f32,
    /// The network's value of the position or its certain result, if still known.
    pub v: Option<f32>,
    pub is_certain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveStats {
    pub mv: Move,
    pub policy_index: u16,
    /// The network's probability of the move, before PolicyTemperature and noise.
    pub network_policy: f32,
    pub node: NodeStats,
    pub u: f32,
    pub s: f32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RootStats {
    /// Fewest visits first, then by rising Q + U.
    pub moves: Vec<MoveStats>,
    pub root: NodeStats,
}

impl RootSnapshot<'_> {
    pub(crate) fn root_stats(&self) -> RootStats {
        let SearchContext {
            params,
            history,
            backend_info,
            ..
        } = &self.state.context;
        let children_visits = self.children.iter().map(|child| child.node.visits).sum();
        let mean = self.root.mean;
        let parent_q = select::parent_q(mean, self.draw_score());
        let mut terms = ScoreTerms {
            policy_temperature: params.policy_temperature,
            total_weight: 0.0,
            fpu: select::fpu(params.fpu_at(0), parent_q, self.visited_policy()),
            exploration: select::exploration(&params.exploration_at(0), children_visits),
            moves_left: MovesLeftUtility::new(params, backend_info.has_moves_left, mean),
        };
        let inside = self.state.context.tree.enter();
        let total: f32 = self
            .all_policies(&inside)
            .map(|policy| terms.weight(policy))
            .sum();
        drop(inside);
        terms.total_weight = total.max(f32::MIN_POSITIVE);
        let legal = history.legal_moves();
        let known = legal
            .iter()
            .filter_map(|mv| self.moves().find(|root_move| root_move.mv == *mv));
        let mut moves: Vec<_> = known
            .map(|root_move| self.move_stats(root_move, &terms))
            .collect();
        moves.sort_by(|a, b| {
            a.node
                .visits
                .cmp(&b.node.visits)
                .then((a.node.q + a.u).total_cmp(&(b.node.q + b.u)))
        });
        RootStats {
            moves,
            root: self.root_node_stats(),
        }
    }

    fn move_stats(&self, root_move: &RootMove, terms: &ScoreTerms<'_>) -> MoveStats {
        let SearchContext { cache, history, .. } = &self.state.context;
        let RootMove { mv, policy, node, .. } = *root_move;
        let policy_index = policy_map::index(mv, history.current().turn(), Transform::NONE);
        let is_visited = root_move.is_visited();
        let q = if is_visited { root_move.q } else { terms.fpu };
        let is_certain = is_visited && node.is_certain;
        let network_value = || {
            let mut history = history.clone();
            history.push(mv);
            network_value(cache, &history).map(|v| -v).filter(|_| is_visited)
        };
        let node_stats = NodeStats {
            visits: node.visits,
            in_flight: node.in_flight,
            policy,
            mean: is_visited.then(|| self.mean_stats(node.mean)),
            q,
            v: if is_certain { Some(q) } else { network_value() },
            is_certain,
        };
        let u = policy * terms.exploration / (1 + node.visits + node.in_flight) as f32;
        let utility = terms.moves_left.filter(|_| is_visited);
        let moves_left = utility.map_or(0.0, |utility| utility.of(q, node.mean.m));
        MoveStats {
            mv,
            policy_index,
            network_policy: terms.weight(root_move.network_policy) / terms.total_weight,
            node: node_stats,
            u,
            s: q + u + moves_left,
        }
    }

    /// Without noise, of all legal moves. After the move that is pondered on, of those that may be searched.
    fn all_policies<'a>(&'a self, _inside: &'a Inside<'_>) -> impl Iterator<Item = f32> + 'a {
        let SearchContext { tree, .. } = &self.state.context;
        let root = Some(self.state.context.root_node()).filter(|_| self.plies == 0);
        let policies = root.into_iter().flat_map(|root| {
            let unvisited = tree.unvisited(root).map(Unvisited::policy);
            unvisited.chain(tree.children(root).map(|(_, child)| child.edge().policy()))
        });
        let own = self.moves().filter(|_| self.plies > 0);
        policies.chain(own.map(|root_move| root_move.network_policy))
    }

    fn root_node_stats(&self) -> NodeStats {
        let NodeReading {
            visits,
            in_flight,
            mean,
            is_certain,
            ..
        } = self.root;
        let SearchContext { cache, history, .. } = &self.state.context;
        NodeStats {
            visits,
            in_flight,
            policy: self.visited_policy(),
            mean: (visits > 0).then(|| self.mean_stats(mean.for_opponent())),
            q: select::parent_q(mean, self.draw_score()),
            v: network_value(cache, history),
            is_certain,
        }
    }

    fn mean_stats(&self, mean: Value) -> MeanStats {
        let SearchContext { rescale, history, .. } = &self.state.context;
        let (value, _) = rescale.shown(mean, history.current().turn());
        MeanStats {
            value,
            q: select::child_q(value, self.draw_score()),
        }
    }
}

struct ScoreTerms<'a> {
    policy_temperature: f32,
    /// Of all moves.
    total_weight: f32,
    fpu: f32,
    exploration: f32,
    moves_left: Option<MovesLeftUtility<'a>>,
}

impl ScoreTerms<'_> {
    /// The network's probability up to a factor: PolicyTemperature undone.
    fn weight(&self, policy: f32) -> f32 {
        libm::powf(policy, self.policy_temperature)
    }
}

fn network_value(cache: &EvalCache, history: &History) -> Option<f32> {
    let moves = history.legal_moves().len();
    cache
        .get(history.evaluation_key(), moves, &mut Vec::new())
        .map(|evaluation| evaluation.wl)
}

//! The move to play, and the line that follows it.

use std::cmp::Ordering;

use crate::chess::Move;
use crate::search::drive::search::Search;
use crate::search::leaf::select;
use crate::search::report::figures;
use crate::search::report::snapshot::{FoundMate, NodeReading, RootMove, RootSnapshot};
use crate::search::report::temperature::DrawCandidate;
use crate::search::tree::{Node, NodeId, NodeState, Proof, ProofOutcome, Tree};

/// The longest principal variation that is reported, plies.
const MAX_PV: usize = 64;

/// Returns the move to play, of those that `snapshot` has ranked: the first, or one that is drawn by the temperature.
pub(crate) fn choose<'a>(
    search: &Search,
    snapshot: &RootSnapshot,
    ranked: &[&'a RootMove],
) -> Option<&'a RootMove> {
    let params = &search.context.params.temperature;
    let temperature = params.at(search.context.history.game_ply());
    let best = ranked.first().copied();
    if temperature <= 0.0 {
        return best;
    }
    let candidates = draw_candidates(search, snapshot, ranked);
    let drawn = params.draw(temperature, &candidates, &mut search.root_policy.rng());
    drawn.map_or(best, |drawn| ranked.get(drawn).copied())
}

/// Returns what the draw of a move has to know of `ranked`.
fn draw_candidates(search: &Search, snapshot: &RootSnapshot, ranked: &[&RootMove]) -> Vec<DrawCandidate> {
    let visited = ranked.iter().filter(|root_move| root_move.is_visited());
    let visited_policy = visited.map(|root_move| root_move.policy).sum();
    let parent_q = select::parent_q(snapshot.root.mean, search.draw_score(snapshot.plies));
    let fpu = select::fpu(search.context.params.root_fpu(), parent_q, visited_policy);
    let candidate = |root_move: &&RootMove| DrawCandidate {
        visits: root_move.node.visits,
        q: if root_move.is_visited() { root_move.q } else { fpu },
        policy: root_move.policy,
    };
    ranked.iter().map(candidate).collect()
}

/// Returns the expected line that begins with `first`, that move included, which is played `plies` below the root. It goes on to
/// a mate that was found at its leaf.
pub(crate) fn principal_variation(search: &Search, first: &RootMove, plies: usize) -> Vec<Move> {
    let mut line = vec![first.mv];
    let tree = &search.context.tree;
    let before = search.context.expected_move.filter(|_| plies > 0);
    let mate_after = |line: &[Move], plies_left: f32| {
        let mut history = search.context.history.clone();
        before.iter().chain(line).for_each(|&mv| history.push(mv));
        history.mate_by_checks(figures::moves_to_mate(plies_left))
    };
    let is_at_root =
        |mate: FoundMate| plies == 0 && mate.mv == first.mv && first.node.proof == Some(mate.proof);
    if let Some(mate) = first.node.proof
        && (first.child.is_none() || search.mate.is_some_and(is_at_root))
    {
        return mate_after(&[], mate.plies + 1.0);
    }
    let Some(mut id) = first.child.filter(|_| first.is_visited()) else { return line };
    // Nobody waits for a tree that is being pruned, the clock least of all.
    let Some(_inside) = tree.try_enter() else { return line };
    while line.len() < MAX_PV {
        let Some((next, child)) = best_child(tree, tree.node(id), search.draw_score(plies + line.len()))
        else {
            break;
        };
        line.push(child.edge().mv());
        id = next;
    }
    let leaf = tree.node(id);
    if let Some(Proof { outcome: ProofOutcome::Loss, plies: left, is_mate: true }) = leaf.proof()
        && leaf.is_terminal()
    {
        line.extend(mate_after(&line, left));
    }
    line
}

fn best_child<'a>(tree: &'a Tree, node: &'a Node, draw_score: f32) -> Option<(NodeId, &'a Node)> {
    if node.state() != NodeState::Expanded {
        return None;
    }
    // The figures change while workers are at it: each is looked at once.
    let ranks = tree.children(node).filter(|(_, child)| child.visits() > 0).map(|(id, child)| {
        let reading = NodeReading::of(child);
        let q = select::child_q(reading.mean, draw_score);
        (MoveRank::new(&reading, q, child.edge().policy()), id, child)
    });
    // `max_by` prefers the last of equals; children were made by falling policy.
    let best = ranks.max_by(|(a, ..), (b, ..)| a.compare(b).then(Ordering::Greater));
    best.map(|(_, id, child)| (id, child))
}

/// The figures by which a move is judged as one to play, at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveRank {
    class: ProofClass,
    /// Plies to the certain end of the game, signed so that more is better; 0 without a certain end.
    delay: f32,
    visits: u32,
    q: f32,
    policy: f32,
}

/// Classes of moves by what is proven of them, from worst to best: a certain loss is worst, by mate before by the endgame
/// tables; a certain win is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProofClass {
    Mated,
    LostByTables,
    Open,
    WonByTables,
    Mate,
}

impl MoveRank {
    /// Returns the rank of the move that leads to `node`. `q` is its value and `policy` its policy, for the side that
    /// chooses.
    pub(crate) fn new(node: &NodeReading, q: f32, policy: f32) -> MoveRank {
        let (class, delay) = match node.proof {
            Some(Proof { outcome: ProofOutcome::Win, plies, is_mate: true }) => (ProofClass::Mate, -plies),
            Some(Proof { outcome: ProofOutcome::Win, plies, is_mate: false }) => {
                (ProofClass::WonByTables, -plies)
            }
            Some(Proof { outcome: ProofOutcome::Loss, plies, is_mate: false }) => {
                (ProofClass::LostByTables, plies)
            }
            Some(Proof { outcome: ProofOutcome::Loss, plies, is_mate: true }) => (ProofClass::Mated, plies),
            _ => (ProofClass::Open, 0.0),
        };
        MoveRank { class, delay, visits: node.visits, q, policy }
    }

    /// Compares two moves; the better one to play is the greater.
    pub(crate) fn compare(&self, other: &MoveRank) -> Ordering {
        (self.class.cmp(&other.class))
            .then(self.delay.total_cmp(&other.delay))
            .then(self.visits.cmp(&other.visits))
            .then(self.q.total_cmp(&other.q))
            .then(self.policy.total_cmp(&other.policy))
    }
}

//! Proves or bounds a position by what is known of its moves.
//!
//! One winning move decides the position before it, and so do proofs of all moves. With a sure draw the side
//! to move can no longer lose. So a draw can be proven although moves are open (Lc0's "sticky endgames").

use std::cmp::Ordering::Equal;

use super::node::{Node, NodeState, Proof, ProofOutcome, ProvenBounds};
use super::nodes::{NodeId, Tree};

/// What is proven of one move, for the side that makes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MoveProof {
    pub(crate) bounds: ProvenBounds,
    pub(crate) proof: Option<Proof>,
}

impl MoveProof {
    pub(crate) const OPEN: MoveProof = MoveProof {
        bounds: ProvenBounds::OPEN,
        proof: None,
    };

    pub(crate) fn of(node: &Node) -> MoveProof {
        let proof = node.proof();
        let bounds = proof.map_or_else(|| node.bounds(), |proof| ProvenBounds::certain(proof.outcome));
        MoveProof { bounds, proof }
    }
}

/// What a position's moves prove, for the side that moved into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Bounded(ProvenBounds),
    Proven(Proof),
}

pub(crate) fn of_moves(tree: &Tree, node: &Node) -> Verdict {
    let unvisited = (node.child_count() < node.edge_count()).then_some(MoveProof::OPEN);
    let children = tree.children(node).map(|(_, child)| MoveProof::of(child));
    verdict(unvisited.into_iter().chain(children))
}

/// Revalues the node's visits in those before it. True if anything changed, such as by a nearer mate.
pub(super) fn judge(tree: &Tree, path: &[NodeId]) -> bool {
    let Some((&last, ancestors)) = path.split_last() else {
        return false;
    };
    let node = tree.node(last);
    if node.state() != NodeState::Expanded {
        return false;
    }
    match of_moves(tree, node) {
        Verdict::Bounded(bounds) => node.proof().is_none() && node.narrow(bounds),
        Verdict::Proven(proof) => {
            let Some(mut correction) = node.prove(proof).or_else(|| node.shorten(proof)) else {
                return false;
            };
            for &ancestor in ancestors.iter().rev() {
                match tree.node(ancestor).correct(correction.at_parent()) {
                    Some(above) => correction = above,
                    None => break,
                }
            }
            true
        }
    }
}

/// Proves or bounds the ancestors of the last node, which has just been proven. The root stays open, since
/// the search decides which of its moves count.
pub(crate) fn propagate(tree: &Tree, path: &[NodeId]) {
    for depth in (1..path.len() - 1).rev() {
        if !judge(tree, &path[..=depth]) {
            return;
        }
    }
}

pub(crate) fn verdict(moves: impl Iterator<Item = MoveProof>) -> Verdict {
    let (mut worst, mut best) = (ProofOutcome::Loss, ProofOutcome::Loss);
    let mut nearest_win: Option<Proof> = None;
    let (mut longest_loss, mut longest_draw) = (0f32, 0f32);
    let mut all_mates = true;
    for MoveProof { bounds, proof } in moves {
        worst = worst.max(bounds.worst);
        best = best.max(bounds.best);
        let Some(proof) = proof else { continue };
        all_mates &= proof.is_mate;
        match proof.outcome {
            ProofOutcome::Win => {
                nearest_win = nearest_win.filter(|&win| is_nearer(win, proof)).or(Some(proof))
            }
            ProofOutcome::Draw => longest_draw = longest_draw.max(proof.plies),
            ProofOutcome::Loss => longest_loss = longest_loss.max(proof.plies),
        }
    }
    if worst < best {
        return Verdict::Bounded(ProvenBounds {
            worst: best.flipped(),
            best: worst.flipped(),
        });
    }
    let (plies, is_mate) = match (best, nearest_win) {
        (ProofOutcome::Win, Some(win)) => (win.plies, win.is_mate),
        (ProofOutcome::Loss, _) => (longest_loss, all_mates),
        _ => (longest_draw, false),
    };
    Verdict::Proven(Proof {
        outcome: best.flipped(),
        plies: plies + 1.0,
        is_mate,
    })
}

fn is_nearer(a: Proof, b: Proof) -> bool {
    let key = |proof: Proof| (!proof.is_mate, proof.plies);
    key(a).partial_cmp(&key(b)).unwrap_or(Equal).is_lt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProofOutcome::{Draw, Loss, Win};

    fn certain(outcome: ProofOutcome, plies: f32, is_mate: bool) -> MoveProof {
        MoveProof {
            bounds: ProvenBounds::certain(outcome),
            proof: Some(Proof {
                outcome,
                plies,
                is_mate,
            }),
        }
    }

    fn bounded(worst: ProofOutcome, best: ProofOutcome) -> MoveProof {
        MoveProof {
            bounds: ProvenBounds { worst, best },
            proof: None,
        }
    }

    fn verdict_of(moves: &[MoveProof]) -> Verdict {
        verdict(moves.iter().copied())
    }

    fn proven(outcome: ProofOutcome, plies: f32, is_mate: bool) -> Verdict {
        Verdict::Proven(Proof {
            outcome,
            plies,
            is_mate,
        })
    }

    #[test]
    fn the_nearest_mate_decides_whatever_is_open() {
        let moves = [
            MoveProof::OPEN,
            certain(Win, 2.0, false),
            certain(Win, 8.0, true),
            certain(Win, 4.0, true),
        ];
        assert_eq!(verdict_of(&moves), proven(Loss, 5.0, true));
        assert_eq!(verdict_of(&moves[..2]), proven(Loss, 3.0, false));
    }

    #[test]
    fn moves_that_all_lose_win_for_the_other_side_after_the_longest() {
        let moves = [
            certain(Loss, 4.0, true),
            certain(Loss, 8.0, true),
            certain(Loss, 2.0, false),
        ];
        assert_eq!(verdict_of(&moves[..2]), proven(Win, 9.0, true));
        assert_eq!(verdict_of(&moves), proven(Win, 9.0, false));
        assert_eq!(
            verdict_of(&[moves[0], MoveProof::OPEN]),
            Verdict::Bounded(ProvenBounds::OPEN)
        );
    }

    #[test]
    fn a_sure_draw_bounds_a_position_and_proves_it_where_no_move_can_win() {
        let draw = certain(Draw, 6.0, false);
        let cannot_win = Verdict::Bounded(ProvenBounds {
            worst: Loss,
            best: Draw,
        });
        assert_eq!(verdict_of(&[draw, MoveProof::OPEN]), cannot_win);
        assert_eq!(verdict_of(&[bounded(Draw, Win), MoveProof::OPEN]), cannot_win);
        assert_eq!(
            verdict_of(&[draw, bounded(Loss, Draw), certain(Loss, 9.0, true)]),
            proven(Draw, 7.0, false)
        );
        // Without a sure draw the side to move may still lose, but cannot win.
        let cannot_lose = Verdict::Bounded(ProvenBounds {
            worst: Draw,
            best: Win,
        });
        assert_eq!(
            verdict_of(&[bounded(Loss, Draw), certain(Loss, 9.0, true)]),
            cannot_lose
        );
    }
}

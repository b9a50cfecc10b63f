//! Proofs go from a position to those before it, as far as they decide or bound them (Lc0's "sticky endgames").
//!
//! They begin at finished games, at leaves where a mate was found, and at positions of the endgame tables; `tree::verdict` says
//! what follows from moves. The root itself stays open: it is searched whatever is known, and which of its moves count depends on
//! the search. Called by `gather`.

use crate::search::drive::search::Search;
use crate::search::tree::NodeId;
use crate::search::tree::verdict;

/// Proves or bounds the ancestors of the last node of `path`, which has just been proven, as far as that decides them. Where they are
/// proven already, a nearer mate counts: visits that were gathered together go on below a node that one of them has proven.
pub(crate) fn propagate(search: &Search, path: &[NodeId]) {
    if !search.context.params.sticky_endgames {
        return;
    }
    for depth in (1..path.len() - 1).rev() {
        if !verdict::judge(&search.context.tree, &path[..=depth]) {
            return;
        }
    }
}

//! Remembers what the tree held when pondering began, so that the time manager can tell what pondering added.

use crate::chess::History;
use crate::search::tree::GameTree;
use crate::time::Nodes;

/// The visits of a position and of its replies before pondering.
#[derive(Debug)]
pub(super) struct BeforePondering {
    /// Number of positions in the game up to the one that is pondered on.
    len: usize,
    /// Its key and its visits.
    root: (u64, Nodes),
    /// The keys and visits of the positions after each reply that had visits.
    replies: Vec<(u64, Nodes)>,
}

impl BeforePondering {
    /// Reads the root of `game` and its moves.
    pub(super) fn read(game: &GameTree) -> BeforePondering {
        let (tree, position) = (game.tree(), game.history().current());
        let root = tree.node(game.root());
        let replies = tree.children(root).map(|(_, child)| {
            let after = position.play(child.edge().mv());
            (after.key(), Nodes::from(child.visits()))
        });
        BeforePondering {
            len: game.history().len(),
            root: (position.key(), root.visits().into()),
            replies: replies.collect(),
        }
    }

    /// Returns whether the last position of `game` is the one that was pondered on.
    pub(super) fn is_of(&self, game: &History) -> bool {
        (game.len(), game.current().key()) == (self.len, self.root.0)
    }

    /// Returns the visits that the last position of `game` had then: it is the one pondered on or follows it by one move. `None`
    /// for others.
    pub(super) fn visits_of(&self, game: &History) -> Option<Nodes> {
        if self.is_of(game) {
            return Some(self.root.1);
        }
        let follows = game.len() == self.len + 1 && game.position(self.len - 1).key() == self.root.0;
        let reply = || self.replies.iter().find(|(reply, _)| *reply == game.current().key());
        follows.then(|| reply().map(|(_, visits)| *visits).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;

    #[test]
    fn replies_without_visits_and_other_games_are_told_apart() {
        let game = |moves: &str| {
            History::from_uci_position(&format!("startpos moves {moves}"), Variant::Standard).unwrap()
        };
        let before = BeforePondering {
            len: 2,
            root: (game("e2e4").current().key(), Nodes(100)),
            replies: vec![(game("e2e4 e7e5").current().key(), Nodes(70))],
        };
        assert_eq!(before.visits_of(&game("e2e4")), Some(Nodes(100)));
        assert_eq!(before.visits_of(&game("e2e4 e7e5")), Some(Nodes(70)));
        assert_eq!(before.visits_of(&game("e2e4 a7a6")), Some(Nodes(0)), "never looked at");
        assert_eq!(before.visits_of(&game("d2d4 e7e5")), None, "another game");
        assert_eq!(before.visits_of(&game("e2e4 e7e5 g1f3")), None, "too far on");
    }
}

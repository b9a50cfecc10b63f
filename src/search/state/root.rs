//! The root's moves: which of them may be searched, and their policy with the search's noise.

use crate::chess::{Move, MoveList};
use crate::search::state::context::SearchContext;
use crate::search::state::noise::RootNoise;
use crate::search::tree::{Node, Unvisited};

/// The root's legal moves with what one search makes of them. Never changes while the search runs.
#[derive(Debug)]
pub(crate) struct RootPolicy {
    /// The legal moves, in the order of the rules.
    moves: MoveList,
    /// True for each of them that may be searched.
    allowed: Vec<bool>,
    /// True if every move may be searched.
    all_allowed: bool,
    noise: Option<RootNoise>,
    /// The state of the generator after the noise was drawn.
    rng: fastrand::Rng,
}

impl RootPolicy {
    /// Lists the root's moves and draws the noise.
    pub(crate) fn new(context: &SearchContext) -> RootPolicy {
        let SearchContext { params, history, root_moves, .. } = context;
        let moves = history.legal_moves();
        let all_allowed = root_moves.is_empty();
        let mut rng = match params.seed {
            0 => fastrand::Rng::new(),
            seed => fastrand::Rng::with_seed(seed ^ history.evaluation_key()),
        };
        RootPolicy {
            allowed: moves.iter().map(|mv| all_allowed || root_moves.contains(mv)).collect(),
            all_allowed,
            noise: RootNoise::draw(params.noise, moves.len(), &mut rng),
            moves,
            rng,
        }
    }

    /// Returns the root's legal moves, in the order of the rules.
    pub(crate) fn moves(&self) -> &MoveList {
        &self.moves
    }

    /// Returns whether this root move may be searched.
    #[inline]
    pub(crate) fn allows(&self, mv: Move) -> bool {
        self.all_allowed || self.index_of(mv).is_some_and(|index| self.allowed[index])
    }

    /// Returns whether the root move at this place of the list of legal moves may be searched.
    pub(crate) fn allows_index(&self, index: u8) -> bool {
        self.allowed.get(usize::from(index)).is_some_and(|&allowed| allowed)
    }

    /// Returns the policy of the root move that leads to `child`, with this search's noise unless the move certainly loses.
    #[inline]
    pub(crate) fn of_child(&self, child: &Node) -> f32 {
        let (mv, policy) = (child.edge().mv(), child.edge().policy());
        match &self.noise {
            Some(noise) if !child.is_lost() => {
                self.index_of(mv).map_or(policy, |index| noise.mix(index, policy))
            }
            _ => policy,
        }
    }

    /// Returns the policy of a root move without a child, with this search's noise.
    pub(crate) fn of_unvisited(&self, edge: Unvisited) -> f32 {
        let policy = edge.policy();
        self.noise.as_ref().map_or(policy, |noise| noise.mix(edge.index.into(), policy))
    }

    /// Returns a generator for drawing the move to play. It draws the same each time it is asked for.
    pub(crate) fn rng(&self) -> fastrand::Rng {
        self.rng.clone()
    }

    fn index_of(&self, mv: Move) -> Option<usize> {
        self.moves.iter().position(|&other| other == mv)
    }
}

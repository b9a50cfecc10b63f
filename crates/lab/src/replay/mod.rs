//! Plays whole games in virtual time, to see what a manager would have done with the clock: thousands of
//! games in seconds.
//!
//! A `ReplayMove` is plain numbers, taken from a recorded game ([`GameToReplay`]). An `EngineModel` says how
//! fast the engine searches, how much of its tree survives, and how score and best move fluctuate. `replay`
//! plays the engine's moves through a `Timekeeper` with the clock of a time control and says what became of
//! each. The rows of games and moves are the input of [`ReplayStudy`], which [`page`](fn@page) shows. Tests
//! and the command `timelab` use this. Nothing here waits or asks for the time.

mod engine_model;
mod games;
mod replay_page;
mod replay_rows;
mod replay_study;
#[cfg(test)]
mod tests;

pub use engine_model::{EngineModel, Speed};
pub use games::{GameToReplay, NetworkHeads};
pub(crate) use games::{control_of, recorded_moves};
pub use replay_page::page;
pub use replay_rows::{ReplayFiles, ReplayRows, Replayer};
pub use replay_study::ReplayStudy;

use engine_model::{KeptNodes, ReplayRandom, VirtualSearch};
use zeitnot_engine::time::{GameClock, Millis, MoveFacts, Nodes, SearchEnd, TimeControl, Timekeeper};
pub use zeitnot_engine::time::{GamePly, RootEvaluation, StopReason, StopperOptions, TimeManager};

/// One move of ours: the position before it, as far as time managers look at it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReplayMove {
    pub(crate) game_ply: u32,
    pub(crate) pieces: u32,
    pub(crate) legal_moves: u32,
    /// Legal moves that capture, promote or give check.
    pub(crate) tactical_moves: u32,
    /// Plies to the mate with which the game ended: odd where we gave it. `None` where it ended otherwise.
    pub(crate) plies_to_mate: Option<u32>,
    /// The network's evaluation of the position, or `None` if it was not asked.
    pub(crate) root: Option<RootEvaluation>,
    /// Our clock before it in the recorded game, ms.
    pub(crate) clock_ms: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ReplayedMove {
    /// Our clock before it, ms.
    pub(crate) clock_ms: f64,
    /// The manager's budget as last revised, ms.
    pub(crate) budget_ms: f64,
    /// Time that the clock lost, lag included, ms.
    pub(crate) used_ms: f64,
    /// Nodes in the tree at its end.
    pub(crate) nodes: u64,
    /// Those of them that were new.
    pub(crate) new_nodes: u64,
    pub(crate) reason: StopReason,
    pub(crate) had_choice: bool,
    /// Full moves left as the manager estimated, if it does.
    pub(crate) moves_left: Option<f64>,
    pub(crate) game_ply: u32,
    pub(crate) pieces: u32,
    /// Our moves that were really left in the game, or to the time control if that came first, this one
    /// included.
    pub(crate) really_left: u32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReplayedGame {
    /// Every move that was made on time, and the late one if there was one.
    pub(crate) moves: Vec<ReplayedMove>,
    /// All the time that the clock was given, ms.
    pub(crate) given_ms: f64,
    /// The clock at the end, ms, negative after a loss on time.
    pub(crate) final_clock_ms: f64,
    /// The clock that the manager saw.
    pub(crate) clock_source: ClockSource,
}

/// The clock that the manager sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// One that runs down by what the manager itself uses.
    #[default]
    Running,
    /// The recorded one, where a move has it: what would this manager have done in that situation?
    Recorded,
}

#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    pub control: TimeControl,
    /// The periods behind the first one, if the control has several.
    pub later: Vec<TimeControl>,
    pub clock_source: ClockSource,
    pub model: EngineModel,
    pub overhead_ms: f64,
    /// True if the engine thinks on the opponent's clock, who takes as long for each move as it took for its
    /// last one.
    pub ponders: bool,
    pub stoppers: StopperOptions,
    /// The seed of the random numbers. The same seed gives the same game.
    pub seed: u64,
}

/// Plays our moves of a game, from the first one after the book, with `manager` and a clock. Ends early if
/// the flag falls.
pub(crate) fn replay(
    moves: &[ReplayMove],
    manager: Box<dyn TimeManager>,
    options: &ReplayOptions,
) -> ReplayedGame {
    let mut keeper = Timekeeper::new(manager, options.stoppers.clone());
    let mut random = ReplayRandom::new(options.seed);
    let mut clock = GameClock::new(options.control);
    let mut later = options.later.iter().peekable();
    let mut replayed = ReplayedGame { clock_source: options.clock_source, ..ReplayedGame::default() };
    let (mut nodes_before, mut opponent_ms) = (0, 0.0);
    for (i, position) in moves.iter().enumerate() {
        if let (ClockSource::Recorded, Some(ms)) = (options.clock_source, position.clock_ms) {
            clock.set_left(Millis(ms));
            keeper.clock_was_set();
        }
        let kept = options.model.kept_nodes(nodes_before, opponent_ms, position.pieces, &mut random);
        let facts = facts(position, &clock, kept, options);
        let facts = MoveFacts { first_move: i == 0, ..facts };
        let moved = play_move(&mut keeper, &facts, position, options, &mut random);
        let left = (moves.len() - i) as u32;
        let moved = ReplayedMove { really_left: clock.movestogo().map_or(left, |n| n.min(left)), ..moved };
        nodes_before = moved.nodes;
        opponent_ms = if options.ponders { moved.used_ms } else { 0.0 };
        replayed.moves.push(moved);
        let ends_period = clock.movestogo() == Some(1);
        if !clock.press(Millis(moved.used_ms), Millis::ZERO) {
            break;
        }
        if let Some(next) = later.next_if(|_| ends_period) {
            clock.enter_period(*next);
        }
    }
    replayed.given_ms = clock.given().0;
    replayed.final_clock_ms = clock.left().0;
    replayed
}

fn facts(position: &ReplayMove, clock: &GameClock, kept: KeptNodes, options: &ReplayOptions) -> MoveFacts {
    let reused_nodes = kept.searched + kept.pondered;
    let root = position.root.filter(|_| reused_nodes > 0);
    MoveFacts {
        limits: clock.limits(),
        overhead: Millis(options.overhead_ms),
        game_ply: GamePly(position.game_ply),
        pieces: position.pieces,
        legal_moves: position.legal_moves,
        tactical_moves: position.tactical_moves,
        reused_nodes: Nodes(reused_nodes),
        pondered_nodes: Nodes(kept.pondered),
        ponder_enabled: options.ponders,
        root_visits: EngineModel::root_visits(reused_nodes, position.legal_moves),
        root,
        has_moves_left: position.root.is_some_and(|root| root.m.is_some()),
        ..MoveFacts::default()
    }
}

fn play_move(
    keeper: &mut Timekeeper,
    facts: &MoveFacts,
    position: &ReplayMove,
    options: &ReplayOptions,
    random: &mut ReplayRandom,
) -> ReplayedMove {
    let mut chain = keeper.start_move(facts);
    let mut search = VirtualSearch::new(&options.model, facts, position, random);
    let reason = search.run(&mut chain);
    keeper.finish_move(&chain, &SearchEnd { stats: search.stats(), reason: Some(reason) });
    let report = chain.report().unwrap_or_default();
    ReplayedMove {
        clock_ms: facts.limits.time.unwrap_or_default().0,
        budget_ms: report.budget.0,
        used_ms: search.stats().elapsed.0 + options.model.lag_ms,
        nodes: search.stats().nodes.0,
        new_nodes: search.stats().new_nodes.0,
        reason,
        had_choice: facts.has_choice(),
        moves_left: report.moves_left,
        game_ply: facts.game_ply.0,
        pieces: facts.pieces,
        really_left: 0,
    }
}

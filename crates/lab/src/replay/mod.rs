//! Plays whole games in virtual time, to see how a manager would have used the clock.
//!
//! A `ReplayMove` holds the numbers of a recorded game's move ([`GameToReplay`]), an `EngineModel` describes
//! the engine. `replay` plays the moves through a `Timekeeper` with a clock. The rows feed [`ReplayStudy`],
//! which [`page`](fn@page) shows. Used by tests and the command `timelab`. Nothing here waits or reads the
//! time.

mod engine_model;
mod games;
mod replay_rows;
mod replay_study;
#[cfg(test)]
mod tests;

pub use engine_model::{EngineModel, Speed};
pub use games::{GameToReplay, NetworkHeads};
pub(crate) use games::{control_of, recorded_moves};
pub use replay_rows::{ReplayFiles, ReplayGameRow, ReplayRows, Replayer};
pub use replay_study::{ReplayStudy, page};

use crate::move_rows::MoveRow;
use engine_model::{KeptNodes, ReplayRandom, VirtualSearch};
use zeitnot_engine::time::{
    GameClock, GamePly, Millis, MoveFacts, Nodes, RootEvaluation, SearchEnd, StopperOptions, TimeControl,
    TimeManager, Timekeeper,
};

/// The position before our move, as time managers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ReplayMove {
    pub(crate) game_ply: u32,
    pub(crate) pieces: u32,
    pub(crate) legal_moves: u32,
    pub(crate) tactical_moves: u32,
    /// To the mate that ended the game: odd where we gave it.
    pub(crate) plies_to_mate: Option<u32>,
    /// Our moves to the end of the game, this one included, if it was played out.
    pub(crate) moves_left: Option<u32>,
    /// `None` if the network was not asked.
    pub(crate) root: Option<RootEvaluation>,
    /// Our clock before it in the recorded game.
    pub(crate) clock_ms: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReplayedGame {
    /// Without what they have in common.
    pub(crate) moves: Vec<MoveRow>,
    given_ms: f64,
    /// Negative after a loss on time.
    final_clock_ms: f64,
    clock_source: ClockSource,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockSource {
    /// Runs down by the manager's own use.
    #[default]
    Running,
    /// The recorded clock, where a move has it.
    Recorded,
}

#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    pub control: TimeControl,
    /// Periods behind the first one.
    pub later: Vec<TimeControl>,
    pub clock_source: ClockSource,
    pub model: EngineModel,
    pub overhead_ms: f64,
    /// Thinks on the opponent's clock, who takes as long as for its last move.
    pub ponders: bool,
    pub stoppers: StopperOptions,
    /// The same seed gives the same game.
    pub seed: u64,
}

/// Until the end or a fallen flag.
pub(crate) fn replay(
    moves: &[ReplayMove],
    manager: Box<dyn TimeManager>,
    options: &ReplayOptions,
) -> ReplayedGame {
    let mut keeper = Timekeeper::new(manager, options.stoppers.clone());
    let mut random = ReplayRandom::new(options.seed);
    let mut clock = GameClock::new(options.control);
    let mut later = options.later.iter().peekable();
    let mut replayed = ReplayedGame {
        clock_source: options.clock_source,
        ..ReplayedGame::default()
    };
    let mut nodes_before = 0;
    let mut opponent_ms = 0.0;
    for (i, position) in moves.iter().enumerate() {
        if options.clock_source == ClockSource::Recorded
            && let Some(ms) = position.clock_ms
        {
            clock.set_left(Millis(ms));
            keeper.clock_was_set();
        }
        let kept = options
            .model
            .kept_nodes(nodes_before, opponent_ms, position.pieces, &mut random);
        let facts = facts(position, &clock, kept, options);
        let (used_ms, moved) = play_move(&mut keeper, &facts, position, options, &mut random);
        let recorded = (moves.len() - i) as u32;
        let to_control = clock.movestogo().filter(|&moves| moves <= recorded);
        let really_left = to_control.or(position.moves_left);
        nodes_before = moved.nodes;
        opponent_ms = if options.ponders { used_ms } else { 0.0 };
        replayed.moves.push(MoveRow {
            number: i as u32 + 1,
            really_left,
            ..moved
        });
        let ends_period = clock.movestogo() == Some(1);
        if !clock.press(Millis(used_ms), Millis::ZERO) {
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
        limit: clock.limit(),
        overhead: Millis(options.overhead_ms),
        game_ply: GamePly(position.game_ply),
        pieces: position.pieces,
        legal_moves: position.legal_moves,
        tactical_moves: position.tactical_moves,
        reused_nodes: Nodes(reused_nodes),
        pondered_nodes: Nodes(kept.pondered),
        ponder_enabled: options.ponders,
        reused_visits: EngineModel::race_visits(reused_nodes, position.legal_moves),
        root,
        has_moves_left: position.root.is_some_and(|root| root.m.is_some()),
        ..MoveFacts::default()
    }
}

/// The time used, ms, with lag, and the row.
fn play_move(
    keeper: &mut Timekeeper,
    facts: &MoveFacts,
    position: &ReplayMove,
    options: &ReplayOptions,
    random: &mut ReplayRandom,
) -> (f64, MoveRow) {
    let mut chain = keeper.start_move(facts);
    let mut search = VirtualSearch::new(&options.model, facts, position, random);
    let reason = search.run(&mut chain);
    keeper.finish_move(
        &chain,
        &SearchEnd {
            stats: search.stats(),
            reason: Some(reason),
        },
    );
    let report = chain.report().unwrap_or_default();
    let used_ms = search.stats().elapsed.0 + options.model.lag_ms;
    let row = MoveRow {
        ply: facts.game_ply.0,
        pieces: facts.pieces,
        had_choice: facts.has_choice(),
        clock_ms: facts.limit.bounds().time.map(|time| time.0),
        budget_ms: Some(report.budget.0),
        used_ms: Some(used_ms),
        nodes: search.stats().nodes.0,
        new_nodes: search.stats().new_nodes.0,
        moves_left: report.moves_left,
        end: reason.to_string(),
        ..MoveRow::default()
    };
    (used_ms, row)
}

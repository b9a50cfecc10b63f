//! A player of a match that is an external engine, under UCI in a process of its own.

use std::sync::Arc;
use std::time::Instant;

use crate::move_rows::MoveRow;
use crate::score::MoveScore;
use crate::uci_process::{ExternalEngine, ExternalGame, UciProcessError, latest_lines, latest_nodes};
use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::time::GoLimits;

/// One side of one game.
#[derive(Debug)]
pub(super) struct ExternalPlayer {
    game: ExternalGame,
    limits: GoLimits,
    started: Instant,
}

impl ExternalPlayer {
    /// Returns a player before its first move of a game that goes on from `opening`.
    pub(super) fn new(
        engine: Arc<ExternalEngine>,
        opening: &History,
    ) -> Result<ExternalPlayer, UciProcessError> {
        let game = ExternalGame::new(engine, opening, &[])?;
        Ok(ExternalPlayer { game, limits: GoLimits::default(), started: Instant::now() })
    }

    /// Begins the search of the last position of `game`. `opponent` has the other side's clock.
    pub(super) fn begin_move(
        &mut self,
        game: &History,
        limits: GoLimits,
        opponent: &GoLimits,
    ) -> Result<(), UciProcessError> {
        self.game.begin(game, &go(&limits, opponent, game.current().turn().is_white()))?;
        self.limits = limits;
        self.started = Instant::now();
        Ok(())
    }

    /// Waits for the end of the search. Returns the move that was made, if it is legal in `game`, with its
    /// figures. The time it took, ms.
    pub(super) fn end_move(
        &mut self,
        game: &History,
    ) -> Result<(Option<(Move, MoveRow)>, f64), UciProcessError> {
        let lines = self.game.answer(self.limits.time)?;
        let used_ms = self.started.elapsed().as_secs_f64() * 1e3;
        let best = lines.last().and_then(|line| line.split_ascii_whitespace().nth(1));
        let best = best.and_then(|text| game.parse_move(text).ok());
        let best = best.filter(|best| game.legal_moves().contains(best));
        Ok((best.map(|best| (best, row_of(&lines))), used_ms))
    }
}

/// What the engine has said of its move since `go`.
fn row_of(said: &[String]) -> MoveRow {
    let nodes = latest_nodes(said);
    let score = latest_lines(said).first().and_then(MoveScore::of_info);
    MoveRow {
        nodes,
        new_nodes: nodes,
        centipawns: score.map(MoveScore::centipawns),
        end: "bestmove".into(),
        ..MoveRow::default()
    }
}

fn go(limits: &GoLimits, opponent: &GoLimits, is_white: bool) -> String {
    if let Some(nodes) = limits.nodes {
        return format!("go nodes {}", nodes.0);
    }
    let own = (limits.time.unwrap_or_default().0, limits.inc.0);
    let other = opponent.time.map_or(own, |time| (time.0, opponent.inc.0));
    let [white, black] = if is_white { [own, other] } else { [other, own] };
    let ms = |ms: f64| ms.max(1.0).round() as i64;
    let mut text = format!(
        "go wtime {} btime {} winc {} binc {}",
        ms(white.0),
        ms(black.0),
        white.1.round() as i64,
        black.1.round() as i64
    );
    if let Some(moves) = limits.movestogo {
        text += &format!(" movestogo {moves}");
    }
    text
}

//! A player that is an external engine, under UCI in a process of its own.

use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use crate::error::UciProcessError;
use crate::move_rows::MoveRow;
use crate::score::MoveScore;
use crate::uci_process::{ExternalEngine, ExternalGame, latest_lines, latest_nodes};
use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::time::{Bounds, Millis};

#[derive(Debug)]
pub(super) struct ExternalPlayer {
    /// The fault after which it plays no more.
    game: Result<ExternalGame, UciProcessError>,
    /// That may not pass before it answers.
    time: Option<Millis>,
    started: Instant,
}

impl ExternalPlayer {
    /// A player before its first move of a game that goes on from `opening`. An engine that cannot
    /// begin has lost when its turn comes.
    pub(super) fn new(engine: Arc<ExternalEngine>, opening: &History) -> ExternalPlayer {
        let game = ExternalGame::new(engine, opening, &[]);
        ExternalPlayer {
            game,
            time: None,
            started: Instant::now(),
        }
    }

    /// `opponent` has the other side's clock.
    pub(super) fn begin_move(&mut self, game: &History, bounds: Bounds, opponent: &Bounds) {
        let go = go(&bounds, opponent, game.current().turn().is_white());
        if let Ok(own) = &mut self.game
            && let Err(fault) = own.begin(game, &go)
        {
            self.game = Err(fault);
        }
        self.time = bounds.time.or(bounds.movetime);
        self.started = Instant::now();
    }

    /// Waits for the end of the search. Returns the move with its figures, if it is legal in `game`, or what
    /// the engine did instead, and the time it took.
    pub(super) fn end_move(&mut self, game: &History) -> (Result<(Move, MoveRow), MoveFault>, Millis) {
        let said = match &mut self.game {
            Ok(own) => own.answer(self.time),
            Err(fault) => Err(fault.clone()),
        };
        let used = Millis(self.started.elapsed().as_secs_f64() * 1e3);
        let played = said.map_err(MoveFault::Gone).and_then(|lines| {
            let last = lines.last().map_or("", String::as_str);
            let best = last.split_ascii_whitespace().nth(1).unwrap_or("nothing");
            match game.parse_move(best) {
                Ok(legal) if game.legal_moves().contains(&legal) => Ok((legal, row_of(&lines))),
                _ => Err(MoveFault::Illegal(best.to_owned())),
            }
        });
        (played, used)
    }
}

#[derive(Debug, Error)]
pub(super) enum MoveFault {
    #[error("{0}")]
    Gone(UciProcessError),
    #[error("the move {0} is not legal")]
    Illegal(String),
}

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

fn go(bounds: &Bounds, opponent: &Bounds, is_white: bool) -> String {
    if let Some(nodes) = bounds.nodes {
        return format!("go nodes {}", nodes.0);
    }
    if let Some(time) = bounds.movetime {
        return format!("go movetime {}", time.0.max(1.0).round());
    }
    if let Some(plies) = bounds.depth {
        return format!("go depth {plies}");
    }
    // The time and the increment, ms.
    let clock = |time: Millis, inc: Millis| (time.0.max(1.0).round() as i64, inc.0.round() as i64);
    let own = clock(bounds.time.unwrap_or_default(), bounds.inc);
    let other = opponent.time.map_or(own, |time| clock(time, opponent.inc));
    let [(wtime, winc), (btime, binc)] = if is_white { [own, other] } else { [other, own] };
    let mut go = format!("go wtime {wtime} btime {btime} winc {winc} binc {binc}");
    if let Some(moves) = bounds.movestogo {
        go += &format!(" movestogo {moves}");
    }
    go
}

//! Recorded games for replays: one side's moves after the book.

use super::ReplayMove;
use crate::pgn::{Ending, RecordedControl, RecordedGame, ending, with_positions};
use zeitnot_engine::chess::{Color, Position};
use zeitnot_engine::engine::Settings;
use zeitnot_engine::network::{Backend, BackendError, BatchEvaluator};
use zeitnot_engine::time::{Plies, RootEvaluation, TimeControl};

const MAX_BATCH: usize = 256;

#[derive(Debug)]
pub struct GameToReplay {
    /// Among the replayed games, from 1.
    pub number: u64,
    /// White in odd-numbered games, Black in even ones.
    pub(super) side: Color,
    pub(super) moves: Vec<ReplayMove>,
    recorded: RecordedGame,
    /// Plies before the first of `moves`. The others follow every second ply.
    first_ply: usize,
    control: Option<TimeControl>,
}

impl GameToReplay {
    /// `None` with fewer than `min_moves` moves after the book, or if an accident ended the game.
    pub fn new(number: u64, recorded: RecordedGame, min_moves: usize) -> Option<GameToReplay> {
        if !ending(&recorded).is_intended() {
            return None;
        }
        let side = Color::from_white(number % 2 == 1);
        let last_of_book = recorded.moves.iter().rposition(|played| played.is_book);
        let mut first_ply = last_of_book.map_or(0, |ply| ply + 1);
        let is_whites = recorded.start.turn().is_white() == first_ply.is_multiple_of(2);
        if is_whites != side.is_white() {
            first_ply += 1;
        }
        let control = match RecordedControl::of(&recorded, side) {
            Some(control) if control.later().is_empty() && !control.is_per_move() => Some(control.first()),
            _ => None,
        };
        let moves = recorded_moves(&recorded, first_ply, control);
        let is_long_enough = moves.len() >= min_moves.max(1);
        is_long_enough.then_some(GameToReplay {
            number,
            side,
            moves,
            recorded,
            first_ply,
            control,
        })
    }

    /// If it is one rule and every move has a clock.
    pub fn recorded_control(&self) -> Option<TimeControl> {
        let have_clocks = self.moves.iter().all(|position| position.clock_ms.is_some());
        if have_clocks { self.control } else { None }
    }
}

impl ReplayMove {
    fn of(position: &Position) -> ReplayMove {
        let legal = position.legal_moves();
        ReplayMove {
            game_ply: position.game_ply(),
            pieces: position.piece_count() as u32,
            legal_moves: legal.len() as u32,
            tactical_moves: legal.iter().filter(|&&m| position.is_tactical(m)).count() as u32,
            ..ReplayMove::default()
        }
    }
}

pub(crate) fn control_of(game: &RecordedGame) -> Option<TimeControl> {
    RecordedControl::of(game, Color::White).map(|control| control.first())
}

/// With the clock before each.
pub(crate) fn recorded_moves(
    recorded: &RecordedGame,
    first_ply: usize,
    control: Option<TimeControl>,
) -> Vec<ReplayMove> {
    let end = ending(recorded);
    // The clock after our last move. Before the first it is full.
    let mut clock_ms = control.map(|control| control.time.0);
    let mut moves = Vec::new();
    let played = recorded.moves.iter().map(|played| played.r#move);
    let own = with_positions(&recorded.start, played).enumerate();
    for (ply, (position, _)) in own.skip(first_ply).step_by(2) {
        let plies_left = (recorded.moves.len() - ply) as u32;
        moves.push(ReplayMove {
            clock_ms,
            moves_left: end.is_played_out().then_some(plies_left.div_ceil(2)),
            plies_to_mate: (end == Ending::Checkmate).then_some(plies_left),
            ..ReplayMove::of(&position)
        });
        clock_ms = recorded.moves[ply].clock_ms;
    }
    moves
}

pub struct NetworkHeads {
    has_wdl: bool,
    has_moves_left: bool,
    batch: BatchEvaluator<(usize, usize)>,
}

impl NetworkHeads {
    pub fn new(backend: &dyn Backend, settings: &Settings) -> Result<NetworkHeads, BackendError> {
        let info = backend.facts();
        Ok(NetworkHeads {
            has_wdl: info.has_wdl,
            has_moves_left: info.has_moves_left,
            batch: BatchEvaluator::new(backend, settings.search.history_fill, MAX_BATCH)?,
        })
    }

    pub fn fill_in(&mut self, games: &mut [GameToReplay]) -> Result<(), BackendError> {
        for place in 0..games.len() {
            let mut history = games[place].recorded.history();
            for ply in 0..games[place].recorded.moves.len() {
                let after_book = ply.checked_sub(games[place].first_ply);
                if let Some(past) = after_book.filter(|past| past.is_multiple_of(2)) {
                    // Without moves: the policy head is not needed.
                    self.batch.push((place, past / 2), &history, &[]);
                    if self.batch.is_full() {
                        self.evaluate(games)?;
                    }
                }
                history.push(games[place].recorded.moves[ply].r#move);
            }
        }
        self.evaluate(games)
    }

    fn evaluate(&mut self, games: &mut [GameToReplay]) -> Result<(), BackendError> {
        for ((game, place), slot) in self.batch.evaluate()? {
            games[game].moves[place].root = Some(RootEvaluation {
                wl: slot.evaluation.wl.into(),
                d: self.has_wdl.then_some(slot.evaluation.d.into()),
                m: self.has_moves_left.then_some(Plies(slot.evaluation.m.into())),
                m_spread: None,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::Games;

    const GAME: &str = "[TimeControl \"60+1\"]\n[Termination \"adjudication\"]\n\n1. e4 {book} e5 {[%clk 0:01:00]} 2. Nf3 \
                        {[%clk 0:00:50]} Nc6 {[%clk 0:00:58]} 3. Bb5 {[%clk 0:00:41]} a6 {[%clk 0:00:55]} 1-0\n";

    fn lab_game(number: u64, text: &str, min_moves: usize) -> Option<GameToReplay> {
        let game = Games::new("text", text.as_bytes()).next().unwrap().unwrap();
        GameToReplay::new(number, game, min_moves)
    }

    #[test]
    fn our_moves_after_the_book_with_the_clock_before_them() {
        let white = lab_game(1, GAME, 2).unwrap();
        assert_eq!((white.side, white.first_ply), (Color::White, 2));
        let clocks = |game: &GameToReplay| game.moves.iter().map(|m| m.clock_ms.unwrap()).collect::<Vec<_>>();
        assert_eq!(clocks(&white), [60_000.0, 50_000.0]);
        assert_eq!(white.moves[0].game_ply, 2);
        let black = lab_game(2, GAME, 2).unwrap();
        assert_eq!((black.side, black.first_ply), (Color::Black, 1));
        assert_eq!(clocks(&black), [60_000.0, 60_000.0, 58_000.0]);
        assert_eq!(black.recorded_control(), "60+1".parse().ok());
        assert_eq!(
            black.moves.iter().map(|m| m.game_ply).collect::<Vec<_>>(),
            [1, 3, 5]
        );
    }

    #[test]
    fn short_games_and_accidents_are_left_out() {
        assert!(lab_game(1, GAME, 3).is_none());
        assert!(lab_game(2, &GAME.replace("adjudication", "time forfeit"), 1).is_none());
        assert!(lab_game(2, &GAME.replace("1-0", "*"), 1).is_none(), "unfinished");
        let without = lab_game(2, &GAME.replace("[%clk 0:01:00]", ""), 1).unwrap();
        assert_eq!(without.recorded_control(), None);
    }
}

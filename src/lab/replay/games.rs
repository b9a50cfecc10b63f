//! Recorded games as they are replayed: the moves of one side after the book, with what time managers look at.

use super::{ReplayGame, ReplayMove};
use crate::chess::{Color, History, Position};
use crate::lab::pgn;
use crate::lab::training::pgn::ending;
use crate::time::TimeControl;

/// The moves of one side of a recorded game.
#[derive(Clone, Debug)]
pub struct GameToReplay {
    /// Its number among the games that are replayed, from 1.
    pub number: u64,
    /// The side whose moves are replayed: White in games with an odd number, so that both sides come to their turn.
    pub side: Color,
    /// The game as the replay needs it, at first without the network's evaluations.
    pub replay: ReplayGame,
    /// The whole game, for the network.
    pub recorded: pgn::RecordedGame,
    /// Plies before the first move in `replay`; the others follow every second ply.
    pub first_ply: usize,
    /// The recorded time control, if its tag is of one period with the same rule for the whole game.
    pub control: Option<TimeControl>,
}

impl GameToReplay {
    /// Makes game `number` of a recorded game. Returns `None` if fewer than `min_moves` moves of the side follow the book, or if the
    /// game is unfinished or ended by time, crash or resignation, so that its length says nothing.
    pub fn new(number: u64, recorded: pgn::RecordedGame, min_moves: usize) -> Option<GameToReplay> {
        if !ending(&recorded).length_counts() {
            return None;
        }
        let side = if number % 2 == 1 { Color::White } else { Color::Black };
        let after_book = recorded.moves.iter().rposition(|played| played.is_book).map_or(0, |ply| ply + 1);
        let first_to_move =
            if after_book.is_multiple_of(2) { recorded.start.turn() } else { !recorded.start.turn() };
        let first_ply = after_book + usize::from(first_to_move != side);
        let control = recorded.tags.get("TimeControl").and_then(|tag| tag.parse().ok());
        let moves = replay_moves(&recorded, first_ply, control);
        (moves.len() >= min_moves.max(1)).then_some(GameToReplay {
            number,
            side,
            replay: ReplayGame { moves },
            recorded,
            first_ply,
            control,
        })
    }

    /// Returns the recorded time control, if every move has a clock.
    pub fn recorded_control(&self) -> Option<TimeControl> {
        self.control.filter(|_| self.replay.moves.iter().all(|position| position.clock_ms.is_some()))
    }

    /// Calls `visit` with the index of each move in `replay` and the game up to it.
    pub(super) fn for_each_position(&self, mut visit: impl FnMut(usize, &History)) {
        let mut history = History::from_position(self.recorded.start.clone(), self.recorded.variant);
        for (ply, played) in self.recorded.moves.iter().enumerate() {
            if let Some(past) = ply.checked_sub(self.first_ply).filter(|past| past.is_multiple_of(2)) {
                visit(past / 2, &history);
            }
            history.push(played.r#move);
        }
    }
}

impl ReplayMove {
    /// Returns a move in `position`, of which no network or clock is known.
    pub(in crate::lab) fn of(position: &Position) -> ReplayMove {
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

/// Returns the moves of the side that makes the move after `first_ply` plies, with the clock before each.
fn replay_moves(
    recorded: &pgn::RecordedGame,
    first_ply: usize,
    control: Option<TimeControl>,
) -> Vec<ReplayMove> {
    let mut position = recorded.start.clone();
    let mut moves: Vec<ReplayMove> = Vec::new();
    for (ply, played) in recorded.moves.iter().enumerate() {
        if ply >= first_ply && (ply - first_ply).is_multiple_of(2) {
            // The clock before a move is what it showed after our last one; before the first it is full.
            let before = match ply.checked_sub(2) {
                Some(last) if !moves.is_empty() => recorded.moves[last].clock_ms,
                _ => control.map(|control| control.time.0),
            };
            moves.push(ReplayMove { clock_ms: before, ..ReplayMove::of(&position) });
        }
        position = position.play(played.r#move);
    }
    if position.is_check() && position.legal_moves().is_empty() {
        let left = |place: usize| (recorded.moves.len() - first_ply - 2 * place) as u32;
        moves.iter_mut().enumerate().for_each(|(place, m)| m.plies_to_mate = Some(left(place)));
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::pgn::Games;

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
        let clocks =
            |game: &GameToReplay| game.replay.moves.iter().map(|m| m.clock_ms.unwrap()).collect::<Vec<_>>();
        assert_eq!(clocks(&white), [60_000.0, 50_000.0]);
        assert_eq!(white.replay.moves[0].game_ply, 2);
        let black = lab_game(2, GAME, 2).unwrap();
        assert_eq!((black.side, black.first_ply), (Color::Black, 1));
        assert_eq!(clocks(&black), [60_000.0, 60_000.0, 58_000.0]);
        assert_eq!(black.recorded_control(), "60+1".parse().ok());
        let mut plies = Vec::new();
        black.for_each_position(|i, history| plies.push((i, history.current().game_ply())));
        assert_eq!(plies, [(0, 1), (1, 3), (2, 5)]);
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

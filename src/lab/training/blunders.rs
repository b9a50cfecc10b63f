//! Plays random moves in positions of labelled games, and lets a teacher label what follows.
//!
//! A search looks at many positions that no game between good players shows: something hangs, and the next move takes it. The
//! lines made here are games of a few plies that begin in such a game. Nothing is known of their end.

use super::TrainingDataError;
use super::game::{Ending, LabelSource, LabelledGame, LabelledPly, MoveChoice};
use super::uci_teacher::UciTeacher;
use crate::chess::{History, Variant};

/// The positions of a line after its first random move.
const LABELLED_PLIES: usize = 4;
/// Share of the moves after the first one that are random too; the others are the teacher's best.
const RANDOM_SHARE: f64 = 0.5;

/// The games in which lines begin, with the number of their plies up to each one's end.
#[derive(Debug)]
pub struct SourceGames {
    games: Vec<LabelledGame>,
    ends: Vec<usize>,
}

impl SourceGames {
    /// Makes all positions of `games` that a teacher has labelled with variations places where lines can begin.
    ///
    /// # Errors
    /// [`TrainingDataError::NoLabels`] if there are none.
    pub fn new(games: Vec<LabelledGame>) -> Result<SourceGames, TrainingDataError> {
        let is_labelled = |game: &LabelledGame| game.plies.iter().any(|ply| !ply.candidates.is_empty());
        let games: Vec<_> = games.into_iter().filter(is_labelled).collect();
        if games.is_empty() {
            return Err(TrainingDataError::NoLabels);
        }
        let ends = games.iter().scan(0, |end, game| {
            *end += game.plies.len();
            Some(*end)
        });
        Ok(SourceGames { ends: ends.collect(), games })
    }

    /// Returns a game and the number of one of its plies: all that are labelled have the same probability.
    fn draw(&self, rng: &mut fastrand::Rng) -> (&LabelledGame, usize) {
        loop {
            let place = rng.usize(..self.ends[self.ends.len() - 1]);
            let number = self.ends.partition_point(|&end| end <= place);
            let game = &self.games[number];
            let ply = place - (self.ends[number] - game.plies.len());
            if !game.plies[ply].candidates.is_empty() {
                return (game, ply);
            }
        }
    }
}

/// Makes line `number`, counted from 0. A line of a game that is held out is held out.
///
/// With the same `seed` and number it begins at the same place; what the teacher says may depend on what it was asked before.
///
/// # Errors
/// [`TrainingDataError`] if a game's start is no position, or the teacher fails.
pub fn play_line(
    teacher: &mut UciTeacher,
    sources: &SourceGames,
    nodes: u64,
    seed: u64,
    number: u64,
) -> Result<LabelledGame, TrainingDataError> {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let (game, ply) = sources.draw(&mut rng);
    line_from(teacher, game, ply, nodes, &mut rng)
}

/// Makes a line that begins before ply `ply` of `game`.
fn line_from(
    teacher: &mut UciTeacher,
    game: &LabelledGame,
    ply: usize,
    nodes: u64,
    rng: &mut fastrand::Rng,
) -> Result<LabelledGame, TrainingDataError> {
    let mut before = match &game.start {
        Some(fen) => History::from_fen(fen, Variant::Standard)?,
        None => History::start(),
    };
    for ply in &game.plies[..ply] {
        before.push(ply.played);
    }
    let start = before.current().to_fen();
    let mut history = History::from_fen(&start, Variant::Standard)?;
    let mut text = format!("fen {start} moves");
    let mut plies: Vec<LabelledPly> = Vec::with_capacity(1 + LABELLED_PLIES);
    while plies.len() <= LABELLED_PLIES {
        let legal = history.legal_moves();
        if history.terminal(&legal).is_some() {
            break;
        }
        let candidates = match plies.is_empty() {
            true => game.plies[ply].candidates.clone(),
            false => teacher.candidates(&text, &history, nodes)?,
        };
        let best = candidates[0];
        let is_random = plies.is_empty() || rng.f64() < RANDOM_SHARE;
        let random = rng.choice(&legal).copied().filter(|_| is_random);
        let played = random.unwrap_or(best.r#move);
        let choice = if played == best.r#move { MoveChoice::Best } else { MoveChoice::Blunder };
        text.push(' ');
        text.push_str(&history.format_move(played));
        history.push(played);
        plies.push(LabelledPly { played, choice, centipawns: Some(best.centipawns), candidates });
    }
    Ok(LabelledGame {
        source: LabelSource::Teacher,
        held_out: game.held_out,
        reference: false,
        start: Some(start),
        result: 0,
        ending: Ending::Broken,
        plies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Move;
    use crate::lab::training::game::TeacherMove;

    /// Returns a game of `book` plies without labels and `labelled` others.
    fn game(book: usize, labelled: usize) -> LabelledGame {
        let mv = Move::from_bits(0);
        let candidates = vec![TeacherMove { r#move: mv, centipawns: 0 }];
        let labelled = (0..labelled).map(|_| LabelledPly {
            candidates: candidates.clone(),
            ..LabelledPly::new(mv, MoveChoice::Best)
        });
        LabelledGame {
            source: LabelSource::Teacher,
            held_out: false,
            reference: false,
            start: None,
            result: 0,
            ending: Ending::Broken,
            plies: (0..book).map(|_| LabelledPly::new(mv, MoveChoice::Book)).chain(labelled).collect(),
        }
    }

    #[test]
    fn all_labelled_plies_are_drawn_alike() {
        let sources = SourceGames::new(vec![game(1, 2), game(90, 0), game(0, 0), game(3, 1)]).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let (game, ply) = sources.draw(&mut rng);
            *counts.entry((game.plies.len(), ply)).or_insert(0) += 1;
        }
        assert!(counts.keys().eq(&[(3, 1), (3, 2), (4, 3)]), "{counts:?}");
        assert!(counts.values().all(|count| (1800..2200).contains(count)), "{counts:?}");
        assert!(matches!(SourceGames::new(vec![game(9, 0)]), Err(TrainingDataError::NoLabels)));
    }
}

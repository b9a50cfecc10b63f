//! Plays random or plausible moves in positions of labelled games, and lets a teacher label what follows.
//!
//! A search looks at many positions that no game between good players shows: something hangs, and the next move takes it. The
//! lines made here are games of a few plies that begin in such a game. Nothing is known of their end. Random moves are
//! mostly refuted by what is plain to see; what a network must learn to refute are the mistakes that it finds plausible.

use super::TrainingDataError;
use super::game::{Ending, LabelSource, LabelledGame, LabelledPly, MoveChoice, TeacherMove};
use super::play::compress;
use super::table::MAX_PAST;
use super::uci_teacher::UciTeacher;
use crate::chess::{History, Move, Variant};
use crate::network::{BatchEvaluator, approximate_softmax};
use crate::weighted_draw;

/// The positions of a line after its first move.
const LABELLED_PLIES: usize = 4;
/// Share of the moves after the first one that are drawn too; the others are the teacher's best.
const DRAWN_SHARE: f64 = 0.5;
/// Temperature of the policy that plausible moves are drawn from: that of a search's moves by default.
const PLAUSIBLE_TEMPERATURE: f32 = 1.36;
/// So often is a line's first plausible move drawn, at most, until it is a mistake.
const PLAUSIBLE_DRAWS: usize = 3;
/// A move is a mistake that loses so much, in compressed centipawns, or that is none of the teacher's variations.
const MISTAKE: f64 = 80.0;

/// The distribution of the moves that a line plays where it doesn't play the teacher's best.
#[derive(Debug)]
pub enum DrawnMoves {
    /// All legal moves alike.
    Random,
    /// A network's policy.
    Plausible(BatchEvaluator<()>),
}

impl DrawnMoves {
    /// Draws one of the `legal` moves of `history`; the first move of a line is rather a mistake than not.
    fn draw(
        &mut self,
        history: &History,
        legal: &[Move],
        candidates: &[TeacherMove],
        is_first: bool,
        rng: &mut fastrand::Rng,
    ) -> Result<Move, TrainingDataError> {
        let evaluator = match self {
            DrawnMoves::Random => return Ok(legal[rng.usize(..legal.len())]),
            DrawnMoves::Plausible(evaluator) => evaluator,
        };
        evaluator.push((), history, legal);
        let mut policy = Vec::new();
        for ((), slot) in evaluator.evaluate()? {
            policy.extend_from_slice(&slot.logits);
        }
        approximate_softmax(&mut policy, PLAUSIBLE_TEMPERATURE);
        let policy: Vec<f64> = policy.into_iter().map(f64::from).collect();
        let mut played = legal[0];
        for _ in 0..if is_first { PLAUSIBLE_DRAWS } else { 1 } {
            let drawn = weighted_draw::draw(&policy, rng.f32().into());
            played = legal[drawn.unwrap_or(0)];
            if is_mistake(played, candidates) {
                break;
            }
        }
        Ok(played)
    }
}

/// Says whether the teacher, whose best move is the first of `candidates`, thinks badly of `played`.
fn is_mistake(played: Move, candidates: &[TeacherMove]) -> bool {
    let is_good = |candidate: &TeacherMove| {
        let lost = compress(candidates[0].centipawns) - compress(candidate.centipawns);
        candidate.r#move == played && lost < MISTAKE
    };
    !candidates.iter().any(is_good)
}

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
/// [`TrainingDataError`] if a game's start is no position, or the teacher or the network fails.
pub fn play_line(
    teacher: &mut UciTeacher,
    sources: &SourceGames,
    drawn_moves: &mut DrawnMoves,
    nodes: u64,
    seed: u64,
    number: u64,
) -> Result<LabelledGame, TrainingDataError> {
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
    let (game, ply) = sources.draw(&mut rng);
    line_from(teacher, drawn_moves, (game, ply), nodes, &mut rng)
}

/// Makes a line that leaves `game` at ply `ply`; what the game played before comes first, without labels.
fn line_from(
    teacher: &mut UciTeacher,
    drawn_moves: &mut DrawnMoves,
    (game, ply): (&LabelledGame, usize),
    nodes: u64,
    rng: &mut fastrand::Rng,
) -> Result<LabelledGame, TrainingDataError> {
    let mut before = match &game.start {
        Some(fen) => History::from_fen(fen, Variant::Standard)?,
        None => History::start(),
    };
    // What a network sees of the game's past belongs to the line: a past that begins with the line would tell a network in
    // training that mistakes are about, and in a search, where it never does, they would go unseen.
    let (unseen, seen) = game.plies[..ply].split_at(ply.saturating_sub(MAX_PAST));
    for ply in unseen {
        before.push(ply.played);
    }
    let start = before.current().to_fen();
    let mut history = History::from_fen(&start, Variant::Standard)?;
    let mut text = format!("fen {start} moves");
    let mut plies: Vec<LabelledPly> = Vec::with_capacity(seen.len() + 1 + LABELLED_PLIES);
    let play = |played: Move, history: &mut History, text: &mut String| {
        text.push(' ');
        text.push_str(&history.format_move(played));
        history.push(played);
    };
    for ply in seen {
        play(ply.played, &mut history, &mut text);
        plies.push(LabelledPly::new(ply.played, MoveChoice::Book));
    }
    while plies.len() <= seen.len() + LABELLED_PLIES {
        let legal = history.legal_moves();
        if history.terminal(&legal).is_some() {
            break;
        }
        let is_first = plies.len() == seen.len();
        let candidates = match is_first {
            true => game.plies[ply].candidates.clone(),
            false => teacher.candidates(&text, &history, nodes)?,
        };
        let best = candidates[0];
        let played = match is_first || rng.f64() < DRAWN_SHARE {
            true => drawn_moves.draw(&history, &legal, &candidates, is_first, rng)?,
            false => best.r#move,
        };
        let choice = if played == best.r#move { MoveChoice::Best } else { MoveChoice::Blunder };
        play(played, &mut history, &mut text);
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
    use crate::network::backends::{BackendConfig, create};
    use crate::network::encode::HistoryFill;

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

    #[test]
    fn mistakes_are_moves_that_lose_much_or_that_the_teacher_does_not_name() {
        let [best, near, far, unnamed] = [0, 1, 2, 3].map(Move::from_bits);
        let candidates = |best_centipawns: i16| {
            [(best, 0), (near, 60), (far, 120)]
                .map(|(r#move, lost)| TeacherMove { r#move, centipawns: best_centipawns - lost })
        };
        let mistakes = |candidates: &[TeacherMove]| {
            [best, near, far, unnamed].map(|played| is_mistake(played, candidates))
        };
        assert_eq!(mistakes(&candidates(30)), [false, false, true, true]);
        assert_eq!(mistakes(&candidates(900)), [false, false, false, true], "still won");
    }

    #[test]
    fn plausible_moves_follow_the_policy_and_prefer_mistakes_at_first() {
        let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let mut moves =
            DrawnMoves::Plausible(BatchEvaluator::new(&*backend, HistoryFill::default(), 1).unwrap());
        let history = History::start();
        let legal = history.legal_moves();
        let mut slot = crate::network::EvalSlot::of(&history, backend.info().input_format.into());
        backend.evaluator().unwrap().evaluate(std::slice::from_mut(&mut slot)).unwrap();
        approximate_softmax(&mut slot.logits, PLAUSIBLE_TEMPERATURE);
        let likeliest = (0..legal.len()).max_by(|&a, &b| slot.logits[a].total_cmp(&slot.logits[b])).unwrap();
        let policy = f64::from(slot.logits[likeliest]);

        let candidates = [TeacherMove { r#move: legal[likeliest], centipawns: 0 }];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut share = |is_first: bool| {
            let draws =
                (0..4000).map(|_| moves.draw(&history, &legal, &candidates, is_first, &mut rng).unwrap());
            draws.filter(|&played| played == legal[likeliest]).count() as f64 / 4000.0
        };
        assert!((share(false) - policy).abs() < 0.03, "a later move follows the policy");
        assert!(
            (share(true) - policy.powi(3)).abs() < 0.03,
            "a first one only if all draws were no mistakes"
        );
    }
}

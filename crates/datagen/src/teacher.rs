//! A UCI engine as the teacher: it plays games against itself, and labels mistakes that were not played.
//!
//! A game ([`play_game`]) begins with random moves, then moves drawn from the teacher's candidates. Later it
//! deviates now and then, and blunders in some games, so that bad positions occur too. Only dead draws are
//! stopped.
//!
//! A search sees many positions unlike good games. So a line ([`Lines`]) leaves a game by a random or
//! plausible move, and its few plies are labelled, without a result. Random moves are mostly refuted by
//! obvious replies. A network must learn to refute the mistakes that it finds plausible.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::TrainingDataError;
use crate::game::{LabelledGame, LabelledPly, MoveChoice, TeacherMove};
use crate::record::MAX_CANDIDATES;
use crate::table::MAX_PAST;
use zeitnot_engine::chance::{self, GOLDEN};
use zeitnot_engine::chess::{History, Move, PositionError, Variant};
use zeitnot_engine::network::{BatchEvaluator, approximate_softmax};
use zeitnot_lab::pgn::Ending;
use zeitnot_lab::{ExternalCommand, ExternalEngine, ExternalGame, MoveScore, UciProcessError, latest_lines};

/// One game in as many is held out.
const HELD_OUT_ONE_IN: u64 = 33;
/// Moves after the opening that are drawn from the candidates.
const VARIED_PLIES: usize = 16;
/// After a larger loss, centipawns, the result is no evidence for what went before.
const DEVIATION: i32 = 60;
const ATTEMPTS: u64 = 64;
const BALANCED: i16 = 150;
/// Beyond this the teacher thinks half as long.
const DECIDED: i16 = 1000;
const DEAD_DRAW_PIECES: usize = 12;
/// Largest evaluation in a dead draw, either way.
const DEAD_DRAW_CENTIPAWNS: i16 = 10;
/// Plies in a row with such evaluations.
const DEAD_DRAW_PLIES: usize = 12;
const DEAD_DRAW_FROM_PLY: usize = 90;
const LONGEST: usize = 440;

#[derive(Clone, Copy, Debug)]
struct Style {
    /// Of the games.
    share: f64,
    /// Of the first moves, compressed centipawns.
    opening_temperature: f64,
    /// Share of later moves drawn from the candidates, and their temperature.
    deviations: f64,
    deviation_temperature: f64,
    blunders: f64,
}

/// Steady, lively, and with blunders.
const STYLES: [Style; 3] = [
    Style {
        share: 0.55,
        opening_temperature: 15.0,
        deviations: 0.05,
        deviation_temperature: 10.0,
        blunders: 0.0,
    },
    Style {
        share: 0.30,
        opening_temperature: 20.0,
        deviations: 0.06,
        deviation_temperature: 50.0,
        blunders: 0.0,
    },
    Style {
        share: 0.15,
        opening_temperature: 25.0,
        deviations: 0.10,
        deviation_temperature: 80.0,
        blunders: 0.012,
    },
];

/// Of a line after its first move.
const LABELLED_PLIES: usize = 4;
const DRAWN_SHARE: f64 = 0.5;
/// Of the policy for plausible moves: a search's default.
const PLAUSIBLE_TEMPERATURE: f32 = 1.36;
/// Most draws of a line's first move until it is a mistake.
const PLAUSIBLE_DRAWS: usize = 3;
/// Loss of a mistake, compressed centipawns.
const MISTAKE: f64 = 80.0;

/// The teacher's longest silence in a search.
const LONGEST_SILENCE: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub struct UciTeacher(Arc<ExternalEngine>);

impl UciTeacher {
    pub fn start(program: &Path, arguments: &[String]) -> Result<UciTeacher, UciProcessError> {
        let command = ExternalCommand {
            arguments: arguments.to_vec(),
            options: vec![("MultiPV".into(), MAX_CANDIDATES.to_string())],
            silence: LONGEST_SILENCE,
            ..ExternalCommand::new(&program.display().to_string())
        };
        Ok(UciTeacher(Arc::new(ExternalEngine::new(command)?)))
    }

    fn fault(&self, reason: String) -> UciProcessError {
        UciProcessError {
            name: self.0.name.clone(),
            reason,
        }
    }

    fn candidates(
        &self,
        asked: &mut ExternalGame,
        history: &History,
        nodes: u64,
    ) -> Result<Vec<TeacherMove>, UciProcessError> {
        asked.begin(history, &format!("go nodes {nodes}"))?;
        let said = asked.answer(None)?;
        let mut candidates: Vec<TeacherMove> = Vec::new();
        for info in latest_lines(&said) {
            let (Some(score), Some(first)) = (MoveScore::of_info(&info), info.after("pv")) else {
                continue;
            };
            let candidate = history
                .parse_move(first)
                .map_err(|error| self.fault(error.to_string()))?;
            // An unfinished last iteration can name a move twice.
            if candidates.iter().all(|known| known.mv != candidate) {
                candidates.push(TeacherMove {
                    mv: candidate,
                    centipawns: score.centipawns() as i16,
                });
            }
        }
        candidates.sort_by_key(|candidate| -i32::from(candidate.centipawns));
        if candidates.is_empty() {
            return Err(self.fault(format!("gave no score for {}", history.current().to_fen())));
        }
        Ok(candidates)
    }
}

struct GameInPlay {
    start: Option<String>,
    history: History,
    plies: Vec<LabelledPly>,
}

impl GameInPlay {
    fn new(start: Option<String>) -> Result<GameInPlay, PositionError> {
        let of_fen = start
            .as_ref()
            .map(|fen| History::from_fen(fen, Variant::Standard))
            .transpose()?;
        Ok(GameInPlay {
            start,
            history: of_fen.unwrap_or_else(History::start),
            plies: Vec::new(),
        })
    }

    fn play(&mut self, ply: LabelledPly) {
        self.history.push(ply.played);
        self.plies.push(ply);
    }

    fn into_game(self, ending: Ending, held_out: bool) -> LabelledGame {
        let sign = if self.history.current().turn().is_white() {
            -1
        } else {
            1
        };
        let result = sign * i8::from(ending == Ending::Checkmate);
        let GameInPlay { start, plies, .. } = self;
        LabelledGame {
            by_teacher: true,
            held_out,
            reference: false,
            start,
            result,
            ending,
            plies,
        }
    }
}

/// Plays game `number` from 0. The same seed and number give the same game, if the teacher is deterministic.
/// Fails if the teacher fails or finds no balanced opening.
pub fn play_game(
    teacher: &UciTeacher,
    nodes: u64,
    seed: u64,
    number: u64,
) -> Result<LabelledGame, TrainingDataError> {
    for attempt in 0..ATTEMPTS {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(GOLDEN) ^ (number * ATTEMPTS + attempt));
        if let Some((game, ending)) = try_game(teacher, nodes, &mut rng)? {
            return Ok(game.into_game(ending, number.is_multiple_of(HELD_OUT_ONE_IN)));
        }
    }
    Err(teacher
        .fault(format!("finds none of {ATTEMPTS} openings balanced"))
        .into())
}

/// `None` if the opening turns out one-sided or over.
fn try_game(
    teacher: &UciTeacher,
    nodes: u64,
    rng: &mut fastrand::Rng,
) -> Result<Option<(GameInPlay, Ending)>, TrainingDataError> {
    let style = STYLES[chance::draw(&STYLES.map(|style| style.share), rng.f64()).unwrap_or(0)];
    let mut game = GameInPlay::new(None)?;
    for _ in 0..rng.usize(2..9) {
        let legal = game.history.legal_moves();
        let Some(&played) = rng.choice(&legal) else { break };
        game.play(LabelledPly::new(played, MoveChoice::Book));
    }
    let mut asked = ExternalGame::new(teacher.0.clone(), &game.history, &[])?;
    let opening = game.plies.len();
    let mut quiet_plies = 0;
    let ending = loop {
        let legal = game.history.legal_moves();
        if let Some(terminal) = game.history.terminal(&legal) {
            break terminal.into();
        }
        if game.plies.len() >= LONGEST {
            break Ending::Length;
        }
        let is_late = game.plies.len() >= DEAD_DRAW_FROM_PLY && quiet_plies >= DEAD_DRAW_PLIES;
        if is_late && game.history.current().piece_count() <= DEAD_DRAW_PIECES {
            break Ending::DeadDraw;
        }
        let decided = game
            .plies
            .last()
            .and_then(|ply| ply.centipawns)
            .is_some_and(|cp| cp.abs() > DECIDED);
        let nodes = if decided { nodes.div_ceil(2) } else { nodes };
        let candidates = teacher.candidates(&mut asked, &game.history, nodes)?;
        let best = candidates[0].centipawns;
        if game.plies.len() == opening && best.abs() > BALANCED {
            return Ok(None);
        }
        quiet_plies = if best.abs() <= DEAD_DRAW_CENTIPAWNS {
            quiet_plies + 1
        } else {
            0
        };
        let varied = game.plies.len() - opening < VARIED_PLIES;
        let (played, choice) = choose_move(&candidates, &legal, style, varied, rng);
        game.play(LabelledPly {
            played,
            choice,
            centipawns: Some(best),
            candidates,
        });
    };
    Ok(Some((game, ending)).filter(|(game, _)| game.plies.len() > opening))
}

/// 400 asinh(cp / 400): differences count less the more is won.
fn compress(centipawns: i16) -> f64 {
    const MATE_FROM: f64 = 20000.0;
    match f64::from(centipawns) {
        mate if mate.abs() > MATE_FROM => {
            mate.signum() * (1400.0 + 600.0 / (1.0 + 0.15 * (32000.0 - mate.abs())))
        }
        value => (400.0 * (value / 400.0).asinh()).clamp(-1400.0, 1400.0),
    }
}

fn choose_move(
    candidates: &[TeacherMove],
    legal: &[Move],
    style: Style,
    varied: bool,
    rng: &mut fastrand::Rng,
) -> (Move, MoveChoice) {
    let best = candidates[0];
    let dice = rng.f64();
    if !varied && dice < style.blunders {
        let played = rng.choice(legal).copied().unwrap_or(best.mv);
        return (played, best_or_blunder(played, best));
    }
    let chosen = if varied {
        draw(candidates, style.opening_temperature, rng)
    } else if dice < style.blunders + style.deviations {
        draw(candidates, style.deviation_temperature, rng)
    } else {
        best
    };
    let worse = i32::from(best.centipawns) - i32::from(chosen.centipawns);
    let choice = if worse > DEVIATION {
        MoveChoice::Deviation
    } else {
        MoveChoice::Best
    };
    (chosen.mv, choice)
}

fn best_or_blunder(played: Move, best: TeacherMove) -> MoveChoice {
    if played == best.mv {
        MoveChoice::Best
    } else {
        MoveChoice::Blunder
    }
}

/// Draws by softmax of the compressed evaluations.
fn draw(candidates: &[TeacherMove], temperature: f64, rng: &mut fastrand::Rng) -> TeacherMove {
    let best = compress(candidates[0].centipawns);
    let weight = |candidate: &TeacherMove| ((compress(candidate.centipawns) - best) / temperature).exp();
    let weights: Vec<f64> = candidates.iter().map(weight).collect();
    candidates[chance::draw(&weights, rng.f64()).unwrap_or(0)]
}

pub struct Lines {
    games: Vec<LabelledGame>,
    /// Labelled plies: indices of the game and of the ply.
    places: Vec<(usize, usize)>,
    /// For plausible moves. Without one, legal moves are equally likely.
    policy: Option<BatchEvaluator<()>>,
}

impl Lines {
    /// Lines begin at positions of `games` with a teacher's variations. Fails without any.
    pub fn new(
        games: Vec<LabelledGame>,
        policy: Option<BatchEvaluator<()>>,
    ) -> Result<Lines, TrainingDataError> {
        let all = (0..games.len()).flat_map(|game| (0..games[game].plies.len()).map(move |ply| (game, ply)));
        let places: Vec<_> = all
            .filter(|&(game, ply)| !games[game].plies[ply].candidates.is_empty())
            .collect();
        if places.is_empty() {
            return Err(TrainingDataError::NoLabels);
        }
        Ok(Lines {
            games,
            places,
            policy,
        })
    }

    /// A uniformly drawn labelled ply with its game.
    fn draw_place(&self, rng: &mut fastrand::Rng) -> (&LabelledGame, usize) {
        let (game, ply) = self.places[rng.usize(..self.places.len())];
        (&self.games[game], ply)
    }

    /// Plays line `number` from 0. A line of a held-out game is held out.
    ///
    /// The same `seed` and number give the same start.
    pub fn play_line(
        &mut self,
        teacher: &UciTeacher,
        nodes: u64,
        seed: u64,
        number: u64,
    ) -> Result<LabelledGame, TrainingDataError> {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(GOLDEN) ^ number);
        let (source, ply) = self.draw_place(&mut rng);
        let held_out = source.held_out;
        let first_candidates = source.plies[ply].candidates.clone();
        let mut line = line_start(source, ply)?;
        let mut asked = ExternalGame::new(teacher.0.clone(), &line.history, &[])?;
        let seen = line.plies.len();
        while line.plies.len() <= seen + LABELLED_PLIES {
            let legal = line.history.legal_moves();
            if line.history.terminal(&legal).is_some() {
                break;
            }
            let is_first = line.plies.len() == seen;
            let candidates = if is_first {
                first_candidates.clone()
            } else {
                teacher.candidates(&mut asked, &line.history, nodes)?
            };
            let best = candidates[0];
            let played = if is_first || rng.f64() < DRAWN_SHARE {
                self.draw_move(&line.history, &legal, &candidates, is_first, &mut rng)?
            } else {
                best.mv
            };
            let choice = best_or_blunder(played, best);
            line.play(LabelledPly {
                played,
                choice,
                centipawns: Some(best.centipawns),
                candidates,
            });
        }
        Ok(line.into_game(Ending::Broken, held_out))
    }

    /// A line's first move is preferably a mistake.
    fn draw_move(
        &mut self,
        history: &History,
        legal: &[Move],
        candidates: &[TeacherMove],
        is_first: bool,
        rng: &mut fastrand::Rng,
    ) -> Result<Move, TrainingDataError> {
        let Some(evaluator) = &mut self.policy else {
            return Ok(legal[rng.usize(..legal.len())]);
        };
        evaluator.push((), history, legal);
        let mut policy: Vec<f32> = evaluator
            .evaluate()?
            .flat_map(|((), slot)| slot.logits.iter().copied())
            .collect();
        approximate_softmax(&mut policy, PLAUSIBLE_TEMPERATURE);
        let policy: Vec<f64> = policy.into_iter().map(f64::from).collect();
        let mut draw = || legal[chance::draw(&policy, rng.f32().into()).unwrap_or(0)];
        let mut played = draw();
        for _ in 1..if is_first { PLAUSIBLE_DRAWS } else { 1 } {
            if !is_mistake(played, candidates) {
                played = draw();
            }
        }
        Ok(played)
    }
}

/// The past of `game` at `ply` that a network sees, without labels. One that began with the line would reveal
/// in training that mistakes are about.
fn line_start(game: &LabelledGame, ply: usize) -> Result<GameInPlay, PositionError> {
    let mut before = GameInPlay::new(game.start.clone())?;
    let (unseen, seen) = game.plies[..ply].split_at(ply.saturating_sub(MAX_PAST));
    unseen.iter().for_each(|ply| before.history.push(ply.played));
    let mut line = GameInPlay::new(Some(before.history.current().to_fen()))?;
    seen.iter()
        .for_each(|ply| line.play(LabelledPly::new(ply.played, MoveChoice::Book)));
    Ok(line)
}

/// The teacher thinks badly of `played`.
fn is_mistake(played: Move, candidates: &[TeacherMove]) -> bool {
    let is_good = |candidate: &TeacherMove| {
        let lost = compress(candidates[0].centipawns) - compress(candidate.centipawns);
        candidate.mv == played && lost < MISTAKE
    };
    !candidates.iter().any(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::network::backends::{BackendConfig, create};
    use zeitnot_engine::network::encode::HistoryFill;

    fn game(book: usize, labelled: usize) -> LabelledGame {
        let mv = Move::from_bits(0);
        let candidates = vec![TeacherMove { mv, centipawns: 0 }];
        let labelled = (0..labelled).map(|_| LabelledPly {
            candidates: candidates.clone(),
            ..LabelledPly::new(mv, MoveChoice::Best)
        });
        let book = (0..book).map(|_| LabelledPly::new(mv, MoveChoice::Book));
        let game = GameInPlay {
            plies: book.chain(labelled).collect(),
            ..GameInPlay::new(None).unwrap()
        };
        game.into_game(Ending::Broken, false)
    }

    #[test]
    fn all_labelled_plies_are_drawn_alike() {
        let lines = Lines::new(vec![game(1, 2), game(90, 0), game(0, 0), game(3, 1)], None).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..6000 {
            let (game, ply) = lines.draw_place(&mut rng);
            *counts.entry((game.plies.len(), ply)).or_insert(0) += 1;
        }
        assert!(counts.keys().eq(&[(3, 1), (3, 2), (4, 3)]), "{counts:?}");
        assert!(
            counts.values().all(|count| (1800..2200).contains(count)),
            "{counts:?}"
        );
        assert!(matches!(
            Lines::new(vec![game(9, 0)], None),
            Err(TrainingDataError::NoLabels)
        ));
    }

    #[test]
    fn mistakes_are_moves_that_lose_much_or_that_the_teacher_does_not_name() {
        let [best, near, far, unnamed] = [0, 1, 2, 3].map(Move::from_bits);
        let candidates = |best_centipawns: i16| {
            [(best, 0), (near, 60), (far, 120)].map(|(mv, lost)| TeacherMove {
                mv,
                centipawns: best_centipawns - lost,
            })
        };
        let mistakes = |candidates: &[TeacherMove]| {
            [best, near, far, unnamed].map(|played| is_mistake(played, candidates))
        };
        assert_eq!(mistakes(&candidates(30)), [false, false, true, true]);
        assert_eq!(
            mistakes(&candidates(900)),
            [false, false, false, true],
            "still won"
        );
    }

    #[test]
    fn plausible_moves_follow_the_policy_and_prefer_mistakes_at_first() {
        let backend = create(&BackendConfig::parse("random", "").unwrap(), None).unwrap();
        let policy = BatchEvaluator::new(&*backend, HistoryFill::default(), 1).unwrap();
        let mut lines = Lines::new(vec![game(0, 1)], Some(policy)).unwrap();
        let history = History::start();
        let legal = history.legal_moves();
        let mut slot = zeitnot_engine::network::EvalSlot::of(&history, backend.facts().input_format.into());
        backend
            .evaluator()
            .unwrap()
            .evaluate(std::slice::from_mut(&mut slot))
            .unwrap();
        approximate_softmax(&mut slot.logits, PLAUSIBLE_TEMPERATURE);
        let likeliest = (0..legal.len())
            .max_by(|&a, &b| slot.logits[a].total_cmp(&slot.logits[b]))
            .unwrap();
        let policy = f64::from(slot.logits[likeliest]);

        let candidates = [TeacherMove {
            mv: legal[likeliest],
            centipawns: 0,
        }];
        let mut rng = fastrand::Rng::with_seed(1);
        let mut share = |is_first: bool| {
            let draws = (0..4000).map(|_| {
                lines
                    .draw_move(&history, &legal, &candidates, is_first, &mut rng)
                    .unwrap()
            });
            draws.filter(|&played| played == legal[likeliest]).count() as f64 / 4000.0
        };
        assert!(
            (share(false) - policy).abs() < 0.03,
            "a later move follows the policy"
        );
        assert!(
            (share(true) - policy.powi(3)).abs() < 0.03,
            "a first one only if all draws were no mistakes"
        );
    }
}

//! Plays games for training: a teacher against itself, with deviations, so that bad positions are seen too.
//!
//! A game starts from a balanced opening, or from the standard position and a few random moves. The first moves are
//! drawn from the teacher's candidates; later it deviates now and then, and in some games blunders. Games go on to mate
//! or to a draw by the rules, nobody resigns; only dead draws are stopped.

use std::fmt::Write;

use super::TrainingDataError;
use super::game::{Ending, LabelSource, LabelledGame, LabelledPly, MoveChoice, TeacherMove};
use super::uci_teacher::UciTeacher;
use crate::chess::{Color, History, Move, PositionError, Terminal, Variant};
use crate::weighted_draw;

/// The number of games of which one is held out.
const HELD_OUT_ONE_IN: u64 = 33;
/// Moves after the opening that are drawn from the candidates.
const VARIED_PLIES: usize = 16;
/// A move that is worse by more centipawns than this is a deviation: the result is no evidence for what went before.
const DEVIATION: i32 = 60;
/// Openings that are tried for a game before giving up.
pub const ATTEMPTS: u64 = 64;
/// Openings that are worth more to one side are not played.
const BALANCED: i16 = 150;
/// Beyond this the teacher thinks half as long: the game is decided.
const DECIDED: i16 = 1000;
/// The most pieces in a dead draw.
const DEAD_DRAW_PIECES: usize = 12;
/// The largest evaluation, either way, in a dead draw.
const DEAD_DRAW_CENTIPAWNS: i16 = 10;
/// The plies in a row for which the evaluations must be that small.
const DEAD_DRAW_PLIES: usize = 12;
/// The first ply at which a game may be a dead draw.
const DEAD_DRAW_FROM_PLY: usize = 90;
/// Longer games are stopped.
const LONGEST: usize = 440;

/// The shares and temperatures by which a game is varied.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// Temperature of the first moves, compressed centipawns.
    opening_temperature: f64,
    /// Share of the later moves that are drawn from the candidates, and their temperature.
    deviations: f64,
    deviation_temperature: f64,
    /// Share of the later moves that are any legal move.
    blunders: f64,
}

/// Styles and their shares of the games: steady, lively, and with blunders.
const STYLES: [(f64, Style); 3] = [
    (0.55, Style { opening_temperature: 15.0, deviations: 0.05, deviation_temperature: 10.0, blunders: 0.0 }),
    (0.30, Style { opening_temperature: 20.0, deviations: 0.06, deviation_temperature: 50.0, blunders: 0.0 }),
    (
        0.15,
        Style { opening_temperature: 25.0, deviations: 0.10, deviation_temperature: 80.0, blunders: 0.012 },
    ),
];

/// The settings that all games of a run have in common.
#[derive(Clone, Debug)]
pub struct PlayOptions {
    /// Nodes of each of the teacher's searches.
    pub nodes: u64,
    /// Start positions (FEN or EPD); without any, the standard one and random moves.
    pub openings: Vec<String>,
    /// Games with the same seed and number are played alike, as far as the teacher is deterministic.
    pub seed: u64,
}

/// Returns 400 asinh(cp / 400): differences count less the more is won. Mates are beyond all other evaluations.
pub fn compress(centipawns: i16) -> f64 {
    const MATE_FROM: f64 = 20000.0;
    let value = f64::from(centipawns);
    if value.abs() > MATE_FROM {
        let plies = 32000.0 - value.abs();
        return value.signum() * (1400.0 + 600.0 / (1.0 + 0.15 * plies));
    }
    (400.0 * (value / 400.0).asinh()).clamp(-1400.0, 1400.0)
}

/// Plays game `number`, counted from 0.
///
/// # Errors
/// [`TrainingDataError`] if an opening is bad, none of [`ATTEMPTS`] is balanced, or the teacher fails.
pub fn play_game(
    teacher: &mut UciTeacher,
    options: &PlayOptions,
    number: u64,
) -> Result<LabelledGame, TrainingDataError> {
    for attempt in 0..ATTEMPTS {
        let seed = options.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (number * ATTEMPTS + attempt);
        if let Some(mut game) = try_game(teacher, options, fastrand::Rng::with_seed(seed))? {
            game.held_out = number.is_multiple_of(HELD_OUT_ONE_IN);
            return Ok(game);
        }
    }
    Err(TrainingDataError::Openings { attempts: ATTEMPTS })
}

/// Plays one game. Returns `None` if its opening turns out one-sided or over.
fn try_game(
    teacher: &mut UciTeacher,
    options: &PlayOptions,
    mut rng: fastrand::Rng,
) -> Result<Option<LabelledGame>, TrainingDataError> {
    let style = choose_style(&mut rng);
    let mut table = GameInPlay::open(options, &mut rng)?;
    teacher.new_game()?;
    let opening = table.plies.len();
    let mut quiet_plies = 0;
    let ending = loop {
        let legal = table.history.legal_moves();
        if let Some(terminal) = table.history.terminal(&legal) {
            break ending_of(terminal);
        }
        if table.plies.len() >= LONGEST {
            break Ending::Length;
        }
        if quiet_plies >= DEAD_DRAW_PLIES && table.may_be_dead() {
            break Ending::DeadDraw;
        }
        let decided = table.plies.last().and_then(|ply| ply.centipawns).is_some_and(|cp| cp.abs() > DECIDED);
        let nodes = if decided { options.nodes.div_ceil(2) } else { options.nodes };
        let candidates = teacher.candidates(&table.position_text(), &table.history, nodes)?;
        let best = candidates[0].centipawns;
        if table.plies.len() == opening && best.abs() > BALANCED {
            return Ok(None);
        }
        quiet_plies = if best.abs() <= DEAD_DRAW_CENTIPAWNS { quiet_plies + 1 } else { 0 };
        let varied = table.plies.len() - opening < VARIED_PLIES;
        let (played, choice) = choose_move(&candidates, &legal, style, varied, &mut rng);
        table.play(LabelledPly { played, choice, centipawns: Some(best), candidates });
    };
    if table.plies.len() == opening {
        return Ok(None);
    }
    Ok(Some(table.into_game(ending)))
}

/// The game on the board.
struct GameInPlay {
    start: Option<String>,
    history: History,
    plies: Vec<LabelledPly>,
    /// The moves as UCI writes them, each after a blank.
    moves_text: String,
}

impl GameInPlay {
    fn open(options: &PlayOptions, rng: &mut fastrand::Rng) -> Result<GameInPlay, PositionError> {
        let start = rng.choice(&options.openings).cloned();
        let history = match &start {
            Some(fen) => History::from_fen(fen, Variant::Standard)?,
            None => History::start(),
        };
        let mut board = GameInPlay { start, history, plies: Vec::new(), moves_text: String::new() };
        let random_plies = if board.start.is_some() { 0 } else { rng.usize(2..9) };
        for _ in 0..random_plies {
            let legal = board.history.legal_moves();
            let Some(&played) = rng.choice(&legal) else { break };
            board.play(LabelledPly::new(played, MoveChoice::Book));
        }
        Ok(board)
    }

    fn play(&mut self, ply: LabelledPly) {
        // Writing to a String cannot fail.
        let _ = write!(self.moves_text, " {}", self.history.format_move(ply.played));
        self.history.push(ply.played);
        self.plies.push(ply);
    }

    fn position_text(&self) -> String {
        let start = self.start.as_ref().map_or("startpos".into(), |fen| format!("fen {fen}"));
        format!("{start} moves{}", self.moves_text)
    }

    fn may_be_dead(&self) -> bool {
        self.plies.len() >= DEAD_DRAW_FROM_PLY && self.history.current().piece_count() <= DEAD_DRAW_PIECES
    }

    fn into_game(self, ending: Ending) -> LabelledGame {
        let result = match (ending, self.history.current().turn()) {
            (Ending::Checkmate, Color::White) => -1,
            (Ending::Checkmate, Color::Black) => 1,
            _ => 0,
        };
        let (start, plies) = (self.start, self.plies);
        LabelledGame {
            source: LabelSource::Teacher,
            held_out: false,
            reference: false,
            start,
            result,
            ending,
            plies,
        }
    }
}

fn ending_of(terminal: Terminal) -> Ending {
    match terminal {
        Terminal::Checkmate => Ending::Checkmate,
        Terminal::Stalemate => Ending::Stalemate,
        Terminal::FiftyMoves => Ending::FiftyMoves,
        Terminal::ThreefoldRepetition => Ending::Repetition,
        Terminal::InsufficientMaterial => Ending::InsufficientMaterial,
    }
}

fn choose_style(rng: &mut fastrand::Rng) -> Style {
    let drawn = weighted_draw::draw(&STYLES.map(|(share, _)| share), rng.f64());
    STYLES[drawn.unwrap_or(0)].1
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
        let played = rng.choice(legal).copied().unwrap_or(best.r#move);
        let choice = if played == best.r#move { MoveChoice::Best } else { MoveChoice::Blunder };
        return (played, choice);
    }
    let chosen = if varied {
        draw(candidates, style.opening_temperature, rng)
    } else if dice < style.blunders + style.deviations {
        draw(candidates, style.deviation_temperature, rng)
    } else {
        best
    };
    let worse = i32::from(best.centipawns) - i32::from(chosen.centipawns);
    (chosen.r#move, if worse > DEVIATION { MoveChoice::Deviation } else { MoveChoice::Best })
}

/// Draws a candidate by softmax of the compressed evaluations.
fn draw(candidates: &[TeacherMove], temperature: f64, rng: &mut fastrand::Rng) -> TeacherMove {
    let best = compress(candidates[0].centipawns);
    let weight = |candidate: &TeacherMove| ((compress(candidate.centipawns) - best) / temperature).exp();
    let weights: Vec<f64> = candidates.iter().map(weight).collect();
    candidates[weighted_draw::draw(&weights, rng.f64()).unwrap_or(0)]
}

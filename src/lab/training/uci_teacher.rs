//! A UCI engine as the teacher: a child process that is asked for its best moves and what they are worth.

use std::path::Path;

use super::TrainingDataError;
use super::game::TeacherMove;
use super::record::MAX_CANDIDATES;
use crate::chess::History;
use crate::lab::uci_process::{InfoLine, PATIENCE, UciProcess, UciProcessError};

/// Larger scores are cut to this; above lie the mates.
const LARGEST_CENTIPAWNS: i32 = 15000;
/// A mate in n plies is this minus n.
const MATE: i32 = 32000;

/// A running engine. It gets `quit` when dropped.
#[derive(Debug)]
pub struct UciTeacher {
    process: UciProcess,
}

impl UciTeacher {
    /// Starts `program` with `arguments` and asks it for up to [`MAX_CANDIDATES`] variations.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it doesn't start, or has not answered to `uci` after 20 s.
    pub fn start(program: &Path, arguments: &[String]) -> Result<UciTeacher, TrainingDataError> {
        let (process, _) = UciProcess::start(&program.display().to_string(), arguments, PATIENCE)?;
        let mut teacher = UciTeacher { process };
        teacher.process.send(&format!("setoption name MultiPV value {MAX_CANDIDATES}"))?;
        teacher.new_game()?;
        Ok(teacher)
    }

    /// Tells it that another game begins.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it has ended.
    pub fn new_game(&mut self) -> Result<(), TrainingDataError> {
        self.process.send("ucinewgame")?;
        self.process.send("isready")?;
        self.process.read_until("readyok", None)?;
        Ok(())
    }

    /// Asks for the engine's best moves in the current position of `history`, best first, each once, after a search of `nodes`.
    ///
    /// `position` is what UCI's command `position` says of the same game.
    ///
    /// # Errors
    /// [`TrainingDataError::Teacher`] if it has ended or names no legal move.
    pub fn candidates(
        &mut self,
        position: &str,
        history: &History,
        nodes: u64,
    ) -> Result<Vec<TeacherMove>, TrainingDataError> {
        self.process.send(&format!("position {position}"))?;
        self.process.send(&format!("go nodes {nodes}"))?;
        let mut latest: Vec<Option<VariationScore>> = vec![None; MAX_CANDIDATES];
        for line in self.process.read_until("bestmove", None)? {
            if let Some(score) = parse_info(&line)
                && let Some(slot) = latest.get_mut(score.rank)
            {
                *slot = Some(score);
            }
        }
        let mut candidates: Vec<TeacherMove> = Vec::new();
        for score in latest.into_iter().flatten() {
            let candidate = history
                .parse_move(&score.first_move)
                .map_err(|error| self.process.fault(error.to_string()))?;
            // An unfinished last iteration can name a move twice.
            if candidates.iter().all(|known| known.r#move != candidate) {
                candidates.push(TeacherMove { r#move: candidate, centipawns: score.centipawns });
            }
        }
        candidates.sort_by_key(|candidate| -i32::from(candidate.centipawns));
        if candidates.is_empty() {
            return Err(self.process.fault(format!("gave no score for \"{position}\"")).into());
        }
        Ok(candidates)
    }
}

impl From<UciProcessError> for TrainingDataError {
    fn from(UciProcessError { name, reason }: UciProcessError) -> TrainingDataError {
        TrainingDataError::Teacher { name, reason }
    }
}

/// The score of one variation in an info line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VariationScore {
    /// Place of the variation, from 0.
    rank: usize,
    centipawns: i16,
    first_move: String,
}

/// Reads `info … multipv K score cp X|mate Y … pv MOVE …`; `None` for other lines and for bounds.
fn parse_info(line: &str) -> Option<VariationScore> {
    let info = InfoLine::parse(line).filter(|info| !info.is_bound())?;
    let (unit, number) = info.score()?;
    let centipawns = match unit {
        "cp" => number.clamp(-LARGEST_CENTIPAWNS, LARGEST_CENTIPAWNS),
        "mate" if number > 0 => MATE - number.saturating_mul(2).saturating_sub(1).min(MATE / 2),
        "mate" => number.saturating_mul(-2).min(MATE / 2) - MATE,
        _ => return None,
    };
    Some(VariationScore {
        rank: info.after("multipv").map_or(Some(1), |rank| rank.parse::<usize>().ok())?.checked_sub(1)?,
        centipawns: centipawns as i16,
        first_move: info.after("pv")?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_scores() {
        let read =
            |line: &str| parse_info(line).map(|score| (score.rank, score.centipawns, score.first_move));
        let cases = [
            ("info depth 9 multipv 2 score cp -35 nodes 12 pv e2e4 e7e5", Some((1, -35, "e2e4"))),
            ("info depth 9 score mate 3 pv d1d8", Some((0, 31995, "d1d8"))),
            ("info depth 9 score mate -2 pv d1d8", Some((0, -31996, "d1d8"))),
            ("info depth 9 score mate 0 pv d1d8", Some((0, -32000, "d1d8"))),
            ("info depth 9 score cp 99999 pv d1d8", Some((0, 15000, "d1d8"))),
            ("info depth 9 multipv 1 score cp 20 lowerbound pv e2e4", None),
            ("info depth 9 multipv 0 score cp 20 pv e2e4", None),
            ("info depth 9 currmove e2e4", None),
            ("info string score cp 3 pv", None),
            ("bestmove e2e4", None),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line), expected.map(|(rank, cp, m)| (rank, cp, m.to_owned())), "{line}");
        }
    }
}

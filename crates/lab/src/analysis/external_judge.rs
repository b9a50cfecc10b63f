//! Another UCI engine as the judge of recorded games.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;

use super::analyst::{SearchEffort, game_over};
use super::{AnalysedGame, AnalysedLine, AnalysedPosition, SpendingPlan};
use crate::error::{LabError, UciProcessError};
use crate::pgn::RecordedGame;
use crate::score::MoveScore;
use crate::uci_process::{
    ExternalCommand, ExternalEngine, ExternalGame, InfoLine, latest_lines, latest_nodes,
};
use zeitnot_engine::chess::{History, Move};
use zeitnot_engine::time::{Limit, Millis};

const LONGEST: usize = 24;

/// Searches positions one after the other, on as many threads as ask it, each with a process of its own.
#[derive(Debug)]
pub struct ExternalJudge {
    engine: Arc<ExternalEngine>,
    go: String,
    movetime: Option<Millis>,
    effort: Mutex<SearchEffort>,
}

impl ExternalJudge {
    pub fn new(command: ExternalCommand, limit: Limit) -> Result<ExternalJudge, UciProcessError> {
        let bounds = limit.bounds();
        let mut go = "go".to_owned();
        if let Some(nodes) = bounds.nodes {
            go += &format!(" nodes {}", nodes.0);
        }
        if let Some(time) = bounds.movetime {
            go += &format!(" movetime {}", time.0);
        }
        Ok(ExternalJudge {
            engine: Arc::new(ExternalEngine::new(command)?),
            go,
            movetime: bounds.movetime,
            effort: Mutex::default(),
        })
    }

    pub fn command(&self) -> &ExternalCommand {
        &self.engine.command
    }

    pub fn name(&self) -> &str {
        &self.engine.name
    }

    /// Counts searches of a game that was analysed before.
    pub fn add_effort(&self, effort: SearchEffort) {
        self.effort.lock().add(effort);
    }

    /// Analyses a game, unless the run `is_stopped` before its end. `done` hears of each position.
    pub fn analyse(
        &self,
        recorded: RecordedGame,
        plan: &SpendingPlan,
        is_stopped: impl Fn() -> bool,
        done: impl Fn(),
    ) -> Result<Option<AnalysedGame>, LabError> {
        let mut root = recorded.history();
        let options: &[_] = if self.engine.declares("UCI_ShowWDL") {
            &[("UCI_ShowWDL", "true")]
        } else {
            &[]
        };
        let mut game = ExternalGame::new(self.engine.clone(), &root, options)?;
        let mut positions = Vec::new();
        for ply in 0..=recorded.moves.len() {
            if is_stopped() {
                return Ok(None);
            }
            positions.push(match root.terminal(&root.legal_moves()) {
                Some(terminal) => game_over(terminal),
                None => self.search(&mut game, &root)?,
            });
            done();
            if let Some(played) = recorded.moves.get(ply) {
                root.push(played.r#move);
            }
        }
        Ok(Some(AnalysedGame::new(
            recorded,
            positions,
            plan,
            self.effort.lock().nps(),
        )))
    }

    fn search(&self, game: &mut ExternalGame, root: &History) -> Result<AnalysedPosition, UciProcessError> {
        let began = Instant::now();
        game.begin(root, &self.go)?;
        let said = game.answer(self.movetime)?;
        let lines: Vec<_> = latest_lines(&said)
            .iter()
            .filter_map(|info| line(root, info))
            .collect();
        let new_nodes = latest_nodes(&said);
        if lines.is_empty() {
            return Err(UciProcessError {
                name: self.engine.name.clone(),
                reason: format!("gave no score for {}", root.current().to_fen()),
            });
        }
        let effort = SearchEffort {
            new_nodes,
            time_ms: began.elapsed().as_secs_f64() * 1e3,
        };
        self.effort.lock().add(effort);
        Ok(AnalysedPosition {
            lines,
            nodes: new_nodes,
            effort,
            ..AnalysedPosition::default()
        })
    }
}

/// A line as the engine says it. Without WDL its score stands for them.
fn line(root: &History, info: &InfoLine<'_>) -> Option<AnalysedLine> {
    let score = MoveScore::of_info(info)?;
    let win = score.win_percent();
    let permille: Vec<f64> = info
        .all_after("wdl")
        .iter()
        .take(3)
        .filter_map(|word| word.parse().ok())
        .collect();
    let (wl, d) = match permille[..] {
        [win, draw, loss] => ((win - loss) / 1000.0, draw / 1000.0),
        _ => (win / 50.0 - 1.0, 0.0),
    };
    Some(AnalysedLine {
        wl,
        d,
        win,
        score,
        moves_left: None,
        moves: moves(root, info.all_after("pv")),
    })
}

fn moves(root: &History, words: &[&str]) -> Vec<Move> {
    let mut game = root.clone();
    let moves = words.iter().take(LONGEST).map_while(|word| {
        let played = game.parse_move(word).ok()?;
        game.push(played);
        Some(played)
    });
    moves.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::chess::Variant;

    #[test]
    fn lines_have_what_the_engine_says() {
        let root = History::from_uci_position("startpos", Variant::Standard).unwrap();
        let read = |text: &str| line(&root, &InfoLine::parse(text).unwrap());
        let whole = read("info depth 9 score cp 100 wdl 300 600 100 nodes 7 pv e2e4 e7e5 e2e4").unwrap();
        assert_eq!(
            (whole.wl, whole.d, whole.moves.len()),
            (0.2, 0.6, 2),
            "the third move is not legal"
        );
        assert!((whole.win - 59.10).abs() < 0.01);
        let short = read("info depth 9 score mate -3 pv e2e4").unwrap();
        assert_eq!(
            (short.wl, short.win, short.score),
            (-1.0, 0.0, MoveScore::Mate(-3))
        );
        assert!(read("info depth 1 currmove e2e4").is_none());
    }
}

//! A player of a match that is an external engine, under UCI in a process of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::move_between;
use super::record::{MoveRecord, MoveScore};
use crate::uci_process::{InfoLine, PATIENCE, UciProcess, UciProcessError};
use zeitnot_engine::chess::{History, Move, Variant};
use zeitnot_engine::time::GoLimits;

/// The time beyond its clock after which an engine that says nothing counts as dead.
const MARGIN: Duration = Duration::from_secs(20);
/// The time for a move where no clock runs.
const LONGEST_MOVE: Duration = Duration::from_secs(600);

/// How an engine is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalCommand {
    pub program: String,
    pub arguments: Vec<String>,
    /// Names and values of the options to set.
    pub options: Vec<(String, String)>,
}

/// An external engine with its processes that no game uses at the moment.
#[derive(Debug)]
pub struct ExternalEngine {
    pub command: ExternalCommand,
    /// `id name`, as it says it itself.
    pub name: String,
    idle: Mutex<Vec<UciProcess>>,
}

impl ExternalEngine {
    /// Starts the engine once, to see that it answers and has the options.
    pub fn new(command: ExternalCommand) -> Result<ExternalEngine, UciProcessError> {
        let (process, answer) = start(&command)?;
        let own_name = answer.iter().find_map(|line| line.strip_prefix("id name "));
        let name = own_name.unwrap_or(&command.program).trim().to_owned();
        Ok(ExternalEngine { name, idle: Mutex::new(vec![process]), command })
    }

    fn take(&self) -> Result<UciProcess, UciProcessError> {
        let idle = self.idle.lock().pop();
        idle.map_or_else(|| Ok(start(&self.command)?.0), Ok)
    }

    fn give_back(&self, process: UciProcess) {
        self.idle.lock().push(process);
    }
}

/// Starts a process and sets the options. Returns also its answer to `uci`.
fn start(command: &ExternalCommand) -> Result<(UciProcess, Vec<String>), UciProcessError> {
    let (mut process, answer) = UciProcess::start(&command.program, &command.arguments, PATIENCE)?;
    for (name, value) in &command.options {
        let declared = |line: &&String| {
            let rest = line.strip_prefix("option name ");
            rest.and_then(|rest| rest.split(" type ").next())
                .is_some_and(|own| own.eq_ignore_ascii_case(name))
        };
        if answer.iter().find(declared).is_none() {
            return Err(process.fault(format!("has no option {name:?}")));
        }
        process.send(&format!("setoption name {name} value {value}"))?;
    }
    Ok((process, answer))
}

/// One side of one game.
#[derive(Debug)]
pub(super) struct ExternalPlayer {
    engine: Arc<ExternalEngine>,
    /// `None` after a failure and when the game is over.
    process: Option<UciProcess>,
    /// What `position` says of the game so far.
    position: String,
    /// Positions of the game that are in `position`.
    known: usize,
    limits: GoLimits,
    started: Instant,
}

impl ExternalPlayer {
    /// Returns a player before its first move of a game that goes on from `opening`.
    pub(super) fn new(
        engine: Arc<ExternalEngine>,
        opening: &History,
    ) -> Result<ExternalPlayer, UciProcessError> {
        let mut process = engine.take()?;
        if opening.variant() == Variant::Chess960 {
            process.send("setoption name UCI_Chess960 value true")?;
        }
        process.send("ucinewgame")?;
        process.send("isready")?;
        // It may have a large network to load.
        process.read_until("readyok", Some(LONGEST_MOVE))?;
        Ok(ExternalPlayer {
            engine,
            process: Some(process),
            position: format!("position fen {} moves", opening.position(0).to_fen()),
            known: 1,
            limits: GoLimits::default(),
            started: Instant::now(),
        })
    }

    /// Begins the search of the last position of `game`. `opponent` has the other side's clock.
    pub(super) fn begin_move(
        &mut self,
        game: &History,
        limits: GoLimits,
        opponent: &GoLimits,
    ) -> Result<(), UciProcessError> {
        while self.known < game.len() {
            let before = game.position(self.known - 1);
            if let Some(mv) = move_between(before, game.position(self.known)) {
                self.position += &format!(" {}", before.format_move(mv, game.variant()));
            }
            self.known += 1;
        }
        let go = go(&limits, opponent, game.current().turn().is_white());
        self.limits = limits;
        let position = self.position.clone();
        let process = self.process()?;
        process.send(&position)?;
        process.send(&go)?;
        self.started = Instant::now();
        Ok(())
    }

    fn process(&mut self) -> Result<&mut UciProcess, UciProcessError> {
        let engine = &self.engine;
        let gone = || UciProcessError { name: engine.name.clone(), reason: "has failed before".into() };
        self.process.as_mut().ok_or_else(gone)
    }

    /// Waits for the end of the search. Returns the move that was made, if it is legal in `game`, with its
    /// figures. The time it took, ms.
    pub(super) fn end_move(&mut self, game: &History) -> Result<(Option<MoveRecord>, f64), UciProcessError> {
        let patience = match self.limits.time {
            Some(time) => Duration::from_secs_f64((time.0 / 1000.0).max(0.0)) + MARGIN,
            None => LONGEST_MOVE,
        };
        let read = self.process()?.read_until("bestmove", Some(patience));
        let used_ms = self.started.elapsed().as_secs_f64() * 1e3;
        if read.is_err()
            && let Some(mut process) = self.process.take()
        {
            process.kill();
        }
        let lines = read?;
        let best = lines.last().and_then(|line| line.split_ascii_whitespace().nth(1));
        let best = best.and_then(|text| game.parse_move(text).ok());
        let best = best.filter(|best| game.legal_moves().contains(best));
        Ok((best.map(|best| record(best, used_ms, &lines)), used_ms))
    }
}

impl Drop for ExternalPlayer {
    fn drop(&mut self) {
        if let Some(process) = self.process.take() {
            self.engine.give_back(process);
        }
    }
}

/// Returns the record of a move, from what the engine has said since `go`.
fn record(mv: Move, used_ms: f64, lines: &[String]) -> MoveRecord {
    let mut latest = lines.iter().rev().filter_map(|line| InfoLine::parse(line));
    let nodes = latest.find_map(|info| info.after("nodes")?.parse().ok()).unwrap_or(0);
    MoveRecord {
        mv,
        clock_ms: None,
        used_ms,
        nodes,
        new_nodes: nodes,
        score: score(lines),
        moves_left: None,
        budget_ms: None,
        managers_moves_left: None,
        end: "bestmove".into(),
    }
}

/// Returns the last score of the best line that an engine has said, bounds left out.
fn score(lines: &[String]) -> Option<MoveScore> {
    let infos = lines.iter().rev().filter_map(|line| InfoLine::parse(line));
    let is_of_best = |info: &InfoLine<'_>| info.after("multipv").is_none_or(|rank| rank == "1");
    infos.filter(|info| is_of_best(info) && !info.is_bound()).find_map(|info| match info.score()? {
        ("mate", moves) => Some(MoveScore::Mate(moves)),
        ("cp", score) => Some(MoveScore::Centipawns(score)),
        _ => None,
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A regression: the last line counted, which under MultiPV is the worst one, and bounds did.
    #[test]
    fn the_score_is_that_of_the_best_line() {
        let cp = |score| Some(MoveScore::Centipawns(score));
        for (said, expected) in [
            (&["info depth 1 score cp 5 pv e2e4", "info depth 2 score cp 7 pv e2e4"][..], cp(7)),
            (&["info multipv 1 score cp 30 pv e2e4", "info multipv 2 score cp -90 pv a2a3"], cp(30)),
            (&["info score cp 30 pv e2e4", "info score cp 80 lowerbound pv e2e4"], cp(30)),
            (
                &["info score mate -2 pv e2e4", "info score cp -9 upperbound pv e2e4"],
                Some(MoveScore::Mate(-2)),
            ),
            (&["info string score cp 3", "bestmove e2e4"], None),
        ] {
            let lines: Vec<String> = said.iter().map(|&line| line.to_owned()).collect();
            assert_eq!(score(&lines), expected, "{said:?}");
        }
    }
}

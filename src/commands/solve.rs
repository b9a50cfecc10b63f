//! `zeitnot solve`: searches the positions of a test suite (EPD) and reports which were solved, and how soon.
//!
//! A position is solved if the move is one of `bm`, none of `am`, and for `dm` and `bm #N` if a mate in as
//! many moves is proven: of the opponent, or for negative numbers of the side to move. The solution counts
//! from the first report after which it stayed.

use std::fmt;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use crossbeam::channel::{Sender, bounded};
use serde::Serialize;

use super::engine_args::{EngineArgs, count};
use super::measure::{self, LimitArgs, open_positions};
use super::running::{engine_facts, origin};
use crate::output::{ExitStatus, Output, Told};
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{History, ListedPosition, Move, Operation, PositionLines, Variant};
use zeitnot_engine::engine::{GoRequest, Listener};
use zeitnot_engine::files::{LineError, Lines};
use zeitnot_engine::note::Note;
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::serve::Order;
use zeitnot_engine::time::{Limit, Millis, Nodes, SearchStats};

const DEFAULT_NODES: Nodes = Nodes(2000);
const REPORT_EVERY: Duration = Duration::from_millis(25);

#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// The test suite: a line for each position, with bm, am or dm
    #[arg(value_name = "FILE.epd")]
    file: PathBuf,
    #[command(flatten)]
    limits: LimitArgs,
    /// Positions that are searched at once [default: enough to fill a GPU's batches, or one for each thread
    /// on CPUs, or 1 with --movetime]
    #[arg(long, value_name = "N", value_parser = count().range(..=4096))]
    concurrency: Option<usize>,
    #[command(flatten)]
    settings: EngineArgs,
}

/// A move solves it that is not in `avoid`, and in `best` if there is any.
#[derive(Clone, Debug, Default, PartialEq)]
struct Goal {
    best: Vec<Move>,
    avoid: Vec<Move>,
    /// Most moves to the mate, negative if the side to move is mated.
    mate: Option<i32>,
}

impl Goal {
    fn is_met_by(&self, mv: Move, mate: Option<i32>) -> bool {
        let is_mate =
            |most: i32| mate.is_some_and(|seen| seen.signum() == most.signum() && seen.abs() <= most.abs());
        (self.best.is_empty() || self.best.contains(&mv))
            && !self.avoid.contains(&mv)
            && self.mate.is_none_or(is_mate)
    }

    /// Adds an operation. `bm #3` names a mate instead of a move.
    fn add(&mut self, operation: Operation<'_>, game: &History) -> Result<()> {
        let Operation { code, operands } = operation;
        let text = operation.text();
        let mut words = text.split_whitespace();
        let mate = match (words.next(), words.next()) {
            (Some(word), None) => mate_in(word, code == "dm"),
            _ => None,
        };
        match code {
            "bm" | "dm" if mate.is_some() => self.mate = mate,
            "dm" => bail!("dm {operands}: expected a number of moves"),
            _ => {
                let moves = moves(game, text).map_err(|error| anyhow!("{code}: {error}"))?;
                ensure!(!moves.is_empty(), "{code} names no move");
                let list = if code == "bm" {
                    &mut self.best
                } else {
                    &mut self.avoid
                };
                list.extend(moves);
            }
        }
        Ok(())
    }
}

fn mate_in(word: &str, is_bare: bool) -> Option<i32> {
    let number = word.strip_prefix('#').or(is_bare.then_some(word))?;
    let moves: i32 = number.parse().ok()?;
    (moves != 0 && moves != i32::MIN).then_some(moves)
}

#[derive(Debug)]
struct Problem {
    id: String,
    /// As after UCI's `position`.
    position: String,
    game: History,
    goal: Goal,
    asked: String,
    points: Vec<(Move, u32)>,
    note: Option<String>,
}

impl Problem {
    fn parse(lines: &mut PositionLines, line: &str, number: u64) -> Result<Option<Problem>> {
        let listed = lines.read(line).transpose()?;
        listed.map(|listed| Problem::of(&listed, number)).transpose()
    }

    fn of(listed: &ListedPosition<'_>, number: u64) -> Result<Problem> {
        let position = listed.uci_position();
        let game = History::from_uci_position(&position, Variant::Standard)?;
        ensure!(!game.legal_moves().is_empty(), "it has no legal move");
        let mut problem = Problem {
            id: format!("line {number}"),
            position,
            game: game.clone(),
            goal: Goal::default(),
            asked: String::new(),
            points: Vec::new(),
            note: None,
        };
        if let Some((name, solution)) = listed.puzzle {
            problem.goal.best = moves(&game, solution)?;
            problem.asked = "bm ".into();
            for &best in &problem.goal.best {
                problem.asked += &game.current().format_san(best);
            }
            if !name.is_empty() {
                problem.id = name.to_owned();
            }
        }
        let mut empty = None;
        for operation in &listed.operations()? {
            let text = operation.text();
            match operation.code {
                code @ ("bm" | "am" | "dm") if ["", "-"].contains(&text) => empty = Some(code),
                "bm" | "am" | "dm" => {
                    problem.goal.add(*operation, &game)?;
                    let comma = if problem.asked.is_empty() { "" } else { ", " };
                    problem.asked += &format!("{comma}{} {}", operation.code, operation.operands);
                }
                "id" => problem.id = text.into(),
                "c0" => (problem.points, problem.note) = points(&game, text),
                _ => {}
            }
        }
        match empty {
            _ if problem.goal != Goal::default() => Ok(problem),
            Some(code) => bail!("{code} names no move"),
            None => bail!("it has none of bm, am, dm"),
        }
    }

    /// `None` where the suite gives no points.
    fn points_of(&self, mv: Move) -> Option<Points> {
        let most = self.points.iter().map(|&(_, points)| points).max()?;
        let found = self.points.iter().find(|(known, _)| *known == mv);
        Some(Points {
            reached: found.map_or(0, |&(_, points)| points),
            most,
        })
    }
}

/// As in the Strategic Test Suite: `e4=10, d4=5`. Other suites use the operation for any text. A word that
/// cannot be read costs its points alone.
fn points(game: &History, comment: &str) -> (Vec<(Move, u32)>, Option<String>) {
    let pair = |pair: &str| {
        let (word, points) = pair.rsplit_once('=')?;
        let points: i32 = points.trim().parse().ok()?;
        Some((moves(game, word), points.max(0).unsigned_abs()))
    };
    let pairs: Option<Vec<_>> = comment.split(',').map(pair).collect();
    let mut list = Vec::new();
    let mut note = None;
    for (moves, points) in pairs.unwrap_or_default() {
        match moves {
            Ok(moves) => list.extend(moves.first().map(|&mv| (mv, points))),
            Err(error) => note = Some(format!("c0: {error}, and gives no points")),
        }
    }
    // Without any move they are a comment, as in `Elo=2400`.
    let note = note.filter(|_| !list.is_empty());
    (list, note)
}

/// Ignores move numbers and marks such as `!`, `#1` or `(#3)`.
fn moves(game: &History, text: &str) -> Result<Vec<Move>> {
    let without_mate = |word| str::split(word, "(#").next().unwrap_or_default();
    let is_mark = |word: &&str| match word.strip_prefix('#') {
        Some(number) if !number.is_empty() => number.chars().all(|c| c.is_ascii_digit()),
        _ => word.chars().all(|c| "+#!?".contains(c)),
    };
    let without_number = |word| match str::trim_start_matches(word, |c: char| c.is_ascii_digit()) {
        rest if rest.starts_with('.') => rest.trim_start_matches('.'),
        _ => word,
    };
    let words = text.split([' ', ',', '\t']).map(without_mate).map(without_number);
    words
        .filter(|word| !is_mark(word))
        .map(|word| Ok(game.current().read_move(word)?))
        .collect()
}

#[derive(Clone, Copy, Serialize)]
struct Since {
    nodes: u64,
    ms: f64,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
struct Points {
    reached: u32,
    most: u32,
}

#[derive(Clone, Serialize)]
struct SolveRow {
    id: String,
    position: String,
    asked: String,
    r#move: String,
    solved: bool,
    since: Option<Since>,
    points: Option<Points>,
    nodes: u64,
    time_ms: f64,
}

#[derive(Serialize)]
struct Within {
    limit: u64,
    solved: usize,
}

#[derive(Serialize)]
struct SolveReport {
    version: &'static str,
    backend: String,
    positions: usize,
    solved: usize,
    rate: f64,
    by_nodes: Vec<Within>,
    by_ms: Vec<Within>,
    /// Means to the solution over the solved positions.
    mean_nodes: Option<f64>,
    mean_ms: Option<f64>,
    points: Option<Points>,
    bad_lines: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    rows: Vec<SolveRow>,
}

pub(super) fn run(args: &SolveArgs, output: &mut Output) -> Result<ExitStatus> {
    let (problems, bad_lines) = read(args)?;
    let limit = args.limits.or(Limit::nodes(DEFAULT_NODES.0))?;
    let searcher = measure::searcher(&args.settings.0, args.concurrency, limit)?;
    let facts = searcher.setup.backend().facts();
    output.tell_origins(vec![origin(&engine_facts(Some(facts), &args.settings.0))]);
    let backend = facts.description.clone();
    let mut orders = Vec::new();
    let mut answers = Vec::new();
    for problem in problems {
        let game = Arc::new(problem.game.clone());
        let last = [game.len() - 1];
        let (sender, answer) = bounded(1);
        let watcher = Box::new(Watcher {
            problem,
            since: None,
            notes: Vec::new(),
            answer: sender,
        });
        let order = searcher.order(game, &last, GoRequest::new(limit), watcher);
        orders.push(Order {
            report_every: Some(REPORT_EVERY),
            ..order
        });
        answers.push(answer);
    }
    searcher.submit(orders);
    let mut rows = Vec::new();
    let mut told = Told::default();
    for answer in answers {
        let (row, notes) = answer.recv()?;
        for note in notes {
            told.tell(note);
        }
        let row: SolveRow = row?;
        output.write_ahead(&row)?;
        rows.push(row);
    }
    let report = SolveReport::new(backend, rows, bad_lines, &told);
    output.report(&report)?;
    Ok(if bad_lines == 0 {
        ExitStatus::Success
    } else {
        ExitStatus::BadInput
    })
}

fn read(args: &SolveArgs) -> Result<(Vec<Problem>, usize)> {
    let name = args.file.display();
    let mut problems = Vec::new();
    let mut bad_lines = 0;
    let mut told = Told::default();
    let mut positions = PositionLines::default();
    for line in Lines::new(BufReader::new(open_positions(&args.file)?)) {
        let (number, problem) = match line {
            Ok((number, line)) => (number, Problem::parse(&mut positions, &line, number)),
            Err(LineError::TooLong(number)) => (number, Err(anyhow!("it is too long"))),
            Err(LineError::Read(error)) => bail!("{name}: {error}"),
        };
        match problem {
            Ok(None) => {}
            Ok(Some(problem)) => {
                if let Some(note) = &problem.note {
                    told.tell_kind("note", format_args!("{name}, line {number}: {note}"));
                }
                problems.push(problem);
            }
            Err(error) => {
                let text = format_args!("{name}, line {number}: {error}");
                told.tell_kind("line that cannot be read", text);
                bad_lines += 1;
            }
        }
    }
    ensure!(!problems.is_empty(), "{name}: no position in it");
    Ok((problems, bad_lines))
}

impl SolveRow {
    fn new(problem: &Problem, outcome: Option<Outcome>, since: Option<Since>) -> Result<SolveRow> {
        let failed = format!("{}: the search failed", problem.id);
        let outcome = outcome.context(failed.clone())?;
        if let Some(reason) = outcome.failure {
            bail!("{failed}: {reason}");
        }
        let best = outcome.best.context(failed)?;
        let SearchStats {
            nodes: Nodes(nodes),
            elapsed: Millis(time_ms),
            ..
        } = outcome.figures.stats;
        let info = outcome.info;
        let seen = info.and_then(|info| info.lines.first()?.mate());
        let solved = problem.goal.is_met_by(best, seen);
        let since = solved.then(|| since.unwrap_or(Since { nodes, ms: time_ms }));
        Ok(SolveRow {
            id: problem.id.clone(),
            position: problem.position.clone(),
            asked: problem.asked.clone(),
            r#move: problem.game.current().format_san(best),
            solved,
            since,
            points: problem.points_of(best),
            nodes,
            time_ms,
        })
    }
}

struct Watcher {
    problem: Problem,
    since: Option<Since>,
    notes: Vec<Note>,
    answer: Sender<(Result<SolveRow>, Vec<Note>)>,
}

impl Listener for Watcher {
    fn info(&mut self, _: &History, info: &SearchInfo) -> ControlFlow<()> {
        if let Some(line) = info.lines.first() {
            let goal = &self.problem.goal;
            let best = line.moves.first();
            if best.is_some_and(|&mv| goal.is_met_by(mv, line.mate())) {
                self.since.get_or_insert(Since {
                    nodes: info.nodes,
                    ms: info.time.as_secs_f64() * 1e3,
                });
            } else {
                self.since = None;
            }
        }
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        if let Some(info) = outcome.as_ref().and_then(|outcome| outcome.info.as_ref()) {
            let _ = self.info(root, info);
        }
        // Nobody receives it if an earlier search has failed.
        let row = SolveRow::new(&self.problem, outcome, self.since);
        let notes = std::mem::take(&mut self.notes);
        let _ = self.answer.send((row, notes));
    }
}

/// Within 100, 200, 500 and so on, up to beyond the `largest`.
fn within(figures: &[f64], largest: f64) -> Vec<Within> {
    let limits = (2..).flat_map(|power| [1, 2, 5].map(|digit| digit * 10u64.pow(power)));
    let limits = limits.take_while(|&limit| (limit as f64) < largest * 2.5);
    let count = |limit| figures.iter().filter(|&&figure| figure <= limit as f64).count();
    let within = limits.map(|limit| Within {
        limit,
        solved: count(limit),
    });
    within.collect()
}

impl SolveReport {
    fn new(backend: String, rows: Vec<SolveRow>, bad_lines: usize, told: &Told) -> SolveReport {
        let since = || rows.iter().filter_map(|row| row.since);
        let nodes: Vec<_> = since().map(|since| since.nodes as f64).collect();
        let ms: Vec<_> = since().map(|since| since.ms).collect();
        let solved = nodes.len();
        let mean = |figures: &[f64]| (solved > 0).then(|| figures.iter().sum::<f64>() / solved as f64);
        let most_nodes = rows.iter().map(|row| row.nodes).max().unwrap_or(0) as f64;
        let longest = rows.iter().map(|row| row.time_ms).fold(0.0, f64::max);
        let points = rows.iter().filter_map(|row| row.points);
        let points = points.reduce(|sum, points| Points {
            reached: sum.reached + points.reached,
            most: sum.most + points.most,
        });
        SolveReport {
            version: VERSION,
            backend,
            positions: rows.len(),
            solved,
            rate: solved as f64 / rows.len().max(1) as f64,
            by_nodes: within(&nodes, most_nodes),
            by_ms: within(&ms, longest),
            mean_nodes: mean(&nodes),
            mean_ms: mean(&ms),
            points,
            bad_lines,
            notes: told.texts.clone(),
            rows,
        }
    }
}

impl fmt::Display for SolveRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.solved { "yes" } else { "no" };
        write!(
            f,
            "{mark:<4} {:<24} {:<8} {:<28} ",
            self.id, self.r#move, self.asked
        )?;
        if let Some(Points { reached, most }) = self.points {
            write!(f, "{reached:>3} of {most} points  ")?;
        }
        if let Some(Since { nodes, ms }) = self.since {
            write!(f, "since {nodes} nodes, {ms:.0} ms")?;
        }
        writeln!(f)
    }
}

impl fmt::Display for SolveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}", self.backend)?;
        for (unit, column) in [("nodes", &self.by_nodes), ("ms", &self.by_ms)] {
            for Within { limit, solved } in column {
                writeln!(f, "within {limit:>9} {unit:<6} {solved:>5}")?;
            }
        }
        if let (Some(nodes), Some(ms)) = (self.mean_nodes, self.mean_ms) {
            writeln!(f, "mean to the solution: {nodes:.0} nodes, {ms:.0} ms")?;
        }
        if let Some(Points { reached, most }) = self.points {
            let share = 100.0 * f64::from(reached) / f64::from(most.max(1));
            writeln!(f, "points {reached} of {most} ({share:.1} %)")?;
        }
        if self.bad_lines > 0 {
            writeln!(f, "lines that could not be read: {}", self.bad_lines)?;
        }
        writeln!(
            f,
            "solved {} of {} ({:.1} %)",
            self.solved,
            self.positions,
            self.rate * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MATE: &str = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - -";

    fn read(operations: &str) -> Result<Problem> {
        Problem::parse(&mut PositionLines::default(), &format!("{MATE} {operations}"), 1).map(Option::unwrap)
    }

    #[test]
    fn operations_say_what_to_find() {
        let problem = read("bm Rd8#; am d1d7 Kf1; dm 1; id \"a; b\"; c0 \"x\";").unwrap();
        assert_eq!(
            (
                problem.goal.best.len(),
                problem.goal.avoid.len(),
                problem.goal.mate
            ),
            (1, 2, Some(1))
        );
        assert_eq!(
            (problem.asked.as_str(), problem.id.as_str()),
            ("bm Rd8#, am d1d7 Kf1, dm 1", "a; b")
        );
        let best = problem.goal.best[0];
        assert!(problem.goal.is_met_by(best, Some(1)));
        assert!(!problem.goal.is_met_by(best, Some(2)) && !problem.goal.is_met_by(best, None));
        assert!(!problem.goal.is_met_by(problem.goal.avoid[0], Some(1)));
    }

    /// A regression: counters were taken for an operation.
    #[test]
    fn counters_may_stand_before_the_operations() {
        for (counters, position) in [
            ("", " 0 1"),
            (" 3 40", " 3 40"),
            (" 3", " 3 1"),
            (" hmvc 3; fmvn 40;", " 3 40"),
        ] {
            let problem = read(&format!("{counters} ; bm Rd8#;")).unwrap();
            assert_eq!(
                (problem.position, problem.asked.as_str()),
                (format!("fen {MATE}{position}"), "bm Rd8#")
            );
        }
    }

    /// A regression: a mark behind a move was taken for a move.
    #[test]
    fn marks_say_nothing_of_the_move() {
        let plain = read("bm Rd8 Kf1;").unwrap().goal;
        for marked in [
            "Rd8#1 Kf1",
            "Rd8+ #1 Kf1!?",
            "Rd8# (#1) Kf1",
            "d1d8#1, g1f1",
            "Rd8\tKf1",
            "\"Rd8 Kf1\"",
            "1. Rd8 1.Kf1",
        ] {
            assert_eq!(read(&format!("bm {marked};")).unwrap().goal, plain, "{marked}");
        }
        assert_eq!(read("bm Rd8; am -; bm Kf1;").unwrap().goal, plain);
    }

    /// A regression: the suites of matetrack could not be read.
    #[test]
    fn a_mate_may_be_asked_for_without_its_move() {
        for (operations, mate) in [
            ("bm #1;", 1),
            ("bm #-2; PV: d1d8;", -2),
            ("dm 3", 3),
            ("dm #3", 3),
            ("dm -15;", -15),
        ] {
            let problem = read(operations).unwrap();
            let goal = Goal {
                mate: Some(mate),
                ..Goal::default()
            };
            assert_eq!(problem.goal, goal, "{operations}");
            let [mv, ..] = problem.game.legal_moves()[..] else {
                panic!()
            };
            assert!(goal.is_met_by(mv, Some(mate)) && goal.is_met_by(mv, Some(mate.signum())));
            assert!(!goal.is_met_by(mv, Some(-mate)) && !goal.is_met_by(mv, Some(mate + mate.signum())));
            assert!(!goal.is_met_by(mv, None));
        }
    }

    #[test]
    fn faults_are_named() {
        for (operations, expected) in [
            ("", "none of bm, am, dm"),
            ("bm ;", "bm names no move"),
            ("am -;", "am names no move"),
            ("bm Qd8;", "bm: "),
            ("am #1;", "am names no move"),
            ("dm soon;", "dm soon: expected a number of moves"),
            ("dm 0;", "expected a number"),
            ("id \"x; bm Rd8;", "quotation mark"),
        ] {
            let error = read(operations).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(Problem::parse(&mut PositionLines::default(), "8/8/8/8/8/8/8/8 w - - bm e4;", 1).is_err());
    }

    #[test]
    fn points_come_in_the_form_of_the_strategic_test_suite() {
        let problem = read("bm Rd8; c0 \"Rd8#=10, Kf1=3, Kh1=-5\";").unwrap();
        let points = ["d1d8", "g1f1", "g1h1"].map(|text| {
            let game = History::from_uci_position(&problem.position, Variant::Standard).unwrap();
            problem
                .points_of(game.parse_move(text).unwrap())
                .map(|points| points.reached)
        });
        assert_eq!(points, [Some(10), Some(3), Some(0)]);
        for other in [
            "",
            "c0 \"a rook, a king\"",
            // A regression: the comment was taken for moves.
            "c0 \"Elo=2400\"",
        ] {
            assert_eq!(read(&format!("bm Rd8; {other};")).unwrap().points, [], "{other}");
        }
        let typing_error = read("bm Rd8; c0 \"Rd8=10, Qd8=3\";").unwrap();
        assert!(typing_error.points.len() == 1 && typing_error.note.unwrap().starts_with("c0: "));
    }

    /// A regression: lichess' puzzles gave a message for each line.
    #[test]
    fn puzzles_of_lichess_are_read() {
        let read = |line: &str| Problem::parse(&mut PositionLines::default(), line, 2);
        let fen = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 b - - 0 1";
        for line in [
            format!("p1,{fen},g8f8 d1d8,1200,80,90,100,short,https://example.org/p1#1,"),
            format!("\"p1\";\"g8f8 d1d8\";\"{fen}\""),
        ] {
            let puzzle = read(&line).unwrap().unwrap();
            assert_eq!((&*puzzle.id, &*puzzle.asked), ("p1", "bm Rd8+"));
            assert_eq!(puzzle.position, format!("fen {fen} moves g8f8"));
        }
        assert!(read("PuzzleId,FEN,Moves,Rating").unwrap().is_none());
        assert!(read("FEN,Moves").unwrap().is_none());
        assert!(read(&format!("{fen},g8f8")).is_err(), "no solution");
    }
}

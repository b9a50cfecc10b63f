//! Searches the positions of games, many at once, and asks what a time manager would have spent on each move.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, unbounded};
use serde::{Deserialize, Serialize};

use super::{AnalysedGame, AnalysedLine, AnalysedPosition};
use crate::pgn::{RecordedControl, RecordedGame};
use crate::replay::{ClockSource, EngineModel, ReplayMove, ReplayOptions, Speed, recorded_moves, replay};
use crate::score::{MoveScore, winning_chances};
use zeitnot_engine::chess::{History, Move, Terminal};
use zeitnot_engine::engine::{EngineError, GoRequest, Listener};
use zeitnot_engine::note::Note;
use zeitnot_engine::search::{MoveStats, Outcome, PvLine, SearchInfo};
use zeitnot_engine::serve::Searcher;
use zeitnot_engine::time::{Limit, Plies, RootEvaluation, TimeControl, manager_from};

/// New visits, and the time that they took. Of searches at once each has a part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchEffort {
    pub(super) new_nodes: u64,
    pub(super) time_ms: f64,
}

impl SearchEffort {
    pub(super) fn add(&mut self, other: SearchEffort) {
        self.new_nodes += other.new_nodes;
        self.time_ms += other.time_ms;
    }

    pub(super) fn nps(self) -> f64 {
        1000.0 * self.new_nodes as f64 / self.time_ms.max(1.0)
    }
}

const STOP_TICK: Duration = Duration::from_millis(20);

/// Analyses many games at once. A game's positions are searched in their order, each in the tree of the one
/// before. Where there are fewer games than positions may be searched at once, each is divided into parts, of
/// which that holds.
pub struct Analyst {
    searcher: Searcher,
    limit: Limit,
    parts: usize,
    open: Vec<OpenGame>,
    /// Parts of all games that are not finished.
    open_parts: usize,
    sender: Sender<SearchedPosition>,
    searched: Receiver<SearchedPosition>,
    effort: SearchEffort,
    /// Not yet taken.
    notes: Vec<Note>,
    last: Instant,
}

#[derive(Debug)]
struct OpenGame {
    place: u64,
    recorded: RecordedGame,
    positions: Vec<Option<AnalysedPosition>>,
    left: usize,
}

#[derive(Debug)]
struct SearchedPosition {
    place: u64,
    root: History,
    outcome: Option<Outcome>,
    notes: Vec<Note>,
    ends_part: bool,
}

struct PartListener {
    place: u64,
    left: usize,
    notes: Vec<Note>,
    sender: Sender<SearchedPosition>,
}

impl Listener for PartListener {
    fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        self.left -= 1;
        // Where the run has ended nobody wants it.
        let _ = self.sender.send(SearchedPosition {
            place: self.place,
            root: root.clone(),
            outcome,
            notes: std::mem::take(&mut self.notes),
            ends_part: self.left == 0,
        });
    }
}

impl Analyst {
    pub fn new(searcher: Searcher, limit: Limit) -> Analyst {
        let (sender, searched) = unbounded();
        Analyst {
            searcher,
            limit,
            parts: 1,
            open: Vec::new(),
            open_parts: 0,
            sender,
            searched,
            effort: SearchEffort::default(),
            notes: Vec::new(),
            last: Instant::now(),
        }
    }

    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Divides games so that so many of them are enough.
    pub fn divide_games(&mut self, games: usize) {
        self.parts = self.searcher.size.searches.div_ceil(games.max(1));
    }

    /// Counts searches of a game that was analysed before, for the machine's speed.
    pub fn add_effort(&mut self, effort: SearchEffort) {
        self.effort.add(effort);
    }

    pub fn has_room(&self) -> bool {
        self.open_parts < self.searcher.size.searches
    }

    /// Begins the game at `place`. Returns the number of positions to search.
    pub fn begin(&mut self, place: u64, recorded: RecordedGame) -> Result<usize, EngineError> {
        if self.open.is_empty() {
            self.last = Instant::now();
        }
        let mut game = recorded.history();
        let over = |game: &History| game.terminal(&game.legal_moves()).map(game_over);
        let mut positions = vec![over(&game)];
        for played in &recorded.moves {
            game.push(played.r#move);
            positions.push(over(&game));
        }
        let game = Arc::new(game);
        let plies = (0..positions.len()).filter(|&ply| positions[ply].is_none());
        let plies: Vec<_> = plies.collect();
        let mut orders = Vec::new();
        for part in plies.chunks(plies.len().div_ceil(self.parts).max(1)) {
            let listener = Box::new(PartListener {
                place,
                left: part.len(),
                notes: Vec::new(),
                sender: self.sender.clone(),
            });
            let request = GoRequest::new(self.limit);
            orders.push(self.searcher.order(game.clone(), part, request, listener));
        }
        self.open_parts += orders.len();
        self.searcher.submit(orders);
        let left = plies.len();
        self.open.push(OpenGame {
            place,
            recorded,
            positions,
            left,
        });
        Ok(left)
    }

    /// Waits until a position is searched. Returns the games that are whole then, with their places, or
    /// `None` if no game is open or the run `is_stopped`.
    pub fn advance(
        &mut self,
        plan: &SpendingPlan,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Option<Vec<(u64, AnalysedGame)>>, EngineError> {
        if self.open.iter().all(|game| game.left > 0) {
            let searched = loop {
                if self.open.is_empty() || is_stopped() {
                    return Ok(None);
                }
                if let Ok(searched) = self.searched.recv_timeout(STOP_TICK) {
                    break searched;
                }
            };
            self.take_in(searched)?;
        }
        let nps = self.effort.nps();
        let whole = self.open.extract_if(.., |game| game.left == 0);
        let analysed = whole.map(|game| {
            let positions = game.positions.into_iter().flatten().collect();
            let analysed = AnalysedGame::new(game.recorded, positions, plan, nps);
            (game.place, analysed)
        });
        Ok(Some(analysed.collect()))
    }

    fn take_in(&mut self, searched: SearchedPosition) -> Result<(), EngineError> {
        let refuse = |reason| {
            Err(EngineError::NoResult {
                position: searched.root.current().to_fen(),
                reason,
            })
        };
        let Some(outcome) = searched.outcome else {
            return refuse(Note::join(&searched.notes));
        };
        if let Some(reason) = outcome.failure {
            return refuse(reason);
        }
        let Some(best) = outcome.best else {
            return refuse(Note::join(&searched.notes));
        };
        self.notes.extend(searched.notes);
        let info = outcome.info.as_ref();
        let lines = lines(best, info);
        if lines.is_empty() {
            return refuse("no evaluation has come back in time".into());
        }
        let stats = &outcome.figures.stats;
        let now = Instant::now();
        let effort = SearchEffort {
            new_nodes: stats.new_nodes.0,
            time_ms: (now - self.last).as_secs_f64() * 1e3,
        };
        self.last = now;
        self.add_effort(effort);
        self.open_parts -= usize::from(searched.ends_part);
        let mut open = self.open.iter_mut();
        if let Some(game) = open.find(|game| game.place == searched.place) {
            game.positions[searched.root.len() - 1] = Some(AnalysedPosition {
                lines,
                nodes: stats.nodes.0,
                effort,
                tries: tries(info),
            });
            game.left -= 1;
        }
        Ok(())
    }
}

/// The least share of the visits, permille, that is told, and most moves that have it told.
const LEAST_SHARE: u32 = 10;
const MOST_TRIES: usize = 10;

fn tries(info: Option<&SearchInfo>) -> Vec<(Move, u32, f64)> {
    let stats = info.and_then(|info| info.move_stats.as_ref());
    let moves = stats.map_or(&[][..], |stats| &stats.moves);
    let all = moves.iter().map(|one| one.node.visits).sum::<u32>().max(1);
    let tries = moves.iter().rev().filter_map(|MoveStats { mv, node, .. }| {
        let share = (1000 * u64::from(node.visits) / u64::from(all)) as u32;
        let chances = winning_chances(f64::midpoint(1.0, node.q.into()));
        (share >= LEAST_SHARE).then_some((*mv, share, chances))
    });
    tries.take(MOST_TRIES).collect()
}

/// The lines of a search, that of the move to play first.
fn lines(best: Move, info: Option<&SearchInfo>) -> Vec<AnalysedLine> {
    let lines = info.map_or(&[][..], |info| &info.lines);
    let mut lines: Vec<_> = lines.iter().filter_map(line).collect();
    // Temperature may have chosen another move than the most visited one.
    lines.sort_by_key(|line| line.moves.first() != Some(&best));
    lines
}

/// `None` of a move without visits.
fn line(line: &PvLine) -> Option<AnalysedLine> {
    let value = line.value.as_ref()?;
    let wl = value.wl.into();
    let score = MoveScore::of_value(value);
    Some(AnalysedLine {
        wl,
        d: value.d.into(),
        win: match score {
            MoveScore::Mate(_) => score.win_percent(),
            MoveScore::Centipawns(_) => winning_chances((1.0 + wl) / 2.0),
        },
        score,
        moves_left: value.moves_left.map(f64::from),
        moves: line.moves.clone(),
    })
}

pub(super) fn game_over(terminal: Terminal) -> AnalysedPosition {
    let (wl, d, score) = match terminal {
        Terminal::Checkmate => (-1.0, 0.0, MoveScore::Mate(0)),
        _ => (0.0, 1.0, MoveScore::Centipawns(0)),
    };
    let line = AnalysedLine {
        wl,
        d,
        win: score.win_percent(),
        score,
        moves_left: Some(0.0),
        moves: Vec::new(),
    };
    AnalysedPosition {
        lines: vec![line],
        ..AnalysedPosition::default()
    }
}

/// The clocks that a time manager gets to see.
#[derive(Debug)]
pub struct SpendingPlan {
    /// The time manager, as in the option `TimeManager`.
    pub manager: String,
    /// The time control, whatever the games' tags say.
    pub control: Option<TimeControl>,
    /// Time that is kept back of every clock, ms.
    pub overhead_ms: f64,
}

impl SpendingPlan {
    /// The time that the manager would have spent on each move of both sides, ms, on a machine that makes
    /// `nps` new visits per second. It sees the game's clocks, if there are any, else its own, which runs
    /// down by what it spends. Without a time control there are no times.
    pub(super) fn spend(
        &self,
        game: &RecordedGame,
        positions: &[AnalysedPosition],
        nps: f64,
    ) -> Vec<Option<f64>> {
        let mut spent = vec![None; game.moves.len()];
        let turn = game.start.turn();
        for (side, color) in [turn, !turn].into_iter().enumerate() {
            let told = self.control.map(RecordedControl::from);
            let Some(periods) = told.or_else(|| RecordedControl::of(game, color)) else {
                continue;
            };
            // Nobody plans a move of days.
            if self.control.is_none() && periods.is_per_move() {
                continue;
            }
            let Ok(manager) = manager_from(&self.manager) else {
                return spent;
            };
            let control = periods.first();
            let moves = searched_moves(game, positions, side, control);
            let has_clocks = moves.iter().skip(1).any(|position| position.clock_ms.is_some());
            let options = ReplayOptions {
                control,
                later: periods.later().to_vec(),
                clock_source: if has_clocks {
                    ClockSource::Recorded
                } else {
                    ClockSource::Running
                },
                model: EngineModel {
                    speed: Speed::constant(nps),
                    nps_scatter: 0.0,
                    batch: 8,
                    batch_latency_ms: 0.0,
                    ..EngineModel::default()
                },
                overhead_ms: self.overhead_ms,
                ..ReplayOptions::default()
            };
            let replayed = replay(&moves, manager, &options);
            for (own, played) in replayed.moves.iter().enumerate() {
                spent[side + 2 * own] = played.used_ms;
            }
        }
        spent
    }
}

fn searched_moves(
    game: &RecordedGame,
    positions: &[AnalysedPosition],
    first: usize,
    control: TimeControl,
) -> Vec<ReplayMove> {
    let own = positions.iter().skip(first).step_by(2);
    let moves = recorded_moves(game, first, Some(control)).into_iter().zip(own);
    let moves = moves.map(|(recorded, found)| {
        let best = found.best();
        ReplayMove {
            root: Some(RootEvaluation {
                wl: best.wl,
                d: Some(best.d),
                m: best.moves_left.map(Plies),
                m_spread: None,
            }),
            plies_to_mate: plies_to_mate(best.score),
            ..recorded
        }
    });
    moves.collect()
}

fn plies_to_mate(score: MoveScore) -> Option<u32> {
    match score {
        MoveScore::Centipawns(_) => None,
        MoveScore::Mate(moves) => Some(2 * moves.unsigned_abs() - u32::from(moves > 0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::Games;
    use zeitnot_engine::time::Millis;

    /// A regression: a move that mates got as much time as any other.
    #[test]
    fn the_manager_hears_of_mates() {
        let game = Games::new("text", &b"1. f3 e5 2. g4 Qh4# 0-1\n"[..])
            .next()
            .unwrap()
            .unwrap();
        let control = Some(TimeControl {
            time: Millis(60_000.0),
            ..TimeControl::default()
        });
        let plan = SpendingPlan {
            manager: "smooth".into(),
            control,
            overhead_ms: 0.0,
        };
        let found = |score| {
            let line = AnalysedLine {
                wl: 0.9,
                d: 0.0,
                win: 90.0,
                score,
                moves_left: None,
                moves: Vec::new(),
            };
            AnalysedPosition {
                lines: vec![line],
                nodes: 1,
                ..AnalysedPosition::default()
            }
        };
        let [open, mating] = [MoveScore::Centipawns(0), MoveScore::Mate(1)].map(|last| {
            let unclear = MoveScore::Centipawns(0);
            plan.spend(&game, &[unclear, unclear, unclear, last].map(found), 1_000.0)[3].unwrap()
        });
        assert!(open > 500.0 && mating < 50.0, "{open} ms, {mating} ms");
        assert_eq!(plies_to_mate(MoveScore::Mate(-2)), Some(4));
    }
}

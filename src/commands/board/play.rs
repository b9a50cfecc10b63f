//! The engine as the opponent on the page, which counts the clocks and asks for each move.
//!
//! It tells how its time is planned, and may ponder as long as the page listens.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use crossbeam::channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::serve::Figures;
use zeitnot_engine::chess::History;
use zeitnot_engine::engine::{Engine, GoRequest, Listener, Settings, TimeReport};
use zeitnot_engine::network::Backend;
use zeitnot_engine::note::Note;
use zeitnot_engine::search::{Outcome, SearchInfo};
use zeitnot_engine::time::estimators::LogLogistic;
use zeitnot_engine::time::{Bounds, GamePly, Limit, Millis, Nodes};

/// Eleven days.
const MAX_MS: f64 = 1e9;

/// A position, the clock of the side to move, and how well it is to play.
#[derive(Deserialize)]
pub(super) struct Turn {
    fen: String,
    moves: Vec<String>,
    time_ms: f64,
    inc_ms: f64,
    /// The most nodes of the move.
    nodes: Option<u64>,
    /// `None` is the strength that the command line names.
    elo: Option<u32>,
    #[serde(default)]
    pub(super) ponder: bool,
}

impl Turn {
    /// As after UCI's `position`.
    fn position(&self) -> String {
        let moves = self.moves.iter().map(|mv| format!(" {mv}"));
        format!("fen {} moves{}", self.fen, moves.collect::<String>())
    }

    fn bounds(&self, used: Millis) -> Bounds {
        let left = Millis(self.time_ms) - used;
        Bounds {
            nodes: self.nodes.map(Nodes),
            ..Limit::clock(left.max(Millis::ZERO), Millis(self.inc_ms)).bounds()
        }
    }
}

pub(super) struct Opponent {
    engine: Engine,
    elo: Option<u32>,
    /// Its end with the page that asked last.
    page: Arc<Mutex<Sender<Value>>>,
    /// Of the turns so far, of opponents of other strengths too.
    count: u64,
    /// The position that it ponders on.
    pondered: Option<String>,
}

/// What a page hears of its turn.
pub(super) struct Thoughts {
    number: u64,
    /// Ends when another turn begins.
    pub(super) lines: Receiver<Value>,
}

impl Opponent {
    /// Of a strength. `None` is that of `settings`.
    fn new(
        mut settings: Settings,
        backend: &Arc<dyn Backend>,
        elo: Option<u32>,
        count: u64,
    ) -> Result<Opponent> {
        settings.chess960 = true;
        if let Some(elo) = elo {
            settings.set("UCI_LimitStrength", "true")?;
            settings.set("UCI_Elo", &elo.to_string())?;
        }
        let engine = if settings.strength.limit_strength {
            // Its network is the one that comes with the program.
            Engine::new(settings)?
        } else {
            Engine::with_backend(settings, backend.clone())?
        };
        Ok(Opponent {
            engine,
            elo,
            page: Arc::new(Mutex::new(unbounded().0)),
            count,
            pondered: None,
        })
    }

    /// The one of the last turn, if it has the strength that is asked for.
    pub(super) fn of<'a>(
        known: &'a mut Option<Opponent>,
        turn: &Turn,
        settings: &Settings,
        backend: &Arc<dyn Backend>,
    ) -> Result<&'a mut Opponent> {
        let count = known.as_ref().map_or(0, |known| known.count);
        let opponent = match known.take().filter(|known| known.elo == turn.elo) {
            Some(known) => known,
            None => Opponent::new(settings.clone(), backend, turn.elo, count)?,
        };
        Ok(known.insert(opponent))
    }

    /// Thinks, or goes on with what it has pondered on.
    pub(super) fn begin(&mut self, turn: &Turn) -> Result<Thoughts> {
        let is_time = |ms: f64| (0.0..=MAX_MS).contains(&ms);
        ensure!(
            is_time(turn.time_ms) && is_time(turn.inc_ms),
            "a time is negative or too long"
        );
        self.engine.set_option("Ponder", &turn.ponder.to_string())?;
        let position = turn.position();
        self.engine.set_position(&position)?;
        ensure!(
            !self.engine.position().legal_moves().is_empty(),
            "the game is over"
        );
        let (sender, lines) = unbounded();
        *self.page.lock() = sender;
        self.count += 1;
        if self.pondered.take() == Some(position) {
            self.engine.ponder_hit(Instant::now())?;
        } else {
            self.go(Limit::Until(turn.bounds(Millis::ZERO)))?;
        }
        Ok(Thoughts {
            number: self.count,
            lines,
        })
    }

    fn go(&mut self, limit: Limit) -> Result<()> {
        let page = ToPage(self.page.clone());
        Ok(self.engine.go(GoRequest::new(limit), Box::new(page))?)
    }

    /// After the `last` line of a turn. Ponders if the page wants so and a reply is expected.
    pub(super) fn ponder(&mut self, turn: &Turn, thoughts: &Thoughts, last: &Value) -> Result<()> {
        let [Some(best), Some(reply)] = ["move", "reply"].map(|key| last[key].as_str()) else {
            return Ok(());
        };
        if self.count == thoughts.number && turn.ponder {
            let position = format!("{} {best} {reply}", turn.position());
            self.engine.set_position(&position)?;
            let used = last["used_ms"].as_f64().unwrap_or_default();
            let bounds = turn.bounds(Millis(used - turn.inc_ms));
            self.go(Limit::Ponder(Some(bounds)))?;
            self.pondered = Some(position);
        }
        Ok(())
    }

    /// Nobody listens to these any more.
    pub(super) fn leave(&mut self, thoughts: &Thoughts) {
        if self.count == thoughts.number {
            self.engine.stop();
            self.pondered = None;
        }
    }
}

struct ToPage(Arc<Mutex<Sender<Value>>>);

impl ToPage {
    fn send(&self, line: Value) {
        // Who has gone is noticed by the thread that writes.
        let _ = self.0.lock().send(line);
    }
}

impl Listener for ToPage {
    fn info(&mut self, root: &History, info: &SearchInfo) -> ControlFlow<()> {
        self.send(json!({
            "found": Figures::of(info),
            "legacy": LogLogistic::default().moves_left(GamePly(root.current().game_ply())),
        }));
        ControlFlow::Continue(())
    }

    fn note(&mut self, note: Note) {
        self.send(json!({ "note": note.to_string() }));
    }

    fn time_report(&mut self, report: &TimeReport) {
        let TimeReport {
            plan,
            used,
            stats,
            decisive_lead,
            end,
        } = report;
        self.send(json!({
            "plan": {
                "budget_ms": plan.budget.0,
                "target_nodes": plan.target_nodes.map(|nodes| nodes.0),
                "reused_nodes": plan.reused_nodes.map(|nodes| nodes.0),
                "moves_left": plan.moves_left,
                "moves_left_source": plan.moves_left_source,
            },
            "used_ms": used.0,
            "nodes": stats.nodes.0,
            "lead": stats.lead(),
            "decisive_lead": decisive_lead,
            "reason": end.map(|end| end.to_string()),
        }));
    }

    fn answer(&mut self, root: &History, outcome: Option<Outcome>) {
        let line = outcome.map(|outcome| [outcome.best, outcome.ponder]);
        let moves: Vec<_> = line.into_iter().flatten().flatten().collect();
        let moves = root.format_line(&moves);
        self.send(json!({ "move": moves.first(), "reply": moves.get(1) }));
    }
}

//! Measures games: which games and positions are taken, what the network and a search say of each position, and the settings that rows
//! were made with.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Estimator, MovesLeftSource, PositionRow, mix};
use crate::chess::{Color, History, Variant};
use crate::engine::{Engine, EngineError, Settings};
use crate::lab::LabError;
use crate::lab::pgn::RecordedGame;
use crate::lab::rows::RowError;
use crate::lab::training::game::Ending;
use crate::lab::training::pgn::{base_seconds, ending, is_held_out};
use crate::network::{Backend, BatchEvaluator};
use crate::time::{GoLimits, Nodes};
use crate::version::VERSION;

/// Filters; the default takes all games whose length counts, and all their positions.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The number of positions of which one is taken, drawn by game and ply.
    pub(crate) sample: u64,
    /// Fewest plies played before a position.
    pub(crate) from_ply: u32,
    /// Length of the games, plies.
    pub(crate) plies: RangeInclusive<u32>,
    /// Base time of the games, seconds; games without the tag have 0.
    pub(crate) base_seconds: RangeInclusive<f64>,
    /// Lowest Elo of either player.
    pub(crate) min_elo: Option<u32>,
    /// The ways the games ended; empty: any way that says something about their length.
    pub(crate) endings: Vec<Ending>,
    /// True to take only events that Zeitnot's own network was not trained on.
    pub(crate) held_out: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            sample: 1,
            from_ply: 0,
            plies: 1..=u32::MAX,
            base_seconds: 0.0..=f64::INFINITY,
            min_elo: None,
            endings: Vec::new(),
            held_out: false,
        }
    }
}

impl Selection {
    /// Says whether the game is one of those to look at.
    pub(crate) fn takes_game(&self, game: &RecordedGame) -> bool {
        let tag = |name| game.tags.get(name).unwrap_or_default();
        let elo = |name| tag(name).parse::<u32>().unwrap_or(0);
        let ending = ending(game);
        let ends_well =
            if self.endings.is_empty() { ending.length_counts() } else { self.endings.contains(&ending) };
        let base = base_seconds(tag("TimeControl"));
        ends_well
            && self.plies.contains(&(game.moves.len() as u32))
            && self.base_seconds.contains(&base)
            && self.min_elo.is_none_or(|least| elo("WhiteElo").min(elo("BlackElo")) >= least)
            && (!self.held_out || is_held_out(tag("Event").as_bytes()))
    }

    /// Says whether this position of a game is one of those to look at.
    pub(crate) fn takes_position(&self, game: u64, ply: u32) -> bool {
        ply >= self.from_ply
            && (self.sample <= 1 || mix(mix(game) ^ u64::from(ply)).is_multiple_of(self.sample))
    }
}

/// The state with which a thread measures games.
pub(crate) struct Measurer<'a> {
    selection: &'a Selection,
    /// The estimators whose answers stand in the rows themselves: `mle-legacy`, `mle-pieces`, `mle-mlh`.
    estimators: [Estimator; 3],
    has_moves_left: bool,
    /// The place of a game, and that of the row that a position belongs to.
    batch: BatchEvaluator<(usize, usize)>,
    searcher: Option<Searcher>,
}

impl<'a> Measurer<'a> {
    /// Makes one for batches of so many positions, or of as many as the backend prefers if that is `None`. With `nodes`, each position is
    /// also searched.
    pub(crate) fn new(
        selection: &'a Selection,
        backend: &dyn Backend,
        settings: &Settings,
        batch: Option<usize>,
        nodes: Option<u64>,
    ) -> Result<Measurer<'a>, LabError> {
        let info = backend.info();
        let batch = batch.unwrap_or(info.preferred_batch);
        Ok(Measurer {
            selection,
            // Invariant: names of estimators without parameters are valid.
            estimators: ["mle-legacy", "mle-pieces", "mle-mlh"]
                .map(|name| Estimator::parse(name, MovesLeftSource::Root).expect("an estimator's name")),
            has_moves_left: info.has_moves_left,
            batch: BatchEvaluator::new(backend, settings.search.history_fill, batch)?,
            searcher: nodes.map(|nodes| Searcher::new(settings, nodes)).transpose()?,
        })
    }

    /// Returns the rows of each game. Batches go across games.
    pub(crate) fn measure(&mut self, games: &[RecordedGame]) -> Result<Vec<Vec<PositionRow>>, LabError> {
        let mut rows = Vec::with_capacity(games.len());
        for game in games {
            rows.push(Vec::with_capacity(game.moves.len()));
            self.measure_game(game, &mut rows)?;
        }
        self.evaluate(&mut rows)?;
        let [legacy, pieces, head] = &self.estimators;
        for row in rows.iter_mut().flatten() {
            row.legacy_moves = legacy.estimate(row).unwrap_or_default() as f32;
            row.pieces_moves = pieces.estimate(row).unwrap_or_default() as f32;
            row.mlh_moves = head.estimate(row).map(|moves| moves as f32);
        }
        Ok(rows)
    }

    /// Adds the rows of a game to the last of `rows`, and its positions to the batch.
    fn measure_game(&mut self, game: &RecordedGame, rows: &mut [Vec<PositionRow>]) -> Result<(), LabError> {
        let mut history = History::from_position(game.start.clone(), game.variant);
        let mut text = match game.tags.get("FEN") {
            Some(fen) => format!("fen {fen} moves"),
            None => "startpos moves".to_owned(),
        };
        if let Some(searcher) = &mut self.searcher {
            searcher.set_variant(game.variant)?;
        }
        let place = rows.len() - 1;
        for (i, played) in game.moves.iter().enumerate() {
            if self.selection.takes_position(game.number, history.game_ply()) {
                let mut row = facts(game, i, &history);
                if let Some(searcher) = &mut self.searcher {
                    searcher.search(&text, &mut row)?;
                }
                // Without moves: the policy head is not asked.
                self.batch.push((place, rows[place].len()), &history, &[]);
                rows[place].push(row);
                if self.batch.is_full() {
                    self.evaluate(rows)?;
                }
            }
            if self.searcher.is_some() {
                text.push(' ');
                text.push_str(&history.format_move(played.r#move));
            }
            history.push(played.r#move);
        }
        Ok(())
    }

    fn evaluate(&mut self, rows: &mut [Vec<PositionRow>]) -> Result<(), LabError> {
        for ((game, row), slot) in self.batch.evaluate()? {
            let row = &mut rows[game][row];
            row.q = Some(slot.evaluation.q);
            row.m_plies = self.has_moves_left.then_some(slot.evaluation.m);
        }
        Ok(())
    }
}

/// Returns the FNV-1a hash of a text.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// Returns what is known of the position before the `i`-th move without any network or search.
fn facts(game: &RecordedGame, i: usize, history: &History) -> PositionRow {
    let position = history.current();
    let plies_left = (game.moves.len() - i) as u32;
    let sign = if position.turn() == Color::White { 1 } else { -1 };
    PositionRow {
        game: game.number,
        ply: history.game_ply(),
        plies_left,
        moves_left: plies_left.div_ceil(2),
        pieces: position.piece_count() as u32,
        ending: ending(game).name().to_owned(),
        event: fnv1a(game.tags.get("Event").unwrap_or_default()),
        result: game.tags.result().map(|white| sign * i32::from(white)),
        centipawns: game.moves[i].centipawns.map(i32::from),
        version: VERSION.into(),
        ..PositionRow::default()
    }
}

/// An engine that searches for a fixed number of nodes.
struct Searcher {
    engine: Engine,
    nodes: u64,
}

impl Searcher {
    /// An engine of one thread that nothing but the number of nodes stops.
    fn new(settings: &Settings, nodes: u64) -> Result<Searcher, EngineError> {
        let mut settings = settings.clone();
        settings.network.threads = NonZero::new(1);
        settings.stoppers.smart_pruning_factor = 0.0;
        let mut engine = Engine::new(settings)?;
        engine.prepare()?;
        Ok(Searcher { engine, nodes })
    }

    /// Reads moves as this variant writes them from now on.
    fn set_variant(&mut self, variant: Variant) -> Result<(), EngineError> {
        let is_960 = variant == Variant::Chess960;
        self.engine.set_option("UCI_Chess960", if is_960 { "true" } else { "false" }).map(drop)
    }

    /// Searches the position after `position` (as in UCI's `position`) and notes in its row what the tree says.
    fn search(&mut self, position: &str, row: &mut PositionRow) -> Result<(), LabError> {
        self.engine.new_game();
        // Evaluations kept from other positions change which ones share a batch, and so the tree: rows would depend on where a run began.
        self.engine.clear_cache();
        self.engine.set_position(position)?;
        let limits = GoLimits { nodes: Some(Nodes(self.nodes)), ..GoLimits::default() };
        let found = self.engine.search(limits)?;
        if let Some(root) = found.result.summary.root {
            row.m_search_plies = root.m.map(|m| m.0 as f32);
            row.m_spread_plies = root.m_spread.map(|spread| spread.0 as f32);
        }
        Ok(())
    }
}

/// Name of the file beside the rows.
const FILE: &str = "movesleft.json";

/// The settings that rows depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunFacts {
    pub(crate) pgn: Vec<String>,
    pub(crate) network: String,
    /// SHA-256 of the network's file, in hexadecimal; `None` without a network and in files of before there was this entry.
    #[serde(default)]
    pub(crate) network_sha256: Option<String>,
    /// Nodes for which each position was searched, if it was.
    pub(crate) nodes: Option<u64>,
    /// The filters, as on the command line.
    pub(crate) filters: String,
    /// The number of positions of which one was taken.
    #[serde(default)]
    pub(crate) sample: u64,
    pub(crate) shard: String,
    #[serde(default)]
    pub(crate) origin: RunOrigin,
}

/// The run that wrote rows. They do not depend on it, so that another one can go on with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunOrigin {
    pub(crate) command: String,
    /// The program's [`VERSION`](crate::version::VERSION), with the commit.
    pub(crate) version: String,
    /// The date on which the run began, UTC.
    pub(crate) date: String,
}

impl RunFacts {
    /// Reads the facts beside a file of rows, if there are any.
    pub(crate) fn beside(rows: &Path) -> Option<RunFacts> {
        let folder = rows.parent()?;
        serde_json::from_str(&std::fs::read_to_string(folder.join(FILE)).ok()?).ok()
    }

    /// Writes the facts into the folder of the rows.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(std::io::Error::from);
        Ok(text.and_then(|text| std::fs::write(&path, text + "\n")).map_err(RowError::io(&path))?)
    }

    /// Says whether all is the same that rows depend on.
    fn agrees_with(&self, other: &RunFacts) -> bool {
        RunFacts { origin: other.origin.clone(), ..self.clone() } == *other
    }

    /// Checks that rows in the folder were made with these facts; writes them if there are none.
    pub(crate) fn check(&self, folder: &Path) -> Result<(), LabError> {
        let path = folder.join(FILE);
        match RunFacts::beside(&path) {
            Some(before) if !before.agrees_with(self) => {
                Err(LabError::OtherRun { path, what: "other settings, those of the rows beside it" })
            }
            Some(_) => Ok(()),
            None => self.write(folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::pgn::Games;

    fn takes(selection: &Selection, tags: &str) -> bool {
        let text = format!("{tags}\n\n1. e4 e5 2. Nf3 1-0\n");
        selection.takes_game(&Games::new("text", text.as_bytes()).next().unwrap().unwrap())
    }

    #[test]
    fn games_are_chosen_by_their_tags() {
        let all = Selection::default();
        assert!(takes(&all, "[Result \"1-0\"]"));
        assert!(!takes(&all, "[Termination \"time forfeit\"]"), "its length says nothing");
        let lost = Selection { endings: vec![Ending::Broken], ..all.clone() };
        assert!(takes(&lost, "[Termination \"time forfeit\"]") && !takes(&lost, "[Result \"1-0\"]"));
        let long = Selection { plies: 4..=9, ..all.clone() };
        assert!(!takes(&long, "[Result \"1-0\"]"));
        let slow = Selection { base_seconds: 1800.0..=f64::INFINITY, ..all.clone() };
        assert!(takes(&slow, "[TimeControl \"1800+3\"]") && !takes(&slow, "[TimeControl \"60\"]"));
        let strong = Selection { min_elo: Some(2000), ..all.clone() };
        assert!(takes(&strong, "[WhiteElo \"2100\"]\n[BlackElo \"2000\"]"));
        assert!(
            !takes(&strong, "[WhiteElo \"2100\"]\n[BlackElo \"1999\"]") && !takes(&strong, "[Event \"x\"]")
        );
    }

    #[test]
    fn held_out_events_are_one_in_twenty() {
        let held_out = Selection { held_out: true, ..Selection::default() };
        let kept = (0..2000).filter(|i| takes(&held_out, &format!("[Event \"event {i}\"]"))).count();
        assert!((60..140).contains(&kept), "{kept}");
    }

    #[test]
    fn a_sample_has_the_asked_share_and_is_the_same_everywhere() {
        let sampled = Selection { sample: 8, from_ply: 16, ..Selection::default() };
        let chosen = || {
            (1..100u64)
                .flat_map(|g| (0..100).map(move |p| (g, p)))
                .filter(|&(g, p)| sampled.takes_position(g, p))
        };
        assert!(chosen().all(|(_, ply)| ply >= 16));
        assert!((900..1180).contains(&chosen().count()), "{}", chosen().count());
    }
}

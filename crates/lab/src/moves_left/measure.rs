//! Measures games with the network and a search.

use std::sync::Arc;

use clap::Args;

use super::PositionRow;
use crate::error::LabError;
use crate::pgn::{Ending, RecordedGame, base_seconds, ending, is_held_out};
use zeitnot_engine::VERSION;
use zeitnot_engine::chance::{fnv1a, mix};
use zeitnot_engine::chess::{Color, History};
use zeitnot_engine::engine::{EnginePlayer, Settings, Setup, SharedBatch};
use zeitnot_engine::network::{Backend, BatchEvaluator, Evaluator};
use zeitnot_engine::options::OptionChoice;
use zeitnot_engine::search::NextStep;
use zeitnot_engine::time::Limit;

/// The games and positions that are looked at. By default these are all games whose length counts, and all
/// their positions.
#[derive(Debug, Args)]
pub struct Selection {
    /// Take at most N games
    #[arg(long, value_name = "N")]
    pub max_games: Option<u64>,
    /// One position in N, drawn at random but always the same ones. Use of the clock needs all of them
    /// [default: 1, where the rows stay below a gigabyte]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: Option<u64>,
    /// Positions from this ply on (plies, not moves)
    #[arg(long, value_name = "PLY", default_value_t = 0)]
    from_ply: u32,
    /// Games of at least this many plies
    #[arg(long, value_name = "PLIES", default_value_t = 1)]
    min_plies: u32,
    /// Games of at most this many plies
    #[arg(long, value_name = "PLIES", default_value_t = u32::MAX, hide_default_value = true)]
    max_plies: u32,
    /// Games with this ending. May be repeated [default: all but those unfinished or broken off by time or
    /// crash]
    #[arg(long, value_name = "T", value_parser = Ending::read)]
    termination: Vec<Ending>,
    /// Games with at least this base time, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    min_base: f64,
    /// Games with at most this base time, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY, hide_default_value = true)]
    max_base: f64,
    /// Games in which both players have at least this Elo
    #[arg(long, value_name = "ELO")]
    min_elo: Option<u32>,
    /// Only events that Zeitnot's own network was not trained on (one in 20, by the name of the event)
    #[arg(long)]
    held_out: bool,
}

impl Selection {
    pub fn takes_game(&self, game: &RecordedGame) -> bool {
        let tag = |name| game.tags.get(name).unwrap_or_default();
        let elo = |name| tag(name).parse::<u32>().unwrap_or(0);
        let ending = ending(game);
        let ends_well = match &self.termination[..] {
            [] => ending.is_intended(),
            wanted => wanted.contains(&ending),
        };
        ends_well
            && (self.min_plies..=self.max_plies).contains(&(game.moves.len() as u32))
            && (self.min_base..=self.max_base).contains(&base_seconds(game))
            && self
                .min_elo
                .is_none_or(|least| elo("WhiteElo").min(elo("BlackElo")) >= least)
            && (!self.held_out || is_held_out(tag("Event").as_bytes()))
    }

    fn takes_position(&self, game: u64, ply: u32) -> bool {
        ply >= self.from_ply
            && self
                .sample
                .is_none_or(|sample| mix(mix(game) ^ u64::from(ply)).is_multiple_of(sample))
    }
}

pub struct Measurer<'a> {
    selection: &'a Selection,
    setup: Setup,
    batch: BatchEvaluator<(usize, usize)>,
    /// With the nodes of a search.
    searcher: Option<(Box<dyn Evaluator>, u64)>,
}

impl<'a> Measurer<'a> {
    /// With `nodes`, each position is also searched.
    pub fn new(
        selection: &'a Selection,
        backend: &Arc<dyn Backend>,
        settings: &Settings,
        nodes: Option<u64>,
    ) -> Result<Measurer<'a>, LabError> {
        Ok(Measurer {
            selection,
            searcher: match nodes {
                Some(nodes) => Some((backend.evaluator()?, nodes)),
                None => None,
            },
            batch: BatchEvaluator::new(
                &**backend,
                settings.search.history_fill,
                backend.facts().preferred_batch,
            )?,
            setup: Setup::with_backend(settings.clone().for_analysis(), backend.clone())?,
        })
    }

    /// Rows of each game, and none if the run `is_stopped`. Batches span games.
    pub fn measure(
        &mut self,
        games: &[RecordedGame],
        is_stopped: impl Fn() -> bool,
    ) -> Result<Vec<Vec<PositionRow>>, LabError> {
        let mut rows = Vec::with_capacity(games.len());
        for game in games {
            rows.push(Vec::with_capacity(game.moves.len()));
            self.measure_game(game, &mut rows, &is_stopped)?;
        }
        self.evaluate(&mut rows)?;
        Ok(if is_stopped() { Vec::new() } else { rows })
    }

    fn measure_game(
        &mut self,
        game: &RecordedGame,
        rows: &mut [Vec<PositionRow>],
        is_stopped: &impl Fn() -> bool,
    ) -> Result<(), LabError> {
        let mut history = game.history();
        let ending = ending(game);
        let place = rows.len() - 1;
        for (i, played) in game.moves.iter().enumerate() {
            if self.selection.takes_position(game.number, history.game_ply()) {
                let mut row = facts(game, ending, i, &history);
                self.search(&history, &mut row, is_stopped)?;
                // Without moves: the policy head is not needed.
                self.batch.push((place, rows[place].len()), &history, &[]);
                rows[place].push(row);
                if self.batch.is_full() {
                    self.evaluate(rows)?;
                }
            }
            history.push(played.r#move);
        }
        Ok(())
    }

    fn evaluate(&mut self, rows: &mut [Vec<PositionRow>]) -> Result<(), LabError> {
        let has_moves_left = self.setup.backend().facts().has_moves_left;
        for ((game, row), slot) in self.batch.evaluate()? {
            let row = &mut rows[game][row];
            row.q = Some(slot.evaluation.wl);
            row.m_plies = has_moves_left.then_some(slot.evaluation.m);
        }
        Ok(())
    }

    /// From an empty tree and cache, wherever a run began.
    fn search(
        &mut self,
        position: &History,
        row: &mut PositionRow,
        is_stopped: &impl Fn() -> bool,
    ) -> Result<(), LabError> {
        let Some((evaluator, nodes)) = &mut self.searcher else {
            return Ok(());
        };
        let mut player = EnginePlayer::new(&self.setup, 0)?;
        let mut batch = SharedBatch::default();
        player.begin_move(position, Limit::nodes(*nodes))?;
        while !is_stopped() && player.advance() != NextStep::Over {
            batch.evaluate(&mut [&mut player], |slots| evaluator.evaluate(slots))?;
        }
        let found = player.end_move();
        if let Some(root) = found.and_then(|found| found.outcome.figures.stats.root) {
            row.m_search_plies = root.m.map(|m| m.0 as f32);
            row.m_spread_plies = root.m_spread.map(|spread| spread.0 as f32);
        }
        Ok(())
    }
}

fn facts(game: &RecordedGame, ending: Ending, i: usize, history: &History) -> PositionRow {
    let position = history.current();
    let plies_left = (game.moves.len() - i) as u32;
    let sign = if position.turn() == Color::White { 1 } else { -1 };
    PositionRow {
        game: game.number,
        ply: history.game_ply(),
        plies_left,
        moves_left: plies_left.div_ceil(2),
        pieces: position.piece_count() as u32,
        ending: ending.name().to_owned(),
        event: fnv1a(game.tags.get("Event").unwrap_or_default().bytes().map(u64::from)),
        result: game.tags.result().map(|white| sign * i32::from(white)),
        centipawns: game.moves[i].centipawns.map(i32::from),
        version: VERSION.into(),
        ..PositionRow::default()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::pgn::Games;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        selection: Selection,
    }

    fn selection(flags: &[&str]) -> Selection {
        CommandLine::parse_from([&["test"], flags].concat()).selection
    }

    fn takes(selection: &Selection, tags: &str) -> bool {
        let text = format!("{tags}\n\n1. e4 e5 2. Nf3 1-0\n");
        selection.takes_game(&Games::new("text", text.as_bytes()).next().unwrap().unwrap())
    }

    #[test]
    fn games_are_chosen_by_their_tags() {
        let all = selection(&[]);
        assert!(takes(&all, "[Result \"1-0\"]"));
        assert!(
            !takes(&all, "[Termination \"time forfeit\"]"),
            "an accident ended it"
        );
        let lost = selection(&["--termination", Ending::Broken.name()]);
        assert!(takes(&lost, "[Termination \"time forfeit\"]") && !takes(&lost, "[Result \"1-0\"]"));
        let long = selection(&["--min-plies=4", "--max-plies=9"]);
        assert!(!takes(&long, "[Result \"1-0\"]"));
        let slow = selection(&["--min-base=1800"]);
        assert!(takes(&slow, "[TimeControl \"1800+3\"]") && !takes(&slow, "[TimeControl \"60\"]"));
        let strong = selection(&["--min-elo=2000"]);
        assert!(takes(&strong, "[WhiteElo \"2100\"]\n[BlackElo \"2000\"]"));
        assert!(
            !takes(&strong, "[WhiteElo \"2100\"]\n[BlackElo \"1999\"]") && !takes(&strong, "[Event \"x\"]")
        );
    }

    #[test]
    fn held_out_events_are_one_in_twenty() {
        let held_out = selection(&["--held-out"]);
        let kept = (0..2000)
            .filter(|i| takes(&held_out, &format!("[Event \"event {i}\"]")))
            .count();
        assert!((60..140).contains(&kept), "{kept}");
    }

    #[test]
    fn a_sample_has_the_asked_share_and_is_the_same_everywhere() {
        let sampled = selection(&["--sample=8", "--from-ply=16"]);
        let chosen = || {
            (1..100u64)
                .flat_map(|g| (0..100).map(move |p| (g, p)))
                .filter(|&(g, p)| sampled.takes_position(g, p))
        };
        assert!(chosen().all(|(_, ply)| ply >= 16));
        assert!((900..1180).contains(&chosen().count()), "{}", chosen().count());
    }
}

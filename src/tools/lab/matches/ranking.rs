//! All players of several matches in one list.

use serde::Serialize;

use super::rows::MatchGameRow;
use crate::lab::matches::statistics::{MatchResult, ResultTally, ratings};
use crate::report::{Align, Table};

/// With fewer players a list says nothing that the match does not say.
const FEWEST_PLAYERS: usize = 3;

/// Players by strength, the strongest first.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Ranking {
    players: Vec<RankedPlayer>,
}

#[derive(Clone, Debug, Serialize)]
struct RankedPlayer {
    name: String,
    /// The mean of all players is 0.
    elo: f64,
    /// 95 %, either way.
    elo_error: f64,
    /// In complete pairs.
    games: u64,
    /// Points per game.
    score: f64,
}

impl Ranking {
    /// The players of these matches, known by their names; `None` if there are fewer than three, or the matches do not hang
    /// together.
    pub(super) fn of<'a>(matches: impl Iterator<Item = &'a [MatchGameRow]>) -> Option<Ranking> {
        let mut names: Vec<&str> = Vec::new();
        let mut place = |name: &'a str| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let mut played = Vec::new();
        for games in matches {
            let Some(first) = games.first() else { continue };
            let mut tally = ResultTally::default();
            games.iter().for_each(|row| tally.add(row.pair, row.half_points.min(2) as u8));
            played.push(([place(&first.a), place(&first.b)], tally));
        }
        if names.len() < FEWEST_PLAYERS {
            return None;
        }
        let results: Vec<_> =
            played.iter().map(|(players, tally)| MatchResult { players: *players, tally }).collect();
        let ratings = ratings(names.len(), &results)?;
        let player = |(name, rating): (&str, crate::lab::matches::statistics::Rating)| RankedPlayer {
            name: name.into(),
            elo: rating.elo,
            elo_error: rating.elo_error,
            games: rating.games,
            score: rating.score,
        };
        let mut players: Vec<RankedPlayer> = names.into_iter().zip(ratings).map(player).collect();
        players.sort_by(|a, b| b.elo.total_cmp(&a.elo));
        Some(Ranking { players })
    }

    /// The list.
    pub(super) fn table(&self) -> Table {
        use Align::{Left, Right};
        let columns =
            [("player", Left), ("Elo", Right), ("± 95 %", Right), ("games", Right), ("score, %", Right)];
        let mut table = Table::new("All players; the mean of all is 0", &columns);
        for RankedPlayer { name, elo, elo_error, games, score } in &self.players {
            table.row([
                name.clone(),
                format!("{elo:+.1}"),
                format!("{elo_error:.1}"),
                games.to_string(),
                format!("{:.1}", 100.0 * score),
            ]);
        }
        table
    }
}

//! The players of several matches, ranked in one list.

use serde::Serialize;

use super::rows::MatchGameRow;
use super::statistics::{MatchResult, Rating, ResultTally, ratings};
use crate::report::{Align, Table};

/// Fewest players that are ranked: with two, a list says no more than their match.
const FEWEST_PLAYERS: usize = 3;

/// Players by strength, the strongest first.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Ranking {
    players: Vec<RankedPlayer>,
}

#[derive(Clone, Debug, Serialize)]
struct RankedPlayer {
    name: String,
    /// Elo; the mean of all players is 0.
    elo: f64,
    /// Half the 95 % confidence interval of `elo`.
    elo_error: f64,
    /// Games in complete pairs.
    games: u64,
    /// Points per game.
    score: f64,
}

impl Ranking {
    /// Ranks the players of these matches, who are known by their names. Returns `None` if there are fewer than three, or if some
    /// cannot be compared with the others.
    pub fn of<'a>(matches: impl Iterator<Item = &'a [MatchGameRow]>) -> Option<Ranking> {
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
        let player = |(name, rating): (&str, Rating)| RankedPlayer {
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

    /// Returns the list as a table.
    pub fn table(&self) -> Table {
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

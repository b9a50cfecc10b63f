//! Selects the games and positions that are looked at.

use std::ops::RangeInclusive;

use crate::lab::pgn::RecordedGame;
use crate::lab::training::game::Ending;
use crate::lab::training::pgn::{base_seconds, ending, is_held_out};

use super::mix;

/// Filters; the default takes all games whose length counts, and all their positions.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The largest number of games, counted before a shard takes its part.
    pub max_games: Option<u64>,
    /// The number of positions of which one is taken, drawn by game and ply.
    pub sample: u64,
    /// Fewest plies played before a position.
    pub from_ply: u32,
    /// Length of the games, plies.
    pub plies: RangeInclusive<u32>,
    /// Base time of the games, seconds; games without the tag have 0.
    pub base_seconds: RangeInclusive<f64>,
    /// Lowest Elo of either player.
    pub min_elo: Option<u32>,
    /// The ways the games ended; empty: any way that says something about their length.
    pub endings: Vec<Ending>,
    /// True to take only events that Zeitnot's own network was not trained on.
    pub held_out: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Selection {
            max_games: None,
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
    /// Says whether the game is one of those to look at, apart from `max_games`.
    pub fn takes_game(&self, game: &RecordedGame) -> bool {
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
    pub fn takes_position(&self, game: u64, ply: u32) -> bool {
        ply >= self.from_ply
            && (self.sample <= 1 || mix(mix(game) ^ u64::from(ply)).is_multiple_of(self.sample))
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

//! Decides which games are played: numbers, pairs and colours.

use super::Side;

/// The games of a match, or of a part of it. Games 2k and 2k + 1 are a pair: the same opening with colours swapped.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// The pairs that are played here, ascending.
    pairs: Vec<u64>,
    /// The number of games that are played here.
    len: u64,
}

/// The number, pair and colours of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameAssignment {
    /// The game's number in the whole match, from 0.
    pub game: u64,
    /// The pair it belongs to, from 0; pairs take the openings one after the other.
    pub pair: u64,
    /// The side that has White.
    pub white: Side,
}

impl Schedule {
    /// Makes the schedule of those games of a match of `games` games whose pairs `takes` accepts.
    pub fn new(games: u64, takes: impl Fn(u64) -> bool) -> Schedule {
        let all = games.div_ceil(2);
        let pairs: Vec<u64> = (0..all).filter(|&pair| takes(pair)).collect();
        let has_half_pair = !games.is_multiple_of(2) && pairs.last().is_some_and(|&last| last + 1 == all);
        Schedule { len: 2 * pairs.len() as u64 - u64::from(has_half_pair), pairs }
    }

    /// Returns the number of games that are played here.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Says whether no game is played here.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the `index`-th game, from 0, of those that are played here; `None` behind the last one.
    pub fn assignment(&self, index: u64) -> Option<GameAssignment> {
        let pair = *self.pairs.get(usize::try_from(index / 2).ok()?).filter(|_| index < self.len)?;
        let white = if index.is_multiple_of(2) { Side::A } else { Side::B };
        Some(GameAssignment { game: 2 * pair + index % 2, pair, white })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_each_game_once_and_keep_pairs_together() {
        for games in [0, 1, 2, 7, 20, 21] {
            for count in 1..=4 {
                let part = |index| Schedule::new(games, move |pair| pair % count == index);
                let games_of = |schedule: Schedule| {
                    let list: Vec<_> = (0..schedule.len()).map(|place| schedule.assignment(place)).collect();
                    assert_eq!(schedule.assignment(schedule.len()), None);
                    list.into_iter().map(|assignment| assignment.unwrap().game)
                };
                let mut seen: Vec<u64> = (0..count).flat_map(|index| games_of(part(index))).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..games).collect::<Vec<_>>(), "{games} games, {count} parts");
            }
        }
    }

    #[test]
    fn a_pair_swaps_colours() {
        let schedule = Schedule::new(100, |pair| pair % 3 == 1);
        let [first, second] = [2, 3].map(|index| schedule.assignment(index).unwrap());
        assert_eq!((first.game, first.pair, first.white), (8, 4, Side::A));
        assert_eq!((second.game, second.pair, second.white), (9, 4, Side::B));
    }
}

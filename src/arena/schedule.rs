//! Which games are played: opening, colours, and which of several machines plays them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::Contestant;

/// One of several parts of a match, for several machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub index: u64,
    /// How many parts there are.
    pub count: u64,
}

impl Default for Shard {
    fn default() -> Shard {
        Shard { index: 1, count: 1 }
    }
}

/// Why a shard was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("\"{0}\" is no shard; write i/n with i from 1 to n, such as 2/4")]
pub struct ShardError(String);

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let shard = Shard { index: index.parse().ok()?, count: count.parse().ok()? };
            (1..=shard.count).contains(&shard.index).then_some(shard)
        };
        parse().ok_or_else(|| ShardError(text.into()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The games of a match, or of one shard of it. Games 2k and 2k+1 are a pair: the same opening with colours swapped.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// Games of the whole match, counted from 0.
    pub games: u64,
    /// The part that is played here.
    pub shard: Shard,
}

/// What a game is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The game's number in the whole match, from 0.
    pub game: u64,
    /// The pair it belongs to, from 0; pairs take the openings one after the other.
    pub pair: u64,
    /// Who has White.
    pub white: Contestant,
}

impl Schedule {
    /// Games that are played here.
    pub fn len(&self) -> u64 {
        let pairs = self.games.div_ceil(2);
        let own = (pairs + self.shard.count - self.shard.index) / self.shard.count;
        let last_is_own = pairs > 0 && (pairs - 1) % self.shard.count == self.shard.index - 1;
        2 * own - u64::from(last_is_own && !self.games.is_multiple_of(2))
    }

    /// Is no game played here?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The game at place `index`, from 0, of those that are played here.
    pub fn assignment(&self, index: u64) -> Assignment {
        let pair = (index / 2) * self.shard.count + self.shard.index - 1;
        let white = if index.is_multiple_of(2) { Contestant::A } else { Contestant::B };
        Assignment { game: 2 * pair + index % 2, pair, white }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_have_each_game_once_and_keep_pairs_together() {
        for games in [0, 1, 2, 7, 20, 21] {
            for count in 1..=4 {
                let mut seen: Vec<u64> = (1..=count)
                    .flat_map(|index| {
                        let schedule = Schedule { games, shard: Shard { index, count } };
                        (0..schedule.len()).map(move |place| schedule.assignment(place).game)
                    })
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..games).collect::<Vec<_>>(), "{games} games, {count} shards");
            }
        }
    }

    #[test]
    fn a_pair_swaps_colours() {
        let schedule = Schedule { games: 100, shard: "2/3".parse().unwrap() };
        let [first, second] = [2, 3].map(|index| schedule.assignment(index));
        assert_eq!((first.game, first.pair, first.white), (8, 4, Contestant::A));
        assert_eq!((second.game, second.pair, second.white), (9, 4, Contestant::B));
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!("4/4".parse(), Ok(Shard { index: 4, count: 4 }));
        for text in ["0/4", "5/4", "1", "1/0", "a/b", "-1/2"] {
            assert!(text.parse::<Shard>().unwrap_err().to_string().contains("from 1 to n"));
        }
    }
}

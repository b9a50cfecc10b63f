//! `--shard i/n`: selects one machine's part of a task that many do together.

use std::str::FromStr;

use thiserror::Error;

/// Every n-th piece of work, beginning with the i-th. It is written `i/n`, i from 1 to n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// The index i, but counted from 0.
    index: u64,
    count: u64,
}

impl Shard {
    /// The shard that is all of the work.
    pub(super) const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Says whether this piece of work, counted from 0, is in the shard. Each piece is in one of the n shards.
    pub(super) fn takes(self, piece: u64) -> bool {
        piece % self.count == self.index
    }
}

/// A text that names no shard.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("expected i/n with i from 1 to n, as in 2/8")]
pub(super) struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Shard, ShardError> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse().ok()?)));
        match parsed {
            Some((i, count)) if (1..=count).contains(&i) => Ok(Shard { index: i - 1, count }),
            _ => Err(ShardError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_in_one_shard() {
        for n in 1..5 {
            let shards: Vec<Shard> = (1..=n).map(|i| format!("{i}/{n}").parse().unwrap()).collect();
            assert!((0..50).all(|piece| shards.iter().filter(|shard| shard.takes(piece)).count() == 1));
        }
        assert!((0..9).all(|piece| Shard::WHOLE.takes(piece)));
    }

    #[test]
    fn faults_say_what_is_expected() {
        for text in ["0/4", "5/4", "1", "a/b", "1/0", "-1/3"] {
            assert!(text.parse::<Shard>().unwrap_err().to_string().contains("2/8"), "{text}");
        }
    }
}

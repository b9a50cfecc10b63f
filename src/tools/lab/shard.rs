//! `--shard i/n`: one machine's part of a task that many do together.

use std::str::FromStr;

/// Every n-th piece of work, beginning with the i-th. Written `i/n`, i from 1 to n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// From 0.
    index: u64,
    count: u64,
}

impl Shard {
    /// All of the work.
    pub(super) const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Is this piece of work, counted from 0, in the shard? Each piece is in one of the n shards.
    pub(super) fn takes(self, piece: u64) -> bool {
        piece % self.count == self.index
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse::<u64>().ok()?, n.parse().ok()?)));
        match parsed {
            Some((i, count)) if (1..=count).contains(&i) => Ok(Shard { index: i - 1, count }),
            _ => Err("expected i/n with i from 1 to n, as in 2/8".into()),
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
            assert!(text.parse::<Shard>().unwrap_err().contains("2/8"), "{text}");
        }
    }
}

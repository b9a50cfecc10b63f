//! Matches: games between two engines, many at once in one process, and what they prove.
//!
//! A [`Tournament`] says who plays whom: a match of two engines is its smallest case. [`play`](play::play)
//! gets games of two [`Contender`]s, openings and rules, and hands out finished games in their order.
//! `openings` gives each a position and colours. A thread of `play` evaluates the positions of many games in
//! one batch. `game` plays one by its limits, clocks and rules, and `external` lets external engines play.
//! With fixed nodes or under `nodestime` a game depends on its number and the seed alone.
//!
//! Then `match_files` writes `rows` and PGN. `summary` and `study` compute results from the rows with
//! `statistics`, and show them. The commands `match` and `report` call this module, and
//! [`tuning`](crate::tuning), which decides on the way who plays.

mod external;
mod game;
mod match_files;
mod match_study;
mod openings;
mod play;
pub(crate) mod statistics;
mod summary;

pub use game::{Adjudication, DrawRule, GameRecord, MatchRules, PlannedGame, SideLimit, WinRule};
pub use match_files::{MATCH_FILES, MatchGameRow, MatchRowFiles, PlayedGame, open_games};
pub use match_study::{MatchStudy, add_games, page};
pub use openings::{GameAssignment, Opening, Openings};
pub use play::{MatchConfig, play};
pub use statistics::Sprt;
pub use summary::{MatchSpeed, MatchSummary, Ranking, pruning_table, table};

use std::sync::Arc;

use clap::ValueEnum;

use crate::move_rows::MoveRow;
use crate::uci_process::ExternalEngine;
use zeitnot_engine::engine::Setup;
use zeitnot_engine::time::Millis;

#[derive(Clone, Debug)]
pub enum Team {
    /// This one, with its options.
    Own(Arc<Setup>),
    /// An external one, under UCI.
    External(Arc<ExternalEngine>),
}

#[derive(Clone, Debug)]
pub struct Contender {
    /// In rows and games.
    pub name: String,
    pub team: Team,
    pub limit: SideLimit,
    /// Time by which a move may exceed the limit without losing the game.
    pub margin: Millis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tournament {
    /// All engines play each other
    RoundRobin,
    /// The first engine plays all others
    Gauntlet,
}

impl Tournament {
    /// The places of A and B among the engines, of each match.
    pub fn pairings(self, engines: usize) -> Vec<[usize; 2]> {
        let first = if self == Tournament::Gauntlet { 1 } else { engines };
        (0..first)
            .flat_map(|a| (a + 1..engines).map(move |b| [a, b]))
            .collect()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The first engine, whose point of view results are from.
    A,
    B,
}

impl Side {
    fn other(self) -> Side {
        if self == Side::A { Side::B } else { Side::A }
    }

    /// 0 for A and 1 for B, for arrays of two.
    fn index(self) -> usize {
        self as usize
    }

    /// The player of rows.
    fn name(self) -> &'static str {
        ["A", "B"][self.index()]
    }

    fn of(row: &MoveRow) -> Side {
        if row.player == Side::A.name() {
            Side::A
        } else {
            Side::B
        }
    }
}

//! The moves-left laboratory: how well estimators foresee the length of recorded games.
//!
//! [`measure`] reads games and writes a [`PositionRow`] for each position, with what the network says of it; [`Study`] reads rows
//! and compares [`Estimator`]s with the moves that were really left. All figures come from rows, in the order of the games' numbers, so that
//! rows of many machines give the very figures of one. The commands `movesleft` and `report` use it.
//!
//! Units: what the head says and `plies_left` are plies of both sides; all estimates and errors are **full moves of one side**.

mod bootstrap;
mod clock;
mod encoder;
mod estimate;
mod figures;
mod fit;
mod groups;
pub mod measure;
mod page;
mod ply_median;
mod rows;
mod run_facts;
mod searcher;
mod selection;
mod statistics;
mod study;
mod tables;

pub use bootstrap::{Interval, Unit};
pub use clock::{ClockFigures, ClockUse};
pub use estimate::{Estimator, MovesLeftSource};
pub use figures::Findings;
pub use fit::Fit;
pub use groups::{Dimension, Group};
pub use page::{PagePlot, page, plots};
pub use rows::PositionRow;
pub use run_facts::{RunFacts, RunOrigin};
pub use selection::Selection;
pub use statistics::{EstimatorFigures, Joint, SpreadCoverage};
pub use study::{Difference, GroupFigures, PairDifference, Study, StudyReport};
pub use tables::StudyText;

use std::path::PathBuf;

use thiserror::Error;

use crate::engine::EngineError;
use crate::lab::pgn::GameError;
use crate::lab::rows::RowError;
use crate::network::BackendError;

/// The reason why a measurement ended early.
#[derive(Debug, Error)]
pub enum MovesLeftError {
    /// Games could not be read.
    #[error(transparent)]
    Games(#[from] GameError),
    /// Rows could not be read or written.
    #[error(transparent)]
    Rows(#[from] RowError),
    /// The network could not be made ready or failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The engine that searches refused something.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Rows were made with other settings.
    #[error("{}: the rows beside it were made with these other settings; name another --out", path.display())]
    OtherSettings {
        /// The file of settings beside the rows.
        path: PathBuf,
    },
    /// A position could not be searched.
    #[error("game {game}, ply {ply}: {source}")]
    Search {
        /// The game's number.
        game: u64,
        /// Plies played before the position.
        ply: u32,
        /// What was wrong.
        source: EngineError,
    },
}

/// Returns a well-mixed number from that of a game or an event: halves and bootstrap weights depend on nothing else, so that they are the
/// same on every machine (the finaliser of SplitMix64).
fn mix(game: u64) -> u64 {
    let z = game.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

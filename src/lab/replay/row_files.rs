//! The files of rows that a replay writes into its folder.

use super::rows::{ReplayGameRow, ReplayMoveRow};
use crate::lab::rows::GameFiles;

/// The rows of games and of moves.
pub(crate) type ReplayFiles = GameFiles<ReplayGameRow, ReplayMoveRow>;

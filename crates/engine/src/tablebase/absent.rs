//! Stands in for the tables without the feature `tablebases`: none can be opened.

use super::{ProbeResult, RootMoves, RootPace, TablebaseError};
use crate::chess::{History, Move, Position};

/// Tables, which this program cannot have.
#[derive(Debug)]
pub enum Tablebase {}

impl Tablebase {
    pub fn open(_: &str) -> Result<Tablebase, TablebaseError> {
        Err(TablebaseError::NotBuilt)
    }

    pub fn probe(&self, _: &Position) -> Option<ProbeResult> {
        match *self {}
    }

    pub fn read_error(&self) -> Option<&str> {
        match *self {}
    }

    pub fn description(&self) -> String {
        match *self {}
    }

    pub fn root_moves(&self, _: &History, _: &[Move], _: RootPace) -> Option<RootMoves> {
        match *self {}
    }
}

//! Rows: what a measurement writes, one line of a CSV file and one row of a Parquet file each.
//!
//! Rows are the truth: what a report says is computed from rows, so that the rows of many machines, put together, give the very
//! report that one machine would have given. [`RowWriter`] and [`write_parquet`] write them, [`RowReader`] reads them, and
//! [`MergedGames`] goes through the rows of several files game by game. [`JsonLines`] is for rows that hold lists. This module uses nothing else of the engine.

mod columns;
mod error;
mod json_lines;
mod merge;
mod row_file;

pub use columns::{are_columns_of, columns_of_file};
pub use error::RowError;
pub use json_lines::JsonLines;
pub use merge::{MergedGames, RowOfGame, files_of, write_merged, write_merged_rows};
pub use row_file::{Row, RowReader, RowWriter, make_folder, write_parquet};

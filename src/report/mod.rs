//! Results for people and for programs: tables, plots, pages, rows.
//!
//! The commands that measure ([`tools`](crate::tools)) collect their results here: [`Table`] for the terminal, [`Plot`] and
//! [`BarPlot`] for SVG figures in light and dark, [`Page`] for a self-contained HTML report of both, [`RowWriter`] and
//! [`write_parquet`] for the rows behind them. Rows are the truth: what a report says is computed from rows, so that rows
//! of many machines, put together, give the very report that one machine would have given.
//!
//! Uses nothing else of the engine and knows nothing of chess.

mod merge;
mod page;
mod plot;
mod rows;
mod table;

pub use merge::{MergedGames, RowOfGame, files_of, write_merged};
pub use page::Page;
pub use plot::{Bar, BarPlot, Plot};
pub use rows::{Row, RowError, RowReader, RowWriter, columns_of_file, write_parquet};
pub use table::{Align, Table};

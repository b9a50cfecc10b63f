//! Results for people: tables, plots, pages.
//!
//! The commands that measure ([`tools`](crate::tools)) show their results with it: [`Table`] for the terminal, [`Plot`] and
//! [`BarPlot`] for SVG figures in light and dark, [`Page`] for a self-contained HTML report of both.
//!
//! Uses nothing else of the engine and knows nothing of chess.

mod page;
mod plot;
mod table;

pub use page::Page;
pub use plot::{Bar, BarPlot, Plot};
pub use table::{Align, Table};

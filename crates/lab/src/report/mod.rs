//! Results for people: tables, plots, pages.
//!
//! [`Table`] for the terminal, [`Plot`] for SVG figures in light and dark, [`Page`] for a
//! self-contained HTML report of both. It knows nothing of chess.

mod html_page;
mod plot;
mod table;
mod text;

pub use crate::run::Origin;
pub use html_page::Page;
pub use plot::Plot;
pub use table::{Table, TableOf, terminal_width, write_fact, write_fact_in};
pub use text::{cut, printable};

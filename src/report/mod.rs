//! Results for people: tables, plots, pages.
//!
//! The commands that measure ([`tools`](crate::tools)) show their results with it: [`Table`] for the
//! terminal, [`Plot`] and [`BarPlot`] for SVG figures in light and dark, [`Page`] for a self-contained HTML
//! report of both. Without the feature `lab` there are tables only.
//!
//! Uses nothing else of the engine and knows nothing of chess.

#[cfg(feature = "lab")]
mod html_page;
#[cfg(feature = "lab")]
mod origin;
#[cfg(feature = "lab")]
mod plot;
mod table;

#[cfg(feature = "lab")]
pub use html_page::Page;
#[cfg(feature = "lab")]
pub(crate) use html_page::PageProgram;
#[cfg(feature = "lab")]
pub(crate) use origin::Origin;
#[cfg(feature = "lab")]
pub(crate) use plot::{Bar, BarPlot, Plot};
pub use table::Table;
pub(crate) use table::{Align, terminal_width, write_fact, write_fact_in};

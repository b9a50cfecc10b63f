//! The laboratory: measurements with many games, and the training data of networks. The engine does without it.
//!
//! Three measurements stand side by side, each with the games it reads or plays, the *rows* that it writes, the *study* that is
//! computed from rows, and the *page* that shows it:
//!
//! | folder | what it measures |
//! |---|---|
//! | [`matches`](mod@matches) | games between two engines, many at once, and what they prove |
//! | [`replay`] | time managers on whole games in virtual time |
//! | `moves_left` | moves-left estimators on recorded games |
//!
//! [`tuning`] finds better values of options by the games of `matches`. `analysis` searches the positions of recorded games for
//! the players who want to learn from them.
//!
//! [`Phase`] says what opening, middlegame and endgame are. `compressed` opens files within bounds. They stand on [`rows`] (CSV and Parquet files, and how several are put together) and [`pgn`] (recorded games). [`training`]
//! makes the games with labels that networks are trained on. The commands `analyse`, `match`, `tune`, `timelab`, `movesleft`, `report` and `datagen`
//! call these modules, which may use `engine` and what lies below it.

pub(crate) mod analysis;
pub(crate) mod compressed;
pub mod matches;
pub(crate) mod moves_left;
pub mod pgn;
mod phase;
pub mod replay;
pub mod rows;
pub mod training;
pub mod tuning;
mod uci_process;

pub use phase::Phase;
pub use uci_process::UciProcessError;

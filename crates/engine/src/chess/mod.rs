//! The rules of chess and the game so far.
//!
//! A [`History`] holds the positions of the known game. Moves and rules come from the crate `shakmaty`. This
//! module adds what Lc0's networks need: repetitions, Lc0's reading of en passant, a key per position, and
//! Chess960 in both notations.
//!
//! ```
//! use zeitnot_engine::chess::{History, Terminal, Variant};
//!
//! let mut game = History::from_uci_position("startpos moves f2f3 e7e5 g2g4", Variant::Standard)?;
//! let mate = game.parse_move("d8h4")?;
//! game.push(mate);
//! assert_eq!(game.terminal(&game.legal_moves()), Some(Terminal::Checkmate));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod epd;
mod fen;
mod history;
mod mate;
mod moves;
mod notation;
mod position;

pub use epd::{ListedPosition, Operation, PositionLines};
pub use fen::PositionError;
pub use history::{History, Terminal};
pub use moves::{Move, MoveList, Variant};
pub use notation::{MoveError, is_en_passant_sign, is_mark, is_null_move};
pub use position::{MAX_PERFT_DEPTH, PerftReport, Position, perft};
pub use shakmaty::{Bitboard, Board, CastlingSide, Color, File, Rank, Role, Square};

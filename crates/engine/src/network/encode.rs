//! Input planes: a position and its history as Lc0's networks read them.
//!
//! Planes, all from the point of view of the side to move (its first rank at the bottom, files are never
//! mirrored by this): eight boards of 13 planes each, the current one first, then a plane per fact about the
//! current one.
//!
//! | plane | what |
//! |---|---|
//! | `13 * b + 0..6` | our pawns, knights, bishops, rooks, queens, king on board `b` |
//! | `13 * b + 6..12` | theirs |
//! | `13 * b + 12` | all ones if that position occurred before |
//! | 104..108 | castling rights |
//! | 108 | classical: all ones if Black moves, canonical: the en-passant file, on rank 8 |
//! | 109 | fifty-move counter, in plies or hundreds of plies |
//! | 110 | armageddon formats: all ones if Black moves |
//! | 111 | all ones |

use prost::Enumeration;

use super::planes::InputPlanes;
use crate::chess::{Bitboard, CastlingSide, Color, History, Position, Role, Square};
use crate::options::option_choice;

const BOARDS: usize = 8;
const PLANES_PER_BOARD: usize = 13;
const REPETITION: usize = 12;
const CASTLING: usize = BOARDS * PLANES_PER_BOARD;
const SIDE_OR_EN_PASSANT: usize = CASTLING + 4;
pub(super) const RULE_50: usize = CASTLING + 5;
const ARMAGEDDON_SIDE: usize = CASTLING + 6;
const ONES: usize = CASTLING + 7;
const EVERYWHERE: u64 = !0;

/// `pblczero.NetworkFormat.InputFormat` in Lc0's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum InputFormat {
    /// Castling rights as whole planes.
    Classical = 1,
    /// Castling rights as the rooks' squares, which distinguishes Chess960 positions.
    CastlingPlane = 2,
    /// Canonical orientation, history cut at irreversible moves, en-passant plane.
    Canonical = 3,
    /// As 3, the fifty-move counter divided by 100.
    CanonicalHectoplies = 4,
    /// As 4, with a plane for Black to move.
    CanonicalHectopliesArmageddon = 132,
    /// As 4, but only repeated earlier positions are given.
    CanonicalV2 = 5,
    /// As 5, with a plane for Black to move.
    CanonicalV2Armageddon = 133,
}

impl InputFormat {
    fn is_canonical(self) -> bool {
        !matches!(self, InputFormat::Classical | InputFormat::CastlingPlane)
    }

    /// In plies.
    pub(super) fn rule50_unit(self) -> f32 {
        let counts_hectoplies = self.is_canonical() && self != InputFormat::Canonical;
        if counts_hectoplies { 100.0 } else { 1.0 }
    }

    fn gives_only_repeated(self) -> bool {
        matches!(
            self,
            InputFormat::CanonicalV2 | InputFormat::CanonicalV2Armageddon
        )
    }

    fn shows_black(self) -> bool {
        matches!(
            self,
            InputFormat::CanonicalHectopliesArmageddon | InputFormat::CanonicalV2Armageddon
        )
    }
}

option_choice! {
    /// The content of the boards before the first known position.
    pub enum HistoryFill = FenOnly {
        /// Empty boards, except the board before a double pawn push that the en-passant square reveals.
        No = "no",
        /// Copies of the first known board, unless the game starts at the standard start position.
        FenOnly = "fen_only",
        /// Copies of the first known board.
        Always = "always",
    }
}

/// Fills all of `planes`. The boards' transform is for [`policy_map::index`](super::policy_map::index).
pub fn encode(
    history: &History,
    format: InputFormat,
    fill: HistoryFill,
    planes: &mut InputPlanes,
) -> Transform {
    planes.masks = [0; _];
    planes.values = [1.0; _];
    write_boards(history, format, fill, planes);
    write_facts(history.current(), format, planes);
    if !format.is_canonical() {
        return Transform::NONE;
    }
    let transform = Transform::of(history.current());
    if transform != Transform::NONE {
        for mask in &mut planes.masks[..=SIDE_OR_EN_PASSANT] {
            // Whole planes have no orientation, so transforms leave them alone.
            *mask = transform.bitboard(Bitboard(*mask)).0;
        }
    }
    transform
}

fn write_boards(history: &History, format: InputFormat, fill: HistoryFill, planes: &mut InputPlanes) {
    let now = history.current();
    let us = now.turn();
    let (mut boards, _) = planes.masks[..CASTLING].as_chunks_mut::<PLANES_PER_BOARD>();
    for index in (0..history.len()).rev() {
        let position = history.position(index);
        let is_now = index + 1 == history.len();
        if format.is_canonical() && !is_now && !may_repeat(position, now) {
            return;
        }
        let repeated = history.repetitions_at(index) > 0;
        if is_now || repeated || !format.gives_only_repeated() {
            let Some((board, rest)) = boards.split_first_mut() else {
                return;
            };
            write_board(position, us, board);
            board[REPETITION] = if repeated { EVERYWHERE } else { 0 };
            boards = rest;
        }
        if format.is_canonical() && position.rule50() == 0 {
            return;
        }
    }
    write_unknown_boards(
        history.position(0),
        us,
        unknown_boards(history.position(0), format, fill),
        boards,
    );
}

/// Whether canonical formats show `earlier` as history of `now`.
fn may_repeat(earlier: &Position, now: &Position) -> bool {
    earlier.castling_rights() == now.castling_rights() && earlier.en_passant().is_none()
}

/// How many boards before the `first` known position to fill.
fn unknown_boards(first: &Position, format: InputFormat, fill: HistoryFill) -> usize {
    let pushed = first.en_passant().is_some();
    if format.gives_only_repeated() || (format.is_canonical() && pushed) {
        return 0;
    }
    match fill {
        HistoryFill::No => usize::from(pushed),
        HistoryFill::FenOnly if first.is_standard_start() => 0,
        HistoryFill::FenOnly | HistoryFill::Always => BOARDS,
    }
}

/// Fills `count` of `boards` with the `first` known position, before its double push if there was one.
fn write_unknown_boards(first: &Position, us: Color, count: usize, boards: &mut [[u64; PLANES_PER_BOARD]]) {
    for board in boards.iter_mut().take(count) {
        write_board(first, us, board);
        if let Some(passed) = first.en_passant() {
            let pawns = if first.turn() == us { 6 } else { 0 };
            board[pawns] ^= seen_by(us, pushed_from_and_to(passed));
        }
    }
}

/// The squares on either side of the passed one.
fn pushed_from_and_to(passed: Square) -> Bitboard {
    let passed = Bitboard::from_square(passed).0;
    Bitboard(passed << 8 | passed >> 8)
}

fn write_board(position: &Position, us: Color, board: &mut [u64; PLANES_PER_BOARD]) {
    let pieces = position.board();
    let ours = pieces.by_color(us);
    let theirs = pieces.by_color(!us);
    for (plane, role) in Role::ALL.into_iter().enumerate() {
        let both = pieces.by_role(role);
        board[plane] = seen_by(us, both & ours);
        board[plane + 6] = seen_by(us, both & theirs);
    }
}

fn write_facts(now: &Position, format: InputFormat, planes: &mut InputPlanes) {
    let us = now.turn();
    let everywhere_if = |fact: bool| if fact { EVERYWHERE } else { 0 };
    let masks = &mut planes.masks;
    let rook = |color, side| now.castling_rook(color, side);
    let (queen_side, king_side) = (CastlingSide::QueenSide, CastlingSide::KingSide);
    if format == InputFormat::Classical {
        masks[CASTLING] = everywhere_if(rook(us, queen_side).is_some());
        masks[CASTLING + 1] = everywhere_if(rook(us, king_side).is_some());
        masks[CASTLING + 2] = everywhere_if(rook(!us, queen_side).is_some());
        masks[CASTLING + 3] = everywhere_if(rook(!us, king_side).is_some());
    } else {
        let rooks = |side| {
            Color::ALL
                .into_iter()
                .filter_map(|color| rook(color, side))
                .collect()
        };
        masks[CASTLING] = seen_by(us, rooks(queen_side));
        masks[CASTLING + 1] = seen_by(us, rooks(king_side));
    }
    masks[SIDE_OR_EN_PASSANT] = if format.is_canonical() {
        now.en_passant()
            .map_or(0, |passed| 1 << (56 + u32::from(passed.file())))
    } else {
        everywhere_if(us.is_black())
    };
    masks[RULE_50] = EVERYWHERE;
    planes.values[RULE_50] = now.rule50() as f32 / format.rule50_unit();
    masks[ARMAGEDDON_SIDE] = everywhere_if(format.shows_black() && us.is_black());
    masks[ONES] = EVERYWHERE;
}

/// With the first rank of `color` at the bottom.
fn seen_by(color: Color, squares: Bitboard) -> u64 {
    if color.is_white() {
        squares.0
    } else {
        squares.0.swap_bytes()
    }
}

const LEFT_HALF: Bitboard = Bitboard(0x0f0f_0f0f_0f0f_0f0f);
const UPPER_HALF: Bitboard = Bitboard(0xffff_ffff_0000_0000);
/// h2, g3, h3, f4, g4, h4: above the diagonal from h1 to a8.
const UPPER_TRIANGLE: Bitboard = Bitboard(0xe0c0_8000);
/// h1, g2, f3, e4.
const DIAGONAL: Bitboard = Bitboard(0x1020_4080);

/// A symmetry of the board: files mirrored, then ranks mirrored, then reflected over the diagonal h1–a8, each
/// or not. Squares are as the side to move sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transform(u8);

impl Transform {
    pub(crate) const NONE: Transform = Transform(0);
    const FLIP_FILES: u8 = 1;
    const FLIP_RANKS: u8 = 2;
    const TRANSPOSE: u8 = 4;

    /// Lc0's bits: 1 mirrors files, 2 mirrors ranks, 4 reflects.
    pub fn number(self) -> u8 {
        self.0
    }

    /// Brings our king to files e to h and, without pawns, to ranks 1 to 4 and below the diagonal. With any
    /// castling right left the board stays as it is.
    fn of(position: &Position) -> Transform {
        if position.castling_rights().any() {
            return Transform::NONE;
        }
        let board = position.board();
        let us = position.turn();
        let mut transform = Transform::NONE;
        let seen = |squares: Bitboard| Bitboard(seen_by(us, squares));
        let king = seen(board.kings() & board.by_color(us));
        if (king & LEFT_HALF).any() {
            transform.0 |= Transform::FLIP_FILES;
        }
        if board.pawns().any() {
            return transform;
        }
        if (king & UPPER_HALF).any() {
            transform.0 |= Transform::FLIP_RANKS;
        }
        let king = transform.bitboard(king);
        // With the king on the diagonal, the first of these sets that differs from its reflection decides.
        let sets = [
            board.occupied(),
            board.by_color(us),
            board.kings(),
            board.queens(),
            board.rooks(),
            board.knights(),
            board.bishops(),
        ];
        let reflection_is_smaller = || {
            let set = sets.into_iter().map(|set| transform.bitboard(seen(set)));
            let mut reflected = set.map(|set| (set, set.flip_anti_diagonal()));
            reflected
                .find(|(set, other)| set != other)
                .is_some_and(|(set, other)| other.0 < set.0)
        };
        if (king & UPPER_TRIANGLE).any() || ((king & DIAGONAL).any() && reflection_is_smaller()) {
            transform.0 |= Transform::TRANSPOSE;
        }
        transform
    }

    fn bitboard(self, mut squares: Bitboard) -> Bitboard {
        if self.has(Transform::FLIP_FILES) {
            squares = squares.flip_horizontal();
        }
        if self.has(Transform::FLIP_RANKS) {
            squares = squares.flip_vertical();
        }
        if self.has(Transform::TRANSPOSE) {
            squares = squares.flip_anti_diagonal();
        }
        squares
    }

    #[inline]
    pub fn square(self, mut square: Square) -> Square {
        if self.has(Transform::FLIP_FILES) {
            square = square.flip_horizontal();
        }
        if self.has(Transform::FLIP_RANKS) {
            square = square.flip_vertical();
        }
        if self.has(Transform::TRANSPOSE) {
            square = square.flip_anti_diagonal();
        }
        square
    }

    fn has(self, part: u8) -> bool {
        self.0 & part != 0
    }
}

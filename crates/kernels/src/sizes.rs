//! Sizes of boards and of operands.

/// Channels are padded to a multiple of this, the longest vector.
pub const CHANNEL_STEP: usize = 16;
/// From one rank of a board to the next.
pub const BOARD_STRIDE: usize = 10;
pub const BOARD_SQUARES: usize = BOARD_STRIDE * BOARD_STRIDE;
/// Matrix products of a Winograd convolution, one per point of a transformed 6×6 tile.
pub const POINTS: usize = 36;
pub const TILES: usize = 4;

/// Offset of `square` (0 a1 … 63 h8) on a board.
pub fn board_offset(square: usize, channels: usize) -> usize {
    ((square / 8 + 1) * BOARD_STRIDE + square % 8 + 1) * channels
}

/// The length of `count` blocks of `length` numbers, `step` apart. Panics if that exceeds `usize`.
pub(crate) fn extent(count: usize, step: usize, length: usize) -> usize {
    let Some(last) = count.checked_sub(1) else {
        return 0;
    };
    last.checked_mul(step)
        .and_then(|start| start.checked_add(length))
        .expect("sizes fit in memory")
}

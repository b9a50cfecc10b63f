"""Reads the tables that `zeitnot datagen` expands games to, and makes batches of them.

A row's layout is documented in `src/lab/training/table.rs`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from policy_map import INDEX_OF_CODE

ROW = np.dtype(
    [
        ("pieces", "<u8", 12),
        ("first_move", "<u4"),
        ("plies_left", "<u2"),
        ("ply", "<u2"),
        ("centipawns", "<i2"),
        ("candidate_centipawns", "<i2", 5),
        ("candidates", "u1", 5),
        ("candidate_count", "u1"),
        ("move_count", "u1"),
        ("rule50", "u1"),
        ("board", "u1"),
        ("history", "u1"),
        ("result", "i1"),
        ("labels", "u1"),
    ]
)
assert ROW.itemsize == 128

CASTLING, BLACK, REPEATED, EN_PASSANT, ODD_START = 15, 16, 32, 64, 128
POLICY, RESULT, MOVES_LEFT, HELD_OUT, TEACHER, REFERENCE = 1, 2, 4, 8, 16, 32
NO_CENTIPAWNS = -32768
ALL_SQUARES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@dataclass
class Batch:
    """Positions as the network sees them, with the facts that labels are made of. N positions, at most L legal moves."""

    planes: np.ndarray  #: u1 [N, 112, 8, 8]; plane 109 is ones
    rule50: np.ndarray  #: f4 [N]
    moves: np.ndarray  #: i8 [N, L] policy indices of the legal moves, 0 beyond their number
    is_move: np.ndarray  #: bool [N, L]
    rows: np.ndarray  #: ROW [N]


class Table:
    """A folder with `rows.bin` and `moves.bin`, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self.rows = np.memmap(folder / "rows.bin", ROW, "r")
        self.moves = np.memmap(folder / "moves.bin", "<u2", "r")

    def labels(self) -> np.ndarray:
        """The label flags of all rows, u1 [rows]."""
        return np.array(self.rows["labels"])

    def batch(self, indices: np.ndarray, no_history: np.ndarray, mirror: np.ndarray) -> Batch:
        """Gathers rows. `no_history` and `mirror` (bool [N]) ask for a position without its past, and mirrored files.

        The past is kept where en passant is possible: it shows there. Positions that may castle are not mirrored.
        """
        rows = self.rows[indices]
        mirror = mirror & (rows["board"] & CASTLING == 0)
        no_history = no_history & (rows["board"] & EN_PASSANT == 0)
        planes = np.unpackbits(self._masks(indices, rows, no_history).view(np.uint8), bitorder="little")
        planes = planes.reshape(len(indices), 112, 8, 8)
        planes[mirror] = planes[mirror][..., ::-1]
        moves, is_move = self._moves(rows, mirror)
        return Batch(planes, rows["rule50"].astype(np.float32), moves, is_move, rows)

    def _masks(self, indices: np.ndarray, rows: np.ndarray, no_history: np.ndarray) -> np.ndarray:
        """The 112 planes as bitboards, u8 [N, 112]."""
        count = len(indices)
        black = rows["board"] & BLACK != 0
        masks = np.zeros((count, 112), np.uint64)
        known = np.where(no_history, 0, rows["history"].astype(np.int64))
        filled = no_history | (rows["board"] & ODD_START != 0)
        for back in range(8):
            past = self.rows[indices - np.minimum(back, known)]
            missing = back > known
            pieces = np.where(black[:, None], np.roll(past["pieces"], 6, 1).byteswap(), past["pieces"])
            pieces[missing & ~filled] = 0
            masks[:, 13 * back : 13 * back + 12] = pieces
            repeated = (past["board"] & REPEATED != 0) & ~missing & ~no_history
            masks[repeated, 13 * back + 12] = ALL_SQUARES
        white_rights, black_rights = rows["board"] & 3, rows["board"] >> 2 & 3
        ours, theirs = np.where(black, black_rights, white_rights), np.where(black, white_rights, black_rights)
        for plane, flag in enumerate([ours & 1, ours & 2, theirs & 1, theirs & 2, black], 104):
            masks[flag != 0, plane] = ALL_SQUARES
        masks[:, 109] = ALL_SQUARES
        masks[:, 111] = ALL_SQUARES
        return masks

    def _moves(self, rows: np.ndarray, mirror: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        counts = rows["move_count"].astype(np.int64)
        offsets = np.arange(counts.max())
        is_move = offsets < counts[:, None]
        places = np.where(is_move, rows["first_move"].astype(np.int64)[:, None] + offsets, 0)
        codes = self.moves[places] ^ np.where(mirror, 7 | 7 << 6, 0).astype(np.uint16)[:, None]
        codes[~is_move] = 1 << 6  # a1b1, any valid move
        return INDEX_OF_CODE[codes].astype(np.int64), is_move

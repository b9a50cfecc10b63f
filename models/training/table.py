"""Reads the tables that `zeitnot datagen` expands games to, and makes batches of them on any of PyTorch's devices.

A row's layout is documented in `src/lab/training/table.rs`.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import children
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
ALL_SQUARES = -1
MAX_HISTORY = 7

#: The signed integers of so many bytes.
INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

#: Columns of rows by the names of `ROW`, i8 [N] or [N, count]; bitboards are i8 with the bits of u8.
Rows = dict[str, Tensor]


@dataclass
class Batch:
    """Positions as the network sees them, with the facts that labels are made of. N positions, at most L legal moves."""

    planes: Tensor  #: u1 [N, 112, 8, 8]; plane 109 is ones
    moves: Tensor  #: i8 [N, L] policy indices of the legal moves, 0 beyond their number
    is_move: Tensor  #: bool [N, L]
    rows: Rows


def columns(rows: Tensor) -> Rows:
    """The columns of rows, u1 [N, 128]."""
    result = {}
    for name in ROW.names:
        kind, offset = ROW.fields[name][:2]
        base = kind.base
        part = rows[:, offset : offset + kind.itemsize].contiguous().view(INTEGERS[base.itemsize]).long()
        if base.kind == "u" and base.itemsize < 8:
            part &= (1 << 8 * base.itemsize) - 1
        result[name] = part if kind.shape else part[:, 0]
    return result


def turned(boards: Tensor) -> Tensor:
    """Bitboards i8 with the ranks turned round."""
    return boards.contiguous().view(torch.uint8).view(*boards.shape, 8).flip(-1).contiguous().view(torch.int64)[..., 0]


def squares(boards: Tensor) -> Tensor:
    """Bitboards i8 [N, K] as u1 [N, K, 8, 8], ranks first."""
    ranks = boards.contiguous().view(torch.uint8).view(*boards.shape, 8, 1)
    return ranks >> torch.arange(8, dtype=torch.uint8, device=boards.device) & 1


class Table:
    """A folder with `rows.bin` and `moves.bin`: in the memory of `device`, mapped where that is the CPU."""

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        # "c": PyTorch takes no arrays that may not be written.
        self.rows = np.memmap(folder / "rows.bin", ROW, "c")
        self.moves = np.memmap(folder / "moves.bin", "<u2", "c")
        self.device = device
        self._rows = torch.from_numpy(self.rows.view(np.uint8).reshape(-1, ROW.itemsize)).to(device)
        self._moves = torch.from_numpy(self.moves.view(np.int16)).to(device)
        self._index_of_code = torch.from_numpy(INDEX_OF_CODE.astype(np.int64)).to(device)

    def labels(self) -> np.ndarray:
        """The label flags of all rows, u1 [rows]."""
        return np.array(self.rows["labels"])

    def batch(
        self,
        indices: np.ndarray,
        no_history: np.ndarray | None = None,
        mirror: np.ndarray | None = None,
        alternative: np.ndarray | None = None,
    ) -> Batch:
        """Gathers rows. `no_history` and `mirror` (bool [N]) ask for a position without its past, and mirrored files.

        The past is kept where en passant is possible: it shows there. Positions that may castle are not mirrored.
        `alternative` (f4 [N]) asks for the position after another candidate of the teacher's where it is not negative.
        """
        masks, rows = self.positions(indices, no_history)
        mirror = self._flags(mirror, indices) & (rows["board"] & CASTLING == 0)
        if alternative is not None:
            masks, _, _ = self.play_alternatives(masks, rows, alternative)
        planes = squares(masks)
        planes = torch.where(mirror[:, None, None, None], planes.flip(-1), planes)
        return Batch(planes, *self._legal_moves(rows, mirror), rows)

    def positions(self, indices: np.ndarray, no_history: np.ndarray | None = None) -> tuple[Tensor, Rows]:
        """The 112 planes of rows as bitboards, i8 [N, 112], and their columns."""
        places = torch.from_numpy(indices).to(self.device)
        rows = columns(self._rows[places])
        no_history = self._flags(no_history, indices) & (rows["board"] & EN_PASSANT == 0)
        return self._masks(places, rows, no_history), rows

    def play_alternatives(self, masks: Tensor, rows: Rows, lots: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Plays candidates by lot. Returns the bitboards, the moves and the candidates' numbers; the columns of `rows` change."""
        chosen = children.choose(rows, torch.from_numpy(lots).to(self.device))
        place = rows["candidates"].gather(1, chosen.clamp(min=0)[:, None])[:, 0]
        codes = self._moves[rows["first_move"] + place].long()
        return children.play(masks, rows, codes, chosen), codes, chosen

    def _flags(self, flags: np.ndarray | None, indices: np.ndarray) -> Tensor:
        return torch.from_numpy(np.zeros(len(indices), bool) if flags is None else flags).to(self.device)

    def _masks(self, places: Tensor, rows: Rows, no_history: Tensor) -> Tensor:
        """The 112 planes as bitboards, i8 [N, 112]."""
        black = rows["board"] & BLACK != 0
        masks = torch.zeros((len(places), 112), dtype=torch.int64, device=self.device)
        known = torch.where(no_history, 0, rows["history"])
        filled = no_history | (rows["board"] & ODD_START != 0)
        back = torch.arange(MAX_HISTORY + 1, device=self.device)
        past = self._rows[places[:, None] - torch.minimum(back, known[:, None])]
        missing = back > known[:, None]
        boards = past[..., : 8 * 12].contiguous().view(torch.int64)
        boards = torch.where(black[:, None, None], turned(boards.roll(6, 2)), boards)
        boards = torch.where((missing & ~filled[:, None])[..., None], 0, boards)
        repeated = (past[..., ROW.fields["board"][1]] & REPEATED != 0) & ~missing & ~no_history[:, None]
        masks[:, :104] = torch.cat([boards, -repeated.long()[..., None]], 2).flatten(1)
        white_rights, black_rights = rows["board"] & 3, rows["board"] >> 2 & 3
        ours, theirs = torch.where(black, black_rights, white_rights), torch.where(black, white_rights, black_rights)
        flags = torch.stack([ours & 1, ours & 2, theirs & 1, theirs & 2, black.long()], 1)
        masks[:, 104:109] = -(flags != 0).long()
        masks[:, 109] = masks[:, 111] = ALL_SQUARES
        return masks

    def _legal_moves(self, rows: Rows, mirror: Tensor) -> tuple[Tensor, Tensor]:
        counts = rows["move_count"]
        offsets = torch.arange(int(counts.max()), device=self.device)
        is_move = offsets < counts[:, None]
        places = torch.where(is_move, rows["first_move"][:, None] + offsets, 0)
        codes = self._moves[places].long() ^ torch.where(mirror, 7 | 7 << 6, 0)[:, None]
        codes = torch.where(is_move, codes, 1 << 6)  # a1b1, any valid move
        return self._index_of_code[codes], is_move

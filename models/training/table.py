"""Reads the tables that `zeitnot-datagen` expands games to, chooses positions, and makes batches of them on any of PyTorch's devices.

A row's layout is documented in `crates/datagen/src/table.rs`. In a batch everything is as the side to move sees it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from network import INDEX_OF_CODE

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
        self._index_of_code = torch.from_numpy(INDEX_OF_CODE).to(device)

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
        places = torch.from_numpy(indices).to(self.device)
        rows = columns(self._rows[places])
        no_history = self._flags(no_history, indices) & (rows["board"] & EN_PASSANT == 0)
        mirror = self._flags(mirror, indices) & (rows["board"] & CASTLING == 0)
        masks = self._masks(places, rows, no_history)
        if alternative is not None:
            chosen = choose_alternatives(rows, torch.from_numpy(alternative).to(self.device))
            place = rows["candidates"].gather(1, chosen.clamp(min=0)[:, None])[:, 0]
            masks = play_moves(masks, rows, self._moves[rows["first_move"] + place].long(), chosen)
        planes = squares(masks)
        planes = torch.where(mirror[:, None, None, None], planes.flip(-1), planes)
        return Batch(planes, *self._legal_moves(rows, mirror), rows)

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


# The positions behind a teacher's candidates that its games did not play have the candidates' evaluations as values. A child is its
# parent's boards turned round, behind a new one.

#: Bitboards of one side in the order of a row's.
PAWN, KNIGHT, ROOK, KING = 0, 1, 3, 5
E1, E8 = 1 << 4, 1 << 60
#: Squares of the rooks that can castle in standard chess, in the order of the planes of rights: ours, queenside first, theirs.
ROOKS = [0, 7, 56, 63]
RIGHTS, BLACK_PLANE, RULE50_PLANE, ONES_PLANE = slice(104, 108), 108, 109, 111
#: Evaluations from here on mean that the move gives mate at once: nobody evaluates what follows.
MATE = 31999


def choose_alternatives(rows: Rows, lots: Tensor) -> Tensor:
    """Numbers of the teacher's candidates that are not the best, i8 [N], chosen by `lots` (f4 [N], 0 to 1); -1 where there is none or the
    lot is negative."""
    others = rows["candidate_count"] - 1
    number = 1 + (lots * others).long().clamp(0, 3)
    evaluation = rows["candidate_centipawns"].gather(1, number[:, None])[:, 0]
    # Which rooks may castle is known where the kings stand as in standard chess.
    white_is_clear = (rows["board"] & 3 == 0) | (rows["pieces"][:, KING] & E1 != 0)
    black_is_clear = (rows["board"] & 12 == 0) | (rows["pieces"][:, 6 + KING] & E8 != 0)
    possible = (lots >= 0) & (others > 0) & (evaluation < MATE) & white_is_clear & black_is_clear
    return torch.where(possible, number, -1)


def play_moves(masks: Tensor, rows: Rows, codes: Tensor, chosen: Tensor) -> Tensor:
    """Returns `masks` (i8 [N, 112]) with the positions after the moves `codes` (i8 [N]), the candidates number `chosen`, where that
    is not -1. There the columns of `rows` change too, and labels that speak of the move or the game are taken away.
    """
    is_child = chosen >= 0
    board, is_irreversible = moved(masks[:, :12], codes)
    past = masks[:, :104].view(-1, 8, 13)[:, :7]
    boards = torch.cat([board[:, None], past[..., :12]], 1)
    repeated = torch.cat([torch.zeros_like(past[:, :1, 12]), past[..., 12]], 1)
    child = torch.zeros_like(masks)
    child[:, :104] = torch.cat([turned(boards.roll(6, 2)), repeated[..., None]], 2).flatten(1)
    start, target = codes & 63, codes >> 6 & 63
    rooks = torch.tensor(ROOKS, device=masks.device)
    lost = (start[:, None] == rooks) | (target[:, None] == rooks)
    lost[:, :2] |= has(masks[:, KING], start)[:, None]
    child[:, RIGHTS] = torch.where(lost, 0, masks[:, RIGHTS]).roll(2, 1)
    child[:, BLACK_PLANE] = ~masks[:, BLACK_PLANE]
    child[:, RULE50_PLANE] = child[:, ONES_PLANE] = ALL_SQUARES

    evaluation = rows["candidate_centipawns"].gather(1, chosen.clamp(min=0)[:, None])[:, 0]
    counter = torch.where(is_irreversible, 0, (rows["rule50"] + 1).clamp(max=255))
    own_labels = ~(POLICY | RESULT | MOVES_LEFT)
    rows["centipawns"] = torch.where(is_child, -evaluation, rows["centipawns"])
    rows["rule50"] = torch.where(is_child, counter, rows["rule50"])
    rows["labels"] = torch.where(is_child, rows["labels"] & own_labels, rows["labels"])
    return torch.where(is_child[:, None], child, masks)


def has(boards: Tensor, square: Tensor) -> Tensor:
    """Which bitboards have the square, bool [N]."""
    return boards >> square & 1 != 0


def moved(pieces: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
    """Plays moves on boards i8 [N, 12]. Returns the boards, still seen by who moved, and whether the move was a capture or a pawn's."""
    start, target, promotion = codes & 63, codes >> 6 & 63, codes >> 12
    start_bit, target_bit = torch.ones_like(start) << start, torch.ones_like(target) << target
    piece = (pieces[:, :6] & start_bit[:, None] != 0).long().argmax(1)
    is_pawn = piece == PAWN
    is_castling = (piece == KING) & has(pieces[:, ROOK], target)
    is_empty = (pieces & target_bit[:, None] == 0).all(1)
    is_en_passant = is_pawn & is_empty & (start % 8 != target % 8)
    is_capture = ~is_empty & ~is_castling | is_en_passant

    captured = torch.where(is_en_passant, torch.ones_like(target) << (target - 8).clamp(min=0), target_bit)
    board = pieces.clone()
    board[:, 6:] &= ~torch.where(is_castling, 0, captured)[:, None]
    to_the_right = target > start
    landed = torch.where(is_castling, torch.where(to_the_right, 6, 2), target)
    # A promotion's code is its piece's place; none on the last rank means a knight.
    becomes = torch.where(is_pawn & (target >= 56), torch.where(promotion == 0, KNIGHT, promotion), piece)
    place = torch.arange(6, device=board.device)
    board[:, :6] &= ~torch.where(place == piece[:, None], start_bit[:, None], 0)
    board[:, ROOK] &= ~torch.where(is_castling, target_bit, 0)
    board[:, :6] |= torch.where(place == becomes[:, None], torch.ones_like(landed)[:, None] << landed[:, None], 0)
    board[:, ROOK] |= torch.where(is_castling, torch.where(to_the_right, 1 << 5, 1 << 3), 0)
    return board, is_capture | is_pawn


# Which positions are trained on, in which order, and which are measured.

#: Share of the positions shown without their past.
NO_HISTORY_SHARE = 0.1


def has_label(labels: np.ndarray) -> np.ndarray:
    """Which rows are to learn from; the others are there as their past."""
    return labels & (POLICY | RESULT | MOVES_LEFT) != 0


class Source:
    """The rows of one kind; every pass over them is a new permutation, divided among the processes."""

    def __init__(self, rows: np.ndarray, number: int) -> None:
        self.rows, self.number = rows, number
        self.epoch, self.order = -1, rows

    def take(self, first: int, count: int) -> np.ndarray:
        """The rows from place `first` of the endless sequence on; fewer than a pass has."""
        epoch, place = divmod(first, len(self.rows))
        if epoch != self.epoch:
            self.epoch, self.order = epoch, np.random.default_rng([1, epoch, self.number]).permutation(self.rows)
        taken = self.order[place : place + count]
        rest = count - len(taken)
        return taken if rest == 0 else np.concatenate([taken, self.take(first + len(taken), rest)])


class Sampler:
    """Endless batches of row numbers with a fixed share of the teacher's positions, drawn without replacement."""

    def __init__(self, labels: np.ndarray, teacher_share: float, batch: int, rank: int, world: int) -> None:
        training = np.flatnonzero(has_label(labels) & (labels & HELD_OUT == 0)).astype(np.uint32)
        is_teacher = labels[training] & TEACHER != 0
        kinds = [training[~is_teacher], training[is_teacher]]
        shares = [1 - teacher_share, teacher_share]
        # Where one kind is missing, the other fills the batches.
        present = [number for number in range(2) if len(kinds[number])]
        self.sources = [Source(kinds[number], number) for number in present]
        self.shares = np.array([shares[number] for number in present]) if len(present) > 1 else np.ones(len(present))
        self.batch, self.rank, self.world = batch, rank, world

    def batches(self, start: int) -> Iterator[tuple[np.ndarray, np.random.Generator]]:
        """Row numbers i8 [batch] and a random generator, from step `start` on; the same for the same step always."""
        ends = np.rint(np.cumsum(self.shares) * self.batch).astype(int)
        counts = np.diff(ends, prepend=0)
        step = start
        while True:
            parts = [
                source.take((step * self.world + self.rank) * int(count), int(count))
                for source, count in zip(self.sources, counts, strict=True)
            ]
            yield np.concatenate(parts).astype(np.int64), np.random.default_rng([2, step, self.rank])
            step += 1


def held_out(labels: np.ndarray, kind: int, count: int) -> np.ndarray:
    """At most `count` held-out row numbers of the kind (0 or `TEACHER`), evenly spread."""
    rows = np.flatnonzero(has_label(labels) & (labels & (HELD_OUT | TEACHER) == HELD_OUT | kind))
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)]

"""Compares the positions that `children.py` makes with python-chess's.

Usage: python check_children.py TABLE_FOLDER

Plays a candidate of each of some thousand positions of the teacher's and compares pieces, castling rights, fifty-move counters and
evaluations.
"""

import sys
from collections import Counter
from pathlib import Path

import chess
import numpy as np
import torch
from torch import Tensor

import children
import table

POSITIONS = 20000
CORNERS = [chess.A1, chess.H1, chess.A8, chess.H8]


def board_of(masks: Tensor) -> chess.Board:
    """The board of a position's 112 bitboards: the side to move is White's."""
    board = chess.Board(None)
    for place, mask in enumerate(masks[:12].tolist()):
        for square in chess.scan_forward(mask % 2**64):
            board.set_piece_at(square, chess.Piece(place % 6 + 1, place < 6))
    rights = masks[children.RIGHTS].tolist()
    board.castling_rights = sum(1 << square for square, right in zip(CORNERS, rights, strict=True) if right)
    return board


def play(board: chess.Board, code: int) -> tuple[chess.Board, bool, str]:
    """The board after a move as the other side sees it, whether the move was a capture or a pawn's, and its kind."""
    start, target, promotion = code & 63, code >> 6 & 63, code >> 12
    move, kind = chess.Move(start, target, promotion + 1 if promotion else None), "other"
    if board.piece_type_at(start) == chess.KING and board.piece_at(target) == chess.Piece(chess.ROOK, chess.WHITE):
        move, kind = chess.Move(start, chess.G1 if target > start else chess.C1), "castling"
    elif board.piece_at(target):
        kind = "capture"
    elif board.piece_type_at(start) == chess.PAWN and start % 8 != target % 8:
        board.ep_square, kind = target, "en passant"
    kind = "promotion" if promotion else kind
    assert move in board.legal_moves, f"{board.fen()} {move}"
    is_irreversible = board.is_zeroing(move)
    board.push(move)
    return board.mirror(), is_irreversible, kind


def main() -> None:
    data = table.Table(Path(sys.argv[1]))
    rng = np.random.default_rng(1)
    places = rng.choice(np.flatnonzero(data.labels() & table.TEACHER), POSITIONS)
    before, rows = data.positions(places)
    parents = dict(rows)
    after, codes, chosen = data.play_alternatives(before, rows, rng.random(POSITIONS, np.float32))
    kinds: Counter[str] = Counter()
    for i in torch.nonzero(chosen >= 0)[:, 0].tolist():
        expected, is_irreversible, kind = play(board_of(before[i]), int(codes[i]))
        found = board_of(after[i])
        assert found.board_fen() == expected.board_fen(), f"{found.fen()}, not {expected.fen()}"
        assert found.castling_rights == expected.castling_rights, expected.fen()
        assert rows["rule50"][i] == (0 if is_irreversible else min(parents["rule50"][i] + 1, 255))
        assert rows["centipawns"][i] == -parents["candidate_centipawns"][i, chosen[i]]
        assert torch.equal(table.turned(before[i, :12].roll(6)), after[i, 13:25])
        kinds[kind] += 1
    print(f"{kinds.total()} positions agree:", dict(kinds))


if __name__ == "__main__":
    main()

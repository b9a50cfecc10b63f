"""Plays candidates of a teacher that its games did not: the positions behind them have the candidates' evaluations as values.

Everything is as the side to move sees it, so that a child is its parent's boards turned round, behind a new one.
"""

import torch
from torch import Tensor

import table

#: Bitboards of one side in the order of a row's.
PAWN, KNIGHT, ROOK, KING = 0, 1, 3, 5
E1, E8 = 1 << 4, 1 << 60
#: Squares of the rooks that can castle in standard chess, in the order of the planes of rights: ours, queenside first, theirs.
ROOKS = [0, 7, 56, 63]
RIGHTS, BLACK_PLANE, RULE50_PLANE, ONES_PLANE = slice(104, 108), 108, 109, 111
#: Evaluations from here on mean that the move gives mate at once: nobody evaluates what follows.
MATE = 31999


def choose(rows: "table.Rows", lots: Tensor) -> Tensor:
    """Numbers of candidates that are not the best, i8 [N], chosen by `lots` (f4 [N], 0 to 1); -1 where there is none or the
    lot is negative."""
    others = rows["candidate_count"] - 1
    number = 1 + (lots * others).long().clamp(0, 3)
    evaluation = rows["candidate_centipawns"].gather(1, number[:, None])[:, 0]
    # Which rooks may castle is known where the kings stand as in standard chess.
    white_is_clear = (rows["board"] & 3 == 0) | (rows["pieces"][:, KING] & E1 != 0)
    black_is_clear = (rows["board"] & 12 == 0) | (rows["pieces"][:, 6 + KING] & E8 != 0)
    possible = (lots >= 0) & (others > 0) & (evaluation < MATE) & white_is_clear & black_is_clear
    return torch.where(possible, number, -1)


def play(masks: Tensor, rows: "table.Rows", codes: Tensor, chosen: Tensor) -> Tensor:
    """Returns `masks` (i8 [N, 112]) with the positions after the moves `codes` (i8 [N]), the candidates number `chosen`, where that
    is not -1. There the columns of `rows` change too, and labels that speak of the move or the game are taken away.
    """
    is_child = chosen >= 0
    board, is_irreversible = moved(masks[:, :12], codes)
    past = masks[:, :104].view(-1, 8, 13)[:, :7]
    boards = torch.cat([board[:, None], past[..., :12]], 1)
    repeated = torch.cat([torch.zeros_like(past[:, :1, 12]), past[..., 12]], 1)
    child = torch.zeros_like(masks)
    child[:, :104] = torch.cat([table.turned(boards.roll(6, 2)), repeated[..., None]], 2).flatten(1)
    start, target = codes & 63, codes >> 6 & 63
    rooks = torch.tensor(ROOKS, device=masks.device)
    lost = (start[:, None] == rooks) | (target[:, None] == rooks)
    lost[:, :2] |= has(masks[:, KING], start)[:, None]
    child[:, RIGHTS] = torch.where(lost, 0, masks[:, RIGHTS]).roll(2, 1)
    child[:, BLACK_PLANE] = ~masks[:, BLACK_PLANE]
    child[:, RULE50_PLANE] = child[:, ONES_PLANE] = table.ALL_SQUARES

    evaluation = rows["candidate_centipawns"].gather(1, chosen.clamp(min=0)[:, None])[:, 0]
    counter = torch.where(is_irreversible, 0, (rows["rule50"] + 1).clamp(max=255))
    own_labels = ~(table.POLICY | table.RESULT | table.MOVES_LEFT)
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

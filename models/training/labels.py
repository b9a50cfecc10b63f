"""Makes targets of what the rows know."""

import torch
from torch import Tensor

import table
from table import Batch, Rows

#: Temperature of the teacher's policy, in compressed centipawns.
POLICY_TEMPERATURE = 35.0
#: Share of the result in the value target, the rest is the evaluation.
RESULT_SHARE = 0.25
#: Offset and scale in centipawns of P(win) = 1 / (1 + exp((a - cp) / b)), by source; fitted to results by `fit_wdl.py`.
WDL_TOURNAMENT = (132.0, 60.0)
WDL_TEACHER = (128.0, 124.0)
#: From here on centipawns mean a mate in 32000 less that many plies.
MATE_FROM = 20000


def compress(centipawns: Tensor) -> Tensor:
    """400 asinh(cp / 400), so that differences count less the more is won; the nearer mate is the better."""
    value = centipawns.float()
    ordinary = (400 * torch.asinh(value / 400)).clamp(-1400, 1400)
    mate = value.sign() * (1400 + 600 / (1 + 0.15 * (32000 - value.abs())))
    return torch.where(value.abs() > MATE_FROM, mate, ordinary)


def policy(batch: Batch) -> Tensor:
    """Target policy over the legal moves, f4 [N, L]: softmax over the teacher's candidates, or the move played."""
    rows = batch.rows
    used = torch.arange(5, device=batch.moves.device) < rows["candidate_count"][:, None]
    value = compress(rows["candidate_centipawns"]).masked_fill(~used, -1e9)
    weights = (value / POLICY_TEMPERATURE).softmax(1) * used
    target = torch.zeros(batch.moves.shape, device=batch.moves.device)
    # Unused slots name move 0, and add nothing to it.
    return target.scatter_add_(1, rows["candidates"] * used, weights)


def wdl_of_centipawns(centipawns: Tensor, offset: Tensor, scale: Tensor) -> Tensor:
    """Win, draw and loss probabilities of evaluations, f4 [N, 3]."""
    value = centipawns.float().clamp(-3000, 3000)
    win, loss = ((value - offset) / scale).sigmoid(), ((-value - offset) / scale).sigmoid()
    return torch.stack([win, 1 - win - loss, loss], 1)


def wdl(rows: Rows) -> Tensor:
    """Value targets, f4 [N, 3]: evaluation and result mixed; where only one of them is known, that one."""
    is_teacher = rows["labels"] & table.TEACHER != 0
    offset, scale = (torch.where(is_teacher, *pair) for pair in zip(WDL_TEACHER, WDL_TOURNAMENT, strict=True))
    evaluation = wdl_of_centipawns(rows["centipawns"], offset, scale)
    result = torch.stack([rows["result"] == outcome for outcome in (1, 0, -1)], 1).float()
    share = torch.where(rows["labels"] & table.RESULT == 0, 0.0, RESULT_SHARE)
    share = torch.where(rows["centipawns"] == table.NO_CENTIPAWNS, 1.0, share)[:, None]
    return evaluation * (1 - share) + result * share


def has_value(rows: Rows) -> Tensor:
    """Which rows have a value target, bool [N]."""
    return (rows["labels"] & table.RESULT != 0) | (rows["centipawns"] != table.NO_CENTIPAWNS)

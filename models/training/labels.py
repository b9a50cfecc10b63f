"""Makes targets of what the rows know."""

import numpy as np

import table
from table import Batch

#: Temperature of the teacher's policy, in compressed centipawns.
POLICY_TEMPERATURE = 35.0
#: Share of the result in the value target, the rest is the evaluation.
RESULT_SHARE = 0.5
#: Offset and scale in centipawns of P(win) = 1 / (1 + exp((a - cp) / b)), by source; fitted to results by `fit_wdl.py`.
WDL_TOURNAMENT = (132.0, 60.0)
WDL_TEACHER = (128.0, 124.0)
#: From here on centipawns mean a mate in 32000 less that many plies.
MATE_FROM = 20000


def compress(centipawns: np.ndarray) -> np.ndarray:
    """400 asinh(cp / 400), so that differences count less the more is won; the nearer mate is the better."""
    value = centipawns.astype(np.float32)
    ordinary = np.clip(400 * np.arcsinh(value / 400), -1400, 1400)
    mate = np.sign(value) * (1400 + 600 / (1 + 0.15 * (32000 - np.abs(value))))
    return np.where(np.abs(value) > MATE_FROM, mate, ordinary)


def policy(batch: Batch) -> np.ndarray:
    """Target policy over the legal moves, f4 [N, L]: softmax over the teacher's candidates, or the move played."""
    rows = batch.rows
    slots = np.arange(5)
    used = slots < rows["candidate_count"][:, None]
    value = np.where(used, compress(rows["candidate_centipawns"]), -np.inf)
    weights = np.exp((value - value.max(1, keepdims=True)) / POLICY_TEMPERATURE)
    weights /= weights.sum(1, keepdims=True)
    target = np.zeros(batch.moves.shape, np.float32)
    lines = np.broadcast_to(np.arange(len(rows))[:, None], used.shape)
    # Unused slots name move 0: they must not overwrite it.
    np.add.at(target, (lines[used], rows["candidates"][used]), weights[used])
    return target


def wdl_of_centipawns(centipawns: np.ndarray, offset: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Win, draw and loss probabilities of evaluations, f4 [N, 3]."""
    value = np.clip(centipawns.astype(np.float32), -3000, 3000)
    win = 1 / (1 + np.exp((offset - value) / scale))
    loss = 1 / (1 + np.exp((offset + value) / scale))
    return np.stack([win, 1 - win - loss, loss], 1)


def wdl(rows: np.ndarray) -> np.ndarray:
    """Value targets, f4 [N, 3]: evaluation and result mixed; where only one of them is known, that one."""
    teacher = rows["labels"] & table.TEACHER != 0
    constants = np.where(teacher[:, None], WDL_TEACHER, WDL_TOURNAMENT).astype(np.float32)
    evaluation = wdl_of_centipawns(rows["centipawns"], constants[:, 0], constants[:, 1])
    result = np.stack([rows["result"] == 1, rows["result"] == 0, rows["result"] == -1], 1).astype(np.float32)
    no_evaluation = rows["centipawns"] == table.NO_CENTIPAWNS
    no_result = rows["labels"] & table.RESULT == 0
    share = np.where(no_evaluation, 1.0, np.where(no_result, 0.0, RESULT_SHARE)).astype(np.float32)
    return evaluation * (1 - share[:, None]) + result * share[:, None]


def has_value(rows: np.ndarray) -> np.ndarray:
    """Which rows have a value target, bool [N]."""
    return (rows["labels"] & table.RESULT != 0) | (rows["centipawns"] != table.NO_CENTIPAWNS)

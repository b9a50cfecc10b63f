"""Targets made of what the rows know, losses against them, and measurements."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import network_file
import table
from network import PLIES_PER_UNIT, Network
from table import Batch, Rows

#: Temperature of the teacher's policy, in compressed centipawns.
POLICY_TEMPERATURE = 35.0
#: Share of the result in the value target, the rest is the evaluation.
RESULT_SHARE = 0.25
#: Offset and scale in centipawns of P(win) = 1 / (1 + exp((a - cp) / b)), by source; fitted to results.
WDL_TOURNAMENT = (132.0, 60.0)
WDL_TEACHER = (128.0, 124.0)
#: From here on centipawns mean a mate in 32000 less that many plies.
MATE_FROM = 20000
#: Weights of the losses of policy, value and moves left.
WEIGHTS = [1.0, 1.0, 0.2]


def compress(centipawns: Tensor) -> Tensor:
    """400 asinh(cp / 400), so that differences count less the more is won; the nearer mate is the better."""
    value = centipawns.float()
    ordinary = (400 * torch.asinh(value / 400)).clamp(-1400, 1400)
    mate = value.sign() * (1400 + 600 / (1 + 0.15 * (32000 - value.abs())))
    return torch.where(value.abs() > MATE_FROM, mate, ordinary)


def policy_target(batch: Batch) -> Tensor:
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


def wdl_target(rows: Rows) -> Tensor:
    """Value targets, f4 [N, 3]: evaluation and result mixed; where only one of them is known, that one."""
    is_teacher = rows["labels"] & table.TEACHER != 0
    offset, scale = (torch.where(is_teacher, *pair) for pair in zip(WDL_TEACHER, WDL_TOURNAMENT, strict=True))
    evaluation = wdl_of_centipawns(rows["centipawns"], offset, scale)
    result = torch.stack([rows["result"] == outcome for outcome in (1, 0, -1)], 1).float()
    share = torch.where(rows["labels"] & table.RESULT == 0, 0.0, RESULT_SHARE)
    share = torch.where(rows["centipawns"] == table.NO_CENTIPAWNS, 1.0, share)[:, None]
    return evaluation * (1 - share) + result * share


def has_value_target(rows: Rows) -> Tensor:
    """Which rows have a value target, bool [N]."""
    return (rows["labels"] & table.RESULT != 0) | (rows["centipawns"] != table.NO_CENTIPAWNS)


class PolicyTeacher:
    """A network whose policy makes `share` of the target; the rows' labels make the rest."""

    def __init__(self, file: Path, share: float, device: str) -> None:
        self.share = share
        self.network = network_file.load(file).to(device, memory_format=torch.channels_last).requires_grad_(False)

    def target(self, batch: Batch, planes: Tensor, labels: Tensor) -> Tensor:
        """Mixes the policy of `planes` (f4 [N, 112, 8, 8]) at temperature 1 with `labels`; both are f4 [N, L], over the legal moves."""
        policy = self.network.policy_logits(self.network.trunk(planes))
        own = policy.gather(1, batch.moves).masked_fill(~batch.is_move, -1e9).softmax(1)
        return torch.lerp(labels, own, self.share)


@dataclass
class Outputs:
    """Per position: losses (0 where there is no label), and what measuring needs."""

    policy: Tensor  #: [N] cross entropy over the legal moves
    value: Tensor  #: [N] cross entropy
    moves_left: Tensor  #: [N] smooth L1, units of PLIES_PER_UNIT
    top_move: Tensor  #: bool [N] is the likeliest move the target's?
    plies_off: Tensor  #: [N] absolute error of moves left, plies
    has_policy: Tensor  #: bool [N]
    has_value: Tensor  #: bool [N]
    has_moves_left: Tensor  #: bool [N]

    def means(self) -> Tensor:
        """Losses of policy, value and moves left, each the mean over the positions that have the label, f4 [3]."""
        losses = torch.stack([self.policy.sum(), self.value.sum(), self.moves_left.sum()])
        counts = torch.stack([self.has_policy.sum(), self.has_value.sum(), self.has_moves_left.sum()])
        return losses / counts.clamp(min=1)

    def total(self) -> Tensor:
        """The training loss."""
        return self.means() @ torch.tensor(WEIGHTS, device=self.policy.device)


def planes_tensor(batch: Batch) -> Tensor:
    """Planes f4 [N, 112, 8, 8], channels last, rule 50 divided by 100."""
    planes = batch.planes.float()
    planes[:, table.RULE50_PLANE] *= batch.rows["rule50"][:, None, None] / 100
    return planes.contiguous(memory_format=torch.channels_last)


def evaluate_batch(network: Network, batch: Batch, bf16: bool, policy_teacher: PolicyTeacher | None = None) -> Outputs:
    """Runs the network on a batch and compares with the labels, and the policy also with a teacher's."""
    planes = planes_tensor(batch)
    with torch.autocast(batch.planes.device.type, torch.bfloat16, enabled=bf16):
        policy, wdl, moves_left = network(planes)
    rows = batch.rows
    has_policy = rows["labels"] & table.POLICY != 0
    has_value = has_value_target(rows)
    has_moves_left = rows["labels"] & table.MOVES_LEFT != 0

    logits = policy.gather(1, batch.moves).masked_fill(~batch.is_move, -1e9)
    target = policy_target(batch)
    if policy_teacher is not None:
        target = policy_teacher.target(batch, planes, target)
    plies = rows["plies_left"].float()
    return Outputs(
        policy=-(target * F.log_softmax(logits, 1)).sum(1) * has_policy,
        value=-(wdl_target(rows) * F.log_softmax(wdl, 1)).sum(1) * has_value,
        moves_left=F.smooth_l1_loss(moves_left, plies / PLIES_PER_UNIT, reduction="none", beta=0.5) * has_moves_left,
        top_move=logits.argmax(1) == target.argmax(1),
        plies_off=(moves_left.detach() * PLIES_PER_UNIT - plies).abs(),
        has_policy=has_policy,
        has_value=has_value,
        has_moves_left=has_moves_left,
    )


@torch.no_grad()
def measure(network: Network, data: table.Table, indices: np.ndarray) -> dict[str, float]:
    """Mean losses, policy top-1 and moves-left error (full moves) over rows, with their past."""
    network.eval()
    sums = np.zeros(5)
    counts = np.zeros(3)
    for chunk in np.array_split(indices, max(1, len(indices) // 1024)):
        out = evaluate_batch(network, data.batch(chunk), bf16=False)
        hits = (out.top_move & out.has_policy).sum()
        plies_off = (out.plies_off * out.has_moves_left).sum()
        sums += [float(x) for x in (out.policy.sum(), hits, out.value.sum(), out.moves_left.sum(), plies_off)]
        counts += [float(x.sum()) for x in (out.has_policy, out.has_value, out.has_moves_left)]
    network.train()
    policies, values, lengths = np.maximum(counts, 1)
    return {
        "policy_loss": sums[0] / policies,
        "policy_top1": sums[1] / policies,
        "value_loss": sums[2] / values,
        "moves_left_loss": sums[3] / lengths,
        "moves_left_mae_moves": sums[4] / lengths / 2,
    }

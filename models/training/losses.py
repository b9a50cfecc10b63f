"""Losses and measurements of one batch."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

import labels
import table
from network import PLIES_PER_UNIT, Network
from policy_teacher import PolicyTeacher
from table import Batch

#: Weights of the losses of policy, value and moves left.
WEIGHTS = [1.0, 1.0, 0.2]


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
    planes[:, 109] *= batch.rows["rule50"][:, None, None] / 100
    return planes.contiguous(memory_format=torch.channels_last)


def evaluate_batch(network: Network, batch: Batch, bf16: bool, policy_teacher: PolicyTeacher | None = None) -> Outputs:
    """Runs the network on a batch and compares with the labels, and the policy also with a teacher's."""
    planes = planes_tensor(batch)
    with torch.autocast(batch.planes.device.type, torch.bfloat16, enabled=bf16):
        policy, wdl, moves_left = network(planes)
    rows = batch.rows
    has_policy = rows["labels"] & table.POLICY != 0
    has_value = labels.has_value(rows)
    has_moves_left = rows["labels"] & table.MOVES_LEFT != 0

    logits = policy.gather(1, batch.moves).masked_fill(~batch.is_move, -1e9)
    target = labels.policy(batch)
    if policy_teacher is not None:
        target = policy_teacher.target(batch, planes, target)
    plies = rows["plies_left"].float()
    wdl_target = labels.wdl(rows)
    return Outputs(
        policy=-(target * F.log_softmax(logits, 1)).sum(1) * has_policy,
        value=-(wdl_target * F.log_softmax(wdl, 1)).sum(1) * has_value,
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

"""Another network as a teacher of the policy: what it would play, beside the labels of the rows."""

from pathlib import Path

import torch
from torch import Tensor

import exported
from table import Batch


class PolicyTeacher:
    """A network whose policy makes `share` of the target; the rows' labels make the rest."""

    def __init__(self, file: Path, share: float, device: str) -> None:
        self.share = share
        self.network = exported.load(file).to(device, memory_format=torch.channels_last).requires_grad_(False)

    def target(self, batch: Batch, planes: Tensor, labels: Tensor) -> Tensor:
        """Mixes the policy of `planes` (f4 [N, 112, 8, 8]) at temperature 1 with `labels`; both are f4 [N, L], over the legal moves."""
        policy = self.network.policy_logits(self.network.trunk(planes))
        own = policy.gather(1, batch.moves).masked_fill(~batch.is_move, -1e9).softmax(1)
        return torch.lerp(labels, own, self.share)

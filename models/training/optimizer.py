"""Muon for the convolutions, AdamW for everything else, under one schedule."""

import torch
from torch import Tensor, nn


class Muon(torch.optim.Optimizer):
    """Momentum whose update is made orthogonal by a Newton-Schulz iteration (K. Jordan, 2024)."""

    def __init__(self, parameters: list[Tensor], lr: float, momentum: float = 0.9, weight_decay: float = 0.01) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                average = self.state[parameter].setdefault("average", torch.zeros_like(parameter))
                average.lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonal(parameter.grad.lerp(average, group["momentum"]).flatten(1))
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                gain = max(1.0, update.shape[0] / update.shape[1]) ** 0.5
                parameter.add_(update.reshape(parameter.shape), alpha=-group["lr"] * gain)


def orthogonal(matrix: Tensor) -> Tensor:
    """Five steps towards the nearest matrix with orthonormal rows or columns."""
    x = matrix / (matrix.norm() + 1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.7750 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Optimizers:
    """Both optimizers, driven by one factor of their learning rates."""

    def __init__(self, network: nn.Module, adam_lr: float, muon_lr: float) -> None:
        convolutions = [p for p in network.parameters() if p.ndim == 4 and p.shape[0] <= p[0].numel()]
        chosen = {id(p) for p in convolutions}
        rest = [p for p in network.parameters() if id(p) not in chosen]
        self.members = [
            (Muon(convolutions, muon_lr), muon_lr),
            (torch.optim.AdamW(rest, adam_lr, weight_decay=1e-2, betas=(0.9, 0.98)), adam_lr),
        ]

    def step(self, factor: float) -> None:
        """One step at `factor` times the full learning rates."""
        for optimizer, rate in self.members:
            for group in optimizer.param_groups:
                group["lr"] = rate * factor
            optimizer.step()

    def state_dict(self) -> list[dict]:
        return [optimizer.state_dict() for optimizer, _ in self.members]

    def load_state_dict(self, state: list[dict]) -> None:
        for (optimizer, _), saved in zip(self.members, state, strict=True):
            optimizer.load_state_dict(saved)

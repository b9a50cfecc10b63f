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
            parameters, momentum = group["params"], group["momentum"]
            gradients = [parameter.grad for parameter in parameters]
            averages = [self.state[p].setdefault("average", torch.zeros_like(p)) for p in parameters]
            torch._foreach_lerp_(averages, gradients, 1 - momentum)
            updates = torch._foreach_lerp(gradients, averages, momentum)
            torch._foreach_mul_(parameters, 1 - group["lr"] * group["weight_decay"])
            matrices = [update.flatten(1) for update in updates]
            # Matrices of one shape are computed together.
            for shape in {matrix.shape for matrix in matrices}:
                members = [number for number, matrix in enumerate(matrices) if matrix.shape == shape]
                results = orthogonal(torch.stack([matrices[number] for number in members]))
                for number, result in zip(members, results, strict=True):
                    parameters[number].sub_(result.view_as(updates[number]), alpha=group["lr"])


def orthogonal(matrices: Tensor) -> Tensor:
    """Takes matrices `[N, rows, columns]`, rows <= columns, five steps towards the nearest ones with orthonormal rows.

    Each step multiplies by a polynomial of the product with the own transpose, which is small and follows from the one before."""
    x = matrices / (matrices.norm(dim=(1, 2), keepdim=True) + 1e-7)
    square = x @ x.mT
    identity = torch.eye(square.shape[1], device=x.device)
    product = None
    for _ in range(5):
        factor = 3.4445 * identity - 4.7750 * square + 2.0315 * square @ square
        product = factor if product is None else factor @ product
        square = factor @ square @ factor
    return product @ x


class Optimizers:
    """Both optimizers, driven by one factor of their learning rates."""

    def __init__(self, network: nn.Module, adam_lr: float, muon_lr: float) -> None:
        convolutions = [p for p in network.parameters() if p.ndim == 4 and p.shape[0] <= p[0].numel()]
        chosen = {id(p) for p in convolutions}
        rest = [p for p in network.parameters() if id(p) not in chosen]
        self.members = [
            (Muon(convolutions, muon_lr), muon_lr),
            (torch.optim.AdamW(rest, adam_lr, weight_decay=1e-2, betas=(0.9, 0.98), fused=True), adam_lr),
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

"""Compares a training step by `winograd.cpp` with one by PyTorch in double precision.

Usage: python check_winograd.py BUILD_FOLDER

Prints, for outputs, gradients and batch norm's statistics, the largest difference as a share of the largest number, of PyTorch in
float32 and of `winograd.cpp`.
"""

import copy
import sys
from pathlib import Path

import torch
from torch import Tensor

import winograd
from network import Network

POSITIONS = 26


def step(network: Network, planes: Tensor) -> dict[str, Tensor]:
    """Outputs, gradients and batch norm's statistics of a step with some loss."""
    policy, wdl, moves_left = network(planes)
    loss = policy.log_softmax(1)[:, :20].mean() + wdl.log_softmax(1)[:, 0].mean() + moves_left.square().mean()
    loss.backward()
    numbers = {"policy": policy, "wdl": wdl, "moves left": moves_left, **dict(network.named_buffers())}
    numbers |= {f"gradient of {name}": parameter.grad for name, parameter in network.named_parameters()}
    return {name: values.detach().double() for name, values in numbers.items()}


def main() -> None:
    torch.manual_seed(0)
    ours = Network(2, 64).to(memory_format=torch.channels_last)
    single, double = copy.deepcopy(ours), copy.deepcopy(ours).double()
    planes = (torch.rand(POSITIONS, 112, 8, 8) < 0.2).float()
    right = step(double, planes.double())
    torchs = step(single, planes)
    winograd.enable(Path(sys.argv[1]))
    winograds = step(ours, planes)
    for name, values in right.items():
        size = values.abs().max().clamp(min=1e-12)
        errors = [float((other[name] - values).abs().max() / size) for other in (torchs, winograds)]
        print(f"{name:45} PyTorch {errors[0]:.1e}  winograd.cpp {errors[1]:.1e}")


if __name__ == "__main__":
    main()

"""Reads a network file that `export.py` wrote back into a network that can be trained on."""

import gzip
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import protobuf as pb
from export import RULE50_PLANE, RULE50_UNIT
from network import PLIES_PER_UNIT, ConvBlock, Network

#: Norm that each output channel of a convolution gets; batch norm undoes it, and the optimizer's steps are relative to it.
CHANNEL_NORM = 2.0


def _messages(message: bytes, field: int) -> list[bytes]:
    return [value for number, value in pb.fields(message) if number == field and isinstance(value, bytes)]


def _message(message: bytes, *path: int) -> bytes:
    """The only message at a path of field numbers."""
    for field in path:
        (message,) = _messages(message, field)
    return message


def _layer(message: bytes, *path: int) -> Tensor:
    """The numbers of a Layer message."""
    return torch.from_numpy(np.frombuffer(_message(message, *path, 3), np.float16).astype(np.float32))


def _fill(target: Tensor, values: Tensor) -> None:
    if target.numel() != values.numel():
        raise ValueError(f"a layer has {values.numel()} weights, not {target.numel()}: the file is of another size")
    target.copy_(values.view_as(target))


def _convolution(conv: nn.Conv2d, bias: Tensor, message: bytes) -> None:
    _fill(conv.weight, _layer(message, 1))
    _fill(bias, _layer(message, 2))


def _dense(linear: nn.Linear, message: bytes, weights_field: int, scale: float = 1.0) -> None:
    _fill(linear.weight, _layer(message, weights_field) / scale)
    _fill(linear.bias, _layer(message, weights_field + 1) / scale)


@torch.no_grad()
def read_into(network: Network, file: Path) -> None:
    """Fills a network with a file's weights; in evaluation mode it then has the file's outputs."""
    weights = _message(gzip.decompress(file.read_bytes()), 10)

    def block(target: ConvBlock, message: bytes) -> None:
        _convolution(target.conv, target.norm.bias, message)
        nn.init.ones_(target.norm.weight)
        nn.init.zeros_(target.norm.running_mean)
        nn.init.constant_(target.norm.running_var, 1 - target.norm.eps)

    block(network.input, _message(weights, 1))
    network.input.conv.weight[:, RULE50_PLANE] *= RULE50_UNIT
    residuals = _messages(weights, 2)
    if len(residuals) != len(network.tower):
        raise ValueError(f"{file} has {len(residuals)} blocks, not {len(network.tower)}")
    for target, message in zip(network.tower, residuals, strict=True):
        block(target.first, _message(message, 1))
        block(target.second, _message(message, 2))
        _dense(target.se.squeeze, _message(message, 3), 1)
        _dense(target.se.excite, _message(message, 3), 3)
    block(network.policy, _message(weights, 11))
    _convolution(network.policy_out, network.policy_out.bias, _message(weights, 3))
    block(network.value, _message(weights, 6))
    _dense(network.value_hidden, weights, 7)
    _dense(network.value_out, weights, 9)
    block(network.moves_left, _message(weights, 12))
    _dense(network.moves_left_hidden, weights, 13)
    _dense(network.moves_left_out, weights, 15, PLIES_PER_UNIT)


def load(file: Path) -> Network:
    """A file's network, ready to evaluate."""
    weights = _message(gzip.decompress(file.read_bytes()), 10)
    network = Network(len(_messages(weights, 2)), _layer(weights, 1, 2).numel())
    read_into(network, file)
    return network.eval()


@torch.no_grad()
def restore_norms(network: Network, planes: Tensor) -> None:
    """Gives batch norm its statistics over some positions, with scales and offsets that leave the outputs as they are."""
    statistics: dict[ConvBlock, tuple[Tensor, Tensor]] = {}
    blocks = [module for module in network.modules() if isinstance(module, ConvBlock)]
    handles = []
    for block in blocks:

        def keep(_: nn.Module, __: tuple, output: Tensor, block: ConvBlock = block) -> None:
            statistics[block] = output.var((0, 2, 3), unbiased=False), output.mean((0, 2, 3))

        handles.append(block.conv.register_forward_hook(keep))
    training = network.training
    network.eval()
    network(planes)
    network.train(training)
    for handle in handles:
        handle.remove()
    for block in blocks:
        variance, mean = statistics[block]
        gain = CHANNEL_NORM / block.conv.weight.flatten(1).norm(dim=1).clamp(min=1e-6)
        norm = block.norm
        block.conv.weight.mul_(gain[:, None, None, None])
        norm.running_mean.copy_(mean * gain)
        norm.running_var.copy_(variance * gain**2)
        norm.weight.copy_(torch.sqrt(norm.running_var + norm.eps) / gain)
        norm.bias.add_(mean)

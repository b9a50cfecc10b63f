"""Reads a network file of the kind that `export.py` writes back into a network that can be trained on, or learnt from.

Files of others are read too, if they have a tower with squeeze-excitation, a convolution policy and WDL; they may have no Moves Left Head.
"""

import gzip
import struct
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import protobuf as pb
from export import FLOAT16, FORMAT, RULE50_PLANE, RULE50_UNIT
from network import PLIES_PER_UNIT, POLICY_PLANES, ConvBlock, Network, ResidualBlock, SqueezeExcitation

#: Norm that each output channel of a convolution gets; batch norm undoes it, and the optimizer's steps are relative to it.
CHANNEL_NORM = 2.0
#: What Lc0 adds to a variance that a file has.
FILE_EPSILON = 1e-5


def _messages(message: bytes, field: int) -> list[bytes]:
    return [value for number, value in pb.fields(message) if number == field and isinstance(value, bytes)]


def _message(message: bytes, *path: int) -> bytes:
    """The only message at a path of field numbers."""
    for field in path:
        (message,) = _messages(message, field)
    return message


def _layer(message: bytes, *path: int) -> Tensor:
    """The numbers of a Layer message, FLOAT16 or else LINEAR16."""
    facts = dict(pb.fields(_message(message, *path)))
    if facts.get(4) == FLOAT16:
        return torch.from_numpy(np.frombuffer(facts[3], np.float16).astype(np.float32))
    share = np.frombuffer(facts[3], "<u2").astype(np.float32) / 65535
    (least,), (most,) = (struct.unpack("<f", facts[field]) for field in (1, 2))
    return torch.from_numpy(least * (1 - share) + most * share)


def _fill(target: Tensor, values: Tensor) -> None:
    if target.numel() != values.numel():
        raise ValueError(f"a layer has {values.numel()} weights, not {target.numel()}: the file is of another size")
    target.copy_(values.view_as(target))


def _convolution(conv: nn.Conv2d, bias: Tensor, message: bytes) -> None:
    _fill(conv.weight, _layer(message, 1))
    _fill(bias, _layer(message, 2))


def _block(target: ConvBlock, message: bytes) -> None:
    """A convolution with its batch norm, which the file may have folded into weights and biases."""
    norm = target.norm
    nn.init.ones_(norm.weight)
    nn.init.zeros_(norm.running_mean)
    nn.init.constant_(norm.running_var, 1 - norm.eps)
    if not _messages(message, 3):
        _convolution(target.conv, norm.bias, message)
        return
    nn.init.zeros_(norm.bias)
    _fill(target.conv.weight, _layer(message, 1))
    _fill(norm.running_mean, _layer(message, 3))
    _fill(norm.running_var, _layer(message, 4) + (FILE_EPSILON - norm.eps))
    if _messages(message, 2):
        norm.running_mean -= _layer(message, 2)
    for parameter, field in ((norm.weight, 5), (norm.bias, 6)):
        if _messages(message, field):
            _fill(parameter, _layer(message, field))


def _dense(linear: nn.Linear, message: bytes, weights_field: int, scale: float = 1.0) -> None:
    _fill(linear.weight, _layer(message, weights_field) / scale)
    _fill(linear.bias, _layer(message, weights_field + 1) / scale)


def _weights(file: Path) -> bytes:
    """The Weights message of a file."""
    content = gzip.decompress(file.read_bytes())
    formats = dict(pb.fields(_message(content, 4, 2)))
    # The last of them says whether there is a Moves Left Head.
    if [formats.get(number, 0) for number in range(1, len(FORMAT))] != FORMAT[:-1]:
        raise ValueError(f"{file} has other heads or another body than a tower with SE, convolution policy and WDL")
    return _message(content, 10)


def _places(own: int, wanted: int) -> list[int]:
    """Where a file's blocks go in a tower: one after the other, or spread with new ones between them and a new one last."""
    if own > wanted:
        raise ValueError(f"the file has {own} blocks, more than {wanted}")
    return [number if own == wanted else number * (wanted - 2) // max(1, own - 1) for number in range(own)]


def _read_weights(network: Network, weights: bytes) -> None:
    _block(network.input, _message(weights, 1))
    network.input.conv.weight[:, RULE50_PLANE] *= RULE50_UNIT
    residuals = _messages(weights, 2)
    places = _places(len(residuals), len(network.tower))
    for place, message in zip(places, residuals, strict=True):
        target = network.tower[place]
        _block(target.first, _message(message, 1))
        _block(target.second, _message(message, 2))
        _dense(target.se.squeeze, _message(message, 3), 1)
        _dense(target.se.excite, _message(message, 3), 3)
    _block(network.policy, _message(weights, 11))
    _convolution(network.policy_out, network.policy_out.bias, _message(weights, 3))
    _block(network.value, _message(weights, 6))
    _dense(network.value_hidden, weights, 7)
    _dense(network.value_out, weights, 9)
    if _messages(weights, 12):
        _block(network.moves_left, _message(weights, 12))
        _dense(network.moves_left_hidden, weights, 13)
        _dense(network.moves_left_out, weights, 15, PLIES_PER_UNIT)


@torch.no_grad()
def read_into(network: Network, file: Path, planes: Tensor) -> None:
    """Fills a network with a file's weights, and batch norm's statistics over some positions; then it has the file's outputs.

    A deeper network than the file's gets new blocks that change nothing as yet.
    """
    weights = _weights(file)
    _read_weights(network, weights)
    places = _places(len(_messages(weights, 2)), len(network.tower))
    new = [block for number, block in enumerate(network.tower) if number not in places]
    _silence(new)
    _restore_norms(network, planes)
    _silence(new)


def _silence(blocks: list[ResidualBlock]) -> None:
    """Makes blocks give what they are given (all of it is above zero), and able to learn."""
    for block in blocks:
        nn.init.zeros_(block.second.norm.weight)
        nn.init.zeros_(block.second.norm.bias)
        shift = slice(len(block.se.excite.bias) // 2, None)
        block.se.excite.weight[shift] = block.se.excite.bias[shift] = 0


@torch.no_grad()
def load(file: Path) -> Network:
    """A file's network, ready to evaluate; without a Moves Left Head in the file, that output is of no use."""
    weights = _weights(file)
    residuals = _messages(weights, 2)
    channels = len(_layer(weights, 3, 1)) // (POLICY_PLANES * 9)
    network = Network(len(residuals), channels)
    for target, message in zip(network.tower, residuals, strict=True):
        target.se = SqueezeExcitation(channels, len(_layer(message, 3, 2)))
    _read_weights(network, weights)
    return network.eval()


def _restore_norms(network: Network, planes: Tensor) -> None:
    """Gives batch norm its statistics over some positions, with scales and offsets that leave the outputs as they are."""
    statistics: dict[ConvBlock, tuple[Tensor, Tensor]] = {}
    blocks = [module for module in network.modules() if isinstance(module, ConvBlock)]
    handles = []
    for block in blocks:

        def keep(_: nn.Module, inputs: tuple[Tensor], block: ConvBlock = block) -> None:
            (output,) = inputs
            statistics[block] = output.var((0, 2, 3), unbiased=False), output.mean((0, 2, 3))

        # What the norm is given: the fast library computes convolutions past their modules.
        handles.append(block.norm.register_forward_pre_hook(keep))
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

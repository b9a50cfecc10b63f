"""Writes a trained network as Lc0's `.pb.gz`, FLOAT16 weights with batch norm folded into the convolutions, and reads such files.

Usage: python network_file.py RUN_FOLDER/checkpoint.pt OUT.pb.gz

Field numbers are those of Lc0's `net.proto`. Three things differ from what was trained, all folded into weights: the
network file sees the rule-50 plane in plies (trained: divided by 100), moves left in plies (trained: in units of
`PLIES_PER_UNIT`), and batch norm's running statistics become biases.

Files of others are read too, if they have a tower with squeeze-excitation, a convolution policy and WDL; they may have no Moves Left Head.
"""

import gzip
import hashlib
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from network import PLIES_PER_UNIT, POLICY_PLANES, ConvBlock, Network, SqueezeExcitation
from table import RULE50_PLANE

MAGIC = 0x1C0
#: The first Lc0 that reads FLOAT16 layers.
MIN_LC0_VERSION = (0, 33, 0)
FLOAT16 = 2
#: Low bits of float16's ten for the fraction that are rounded to zero: a compressed file is a fifth smaller for it,
#: and the network no worse.
SPARED_BITS = 3
#: INPUT_CLASSICAL_112_PLANE, OUTPUT_WDL, NETWORK_SE_WITH_HEADFORMAT, POLICY_CONVOLUTION, VALUE_WDL, MOVES_LEFT_V1.
FORMAT = [1, 2, 4, 2, 2, 1]
RULE50_UNIT = 100
LICENSE = (
    "Zeitnot's own network. GPL-3.0. Trained on games of the TCEC (tcec-chess.com, github.com/TCEC-Chess/tcecgames, "
    "CC BY-SA 3.0), on games by Stockfish 15.1 and on the policy of maia-1900 (github.com/CSSLab/maia-chess, GPL-3.0); "
    "see models/README.md"
)
#: Norm that each output channel of a convolution gets; batch norm undoes it, and the optimizer's steps are relative to it.
CHANNEL_NORM = 2.0
#: What Lc0 adds to a variance that a file has.
FILE_EPSILON = 1e-5


# Protobuf: the few wire types that network files use.


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """A uint32 or an enumeration."""
    return varint(field << 3) + varint(value)


def fixed32(field: int, value: int) -> bytes:
    """A fixed32."""
    return varint(field << 3 | 5) + struct.pack("<I", value)


def blob(field: int, content: bytes) -> bytes:
    """Bytes, or a message that is written already."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def read_varint(message: bytes, offset: int) -> tuple[int, int]:
    """A number, and the offset behind it."""
    number = shift = 0
    while True:
        byte = message[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, offset


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields each field's number and value: an integer, or the bytes of a fixed32, of a string, of data or of a message."""
    offset = 0
    while offset < len(message):
        key, offset = read_varint(message, offset)
        wire = key & 7
        if wire == 0:
            value, offset = read_varint(message, offset)
        elif wire in (2, 5):
            length, offset = read_varint(message, offset) if wire == 2 else (4, offset)
            value, offset = message[offset : offset + length], offset + length
        else:
            raise ValueError(f"wire type {wire} in field {key >> 3}")
        yield key >> 3, value


def folded(block: ConvBlock) -> tuple[Tensor, Tensor]:
    """Weights `[out, in, y, x]` and biases `[out]` of a convolution with its batch norm."""
    norm = block.norm
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return block.conv.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale


def kept(values: Tensor) -> np.ndarray:
    """What a file keeps of weights, as float16."""
    bits = values.detach().numpy().astype(np.float16).view(np.uint16).astype(np.uint32)
    unit = 1 << SPARED_BITS
    # To the nearest, halves to even; a carry into the exponent is right.
    bits += unit // 2 - 1 + (bits >> SPARED_BITS & 1)
    return (bits & ~np.uint32(unit - 1)).astype(np.uint16).view(np.float16)


def layer(field: int, values: Tensor) -> bytes:
    """A Layer message. Float16 holds what a trained network's weights are: anything else is an error."""
    numbers = kept(values)
    if not np.isfinite(numbers).all():
        raise ValueError(f"field {field} has weights beyond float16's range")
    return blob(field, blob(3, numbers.tobytes()) + integer(4, FLOAT16))


def convolution(field: int, weights: Tensor, biases: Tensor) -> bytes:
    """A ConvBlock message without batch norm."""
    return blob(field, layer(1, weights) + layer(2, biases))


def dense(weights_field: int, linear: nn.Linear, scale: float = 1.0) -> bytes:
    """Two Layer messages, weights `[out, in]` and biases, both times `scale`."""
    return layer(weights_field, linear.weight * scale) + layer(weights_field + 1, linear.bias * scale)


def weights_message(network: Network) -> bytes:
    """The Weights message."""
    input_weights, input_biases = folded(network.input)
    input_weights = input_weights.clone()
    input_weights[:, RULE50_PLANE] /= RULE50_UNIT
    parts = [convolution(1, input_weights, input_biases)]
    for block in network.tower:
        se = dense(1, block.se.squeeze) + dense(3, block.se.excite)
        parts.append(
            blob(2, convolution(1, *folded(block.first)) + convolution(2, *folded(block.second)) + blob(3, se))
        )
    parts += [
        convolution(11, *folded(network.policy)),
        convolution(3, network.policy_out.weight, network.policy_out.bias),
        convolution(6, *folded(network.value)),
        dense(7, network.value_hidden),
        dense(9, network.value_out),
        convolution(12, *folded(network.moves_left)),
        dense(13, network.moves_left_hidden),
        # The head ends in ReLU, so its unit may be folded into the last layer.
        dense(15, network.moves_left_out, PLIES_PER_UNIT),
    ]
    return b"".join(parts)


def network_file(network: Network, steps: int) -> bytes:
    """The whole Net message."""
    version = b"".join(integer(i + 1, number) for i, number in enumerate(MIN_LC0_VERSION))
    network_format = b"".join(integer(i + 1, number) for i, number in enumerate(FORMAT))
    return b"".join(
        [
            fixed32(1, MAGIC),
            blob(2, LICENSE.encode()),
            blob(3, version),
            blob(4, blob(2, network_format)),
            blob(5, integer(1, steps)),
            blob(10, weights_message(network)),
        ]
    )


def load_checkpoint(checkpoint: Path) -> tuple[Network, dict]:
    """The averaged network of a checkpoint, ready to evaluate, and the checkpoint."""
    state = torch.load(checkpoint, "cpu", weights_only=False)
    network = Network(state["blocks"], state["channels"])
    network.load_state_dict(state["average"])
    return network.eval(), state


def messages(message: bytes, field: int) -> list[bytes]:
    return [value for number, value in fields(message) if number == field and isinstance(value, bytes)]


def message_at(message: bytes, *path: int) -> bytes:
    """The only message at a path of field numbers."""
    for field in path:
        (message,) = messages(message, field)
    return message


def numbers_of(message: bytes, *path: int) -> Tensor:
    """The numbers of a Layer message, FLOAT16 or else LINEAR16."""
    facts = dict(fields(message_at(message, *path)))
    if facts.get(4) == FLOAT16:
        return torch.from_numpy(np.frombuffer(facts[3], np.float16).astype(np.float32))
    share = np.frombuffer(facts[3], "<u2").astype(np.float32) / 65535
    (least,), (most,) = (struct.unpack("<f", facts[field]) for field in (1, 2))
    return torch.from_numpy(least * (1 - share) + most * share)


def fill(target: Tensor, values: Tensor) -> None:
    if target.numel() != values.numel():
        raise ValueError(f"a layer has {values.numel()} weights, not {target.numel()}: the file is of another size")
    target.copy_(values.view_as(target))


def read_convolution(conv: nn.Conv2d, bias: Tensor, message: bytes) -> None:
    fill(conv.weight, numbers_of(message, 1))
    fill(bias, numbers_of(message, 2))


def read_block(target: ConvBlock, message: bytes) -> None:
    """A convolution with its batch norm, which the file may have folded into weights and biases."""
    norm = target.norm
    nn.init.ones_(norm.weight)
    nn.init.zeros_(norm.running_mean)
    nn.init.constant_(norm.running_var, 1 - norm.eps)
    if not messages(message, 3):
        read_convolution(target.conv, norm.bias, message)
        return
    nn.init.zeros_(norm.bias)
    fill(target.conv.weight, numbers_of(message, 1))
    fill(norm.running_mean, numbers_of(message, 3))
    fill(norm.running_var, numbers_of(message, 4) + (FILE_EPSILON - norm.eps))
    if messages(message, 2):
        norm.running_mean -= numbers_of(message, 2)
    for parameter, field in ((norm.weight, 5), (norm.bias, 6)):
        if messages(message, field):
            fill(parameter, numbers_of(message, field))


def read_dense(linear: nn.Linear, message: bytes, weights_field: int, scale: float = 1.0) -> None:
    fill(linear.weight, numbers_of(message, weights_field) / scale)
    fill(linear.bias, numbers_of(message, weights_field + 1) / scale)


def weights_of(file: Path) -> bytes:
    """The Weights message of a file."""
    content = gzip.decompress(file.read_bytes())
    formats = dict(fields(message_at(content, 4, 2)))
    # The last of them says whether there is a Moves Left Head.
    if [formats.get(number, 0) for number in range(1, len(FORMAT))] != FORMAT[:-1]:
        raise ValueError(f"{file} has other heads or another body than a tower with SE, convolution policy and WDL")
    return message_at(content, 10)


def read_weights(network: Network, weights: bytes) -> None:
    read_block(network.input, message_at(weights, 1))
    network.input.conv.weight[:, RULE50_PLANE] *= RULE50_UNIT
    residuals = messages(weights, 2)
    if len(residuals) != len(network.tower):
        raise ValueError(f"the file has {len(residuals)} blocks, not {len(network.tower)}")
    for target, message in zip(network.tower, residuals, strict=True):
        read_block(target.first, message_at(message, 1))
        read_block(target.second, message_at(message, 2))
        read_dense(target.se.squeeze, message_at(message, 3), 1)
        read_dense(target.se.excite, message_at(message, 3), 3)
    read_block(network.policy, message_at(weights, 11))
    read_convolution(network.policy_out, network.policy_out.bias, message_at(weights, 3))
    read_block(network.value, message_at(weights, 6))
    read_dense(network.value_hidden, weights, 7)
    read_dense(network.value_out, weights, 9)
    if messages(weights, 12):
        read_block(network.moves_left, message_at(weights, 12))
        read_dense(network.moves_left_hidden, weights, 13)
        read_dense(network.moves_left_out, weights, 15, PLIES_PER_UNIT)


@torch.no_grad()
def read_into(network: Network, file: Path, planes: Tensor) -> None:
    """Fills a network with a file's weights, and batch norm's statistics over some positions; then it has the file's outputs."""
    read_weights(network, weights_of(file))
    restore_norms(network, planes)


@torch.no_grad()
def load(file: Path) -> Network:
    """A file's network, ready to evaluate; without a Moves Left Head in the file, that output is of no use."""
    weights = weights_of(file)
    residuals = messages(weights, 2)
    channels = len(numbers_of(weights, 3, 1)) // (POLICY_PLANES * 9)
    network = Network(len(residuals), channels)
    for target, message in zip(network.tower, residuals, strict=True):
        target.se = SqueezeExcitation(channels, len(numbers_of(message, 3, 2)))
    read_weights(network, weights)
    return network.eval()


def restore_norms(network: Network, planes: Tensor) -> None:
    """Gives batch norm its statistics over some positions, with scales and offsets that leave the outputs as they are."""
    statistics: dict[ConvBlock, tuple[Tensor, Tensor]] = {}
    blocks = [module for module in network.modules() if isinstance(module, ConvBlock)]
    handles = []
    for block in blocks:

        def keep(_: nn.Module, inputs: tuple[Tensor], block: ConvBlock = block) -> None:
            (output,) = inputs
            statistics[block] = output.var((0, 2, 3), unbiased=False), output.mean((0, 2, 3))

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


def main() -> None:
    checkpoint, out = Path(sys.argv[1]), Path(sys.argv[2])
    network, state = load_checkpoint(checkpoint)
    content = gzip.compress(network_file(network, state["step"]), 9, mtime=0)
    out.write_bytes(content)
    facts = f"{state['blocks']}x{state['channels']}, {state['step']} steps, {state['seen']} positions"
    print(f"{out}: {len(content)} bytes, {facts}, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()

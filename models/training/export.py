"""Writes a trained network as Lc0's `.pb.gz`: FLOAT16 weights, batch norm folded into the convolutions.

Usage: python export.py RUN_FOLDER/checkpoint.pt OUT.pb.gz

Field numbers are those of Lc0's `net.proto`. Three things differ from what was trained, all folded into weights: the
network file sees the rule-50 plane in plies (trained: divided by 100), moves left in plies (trained: in units of
`PLIES_PER_UNIT`), and batch norm's running statistics become biases.
"""

import gzip
import hashlib
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import protobuf as pb
from network import PLIES_PER_UNIT, ConvBlock, Network

MAGIC = 0x1C0
#: The first Lc0 that reads FLOAT16 layers.
MIN_LC0_VERSION = (0, 33, 0)
FLOAT16 = 2
#: Low bits of float16's ten for the fraction that are rounded to zero: a compressed file is a fifth smaller for it,
#: and the network no worse.
SPARED_BITS = 3
#: INPUT_CLASSICAL_112_PLANE, OUTPUT_WDL, NETWORK_SE_WITH_HEADFORMAT, POLICY_CONVOLUTION, VALUE_WDL, MOVES_LEFT_V1.
FORMAT = [1, 2, 4, 2, 2, 1]
RULE50_PLANE, RULE50_UNIT = 109, 100
LICENSE = (
    "Zeitnot's own network. GPL-3.0. Trained on games of the TCEC (tcec-chess.com, github.com/TCEC-Chess/tcecgames, "
    "CC BY-SA 3.0), on games by Stockfish 15.1 and on the policy of maia-1900 (github.com/CSSLab/maia-chess, GPL-3.0); "
    "see models/README.md"
)


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
    return pb.data(field, pb.data(3, numbers.tobytes()) + pb.integer(4, FLOAT16))


def convolution(field: int, weights: Tensor, biases: Tensor) -> bytes:
    """A ConvBlock message without batch norm."""
    return pb.data(field, layer(1, weights) + layer(2, biases))


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
            pb.data(2, convolution(1, *folded(block.first)) + convolution(2, *folded(block.second)) + pb.data(3, se))
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
    version = b"".join(pb.integer(i + 1, number) for i, number in enumerate(MIN_LC0_VERSION))
    network_format = b"".join(pb.integer(i + 1, number) for i, number in enumerate(FORMAT))
    return b"".join(
        [
            pb.fixed32(1, MAGIC),
            pb.text(2, LICENSE),
            pb.data(3, version),
            pb.data(4, pb.data(2, network_format)),
            pb.data(5, pb.integer(1, steps)),
            pb.data(10, weights_message(network)),
        ]
    )


def load(checkpoint: Path) -> tuple[Network, dict]:
    """The averaged network of a checkpoint, ready to evaluate, and the checkpoint."""
    state = torch.load(checkpoint, "cpu", weights_only=False)
    network = Network(state["blocks"], state["channels"])
    network.load_state_dict(state["average"])
    return network.eval(), state


def main() -> None:
    checkpoint, out = Path(sys.argv[1]), Path(sys.argv[2])
    network, state = load(checkpoint)
    content = gzip.compress(network_file(network, state["step"]), 9, mtime=0)
    out.write_bytes(content)
    facts = f"{state['blocks']}x{state['channels']}, {state['step']} steps, {state['seen']} positions"
    print(f"{out}: {len(content)} bytes, {facts}, sha256 {hashlib.sha256(content).hexdigest()}")


if __name__ == "__main__":
    main()

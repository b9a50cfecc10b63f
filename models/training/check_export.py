"""Writes PyTorch's outputs for an exported network in the form that `tests/network/goldens.rs` compares with.

Usage: python check_export.py TABLE_FOLDER CHECKPOINT NETWORK.pb.gz OUT_FOLDER
then:  ZEITNOT_GOLDENS=OUT_FOLDER cargo test --test network goldens -- --nocapture

The outputs are those of the network with its weights rounded as the file has them; how much the rounding
itself changes is printed. What is compared goes two ways: here table → planes → PyTorch, there game → the engine's encoder → file → the engine's
evaluation. So the check covers the planes, the policy map and the table as well as the export.
"""

import copy
import gzip
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import losses
import table
from network import PLIES_PER_UNIT, ConvBlock, Network
from network_file import RULE50_UNIT, folded, kept, load_checkpoint
from table import RULE50_PLANE

START_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
POSITIONS = 64
PROMOTION_LETTERS = "?nbrq"


def rounded(values: Tensor, unit: float = 1.0) -> Tensor:
    """What a file keeps of `values * unit`, in the old unit."""
    return torch.from_numpy(kept(values * unit).astype(np.float32)) / unit


def as_exported(network: Network) -> Network:
    """The network with batch norm folded and all weights rounded as `network_file.py` does."""
    network = copy.deepcopy(network)
    for module in network.modules():
        if isinstance(module, ConvBlock):
            weights, biases = folded(module)
            weights = weights.clone()
            if module is network.input:
                weights[:, RULE50_PLANE] = rounded(weights[:, RULE50_PLANE], 1 / RULE50_UNIT)
                weights[:, :RULE50_PLANE] = rounded(weights[:, :RULE50_PLANE])
                weights[:, RULE50_PLANE + 1 :] = rounded(weights[:, RULE50_PLANE + 1 :])
            else:
                weights = rounded(weights)
            module.conv.weight.copy_(weights)
            module.norm = nn.BatchNorm2d(len(biases), eps=0.0, affine=True).eval()
            module.norm.bias.copy_(rounded(biases))
    for layer in [*network.modules()]:
        if isinstance(layer, nn.Linear) or layer is network.policy_out:
            unit = PLIES_PER_UNIT if layer is network.moves_left_out else 1.0
            layer.weight.copy_(rounded(layer.weight, unit))
            layer.bias.copy_(rounded(layer.bias, unit))
    return network.eval()


def absolute(code: int, black: bool) -> int:
    """A move's bits as White sees it."""
    return code ^ (56 | 56 << 6) if black else code


def uci(code: int) -> str:
    """A move in Chess960's notation, castling as king takes rook."""
    squares = [f"{'abcdefgh'[square % 8]}{square // 8 + 1}" for square in (code & 63, code >> 6 & 63)]
    promotion = code >> 12
    return "".join(squares) + (PROMOTION_LETTERS[promotion] if promotion else "")


def legal_codes(data: table.Table, row: int) -> list[int]:
    """The legal moves of a row, as White sees them."""
    facts = data.rows[row]
    first = int(facts["first_move"])
    codes = data.moves[first : first + int(facts["move_count"])]
    black = bool(facts["board"] & table.BLACK)
    return [absolute(int(code), black) for code in codes]


def game_before(data: table.Table, row: int) -> list[str]:
    """The moves from the start of a tournament game to a row: there the only candidate is the move played."""
    first = row - int(data.rows[row]["ply"])
    return [uci(legal_codes(data, i)[data.rows[i]["candidates"][0]]) for i in range(first, row)]


@torch.no_grad()
def main() -> None:
    folder, checkpoint, exported, out = map(Path, sys.argv[1:])
    data = table.Table(folder)
    trained, _ = load_checkpoint(checkpoint)
    network = as_exported(trained)
    rows = table.held_out(data.labels(), 0, 4 * POSITIONS)
    rows = rows[data.rows[rows]["board"] & table.ODD_START == 0][:POSITIONS]
    batch = data.batch(rows)
    policy, wdl, moves_left = network(losses.planes_tensor(batch))
    wdl = wdl.softmax(1)
    change = (trained(losses.planes_tensor(batch))[1].softmax(1) - wdl).abs().max()
    print(f"rounding changes win, draw and loss probabilities by at most {change:.1e}")
    positions = []
    for i, row in enumerate(rows):
        codes = legal_codes(data, int(row))
        indices = batch.moves[i, : len(codes)]
        legal = [[uci(code), int(index), float(policy[i, index])] for code, index in zip(codes, indices, strict=True)]
        positions.append(
            {
                "name": f"row {row}",
                "fen": START_FEN,
                "moves": game_before(data, int(row)),
                "c960": 1,
                "q": float(wdl[i, 0] - wdl[i, 2]),
                "d": float(wdl[i, 1]),
                "m": float(moves_left[i] * PLIES_PER_UNIT),
                "legal": legal,
            }
        )
    golden = {"net": exported.name, "policy_head": "vanilla", "value_head": "winner", "history_fill": "fen_only", "input_format": 1}
    for name in ("nets", "golden"):
        (out / name).mkdir(parents=True, exist_ok=True)
    shutil.copy(exported, out / "nets" / exported.name)
    target = out / "golden" / (exported.name.removesuffix(".pb.gz") + ".json.gz")
    target.write_bytes(gzip.compress(json.dumps({**golden, "positions": positions}).encode()))
    print(f"{len(positions)} positions in {target}")


if __name__ == "__main__":
    main()

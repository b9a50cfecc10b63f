"""Lc0's residual SE tower with convolution policy, WDL and Moves Left Head."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: Lc0's converter takes no other sizes of a tower's value head.
VALUE_CHANNELS, VALUE_HIDDEN = 32, 128
MOVES_LEFT_CHANNELS, MOVES_LEFT_HIDDEN = 8, 128
#: Planes of the policy convolution; 73 are used.
POLICY_PLANES = 80
#: Inside, moves left are counted in so many plies; the export folds it into the last layer.
PLIES_PER_UNIT = 20.0
#: (file, rank) steps of the policy's planes 0-55: eight directions, seven distances each.
DIRECTIONS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
#: (file, rank) steps of planes 56-63.
KNIGHT_STEPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
#: Promotion pieces in the order of the 1858 moves, as promotion codes of a move (N 1, B 2, R 3, Q 4).
PROMOTIONS = [4, 3, 2]
#: Place of a promotion code within its direction's three planes of the head: rook, bishop, queen.
PROMOTION_PLANE = {3: 0, 2: 1, 4: 2}


def plane_of(from_square: int, to_square: int) -> int | None:
    """The plane of a move without promotion, or None where no piece moves like that."""
    files, ranks = to_square % 8 - from_square % 8, to_square // 8 - from_square // 8
    if (files, ranks) in KNIGHT_STEPS:
        return 56 + KNIGHT_STEPS.index((files, ranks))
    distance = max(abs(files), abs(ranks))
    if distance == 0 or (files and ranks and abs(files) != abs(ranks)):
        return None
    return 7 * DIRECTIONS.index((files // distance, ranks // distance)) + distance - 1


def policy_map() -> tuple[np.ndarray, np.ndarray]:
    """The order of Lc0's 1858 moves: returns (index of a move code, cell of an index).

    The first maps `from | to << 6 | promotion << 12`, seen by the side to move, to 0..1857.
    The second maps an index to `plane * 64 + from` of the head's 80 planes.
    """
    index_of_code = np.zeros(5 << 12, np.int64)
    cells: list[int] = []
    for from_square in range(64):
        for to_square in range(64):
            plane = plane_of(from_square, to_square)
            if plane is None:
                continue
            code = from_square | to_square << 6
            # A knight promotion is the plain move.
            index_of_code[code] = index_of_code[code | 1 << 12] = len(cells)
            cells.append(plane * 64 + from_square)
    for from_file in range(8):
        for to_file in range(max(0, from_file - 1), min(7, from_file + 1) + 1):
            for promotion in PROMOTIONS:
                code = (48 + from_file) | (56 + to_file) << 6 | promotion << 12
                index_of_code[code] = len(cells)
                plane = 64 + 3 * (to_file - from_file + 1) + PROMOTION_PLANE[promotion]
                cells.append(plane * 64 + 48 + from_file)
    assert len(cells) == 1858
    return index_of_code, np.array(cells, np.int64)


INDEX_OF_CODE, CELL_OF_INDEX = policy_map()


class ConvBlock(nn.Module):
    """Convolution and batch norm, `[N, in, 8, 8]` to `[N, out, 8, 8]`."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))


class SqueezeExcitation(nn.Module):
    """Scales and shifts each channel by what the whole board says."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, hidden)
        self.excite = nn.Linear(hidden, 2 * channels)

    def forward(self, x: Tensor) -> Tensor:
        scale, shift = self.excite(F.relu(self.squeeze(x.mean((2, 3))))).chunk(2, 1)
        return x * scale.sigmoid()[:, :, None, None] + shift[:, :, None, None]


class ResidualBlock(nn.Module):
    """Two convolutions, squeeze-excitation, skip."""

    def __init__(self, channels: int, hidden: int) -> None:
        super().__init__()
        self.first = ConvBlock(channels, channels, 3)
        self.second = ConvBlock(channels, channels, 3)
        self.se = SqueezeExcitation(channels, hidden)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.se(self.second(F.relu(self.first(x)))))


class Network(nn.Module):
    """Planes `[N, 112, 8, 8]` (rule 50 divided by 100) to logits `[N, 1858]`, WDL logits `[N, 3]`, moves left `[N]`."""

    def __init__(self, blocks: int, channels: int) -> None:
        super().__init__()
        self.blocks, self.channels = blocks, channels
        self.input = ConvBlock(112, channels, 3)
        self.tower = nn.Sequential(*[ResidualBlock(channels, max(8, channels // 4)) for _ in range(blocks)])
        self.policy = ConvBlock(channels, channels, 3)
        self.policy_out = nn.Conv2d(channels, POLICY_PLANES, 3, padding=1)
        self.value = ConvBlock(channels, VALUE_CHANNELS, 1)
        self.value_hidden = nn.Linear(64 * VALUE_CHANNELS, VALUE_HIDDEN)
        self.value_out = nn.Linear(VALUE_HIDDEN, 3)
        self.moves_left = ConvBlock(channels, MOVES_LEFT_CHANNELS, 1)
        self.moves_left_hidden = nn.Linear(64 * MOVES_LEFT_CHANNELS, MOVES_LEFT_HIDDEN)
        self.moves_left_out = nn.Linear(MOVES_LEFT_HIDDEN, 1)
        nn.init.constant_(self.moves_left_out.bias, 3.0)
        self.register_buffer("cells", torch.from_numpy(CELL_OF_INDEX), persistent=False)

    def trunk(self, planes: Tensor) -> Tensor:
        """What all heads begin with, `[N, channels, 8, 8]`."""
        return self.tower(F.relu(self.input(planes)))

    def policy_logits(self, x: Tensor) -> Tensor:
        """Logits `[N, 1858]` of what the trunk makes of positions."""
        return self.policy_out(F.relu(self.policy(x))).flatten(1).index_select(1, self.cells).float()

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Logits, WDL logits, and moves left in units of `PLIES_PER_UNIT` plies."""
        x = self.trunk(planes)
        value = F.relu(self.value_hidden(F.relu(self.value(x)).flatten(1)))
        moves_left = F.relu(self.moves_left_hidden(F.relu(self.moves_left(x)).flatten(1)))
        return (
            self.policy_logits(x),
            self.value_out(value).float(),
            F.relu(self.moves_left_out(moves_left).float()[:, 0]),
        )

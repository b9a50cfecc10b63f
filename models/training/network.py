"""Lc0's residual SE tower with convolution policy, WDL and Moves Left Head."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import winograd
from policy_map import CELL_OF_INDEX

#: Lc0's converter takes no other sizes of a tower's value head.
VALUE_CHANNELS, VALUE_HIDDEN = 32, 128
MOVES_LEFT_CHANNELS, MOVES_LEFT_HIDDEN = 8, 128
#: Planes of the policy convolution; 73 are used.
POLICY_PLANES = 80
#: Inside, moves left are counted in so many plies; the export folds it into the last layer.
PLIES_PER_UNIT = 20.0


def convolve(conv: nn.Conv2d, x: Tensor) -> Tensor:
    """A convolution, by the fast library where it is in use and can."""
    if winograd.library is None or conv.kernel_size != (3, 3):
        return conv(x)
    y = winograd.Convolution.apply(x, conv.weight)
    return y if conv.bias is None else y + conv.bias[:, None, None]


class ConvBlock(nn.Module):
    """Convolution and batch norm, `[N, in, 8, 8]` to `[N, out, 8, 8]`."""

    def __init__(self, inputs: int, outputs: int, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, size, padding=size // 2, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(convolve(self.conv, x))


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
        if winograd.library is None or not self.training:
            return F.relu(x + self.se(self.second(F.relu(self.first(x)))))
        first, second, se = self.first, self.second, self.se
        return winograd.Residual.apply(
            x, (first.norm, second.norm), first.conv.weight, first.norm.weight, first.norm.bias, second.conv.weight,
            second.norm.weight, second.norm.bias, se.squeeze.weight, se.squeeze.bias, se.excite.weight, se.excite.bias,
        )  # fmt: skip


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
        return convolve(self.policy_out, F.relu(self.policy(x))).flatten(1).index_select(1, self.cells).float()

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

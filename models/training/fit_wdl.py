"""Fits win and loss probabilities to results: P(win) = 1 / (1 + exp((a - cp) / b)). Prints a and b for `labels.py`.

Usage: python fit_wdl.py TABLE_FOLDER
"""

import sys
from pathlib import Path

import numpy as np
import torch

import table


def fit(centipawns: np.ndarray, result: np.ndarray) -> tuple[float, float]:
    """Maximum-likelihood a and b of evaluations against results, both from the side to move."""
    cp = torch.from_numpy(centipawns.astype(np.float32)).clamp(-3000, 3000)
    outcome = torch.from_numpy(1 - result.astype(np.int64))
    a, b = (torch.tensor(100.0, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.Adam([a, b], 3.0)
    for _ in range(200):
        win, loss = torch.sigmoid((cp - a) / b), torch.sigmoid((-cp - a) / b)
        probabilities = torch.stack([win, 1 - win - loss, loss], 1).clamp(1e-4)
        error = -probabilities.gather(1, outcome[:, None]).log().mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
    print(f"  positions {len(cp)}, log loss {error.item():.4f}")
    return a.item(), b.item()


def main() -> None:
    rows = table.Table(Path(sys.argv[1])).rows
    labels = np.array(rows["labels"])
    usable = (np.array(rows["centipawns"]) != table.NO_CENTIPAWNS) & (labels & table.RESULT != 0)
    usable &= labels & table.HELD_OUT == 0
    for name, source in [("tournament", 0), ("teacher", table.TEACHER)]:
        chosen = np.flatnonzero(usable & (labels & table.TEACHER == source))[::7]
        a, b = fit(rows["centipawns"][chosen], rows["result"][chosen])
        print(f"{name}: a {a:.1f}, b {b:.1f}")


if __name__ == "__main__":
    main()

"""Measures a checkpoint or a network file on held-out positions: policy, value and moves left, by phase.

Usage: python evaluate.py TABLE_FOLDER CHECKPOINT_OR_FILE [--positions 20000] [--json OUT]

Held out are whole TCEC events (a hash of the event's name) and every 33rd game of the teacher's.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch

import losses
import network_file
import table
from network import Network

#: Moves-left reference set: games of so many plies, positions from this ply on.
REFERENCE_PLIES, REFERENCE_FROM_PLY = (60, 300), 16
#: Midpoint (moves) and steepness of the estimators by ply alone that Lc0 has had.
LEGACY = {"mle-legacy(51.5,7)": (51.5, 7.0), "mle-legacy(45.2,5.93)": (45.2, 5.93)}


def reference_rows(data: table.Table, flags: np.ndarray, count: int) -> np.ndarray:
    """Held-out rows of the reference set, evenly spread."""
    rows = np.flatnonzero(flags & (table.HELD_OUT | table.REFERENCE) == table.HELD_OUT | table.REFERENCE)
    facts = data.rows[rows]
    length = facts["ply"].astype(int) + facts["plies_left"]
    rows = rows[(length >= REFERENCE_PLIES[0]) & (length <= REFERENCE_PLIES[1]) & (facts["ply"] >= REFERENCE_FROM_PLY)]
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)]


def legacy_estimate(ply: np.ndarray, midpoint: float, steepness: float) -> np.ndarray:
    """Full moves left by the ply alone: conditional median of a log-logistic game length."""
    move = ply / 2
    return midpoint * (1 + 2 * (move / midpoint) ** steepness) ** (1 / steepness) - move


def groups(rows: np.ndarray) -> dict[str, np.ndarray]:
    """Names and masks of the groups that are reported: the phases of `crates/lab/src/lib.rs`."""
    pieces = np.bitwise_count(rows["pieces"]).astype(int).sum(1)
    return {
        "all": np.ones(len(rows), bool),
        "opening, 25-32 pieces": pieces >= 25,
        "middlegame, 13-24 pieces": (pieces >= 13) & (pieces <= 24),
        "endgame, 2-12 pieces": pieces <= 12,
    }


@torch.no_grad()
def outputs(network: Network, data: table.Table, rows: np.ndarray) -> dict[str, np.ndarray]:
    """Per-row losses and errors, NaN where there is no label."""
    parts: list[dict[str, np.ndarray]] = []
    for chunk in np.array_split(rows, max(1, len(rows) // 1024)):
        out = losses.evaluate_batch(network, data.batch(chunk), bf16=False)
        labelled = [
            ("policy_loss", out.policy, out.has_policy),
            ("policy_top1", out.top_move, out.has_policy),
            ("value_loss", out.value, out.has_value),
            ("moves_left_mae", out.plies_off / 2, out.has_moves_left),
        ]
        parts.append({name: np.where(mask, value.float(), np.nan) for name, value, mask in labelled})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def report(network: Network, data: table.Table, rows: np.ndarray) -> dict[str, dict[str, float]]:
    """Means by group, and the estimators by ply for comparison."""
    results = outputs(network, data, rows)
    facts = np.array(data.rows[rows])
    left = facts["plies_left"] / 2
    counted = ~np.isnan(results["moves_left_mae"])
    for name, (midpoint, steepness) in LEGACY.items():
        error = np.abs(legacy_estimate(facts["ply"].astype(float), midpoint, steepness) - left)
        results[name] = np.where(counted, error, np.nan)
    table_of_groups = {}
    for name, mask in groups(facts).items():
        if mask.any():
            # Where no position has a label, there is no mean.
            labelled = {measure: values[mask][~np.isnan(values[mask])] for measure, values in results.items()}
            means = {measure: round(float(values.mean()), 4) for measure, values in labelled.items() if len(values)}
            table_of_groups[name] = {"positions": int(mask.sum()), **means}
    return table_of_groups


def read_network(path: Path) -> tuple[Network, int | None]:
    """The network of a checkpoint with the number of positions it has seen, or that of a file."""
    if path.name.endswith(".pb.gz"):
        return network_file.load(path), None
    network, state = network_file.load_checkpoint(path)
    return network, state["seen"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path)
    parser.add_argument("network", type=Path, help="checkpoint.pt, or a .pb.gz that network_file.py wrote")
    parser.add_argument("--positions", type=int, default=20000, help="at most, of each set")
    parser.add_argument("--json", type=Path, help="also write the figures there")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    data = table.Table(arguments.table)
    flags = data.labels()
    network, positions = read_network(arguments.network)
    sets = {
        "TCEC": table.held_out(flags, 0, arguments.positions),
        "TCEC, reference games": reference_rows(data, flags, arguments.positions),
        "Stockfish": table.held_out(flags, table.TEACHER, arguments.positions),
    }
    figures = {"positions_trained": positions}
    for name, rows in sets.items():
        if not len(rows):
            print(f"{name}: nothing is held out of these games")
            continue
        figures[name] = report(network, data, rows)
        print(name)
        for group, means in figures[name].items():
            print(f"  {group:24}", "  ".join(f"{measure} {value:.6g}" for measure, value in means.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()

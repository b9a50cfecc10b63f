"""Compares networks of any kind with a teacher's labels: held-out positions of games, and after random or plausible moves.

Usage: python compare_networks.py ZEITNOT LINES.zng NETWORK… [--lines 2000]

LINES.zng is written by `zeitnot datagen blunders`. Each line begins in a game; a group is named by the moves since then that
were drawn and are not the teacher's best. Printed by group and network: mean squared error of q, the same after the cubic of q
that fits best (networks differ in how sure they are), and how often the likeliest move is the teacher's best.
"""

import argparse
import json
import subprocess
from pathlib import Path

import chess
import numpy as np
import torch

import records
from labels import WDL_TEACHER, wdl_of_centipawns


def positions(path: Path, lines: int) -> list[tuple[str, str, int, str]]:
    """Group, position as UCI's `position` names it, evaluation in centipawns and best move of held-out lines."""
    found: list[tuple[str, str, int, str]] = []
    seen = 0
    for game in records.read_games(path.read_bytes()):
        if not game.held_out or game.start is None:
            continue
        seen += 1
        if seen > lines:
            break
        board = chess.Board(game.start)
        played, blunders = [], 0
        for ply in game.plies:
            # The game before the line has no labels.
            if ply.candidates:
                text = f"fen {game.start} moves {' '.join(played)}" if played else f"fen {game.start}"
                best = board.uci(ply.candidates[0][0], chess960=False)
                found.append((f"{blunders} drawn moves", text, ply.centipawns, best))
                blunders += ply.choice == "blunder"
            played.append(board.uci(ply.played, chess960=False))
            board.push(ply.played)
    return found


def evaluate(zeitnot: str, network: str, texts: list[str]) -> list[dict]:
    """What `zeitnot eval` says of positions."""
    command = [zeitnot, "eval", "--json", "--weights", network, "-"]
    done = subprocess.run(command, input="\n".join(texts) + "\n", capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zeitnot")
    parser.add_argument("lines_file", type=Path)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--lines", type=int, default=2000, help="at most so many held-out lines")
    arguments = parser.parse_args()
    found = positions(arguments.lines_file, arguments.lines)
    groups = np.array([group for group, *_ in found])
    wdl = wdl_of_centipawns(torch.tensor([centipawns for _, _, centipawns, _ in found]), *map(torch.tensor, WDL_TEACHER))
    truth = (wdl[:, 0] - wdl[:, 2]).double().numpy()
    for network in arguments.networks:
        answers = evaluate(arguments.zeitnot, network, [text for _, text, _, _ in found])
        q = np.array([answer["q"] for answer in answers])
        likeliest = [max(answer["policy"], key=lambda move: move["p"])["move"] for answer in answers]
        agrees = np.array([move == best for move, (*_, best) in zip(likeliest, found, strict=True)])
        print(Path(network).name)
        for group in sorted(set(groups)):
            x, y = q[groups == group], truth[groups == group]
            if len(x) < 100:
                continue
            cubic = np.stack([np.ones_like(x), x, x**3], 1)
            rest = y - cubic @ np.linalg.lstsq(cubic, y, rcond=None)[0]
            errors = f"error {np.mean((x - y) ** 2):.4f}, after a cubic {np.mean(rest**2):.4f}"
            print(f"  {group}: {len(x)} positions, {errors}, best move {100 * agrees[groups == group].mean():.1f} %")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Plays the same match again and again, with nodes as time and on the clock, and counts the games that repeat.

Usage: same_games.py PATH_TO_ZEITNOT [--games 24] [--tc 4+0.04] [--nodestime 1] [MORE FLAGS OF match]

Each of the two ways is played three times: twice on the machine as it is, and once beside a busy thread per core.
The table has a line for each repetition, compared with the first time.
"""

import argparse
import csv
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile


def play(program, flags, busy, folder):
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() if busy else 0)]
    try:
        command = [program, "match", "--threads=1", "--concurrency=1", f"--out={folder}", *flags]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        for burner in burners:
            burner.kill()
    text = (folder / "games.pgn").read_text()
    games = []
    for game in text.split("[Event ")[1:]:
        tags, moves = game.split("\n\n", 1)
        result = re.search(r'\[Result "(.*?)"\]', tags)[1]
        games.append((re.sub(r"\{[^}]*\}", "", moves).split(), result))
    with open(folder / "moves.csv") as rows:
        nodes = [int(row["new_nodes"]) for row in csv.DictReader(rows)]
    with open(folder / "games.csv") as rows:
        points = sum(int(row["half_points"]) / 2 for row in csv.DictReader(rows))
    return games, nodes, points


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--games", type=int, default=24)
    parser.add_argument("--tc", default="4+0.04")
    parser.add_argument("--nodestime", type=int, default=1)
    args, more = parser.parse_known_args()
    flags = [f"--games={args.games}", f"--tc={args.tc}", "--seed=1", "--a=name=a", "--b=name=b", *more]
    print("| time | machine | games to the move | same results | points of A | nodes a move | deviation |")
    print("|---|---|---|---|---|---|---|")
    for way, own in [("nodes", [f"--nodestime={args.nodestime}", "--move-overhead=0"]), ("clock", [])]:
        first = None
        for machine, busy in [("as it is", False), ("as it is", False), ("busy", True)]:
            with tempfile.TemporaryDirectory() as folder:
                games, nodes, points = play(args.program, flags + own, busy, pathlib.Path(folder))
            same, results = "", ""
            if first is None:
                first = games
            else:
                pairs = list(zip(games, first))
                same = f"{sum(now[0] == before[0] for now, before in pairs)} of {len(first)}"
                results = f"{sum(now[1] == before[1] for now, before in pairs)} of {len(first)}"
            figures = f"{points:g} | {statistics.mean(nodes):.0f} | {statistics.pstdev(nodes):.0f}"
            print(f"| {way} | {machine} | {same} | {results} | {figures} |", flush=True)


if __name__ == "__main__":
    main()

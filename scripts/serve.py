#!/usr/bin/env python3
"""Measures what `zeitnot serve` gains over one position at a time: positions a second, and how busy the device is.

    scripts/serve.py target/release/zeitnot --backend "simulated(latency-us=1000,per-position-ns=20000)"
"""

import argparse
import json
import subprocess
import time

OPENINGS = [
    "e2e4 e7e5 g1f3 b8c6 f1b5 a7a6 b5a4 g8f6 e1g1 f8e7 f1e1 b7b5 a4b3 d7d6 c2c3 e8g8",
    "d2d4 d7d5 c2c4 e7e6 b1c3 g8f6 c1g5 f8e7 e2e3 e8g8 g1f3 h7h6 g5h4 b7b6 c4d5 f6d5",
    "c2c4 e7e5 b1c3 g8f6 g1f3 b8c6 g2g3 d7d5 c4d5 f6d5 f1g2 d5b6 e1g1 f8e7 d2d3 e8g8",
    "e2e4 c7c5 g1f3 d7d6 d2d4 c5d4 f3d4 g8f6 b1c3 a7a6 c1g5 e7e6 f2f4 f8e7 d1f3 d8c7",
]
POSITIONS = [opening.split()[:plies] for plies in range(1, 17) for opening in OPENINGS]


class Program:
    """The engine behind pipes."""

    def __init__(self, command):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, **pipes)

    def send(self, line):
        print(line, file=self.process.stdin, flush=True)

    def read_until(self, start):
        while not (line := self.process.stdout.readline()).startswith(start):
            if not line:
                raise SystemExit("the engine has ended")
        return line

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def one_at_a_time(command, nodes):
    """Returns the positions a second under UCI."""
    engine = Program([*command, "--smart-pruning-factor=0"])
    engine.send("isready")
    engine.read_until("readyok")
    start = time.monotonic()
    for moves in POSITIONS:
        engine.send(f"ucinewgame\nposition startpos moves {' '.join(moves)}\ngo nodes {nodes}")
        engine.read_until("bestmove")
    rate = len(POSITIONS) / (time.monotonic() - start)
    engine.send("quit")
    engine.end()
    return rate


def at_once(command, nodes, concurrency):
    """Returns the positions a second of the server, and the share of the time for which the device computes."""
    server = Program([command[0], "serve", f"--concurrency={concurrency}", *command[1:]])
    # Enough to keep the last ones, which find fewer beside them, from counting much.
    games = POSITIONS * 4
    busy = []
    for queries in (range(0), range(len(games))):
        start = time.monotonic()
        for number in queries:
            server.send(json.dumps({"id": number, "moves": games[number], "nodes": nodes}))
        for _ in queries:
            server.read_until("{")
        seconds = time.monotonic() - start
        server.send('{"action":"status"}')
        busy.append(json.loads(server.read_until("{"))["busy_ms"] / 1000)
    server.end()
    return len(games) / seconds, (busy[1] - busy[0]) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--nodes", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=3)
    args, flags = parser.parse_known_args()
    command = [args.program, "--nncache=0", *flags]
    for _ in range(args.rounds):
        print(f"one at a time: {one_at_a_time(command, args.nodes):.1f} positions a second")
        for concurrency in (16, 64, 128):
            rate, busy = at_once(command, args.nodes, concurrency)
            print(f"{concurrency:>3} at once: {rate:.1f} positions a second, device busy {busy:.0%}")


if __name__ == "__main__":
    main()

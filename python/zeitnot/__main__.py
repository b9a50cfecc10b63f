"""Analyses all positions of a game at once, and prints them in their order.

python -m zeitnot --nodes 400 e4 e5 Qh5 Nc6 Bc4 Nf6
"""

import argparse
import shlex

import zeitnot


def main():
    parser = argparse.ArgumentParser(
        prog="python -m zeitnot", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--engine", type=shlex.split, help="the program, with flags if need be")
    parser.add_argument("--nodes", type=int, default=400, help="visits of each position")
    parser.add_argument("moves", nargs="*", help="the moves of the game, as in e4 or e2e4")
    args = parser.parse_args()
    game = {"id": "game", "moves": args.moves, "plies": "all", "nodes": args.nodes, "multipv": 1}
    known = {}
    for answer in zeitnot.answers([game], args.engine):
        if "error" in answer:
            raise SystemExit(f"{answer['field']}: {answer['error']}")
        known[answer["ply"]] = answer
    for ply, answer in sorted(known.items()):
        played = args.moves[ply - 1] if ply else "start"
        line = " ".join(answer["moves"][0]["pv"][:6]) if answer["moves"] else answer["reason"]
        score = f"{answer['q']:+.3f}" if answer["moves"] else ""
        print(f"{ply:>3} {played:<7} {answer['turn']:<5} {score:>6}  {line}")


if __name__ == "__main__":
    main()

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
    game = {"moves": args.moves, "plies": "all", "multipv": 1}
    try:
        for answer in zeitnot.answers([game], args.engine, in_order=True, nodes=args.nodes):
            played = args.moves[answer.ply - 1] if answer.ply else "start"
            line = " ".join(answer.moves[0].pv[:6]) if answer.moves else answer.reason
            score = f"{answer.q:+.3f}" if answer.moves else ""
            print(f"{answer.ply:>3} {played:<7} {answer.turn:<5} {score:>6}  {line}")
    except (zeitnot.EngineError, zeitnot.QueryError) as error:
        raise SystemExit(f"python -m zeitnot: {error}") from None


if __name__ == "__main__":
    main()

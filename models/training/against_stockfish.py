"""Plays a network against Stockfish at a limited strength.

Usage: python against_stockfish.py ZEITNOT NETWORK.pb.gz OPENINGS.epd [--nodes 800] [--elo 1800] [--games 60] [--stockfish stockfish]

Each opening is played twice with colours swapped. Stockfish plays at its option `UCI_Elo`, with 50,000 nodes a move. Needs the
package `chess`.
"""

import argparse
import math
import random

import chess
import chess.engine

STOCKFISH_NODES = 50_000
#: A game that lasts longer is a draw.
MAX_PLIES = 600


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zeitnot")
    parser.add_argument("network")
    parser.add_argument("openings")
    parser.add_argument("--nodes", type=int, default=800, help="visits per move")
    parser.add_argument("--elo", type=int, default=1800, help="Stockfish's UCI_Elo")
    parser.add_argument("--games", type=int, default=60)
    parser.add_argument("--stockfish", default="stockfish")
    return parser.parse_args()


def read_openings(path: str) -> list[str]:
    """FENs of an EPD file in random order, the same each time."""
    with open(path) as lines:
        fens = [" ".join(line.split(";")[0].split()[:4]) + " 0 1" for line in lines if line.strip()]
    random.Random(1).shuffle(fens)
    return fens


def points(board: chess.Board, players: dict[chess.Color, tuple], game: int) -> tuple[float, float]:
    """White's and Black's points of a game from `board` on between two players, each an engine with its limit."""
    while not board.is_game_over(claim_draw=True) and board.ply() < MAX_PLIES:
        engine, limit = players[board.turn]
        board.push(engine.play(board, limit, game=game).move)
    return {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0)}.get(board.result(claim_draw=True), (0.5, 0.5))


def main() -> None:
    arguments = parse_arguments()
    openings = read_openings(arguments.openings)
    ours = chess.engine.SimpleEngine.popen_uci([arguments.zeitnot, "--threads=1", f"--weights={arguments.network}"])
    theirs = chess.engine.SimpleEngine.popen_uci(arguments.stockfish)
    theirs.configure({"UCI_LimitStrength": True, "UCI_Elo": arguments.elo, "Threads": 1, "Hash": 16})
    us, them = (ours, chess.engine.Limit(nodes=arguments.nodes)), (theirs, chess.engine.Limit(nodes=STOCKFISH_NODES))
    results = []
    for game in range(arguments.games):
        players = {chess.WHITE: us, chess.BLACK: them} if game % 2 == 0 else {chess.WHITE: them, chess.BLACK: us}
        results.append(points(chess.Board(openings[game // 2 % len(openings)]), players, game)[game % 2])
        won, drawn, lost = (results.count(x) for x in (1.0, 0.5, 0.0))
        share = sum(results) / len(results)
        elo = f"{-400 * math.log10(1 / share - 1):+.0f}" if 0 < share < 1 else "without bound"
        print(f"{len(results)} games: +{won} ={drawn} -{lost}, {100 * share:.0f} %, Elo {elo}", flush=True)
    ours.quit()
    theirs.quit()


if __name__ == "__main__":
    main()

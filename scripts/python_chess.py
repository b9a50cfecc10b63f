#!/usr/bin/env python3
"""Drives the engine through python-chess, as lichess-bot does: sets its options, plays a game, analyses.

Usage: python_chess.py PATH_TO_ZEITNOT    (needs the package `chess` of PyPI)
"""

import sys

import chess
import chess.engine

LICHESS_BOT = {"Move Overhead": 100, "Threads": 1, "Hash": 512, "UCI_ShowWDL": True}
LC0_USER = {"Backend": "random", "MinibatchSize": 8, "CPuct": 2.1, "TaskWorkers": 0, "SmartPruningFactor": 0}


def main(program):
    with chess.engine.SimpleEngine.popen_uci([program, "--backend=random", "--show-hidden"]) as engine:
        print("engine:", engine.id["name"])
        defaults = {
            name: option.default
            for name, option in engine.options.items()
            if option.type != "button" and not option.is_managed() and option.default != "<empty>"
        }
        engine.configure(defaults)
        print("options set to their defaults:", len(defaults))
        engine.configure(LICHESS_BOT)
        engine.configure(LC0_USER)
        engine.configure({"ClearTree": None})
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 60:
            result = engine.play(board, chess.engine.Limit(white_clock=2, black_clock=2), info=chess.engine.INFO_ALL)
            assert result.move in board.legal_moves, result
            board.push(result.move)
        print("plies played:", board.ply())
        lines = engine.analyse(chess.Board(), chess.engine.Limit(nodes=500), multipv=3)
        assert [line["multipv"] for line in lines] == [1, 2, 3]
        assert "wdl" in lines[0] and sum(lines[0]["wdl"].relative) == 1000, lines[0]
        print("analysis:", lines[0]["score"], lines[0]["wdl"])


if __name__ == "__main__":
    main(sys.argv[1])

#!/usr/bin/env python3
"""Drives the engine through python-chess, as lichess-bot does: sets its options, plays a game, analyses. Then reads
with it what `analyse` writes of games: without an error, the same moves, marks, comments, clocks and tags.

Usage: python_chess.py PATH_TO_ZEITNOT [FILE.pgn…]    (needs the package `chess` of PyPI)
"""

import collections
import io
import logging
import pathlib
import re
import subprocess
import sys

import chess
import chess.engine
import chess.pgn

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


COMMAND = re.compile(r"\[%(?:clk|emt|eval)[^\]]*\]")
# What `analyse` writes itself, and what python-chess has where a file says nothing.
OWN_TAGS, UNKNOWN = ("Annotator", "Result"), ("?", "????.??.??")


def games(text):
    source = io.StringIO(text)
    return list(iter(lambda: chess.pgn.read_game(source), None))


def plain(value):
    return re.sub(r'\\(["\\])', r"\1", value)


def key(game):
    return plain(game.headers.get("White", "?")), tuple(move.uci() for move in game.mainline_moves())


def words(game):
    found = collections.Counter()
    for node in [game, *game.mainline()]:
        found.update(COMMAND.sub(" ", f"{node.starting_comment} {node.comment}").replace("{", "(").split())
    return found


def differences(before, after):
    for name, value in before.headers.items():
        if name not in OWN_TAGS and value not in UNKNOWN and plain(after.headers.get(name, "")) != plain(value):
            yield f"the tag {name} was {value!r}"
    for old, new in zip(before.mainline(), after.mainline()):
        if not old.nags <= new.nags:
            yield f"the marks of {old.san()} were {old.nags}, and are {new.nags}"
        if old.clock() is not None and abs(old.clock() - (new.clock() or 0)) > 0.002:
            yield f"the clock of {old.san()} was {old.clock()}, and is {new.clock()}"
    if lost := words(before) - words(after):
        yield f"words are lost: {list(lost)[:5]}"


def check_written(program, path):
    """Returns how many games are the same. Games that python-chess reads otherwise are named, and no fault."""
    data = path.read_bytes()
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    command = [program, "analyse", path, "--nodes=1", "--backend=trivial", "--threads=1"]
    written = games(subprocess.run(command, capture_output=True, text=True, encoding="utf-8").stdout)
    known, same = collections.defaultdict(list), 0
    for game in games(text):
        known[key(game)].append(game)
    for game in written:
        assert not game.errors, (path, game.errors)
        if not known[key(game)]:
            print(f"{path.name}: python-chess reads another game than {key(game)[0]}'s")
            continue
        found = list(differences(known[key(game)].pop(0), game))
        assert not found, (path, found)
        same += 1
    return same


if __name__ == "__main__":
    main(sys.argv[1])
    logging.disable(logging.CRITICAL)
    wild = pathlib.Path(__file__).parent.parent / "tests/data/wild"
    files = [pathlib.Path(name) for name in sys.argv[2:]] or sorted(wild.glob("*.pgn"))
    print("games that are the same:", sum(check_written(sys.argv[1], path) for path in files))

#!/usr/bin/env python3
"""Drives the engine through python-chess, as lichess-bot does: sets its options, plays a game, analyses. Then reads
with it what `analyse` writes of games: without an error, the same moves, marks, comments, clocks and tags.

Usage: python_chess.py PATH_TO_ZEITNOT [FILE.pgn…]    (needs the package `chess` of PyPI)
       python_chess.py PATH_TO_ZEITNOT --spoil SECONDS FILE.pgn…    spoils games at random, which both then read:
                                                                    a difference of which no message tells is a fault
"""

import collections
import io
import logging
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

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
# What `analyse` writes itself, of variants a name that others know, and what python-chess has where a file says nothing.
OWN_TAGS, UNKNOWN = ("Annotator", "Result", "Variant"), ("?", "????.??.??")


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


def spoiled(game, rng):
    """The text of a game with one to three faults, of which half the games have no comments to hit."""
    text = list(game if rng.random() < 0.5 else re.sub(r"\{[^}]*\} ?", "", game))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, other, length = rng.randrange(len(text)), rng.randrange(len(text)), rng.randrange(1, 30)
        sign = rng.choice("{}()[]\"%;$!?.0123456789 \nabcdefgh#+-=KQRNBO")
        fault = rng.randrange(4)
        text[at : at + (0, 1, 1, length)[fault]] = ("".join(text[other : other + length]), sign, "", "")[fault]
    return "".join(text).strip() + "\n\n"


def read(found):
    moves = ((game, tuple(move.uci() for move in game.mainline_moves())) for game in found)
    return [(game.headers.get("White", "?"), game.board().fen(), played) for game, played in moves if played]


def check_spoiled(program, seconds, paths, rng=random.Random(1), at_once=8):
    """Several spoiled games at once, each in a file with a sound one behind it: that shows what belongs to which."""
    known = [game for path in paths for game in re.split(r"\n\n(?=\[Event )", path.read_text("utf-8", "replace")) if len(game) < 4000]
    counts, end = collections.Counter(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            texts, files = [spoiled(rng.choice(known), rng) for _ in range(at_once)], []
            for number, text in enumerate(texts):
                for name, content in (f"spoiled{number}.pgn", text), (f"sound{number}.pgn", '[White "Sound"]\n\n1. a3 a6 1-0\n'):
                    files.append(pathlib.Path(folder, name))
                    files[-1].write_text(content)
            command = [program, "analyse", *files, "--nodes=1", "--backend=trivial", "--threads=1", "--concurrency=1"]
            run, found = subprocess.run(command, capture_output=True, text=True, encoding="utf-8"), [[]]
            for white, *game in read(games(run.stdout)):
                found.append([]) if white == "Sound" else found[-1].append(game)
            for number, text in enumerate(texts):
                theirs = games(text)
                is_same = found[number] == [game for _, *game in read(theirs)]
                is_told = re.search(rf"spoiled{number}\.pgn: (game \d|no game)", run.stderr)
                # As at `xb5`, which only one pawn can play.
                stops = any(game.errors for game in theirs)
                assert is_same or is_told or stops, f"a silent difference:\n{text}\n{run.stderr}"
                counts["the same" if is_same else "told" if is_told else "python-chess stops"] += 1
    return dict(counts)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    if sys.argv[2:3] == ["--spoil"]:
        sys.exit(print("spoiled games:", check_spoiled(sys.argv[1], float(sys.argv[3]), map(pathlib.Path, sys.argv[4:]))))
    main(sys.argv[1])
    wild = pathlib.Path(__file__).parent.parent / "tests/data/wild"
    files = [pathlib.Path(name) for name in sys.argv[2:]] or sorted(wild.glob("*.pgn"))
    print("games that are the same:", sum(check_written(sys.argv[1], path) for path in files))

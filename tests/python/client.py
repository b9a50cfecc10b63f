#!/usr/bin/env python3
"""Tests of the client of `zeitnot serve`.

Usage: python3 tests/python/client.py PATH_TO_ZEITNOT    (boards and games are tried where the package `chess` is there)
"""

import asyncio
import importlib.util
import itertools
import json
import os
import pickle
import queue
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import zeitnot
from zeitnot import client

PROGRAM = "zeitnot"
# More at once than the default on a CPU, where two searches without end would leave the others no place.
FLAGS = ["--backend=random", "--threads=1", "--concurrency=32"]
LONG = 10_000_000


def engine(*flags, **keys):
    return zeitnot.Engine(*FLAGS, *flags, program=PROGRAM, **keys)


def numbered(count, **keys):
    return ({"id": number, "moves": ["e4"], **keys} for number in range(count))


class Server:
    """A server on a port, whose address is `address`."""

    def __init__(self, *flags):
        command = [PROGRAM, "serve", *FLAGS, "--listen=127.0.0.1:0", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = json.loads(self.process.stdout.readline())["listening"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Fake:
    """A server on a port that answers `version`, and then does as `act` likes with the connection."""

    def __init__(self, act):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.serve, args=(act,), daemon=True).start()

    def serve(self, act):
        connection, _ = self.listener.accept()
        file = connection.makefile("rwb", buffering=0)
        if act is not mute:
            file.write(b'{"id":%d,"action":"version"}\n' % json.loads(file.readline())["id"])
        act(file)
        file.close()
        connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def mute(file):
    file.read()


def within(seconds, call, *args):
    """What the call returns or raises, if it does so in time."""
    done = queue.SimpleQueue()

    def run():
        try:
            done.put((call(*args), None))
        except Exception as error:
            done.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        found, error = done.get(timeout=seconds)
    except queue.Empty:
        raise AssertionError(f"nothing has come in {seconds} s") from None
    if error:
        raise error
    return found


def ask(kind, where, queries, **keys):
    """All that comes of queries, by either class, over pipes or the port of `where`."""
    engine_keys = {key: keys.pop(key) for key in ("in_flight",) if key in keys}
    flags, place = ([], {"address": where}) if where else (FLAGS, {"program": PROGRAM})

    async def run():
        async with zeitnot.AsyncEngine(*flags, **place, **engine_keys) as started:
            return [answer async for answer in started.answers(queries, **keys)]

    if kind is zeitnot.AsyncEngine:
        return asyncio.run(run())
    with zeitnot.Engine(*flags, **place, **engine_keys) as started:
        return list(started.answers(queries, **keys))


class Move:
    """As chess.Move, if there is no such package."""

    from_square = 12

    def uci(self):
        return "e2e4"


def nested(depth):
    lists = []
    for _ in range(depth):
        lists = [lists]
    return lists


circle = {}
circle["options"] = circle
# Bad queries, and whether they are answered nevertheless.
BAD = {
    "moves of python-chess": ({"moves": [Move()]}, True),
    "a position twice": ({"moves": ["e4", "e5"], "plies": [1, 1]}, True),
    "NaN": ({"movetime": float("nan")}, False),
    "infinity": ({"movetime": float("inf")}, False),
    "no number for JSON": ({"nodes": 10**400}, False),
    "half a character": ({"fen": "\ud800"}, False),
    "too long": ({"fen": "x" * 5_000_000}, False),
    "too deep": ({"options": nested(500)}, False),
    "deeper": ({"options": nested(100_000)}, False),
    "no JSON": ({"moves": [object()]}, False),
    "bytes": ({"fen": b"8/8"}, False),
    "a circle": (circle, False),
    "a key that is no text": ({(1, 2): 3}, False),
    "an action": ({"action": "cancel_all"}, False),
    "no positions": ({"plies": []}, False),
    "null": ({"plies": None}, False),
    "plies that are none": ({"moves": ["e4"], "plies": [[1], {}, True]}, False),
    "moves that are none": ({"moves": "e4", "plies": "all"}, False),
    "more positions than the queue": ({"moves": ["Nf3", "Nf6", "Ng1", "Ng8"] * 20, "plies": "all"}, False),
    "an illegal move": ({"moves": ["e4", "e4"]}, False),
    "a field that is none": ({"node": 5}, False),
}


class Never(unittest.TestCase):
    """Nothing waits for ever."""

    def each_way(self):
        with Server("--queue=50") as server:
            for kind, where in itertools.product((zeitnot.Engine, zeitnot.AsyncEngine), (None, server.address)):
                yield kind, where

    def test_bad_queries_are_refused_and_the_others_answered(self):
        for kind, where in self.each_way():
            for name, (query, is_answered) in BAD.items():
                with self.subTest(kind=kind.__name__, where=where, query=name):
                    queries = [{"id": "bad", **query}, {"id": "good"}]
                    keys = {"nodes": 1, "in_order": True, "errors": "return", "in_flight": 50}
                    found = within(5, lambda: ask(kind, where, queries, **keys))
                    self.assertEqual([type(result) for result in found], [zeitnot.Answer if is_answered else zeitnot.QueryError, zeitnot.Answer])
                    self.assertEqual([result.id for result in found], ["bad", "good"])

    def test_what_is_no_query_is_a_type_error(self):
        for kind, where in self.each_way():
            for query in (5, None, ["e4"]):
                with self.assertRaises(TypeError):
                    within(5, lambda: ask(kind, where, [query]))

    def test_one_query_needs_no_list(self):
        for kind, where in self.each_way():
            for query in ({"moves": ["e4"]}, "startpos", "8/8/8/8/8/1k6/8/K6r w - - 0 1"):
                self.assertEqual(len(within(5, lambda: ask(kind, where, query, nodes=1))), 1)

    def test_queries_may_wait_for_answers(self):
        for kind, where in self.each_way():
            answered = threading.Event()

            def queries():
                yield {"id": 1}
                self.assertTrue(answered.wait(5))
                yield {"id": 2}

            def run():
                ids = []
                with zeitnot.Engine(*FLAGS, program=PROGRAM) as started:
                    for answer in started.answers(queries(), nodes=1):
                        answered.set()
                        ids.append(answer.id)
                return ids

            async def run_async():
                ids = []
                async with zeitnot.AsyncEngine(*FLAGS, program=PROGRAM) as started:
                    async for answer in started.answers(queries(), nodes=1):
                        answered.set()
                        ids.append(answer.id)
                return ids

            found = within(5, run) if kind is zeitnot.Engine else within(5, lambda: asyncio.run(run_async()))
            self.assertEqual(found, [1, 2])

    def test_a_loop_is_left_while_the_next_query_is_awaited(self):
        def queries():
            yield {"id": 1}
            threading.Event().wait()

        def run():
            with engine() as started:
                for _ in started.answers(queries(), nodes=1):
                    break
                return started.analyse({"id": 2}, nodes=1).id

        self.assertEqual(within(5, run), 2)

    def test_a_server_that_dies_at_any_line_is_an_error(self):
        for kind, lines in itertools.product((zeitnot.Engine, zeitnot.AsyncEngine), range(4)):
            with Server() as server:
                def queries():
                    yield from numbered(lines, nodes=1)
                    server.process.kill()
                    yield from numbered(100, nodes=LONG)

                with self.assertRaisesRegex(zeitnot.EngineError, "closed the connection"):
                    within(5, lambda: ask(kind, server.address, queries()))

    def test_a_server_that_is_none_is_an_error(self):
        def full_pipe(file):
            time.sleep(0.5)

        acts = {
            "closed the connection": [lambda file: None, lambda file: file.write(b'{"id":2,"pl'), full_pipe],
            "no answer of zeitnot serve": [
                lambda file: file.write(b"hello\n") and file.read(),
                lambda file: file.write(b"[]\n7\n") and file.read(),
                lambda file: file.write(b"x" * (17 << 20)) and file.read(),
                lambda file: file.readline() and file.write(b'{"id":2,"moves":[5],"final":true}\n') and file.read(),
            ],
            "has 512 clients": [
                lambda file: file.write(b'{"id":null,"error":"the server has 512 clients already"}\n') and file.read()
            ],
        }
        for text, act in [(text, act) for text, those in acts.items() for act in those]:
            for kind in (zeitnot.Engine, zeitnot.AsyncEngine):
                with Fake(act) as fake, self.assertRaisesRegex(zeitnot.EngineError, text):
                    within(5, lambda: ask(kind, fake.address, numbered(1000, fen="x" * 1000)))
        with Fake(mute) as fake, self.assertRaisesRegex(zeitnot.EngineError, "does not answer"):
            within(8, lambda: ask(zeitnot.Engine, fake.address, []))

    def test_an_engine_that_is_closed_says_so(self):
        started = engine()
        answers = started.answers(numbered(5, nodes=LONG))
        threading.Timer(0.2, started.close).start()
        with self.assertRaisesRegex(zeitnot.EngineError, "closed"):
            within(5, lambda: list(answers))
        with self.assertRaisesRegex(zeitnot.EngineError, "closed"):
            within(5, started.status)
        with self.assertRaisesRegex(zeitnot.EngineError, "async with"):
            asyncio.run(zeitnot.AsyncEngine(program=PROGRAM).analyse({}))

    def test_an_interpreter_ends_although_an_engine_is_left(self):
        text = f"import zeitnot\nengine = zeitnot.Engine(*{FLAGS}, program={PROGRAM!r})\n"
        text += "answers = engine.answers([{'nodes': 1}] + [{'infinite': True}] * 9)\nprint(next(answers).visits)"
        found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=10, env={**os.environ, "PYTHONPATH": sys.path[0]})
        self.assertEqual(found.stdout, "1\n", found.stderr)

    def test_any_sequence_of_calls_breaks_and_cancels(self):
        try:
            from hypothesis import given, settings, strategies
        except ImportError:
            self.skipTest("the package hypothesis is not there")

        async def answered(started):
            self.assertEqual((await started.analyse({"id": 5, "moves": ["e4"]}, nodes=3)).id, 5)

        async def refused(started):
            with self.assertRaises(zeitnot.QueryError):
                await started.analyse({"moves": ["e5"]})

        async def left(started):
            async for _ in started.answers([{"nodes": 1}, *numbered(30, nodes=LONG)]):
                break

        async def cancelled(started):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(started.analyse({"infinite": True}), 0.02)

        async def failed(started):
            def queries():
                yield {"nodes": LONG}
                raise KeyError

            with self.assertRaises(KeyError):
                [_ async for _ in started.answers(queries())]

        async def asked(started):
            self.assertIn("searching", await started.status())

        async def streamed(started):
            ids = [answer.id async for answer in started.answers(numbered(60), in_order=True, nodes=1)]
            self.assertEqual(ids, list(range(60)))

        calls = strategies.sampled_from([answered, refused, left, cancelled, failed, asked, streamed])

        async def run(rounds):
            async with zeitnot.AsyncEngine(*FLAGS, program=PROGRAM, in_flight=8) as started:
                for together in rounds:
                    await asyncio.gather(*(call(started) for call in together))
                await answered(started)

        @settings(max_examples=20, deadline=None, derandomize=True, database=None)
        @given(strategies.lists(strategies.lists(calls, max_size=5), max_size=4))
        def check(rounds):
            within(20, lambda: asyncio.run(run(rounds)))

        check()


class Streams(unittest.TestCase):
    def test_more_queries_than_the_queue_and_the_pipes_hold_are_all_answered(self):
        with engine() as started:
            ids = [answer.id for answer in started.answers(numbered(30_000), nodes=1)]
        self.assertEqual(sorted(ids), list(range(30_000)))

    def test_queries_without_end_are_taken_as_there_is_room(self):
        taken = itertools.count()
        queries = ({"id": next(taken), "moves": ["e4"], "nodes": 1} for _ in itertools.count())
        with engine(in_flight=20) as started:
            answers = list(itertools.islice(started.answers(queries), 500))
        self.assertEqual(len(answers), 500)
        # Those under way, those behind the one that was the last, and those that are taken ahead.
        self.assertLessEqual(next(taken), 500 + 20 + 20 + client.AHEAD + 2)

    def test_answers_come_in_order_where_that_is_asked_for(self):
        games = [{"id": n, "moves": ["e4", "e5", "Nf3"], "plies": "all", "priority": n} for n in range(50)]
        with engine(in_flight=30) as started:
            order = [(answer.id, answer.ply) for answer in started.answers(games, in_order=True, nodes=5)]
        self.assertEqual(order, [(n, ply) for n in range(50) for ply in range(4)])

    def test_who_leaves_early_ends_the_searches_and_may_ask_again(self):
        with engine(in_flight=40) as started:
            short = {"id": "short", "nodes": 1, "priority": 9}
            for answer in started.answers([short, *numbered(100, nodes=LONG)]):
                self.assertEqual(answer.id, "short")
                break
            with self.assertRaises(ZeroDivisionError):
                for _ in started.answers([short, *numbered(100, nodes=LONG)]):
                    1 / 0
            self.assertEqual(started.status()["searching"], 0)
            self.assertEqual([answer.id for answer in started.answers(numbered(3), in_order=True, nodes=2)], [0, 1, 2])

    def test_queries_that_fail_end_the_loop_with_their_own_error(self):
        def queries():
            yield {"nodes": LONG}
            raise KeyError("no more")

        with engine() as started:
            with self.assertRaises(KeyError):
                list(started.answers(queries()))
            self.assertEqual(started.analyse("8/8/8/8/8/1k6/8/K6r w - - 0 1", nodes=1).reason, "checkmate")

    def test_reports_come_before_the_answer(self):
        with engine() as started:
            answers = list(started.answers([{"movetime": 200, "report_every": 20}]))
        kinds = [answer.final for answer in answers]
        self.assertTrue(all(answer.best for answer in answers))
        self.assertGreater(len(kinds), 1)
        self.assertEqual(kinds, [False] * (len(kinds) - 1) + [True])

    def test_refused_queries_are_errors_with_their_field(self):
        queries = [{"id": "bad", "moves": ["e4", "e4"]}, {"id": "good", "nodes": 1}]
        with engine() as started:
            with self.assertRaises(zeitnot.QueryError) as raised:
                list(started.answers(queries))
            self.assertEqual((raised.exception.id, raised.exception.field), ("bad", "moves"))
            found = list(started.answers(queries, errors="return", in_order=True))
        self.assertIsInstance(found[0], zeitnot.QueryError)
        self.assertEqual(found[1].id, "good")

    def test_two_clients_share_a_server_whose_queue_is_smaller_than_what_they_ask(self):
        with Server("--queue=10", "--concurrency=2") as server:
            first, second = (zeitnot.Engine(address=server.address) for _ in range(2))
            with first, second:
                both = zip(first.answers(numbered(200), nodes=20), second.answers(numbered(200), nodes=20))
                ids = [(a.id, b.id) for a, b in both]
        for which in (0, 1):
            self.assertEqual(sorted(pair[which] for pair in ids), list(range(200)))

    def test_what_cannot_start_or_ends_is_said(self):
        with self.assertRaisesRegex(zeitnot.EngineError, "name it as in Engine"):
            zeitnot.Engine(program="/nowhere/zeitnot")
        with self.assertRaisesRegex(zeitnot.EngineError, "(?s)code 2.*no-such-flag"):
            engine("--no-such-flag")
        with self.assertRaisesRegex(zeitnot.EngineError, "no server answers"):
            zeitnot.Engine(address="127.0.0.1:1")
        with Server() as server, zeitnot.Engine(address=server.address) as started:
            answers = started.answers(numbered(5, nodes=LONG))
            server.process.kill()
            with self.assertRaisesRegex(zeitnot.EngineError, "closed the connection"):
                list(answers)

    def test_errors_travel(self):
        for error in (zeitnot.QueryError(1, "bad", "moves", 3), zeitnot.QueryError(None, "bad"), zeitnot.EngineError("gone")):
            copy = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(copy), str(copy), vars(copy)), (type(error), str(error), vars(error)))

    def test_answers_have_names_and_types(self):
        with engine() as started:
            answer = started.analyse({"id": {"any": "thing"}, "moves": ["e4"]}, nodes=50)
            self.assertEqual((answer.id, answer.turn, answer.ply, answer.reason), ({"any": "thing"}, "black", 1, "nodes"))
            self.assertEqual(answer.best, answer.moves[0].move)
            self.assertEqual(sum(move.visits for move in answer.moves), answer.visits - 1)
            self.assertTrue(started.version()["version"])
            game = started.analyse_all({"moves": ["e4"], "plies": "all", "movetime": 50, "report_every": 10})
            self.assertEqual([answer.ply for answer in game], [0, 1])
            with self.assertRaisesRegex(TypeError, "analyse_all"):
                started.analyse({"moves": ["e4"], "plies": "all"}, nodes=1)

    def test_centipawns_are_what_the_engine_shows(self):
        flags = [*FLAGS, "--smart-pruning-factor=0", "--multipv=40"]
        game = subprocess.Popen([PROGRAM, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        game.stdin.write("position startpos moves e2e4\ngo nodes 500\n")
        game.stdin.flush()
        shown = {}
        for line in itertools.takewhile(lambda line: not line.startswith("bestmove"), game.stdout):
            found = re.search(r" score cp (\S+) .* pv (\S+)", line)
            shown.update({found[2]: int(found[1])} if found else {})
        game.communicate("quit\n")
        with engine() as started:
            answer = started.analyse({"moves": ["e4"]}, nodes=500)
        self.assertEqual({move.move: move.centipawns for move in answer.moves if move.visits}, shown)

    def test_answers_are_those_of_uci_mates_included(self):
        """A regression: where mate was proven, the answer had the average of the search."""
        mates = [
            "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4",
            "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1",
            "7k/8/5K2/6Q1/8/8/8/8 w - - 0 1",
            "k7/8/1K6/8/8/8/8/7Q b - - 0 1",
            "8/8/8/8/8/5k2/7q/4K3 w - - 0 1",
            "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1",
        ]
        # Won, drawn and cursed by the tables, where they have been fetched.
        tables = Path.home() / ".cache/zeitnot/syzygy-of-python-chess-1.11.2"
        mates += ["8/8/8/4k3/8/8/4P3/4K3 w - - 0 1", "8/8/8/8/4k3/4p3/8/4K3 w - - 0 1", "8/8/4k3/8/8/3QK3/8/8 b - - 0 1"]
        mates += ["8/8/8/2K5/4BBk1/8/8/8 w - - 0 1", "8/8/8/8/1b5K/8/4b3/4k3 w - - 0 1", "7k/8/8/8/3NN3/8/5p2/K7 w - - 0 1"]
        book = (Path(__file__).parents[1] / "data/openings.epd").read_text().splitlines()
        fens = mates + [" ".join(line.split()[:4]) + " 0 1" for line in book[:60]]
        flags = ["--backend=trivial", "--threads=1", f"--syzygy-paths={tables}" if tables.is_dir() else "--syzygy-paths=", "--smart-pruning-factor=0"]
        game = subprocess.Popen([PROGRAM, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        shown = []
        for fen in fens:
            game.stdin.write(f"ucinewgame\nposition fen {fen}\ngo nodes 300\n")
            game.stdin.flush()
            lines = list(itertools.takewhile(lambda line: not line.startswith("bestmove"), game.stdout))
            shown.append(re.search(r" score (cp|mate) (\S+)", [line for line in lines if " score " in line][-1]).groups())
        game.communicate("quit\n")
        with zeitnot.Engine(*flags[:3], program=PROGRAM) as started:
            found = list(started.answers(fens, in_order=True, nodes=300))
        for fen, (kind, value), answer in zip(fens, shown, found):
            with self.subTest(fen=fen):
                best = answer.moves[0]
                self.assertEqual((answer.q, answer.wdl, answer.mate, answer.centipawns), (best.q, best.wdl, best.mate, best.centipawns))
                self.assertEqual(("mate", answer.mate) if answer.mate else ("cp", answer.centipawns), (kind, int(value)))
                if answer.mate:
                    self.assertEqual(answer.q, 1 if answer.mate > 0 else -1)
        self.assertGreaterEqual(sum(answer.mate is not None for answer in found), 4)

    def test_what_is_public_is_documented_and_both_engines_have_the_same(self):
        public = lambda kind: {name for name in dir(kind) if not name.startswith("_")}
        self.assertEqual(public(zeitnot.AsyncEngine), public(zeitnot.Engine) | {"start"})
        for name in zeitnot.__all__:
            thing = getattr(zeitnot, name)
            self.assertTrue(thing.__doc__, name)
            for method in public(thing) if isinstance(thing, type) else ():
                if method not in (*getattr(thing, "_fields", ()), "count", "index", "args", "with_traceback", "add_note"):
                    self.assertTrue(getattr(thing, method).__doc__, f"{name}.{method}")
        with engine() as started:
            # What an engine holds is its own.
            self.assertEqual([name for name in vars(started) if not name.startswith("_")], [])
            self.assertEqual([name for name in vars(started._engine) if not name.startswith("_")], [])

    def test_notebooks_show_what_there_is(self):
        keys = zeitnot.Keys.__annotations__
        for name in keys:
            self.assertRegex(zeitnot.Keys.__doc__, rf"\n    {name} ")
        guide = (Path(__file__).parents[2] / "docs/guide/serve.md").read_text()
        table = guide.split("## ")[1 + [part.split("\n")[0] for part in guide.split("## ")[1:]].index("Queries")]
        self.assertEqual({*re.findall(r"^\| `(\w+)` \|", table, re.M)} - {"action"}, {*keys})
        self.assertIsInstance(zeitnot.__version__, str)
        with engine() as started:
            self.assertEqual(repr(started), "<zeitnot.Engine, running>")
            answer = started.analyse("startpos", nodes=5)
            table = answer._repr_html_()
            self.assertTrue(all(f"<td>{move.move}</td>" in table for move in answer.moves), table)
            if importlib.util.find_spec("chess"):
                last = started.analyse_all({"moves": ["e4", "c7c5"], "plies": "all"}, nodes=9)[-1]
                for place, count in (("#white-pawn", 8), ("#black-king", 1), ("<line", 3)):
                    self.assertGreaterEqual(last._repr_html_().count(place), count, place)
                self.assertNotEqual(last._repr_svg_(), answer._repr_svg_())
            mated = started.analyse({"moves": ["f3", "e5", "g4", "Qh4"]}, nodes=5)
            self.assertIn("checkmate", mated._repr_html_())
        self.assertEqual(repr(started), "<zeitnot.Engine, closed>")

    def test_answers_of_a_list_have_a_length(self):
        queries = ["startpos", {"moves": ["e4", "e5"], "plies": "all"}, {"moves": ["e5"]}]
        with engine() as started:
            found = started.answers(queries, errors="return", nodes=2)
            self.assertEqual((len(found), len(list(found))), (5, 5))
            for same in (started.answers("startpos", nodes=2), started.answers(queries[:1], nodes=2)):
                self.assertEqual((len(same), len(list(same))), (1, 1))
            with self.assertRaisesRegex(TypeError, "iterator"):
                len(started.answers(iter(queries)))

    def test_numbers_and_arrays_of_numpy_are_keys(self):
        class Scalar:
            """As numpy has its own."""

            def __init__(self, value):
                self.value = value

            def tolist(self):
                return self.value

        with engine() as started:
            answer = started.analyse({"fen": "startpos", "moves": Scalar(["e4", "e5"])}, nodes=Scalar(7))
            self.assertEqual((answer.ply, answer.visits), (2, 7))

    def test_the_network_alone_evaluates_positions_in_order(self):
        positions = ["startpos", {"moves": ["e2e4"]}, "8/8/8/8/8/k7/p7/K7 w - - 0 1", {"fen": "startpos", "moves": []}]
        found = list(zeitnot.evaluate(positions, "--backend=random", program=PROGRAM))
        self.assertEqual([one.position for one in found], positions)
        self.assertEqual(found[0][1:5], found[3][1:5])
        self.assertNotEqual(found[0].q, found[1].q)
        self.assertEqual([len(one.policy) for one in found], [20, 20, 0, 20])
        self.assertTrue(all("hash of the position" in one.backend and one.network_sha256 is None for one in found))
        self.assertAlmostEqual(sum(found[0].policy.values()), 1, places=5)
        logits = found[0].logits()
        self.assertEqual((len(logits), sum(logit == logit for logit in logits)), (1858, 20))
        endless = zeitnot.evaluate(itertools.repeat("startpos"), "--backend=random", program=PROGRAM)
        self.assertEqual(len(list(itertools.islice(endless, 1000))), 1000)

    def test_positions_that_cannot_be_evaluated_are_named(self):
        evaluate = lambda positions, *flags: list(zeitnot.evaluate(positions, *flags, program=PROGRAM))
        for positions in (["startpos", "8/8 w"], ["startpos", "8/8 w", "startpos"]):
            with self.assertRaisesRegex(zeitnot.QueryError, "bad FEN|cannot be evaluated") as error:
                evaluate(positions, "--backend=random")
            self.assertEqual(error.exception.id, 2)
        with self.assertRaisesRegex(TypeError, "not int"):
            evaluate(["startpos", 5], "--backend=random")
        with self.assertRaisesRegex(zeitnot.EngineError, "does not exist"):
            evaluate(["startpos"], "--weights=nothing.pb.gz")
        with self.assertRaisesRegex(zeitnot.EngineError, "cannot be started"):
            list(zeitnot.evaluate(["startpos"], program="no-such-program"))

    def test_errors_are_raised_or_returned_and_nothing_else(self):
        with engine() as started:
            for word in ("ignore", "Raise", "", None):
                with self.assertRaisesRegex(ValueError, '"raise" or "return"'):
                    started.answers([{}], errors=word)
                with self.assertRaisesRegex(ValueError, '"raise" or "return"'):
                    started.analyse({}, errors=word)
                with self.assertRaisesRegex(ValueError, '"raise" or "return"'):
                    zeitnot.AsyncEngine().answers([{}], errors=word)
            (found,) = started.analyse_all({"moves": ["e4", "e4"]}, errors="return")
            self.assertIsInstance(found, zeitnot.QueryError)

    def test_answers_are_what_their_types_say_and_can_be_hashed(self):
        with engine() as started:
            answer = started.analyse({"moves": ["e4"]}, nodes=50)
            self.assertIsInstance(answer.wdl, tuple)
            for move in answer.moves:
                self.assertEqual((type(move.wdl), type(move.pv)), (type(None) if move.q is None else tuple, tuple))
            self.assertEqual(len({answer, answer._replace(), pickle.loads(pickle.dumps(answer))}), 1)

    @unittest.skipUnless(hasattr(os, "fork"), "nothing is forked here")
    def test_an_engine_in_a_process_that_was_forked_says_so(self):
        with engine() as started:
            answers = started.answers(numbered(5, nodes=1))
            next(answers)
            for call in (lambda: started.analyse({}, nodes=1), lambda: list(answers), started.status, lambda: list(started.answers([{}]))):
                read, write = os.pipe()
                child = os.fork()
                if child == 0:
                    try:
                        call()
                    except zeitnot.EngineError as error:
                        os.write(write, str(error).encode())
                    started.close()
                    os._exit(0)
                os.close(write)
                with open(read) as told:
                    said = within(10, told.read)
                os.waitpid(child, 0)
                self.assertIn("another process", said)
            # The parent's engine is none the worse.
            self.assertEqual(started.analyse({"id": 7}, nodes=1).id, 7)

    def test_an_engine_of_another_event_loop_says_so(self):
        started = zeitnot.AsyncEngine(*FLAGS, program=PROGRAM)

        async def start():
            await started.start()
            return asyncio.get_running_loop()

        loop = asyncio.new_event_loop()
        try:
            loop.run_until_complete(start())
            with self.assertRaisesRegex(zeitnot.EngineError, "another event loop"):
                within(5, lambda: asyncio.run(started.analyse({}, nodes=1)))
            loop.run_until_complete(started.close())
        finally:
            loop.close()

    def test_the_package_runs_the_program(self):
        path = {**os.environ, "PYTHONPATH": sys.path[0], "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"}
        said = [subprocess.run([*command, "--version"], capture_output=True, text=True, env=path) for command in ([PROGRAM], [sys.executable, "-m", "zeitnot"])]
        self.assertEqual((said[1].returncode, said[1].stdout), (0, said[0].stdout), said[1].stderr)
        failed = subprocess.run([sys.executable, "-m", "zeitnot", "--nonsense"], capture_output=True, env=path)
        self.assertEqual(failed.returncode, 2)
        none = subprocess.run([sys.executable, "-m", "zeitnot"], capture_output=True, text=True, env={**path, "PATH": "/nowhere"})
        self.assertEqual((none.returncode, "cannot be started" in none.stderr), (1, True), none.stderr)

    def test_boards_and_games_of_python_chess_are_queries(self):
        try:
            import chess
            import chess.pgn
        except ImportError:
            self.skipTest("the package chess is not there")
        board = chess.Board()
        for move in ["e4", "e5", "Nf3"]:
            board.push_san(move)
        chess960 = chess.Board.from_chess960_pos(0)
        game = chess.pgn.Game.from_board(board)
        with engine() as started:
            found = list(started.answers([board, chess960, game], in_order=True, nodes=20))
            self.assertEqual([answer.ply for answer in found], [3, 0, 0, 1, 2, 3])
            self.assertIn(chess.Move.from_uci(found[0].best), board.legal_moves)
            self.assertIn(chess.Move.from_uci(found[1].best), chess960.legal_moves)


class Guide(unittest.TestCase):
    def test_each_example_of_the_guide_runs(self):
        guide = Path(__file__).parents[2] / "docs/guide"
        blocks = [(page, block) for page in ("python.md", "serve.md") for block in re.findall(r"```python\n(.*?)```", (guide / page).read_text(), re.S)]
        self.assertGreater(len(blocks), 10)
        environment = {**os.environ, "PYTHONPATH": sys.path[0], "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}"}
        for page, block in blocks:
            with self.subTest(page=page, block=block), tempfile.TemporaryDirectory() as folder:
                if re.search("^import chess", block, re.M) and not importlib.util.find_spec("chess"):
                    self.skipTest("the package chess is not there")
                done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, env=environment, cwd=folder, timeout=120)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.strip(), block)


class Asyncio(unittest.TestCase):
    def test_it_streams_stops_and_goes_on(self):
        async def run():
            async with zeitnot.AsyncEngine(*FLAGS, program=PROGRAM, in_flight=50) as started:
                ids = [answer.id async for answer in started.answers(numbered(3000), nodes=1, in_order=True)]
                self.assertEqual(ids, list(range(3000)))
                short = {"id": "short", "nodes": 1, "priority": 9}
                answers = started.answers([short, *numbered(100, nodes=LONG)])
                self.assertEqual((await answers.__anext__()).id, "short")
                await answers.aclose()
                self.assertEqual((await started.analyse({"id": 7}, nodes=3)).id, 7)

        asyncio.run(run())

    def test_queries_may_come_slowly_and_answers_do_not_wait_for_them(self):
        async def run():
            answered = asyncio.Event()

            async def queries():
                yield {"id": 1, "nodes": 1}
                await answered.wait()
                yield {"id": 2, "nodes": 1}

            async with zeitnot.AsyncEngine(*FLAGS, program=PROGRAM) as started:
                ids = []
                async for answer in started.answers(queries()):
                    ids.append(answer.id)
                    answered.set()
                self.assertEqual(ids, [1, 2])
                with self.assertRaises(zeitnot.QueryError):
                    [_ async for _ in started.answers([{"fen": "x"}])]

        asyncio.run(run())

    def test_a_program_that_ends_is_an_error(self):
        async def run():
            for flags, name in ((["--no-such-flag"], PROGRAM), ([], "/nowhere/zeitnot"), ([], "/tmp")):
                with self.assertRaises(zeitnot.EngineError):
                    await zeitnot.AsyncEngine(*flags, program=name).start()

        asyncio.run(run())


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

#!/usr/bin/env python3
"""Tests of the client of `zeitnot serve`.

Usage: python3 tests/python/client.py PATH_TO_ZEITNOT    (boards and games are tried where the package `chess` is there)
"""

import asyncio
import itertools
import json
import subprocess
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
import zeitnot

PROGRAM = "zeitnot"
FLAGS = ["--backend=random", "--threads=1"]
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
        self.assertLessEqual(next(taken), 500 + 20 + 1)

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
            kinds = [answer.final for answer in started.answers([{"movetime": 200, "report_every": 20}])]
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
        with self.assertRaisesRegex(zeitnot.EngineError, "code 2"):
            with engine("--no-such-flag") as started:
                list(started.answers(numbered(5)))
        with self.assertRaisesRegex(zeitnot.EngineError, "no server answers"):
            zeitnot.Engine(address="127.0.0.1:1")
        with Server() as server, zeitnot.Engine(address=server.address) as started:
            answers = started.answers(numbered(5, nodes=LONG))
            server.process.kill()
            with self.assertRaisesRegex(zeitnot.EngineError, "closed the connection"):
                list(answers)

    def test_answers_have_names_and_types(self):
        with engine() as started:
            answer = started.analyse({"id": {"any": "thing"}, "moves": ["e4"]}, nodes=50)
            self.assertEqual((answer.id, answer.turn, answer.ply, answer.reason), ({"any": "thing"}, "black", 1, "nodes"))
            self.assertEqual(answer.best, answer.moves[0].move)
            self.assertEqual(sum(move.visits for move in answer.moves), answer.visits - 1)
            self.assertTrue(started.version()["version"])

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
            async with zeitnot.AsyncEngine("--no-such-flag", program=PROGRAM) as started:
                with self.assertRaises(zeitnot.EngineError):
                    [_ async for _ in started.answers(numbered(5))]
            with self.assertRaises(zeitnot.EngineError):
                await zeitnot.AsyncEngine(program="/nowhere/zeitnot").__aenter__()

        asyncio.run(run())


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

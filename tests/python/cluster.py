#!/usr/bin/env python3
"""Tests of zeitnot.cluster on workers of this machine.

Usage: python3 tests/python/cluster.py PATH_TO_ZEITNOT    (needs the package `distributed` of PyPI)
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

os.environ["PYTHONPATH"] = str(Path(__file__).parents[2] / "python")
sys.path.insert(0, os.environ["PYTHONPATH"])

from distributed import Client, Nanny, Scheduler, SpecCluster

import zeitnot
from zeitnot import cluster

PROGRAM = "zeitnot"
MATCH = ["--backend=random", "--games=40", "--nodes=20", "--max-plies=60", "--a=CPuct=0.5", "--seed=5"]


def workers(*environments):
    """A cluster of a worker for each environment."""
    option = {"dashboard_address": None, "host": "127.0.0.1", "port": 0}
    nannies = {
        number: {"cls": Nanny, "options": {"nthreads": 1, "env": environment, "host": "127.0.0.1"}}
        for number, environment in enumerate(environments)
    }
    return SpecCluster(workers=nannies, scheduler={"cls": Scheduler, "options": option}, silence_logs=50)


class Clusters(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_match(self, client, out, *more, program=None, parts=4):
        arguments = [*MATCH, *more, f"--out={self.path / out}"]
        return cluster.run(client, "match", arguments, name=program or PROGRAM, parts=parts, show=lambda _: None)

    def rows(self, out):
        return [(self.path / out / name).read_bytes() for name in ("games.csv", "moves.csv")]

    def test_a_match_is_that_of_one_machine_also_where_a_worker_dies(self):
        alone = [PROGRAM, "match", *MATCH, "--threads=1", "--out", str(self.path / "alone")]
        subprocess.run(alone, check=True, capture_output=True)
        with workers({}, {}) as started, Client(started) as client:
            report = self.run_match(client, "whole")
            self.assertEqual(report["matches"][0]["games"], 40)
            self.assertEqual(self.rows("whole"), self.rows("alone"))
            self.assertEqual((self.path / "whole/games.pgn").read_bytes().count(b"[Result "), 40)

            killed = threading.Event()

            def kill():
                for _ in range(1000):
                    running = [worker for worker, tasks in client.processing().items() if tasks]
                    if running:
                        os.kill(client.run(os.getpid, workers=running[:1])[running[0]], signal.SIGKILL)
                        return killed.set()
                    time.sleep(0.01)

            thread = threading.Thread(target=kill)
            thread.start()
            self.run_match(client, "killed", parts=10)
            thread.join()
            self.assertTrue(killed.is_set())
            self.assertEqual(self.rows("killed"), self.rows("alone"))
            with self.assertRaisesRegex(cluster.ClusterError, "another --out"):
                self.run_match(client, "killed")

    def test_a_test_over_all_parts_ends_the_match(self):
        with workers({}) as started, Client(started) as client:
            shown = []
            arguments = ["--backend=trivial", "--nodes=2", "--b=nodes=60", "--games=400", "--max-plies=100", "--sprt=elo0=0,elo1=20"]
            report = cluster.run(
                client, "match", [*arguments, f"--out={self.path / 'test'}"], name=PROGRAM, parts=40, show=shown.append
            )
            found = report["matches"][0]
            self.assertIn(found["sprt"]["verdict"], ("H0", "H1"))
            self.assertLess(found["games"], 400)

    def test_workers_of_another_version_are_left_out(self):
        wrapper = self.path / "wrapper"
        wrapper.write_text(f'#!/bin/sh\n[ "$1$OTHER" = --versionyes ] && echo "zeitnot 0.0.1" && exit\nexec "{PROGRAM}" "$@"\n')
        wrapper.chmod(0o755)
        with workers({"OTHER": "yes"}, {}) as started, Client(started) as client:
            self.assertEqual(len(cluster.usable_workers(client, str(wrapper))), 1)
            self.run_match(client, "one", program=str(wrapper))
        with workers({"OTHER": "yes"}) as started, Client(started) as client:
            with self.assertRaisesRegex(cluster.ClusterError, "same version"):
                self.run_match(client, "none", program=str(wrapper))

    def test_a_part_that_fails_names_the_message_of_the_program(self):
        with workers({}) as started, Client(started) as client:
            with self.assertRaisesRegex(cluster.ClusterError, "no-such-flag"):
                self.run_match(client, "failed", "--no-such-flag")

    def test_positions_are_answered_in_their_order(self):
        with workers({}, {}) as started, Client(started) as client:
            flags = ["--backend=random", "--threads=1"]
            queries = ({"id": number, "moves": ["e4"]} for number in range(300))
            found = list(cluster.analyse(queries, client, flags=flags, name=PROGRAM, chunk=20, nodes=3))
        self.assertEqual([answer.id for answer in found], list(range(300)))
        self.assertIsInstance(found[0], zeitnot.Answer)

    def test_files_that_arguments_name_reach_the_workers(self):
        names = [self.path / name for name in ("net.pb.gz", "book.epd")]
        for name in names:
            name.write_text(name.name)
        arguments = [f"--a=WeightsFile={names[0]},CPuct=2", "--openings", str(names[1]), "--nodes=5"]
        files = cluster._Files(arguments)
        self.assertEqual(set(files.found), {str(name) for name in names})
        with workers({}) as started, Client(started) as client:
            files.bring(client, cluster.usable_workers(client, PROGRAM))
        for _, sha256, name in files.places():
            self.assertEqual(cluster._stored(sha256, name).read_text(), name)

    def test_parts_of_training_data_have_seeds_and_games_of_their_own(self):
        parts = cluster.parts_of("datagen", ["play", "--games=10", "--seed", "3", "--teacher=x"], 4)
        self.assertEqual([part[0][3:] for part in parts][0], ["--games=3", "--seed=3"])
        self.assertEqual(sum(int(part[0][3].partition("=")[2]) for part in parts), 10)
        self.assertEqual(len({part[0][4] for part in parts}), 4)


if __name__ == "__main__":
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

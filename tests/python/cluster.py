#!/usr/bin/env python3
"""Tests of zeitnot.cluster on workers of this machine.

Usage: python3 tests/python/cluster.py PATH_TO_ZEITNOT    (needs the package `distributed` of PyPI)
"""

import hashlib
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

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


def running():
    """The programs of matches, but for those that watch them."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines()
    return [line for line in found if line.startswith(f"{PROGRAM} match")]


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
            self.assertEqual(running(), [])
            self.assertEqual(self.rows("killed"), self.rows("alone"))
            # All of it is there, made by other parts.
            again = self.run_match(client, "killed", parts=3)
            self.assertNotEqual(again.pop("made_by"), report.pop("made_by"))
            self.assertEqual(again, report)
            with self.assertRaisesRegex(cluster.ClusterError, "another --out"):
                self.run_match(client, "killed", "--cpuct=2")
            with self.assertRaisesRegex(cluster.ClusterError, "another --out"):
                self.run_match(client, "alone")

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

    def test_games_begin_from_the_built_in_book_and_equal_ones_count_once(self):
        arguments = ["--backend=trivial", "--games=40", "--nodes=5", "--max-plies=20", "--a=CPuct=0.5"]
        with workers({}) as started, Client(started) as client:
            counts = []
            for openings in ([], ["--openings=none"]):
                words = [*arguments, *openings, f"--out={self.path / str(len(openings))}"]
                (match,) = cluster.run(client, "match", words, name=PROGRAM, parts=4, show=lambda _: None)["matches"]
                counts.append((match["games"], match["different_games"]))
        self.assertEqual(counts[0], (40, 40))
        # Each part ends when nothing new can come.
        self.assertEqual(counts[1], (2, 2))

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
            with self.assertRaisesRegex(cluster.ClusterError, "part 1: .*missing.epd: there is no such file|CPuct"):
                self.run_match(client, "failed", "--b=CPuct=much")

    def test_what_names_no_file_is_an_error_before_anything_begins(self):
        for flags in (["--openings=missing.epd"], ["--weights", "missing.pb.gz"], ["--a=CPuct=2,WeightsFile=missing.pb.gz"]):
            with self.assertRaisesRegex(cluster.ClusterError, "missing.*: there is no such file"):
                cluster.run(None, "match", [*flags, "--out=x"], name=PROGRAM)
        with self.assertRaisesRegex(cluster.ClusterError, "no file of games"):
            cluster._Command(PROGRAM, "analyse", ["--nodes", "5"]).parts(1)

    def test_positions_are_answered_in_their_order_and_refused_ones_are_among_them(self):
        with workers({}, {}) as started, Client(started) as client:
            flags = ["--backend=random", "--threads=1"]
            queries = ({"id": number, "moves": ["e5" if number == 70 else "e4"]} for number in range(300))
            found = list(cluster.analyse(queries, client, flags=flags, name=PROGRAM, chunk=20, nodes=3))
        self.assertEqual([answer.id for answer in found], list(range(300)))
        self.assertEqual([type(answer) for answer in found].count(zeitnot.Answer), 299)
        self.assertEqual((found[70].field, str(found[70])[:5]), ("moves", "moves"))

    def test_each_file_of_games_has_a_folder_of_its_own(self):
        game = '[White "%s"]\n\n1. e4 e5 2. Nf3 Nc6 *\n\n'
        names = ["2026.10.pgn", "2026.11.pgn", "a/games.pgn", "b/games.pgn", "b/games-2.pgn"]
        for name in names:
            (self.path / name).parent.mkdir(exist_ok=True)
            # Two have one content.
            (self.path / name).write_text(game % name[:6])
        files = [str(self.path / name) for name in names]
        with workers({}) as started, Client(started) as client:
            arguments = [*files[:2], "--nodes", "5", *files[2:], "--backend=random", f"--out={self.path / 'out'}"]
            cluster.run(client, "analyse", arguments, name=PROGRAM, show=lambda _: None)
        found = {path.parent.name: path.read_text() for path in self.path.glob("out/*/games.pgn")}
        self.assertEqual(sorted(found), ["2026.10", "2026.11", "games", "games-2", "games-2-2"])
        self.assertEqual(len([text for text in found.values() if "b/game" in text]), 2)

    def test_files_are_put_in_by_their_places(self):
        network = self.path / "net.pb.gz"
        network.write_bytes((Path(__file__).parents[2] / "models/zeitnot-small.pb.gz").read_bytes())
        for name in ("same.pb.gz", "old/net.pb.gz", "big-net.pb.gz", "4", "20"):
            (self.path / name).parent.mkdir(exist_ok=True)
            (self.path / name).write_bytes(network.read_bytes())
        arguments = ["--games", "4", "--nodes", "20", "--max-plies=6"]
        arguments += ["--a", "WeightsFile=net.pb.gz", "--b", f"WeightsFile={self.path / 'old/net.pb.gz'},CPuct=2"]
        arguments += ["--weights", "big-net.pb.gz", "--openings", str(self.path / "my openings, new=1.epd"), "--out=out"]
        (self.path / "my openings, new=1.epd").write_text(
            # Two, as equal games are not played again.
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n"
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n"
        )
        here = os.getcwd()
        os.chdir(self.path)
        try:
            with workers({}) as started, Client(started) as client:
                shutil.rmtree(cluster._store(), ignore_errors=True)
                cluster._store.cache_clear()
                client.run(cluster._store.cache_clear)
                report = cluster.run(client, "match", arguments, name=PROGRAM, parts=2, show=lambda _: None)
        finally:
            os.chdir(here)
        (match,) = report["matches"]
        self.assertEqual(match["games"], 4)
        self.assertEqual((match["a"], match["b"]), ("WeightsFile=net.pb.gz", f"WeightsFile={self.path / 'old/net.pb.gz'},CPuct=2"))

    def test_what_names_a_file_is_parsed_as_the_program_parses_it(self):
        folder = self.path / "folder with space"
        folder.mkdir()
        network, engine = folder / "öä (1), it's.pb.gz", folder / "engine"
        network.write_bytes((Path(__file__).parents[2] / "models/zeitnot-small.pb.gz").read_bytes())
        engine.write_text(f'#!/bin/sh\n[ -f "$2" ] || exit 3\nexec "{PROGRAM}" --backend=random "--logfile="\n')
        engine.chmod(0o755)
        plain = folder / "plain (1).pb.gz"
        plain.write_bytes(network.read_bytes())
        match = ["--games=4", "--nodes=5", "--max-plies=6"]
        with workers({}) as started, Client(started) as client:
            for number, side in enumerate((
                f"WeightsFile={plain},CPuct=2",
                f'CPuct=2,weightsfile="{network}"',
                f"cmd={engine},args=--net \"{network}\",name=x",
            )):
                arguments = [*match, f"--b={side}", f"--out={self.path / str(number)}"]
                report = cluster.run(client, "match", arguments, name=PROGRAM, parts=2, show=lambda _: None)
                self.assertEqual(report["matches"][0]["games"], 4, side)
            for side in ("CPuct=2,WeightsFile=no (such.pb,", "weightsfile='no such.pb'"):
                with self.assertRaisesRegex(cluster.ClusterError, "no .*such.pb.*: there is no such file"):
                    cluster.run(client, "match", [*match, f"--b={side}", "--out=x"], name=PROGRAM)

    def test_files_are_those_that_were_sent_whatever_lies_in_the_temporary_folder(self):
        data = b"what the user sent"
        sha256 = hashlib.sha256(data).hexdigest()
        theirs = self.path / "theirs"

        def own_folder():
            cluster._store.cache_clear()
            return cluster._store()

        def plant(folder):
            folder.mkdir(exist_ok=True)
            (folder / sha256).write_bytes(b"what somebody else put there")

        with mock.patch.object(tempfile, "tempdir", str(self.path)):
            folder = own_folder()
            self.assertEqual(stat.S_IMODE(folder.lstat().st_mode), 0o700)
            self.assertIn(str(os.getuid()), folder.name)
            plant(folder)
            self.assertEqual(cluster._missing([sha256]), [sha256])
            with self.assertRaisesRegex(cluster.ClusterError, "not the file that was sent"):
                cluster._lay(self.path / "part", [("name", sha256)])
            cluster._keep(sha256, 0o755, data)
            self.assertEqual(cluster._missing([sha256]), [])
            cluster._lay(self.path / "part", [("name", sha256)])
            self.assertEqual((self.path / "part/name").read_bytes(), data)
            with self.assertRaisesRegex(cluster.ClusterError, "changed"):
                cluster._keep(sha256, 0o755, b"other")
            # A link, a file, and the folder of another user.
            shutil.rmtree(folder)
            plant(theirs)
            folder.symlink_to(theirs)
            self.assertEqual((own_folder() == folder, cluster._missing([sha256])), (False, [sha256]))
            folder.unlink()
            folder.write_text("")
            self.assertNotEqual(own_folder(), folder)
            folder.unlink()
            if os.getuid() == 0:
                plant(folder)
                os.chown(folder, 12345, 12345)
                self.assertEqual((own_folder() == folder, cluster._missing([sha256])), (False, [sha256]))
            cluster._keep(sha256, 0o644, data)
            self.assertEqual(cluster._missing([sha256]), [])
        cluster._store.cache_clear()

    def test_a_folder_has_one_head_at_a_time(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "out")
            with cluster._alone(folder, print):
                with self.assertRaisesRegex(cluster.ClusterError, f"in use by process {os.getpid()} on "):
                    with cluster._alone(folder, print):
                        pass
                self.assertEqual(cluster._state(folder / cluster.STATE, {"done": []}), {"done": []})
            with cluster._alone(folder, print):
                pass

    def test_a_damaged_state_is_refused_in_words(self) -> None:
        new = {"command": ["match"], "files": [], "parts": 2, "done": []}
        for text in ("", "{}", "[]", '{"command":', json.dumps({**new, "done": [7]}), json.dumps({**new, "done": None})):
            with tempfile.TemporaryDirectory() as name:
                path = Path(name, cluster.STATE)
                path.write_text(text)
                with self.assertRaisesRegex(cluster.ClusterError, "is damaged"):
                    cluster._state(path, new)

    def test_no_name_leads_out_of_the_folder(self):
        names = ["...pgn", "..pgn", ".pgn", "....pgn.gz", "..", ". .pgn", "cluster.json.pgn", "a.pgn", "A.pgn", "b/a.pgn", "ok.pgn"]
        folders = [folder for _, folder in cluster._Command(PROGRAM, "analyse", [f"x/{name}" for name in names]).parts(1)]
        self.assertEqual(len({folder.lower() for folder in folders}), len(names), folders)
        for folder in folders:
            self.assertEqual((self.path / "out" / folder).resolve().parent, self.path.resolve() / "out", folder)
            self.assertNotIn(folder, ("", ".", "..", cluster.STATE))
        for name in ("../x", "a/../../x", "/tmp/x"):
            with self.assertRaisesRegex(cluster.ClusterError, "leads out"):
                cluster._write(self.path / "out", [(name, b"")])

    def test_the_numbers_of_answers_go_on_and_one_position_needs_no_list(self):
        with workers({}) as started, Client(started) as client:
            keys = {"flags": ["--backend=random", "--threads=1"], "name": PROGRAM, "nodes": 1}
            for chunk in (2, 64):
                found = list(cluster.analyse(["startpos"] * 130, client, chunk=chunk, **keys))
                self.assertEqual([answer.id for answer in found], list(range(130)))
            self.assertEqual([answer.id for answer in cluster.analyse("startpos", client, **keys)], [0])
            self.assertEqual([answer.id for answer in cluster.analyse([{"id": "own"}, {}], client, **keys)], ["own", 1])

    def test_workers_may_come_late_and_go(self):
        slow = ["--backend=simulated(latency-us=4000)", "--games=24", "--nodes=20", "--max-plies=12", "--threads=1"]
        alone = [PROGRAM, "match", *slow, "--concurrency=24", "--out", str(self.path / "alone")]
        subprocess.run(alone, check=True, capture_output=True)

        def part_of(client):
            while not (found := [worker for worker, tasks in client.processing().items() if tasks]):
                time.sleep(0.01)
            return found

        def run(client, out):
            arguments = [*slow, "--concurrency=1", f"--out={self.path / out}"]
            return cluster.run(client, "match", arguments, name=PROGRAM, parts=8, show=lambda _: None)

        # A busy machine needs long to start a worker.
        with mock.patch.object(cluster, "ABSENCE", 120), workers({}) as started, Client(started) as client:
            seen, late = set(), []

            def disturb():
                # The only worker dies, its nanny starts another, and one more comes later.
                first = part_of(client)[0]
                os.kill(client.run(os.getpid, workers=[first])[first], signal.SIGKILL)
                late.append(subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", started.scheduler_address, "--nthreads=1", "--no-dashboard"], stderr=subprocess.DEVNULL))
                while len(seen) < 2:
                    seen.update(worker for worker in part_of(client) if worker != first)

            thread = threading.Thread(target=disturb, daemon=True)
            thread.start()
            run(client, "late")
            thread.join(30)
            late[0].terminate()
            late[0].wait()
            self.assertEqual(len(seen), 2)
            self.assertEqual(self.rows("late"), self.rows("alone"))

            # The same for positions.
            def kill():
                worker = part_of(client)[0]
                os.kill(client.run(os.getpid, workers=[worker])[worker], signal.SIGKILL)

            thread = threading.Thread(target=kill, daemon=True)
            thread.start()
            flags = ["--backend=simulated(latency-us=2000)", "--threads=1"]
            found = list(cluster.analyse([{"moves": ["e4"]}] * 60, client, flags=flags, name=PROGRAM, chunk=4, nodes=10))
            thread.join(30)
            self.assertEqual([answer.id for answer in found], list(range(60)))

    def head(self, *arguments):
        command = [sys.executable, "-m", "zeitnot.cluster", "--program", PROGRAM, "--scheduler", *arguments]
        return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def test_a_run_that_is_stopped_ends_its_programs_and_goes_on(self):
        # Games that differ: those that were played before cost no time.
        slow = ["match", "--games=16", "--nodes=20", "--max-plies=16", "--backend=simulated(latency-us=12000)", "--temperature=1"]
        slow += ["--threads=1"]
        arguments = ["local:2", "--parts=2", *slow, "--concurrency=1", f"--out={self.path / 'out'}"]
        alone = [PROGRAM, *slow, "--concurrency=16", f"--out={self.path / 'alone'}"]
        subprocess.run(alone, check=True, capture_output=True)
        kept = 0
        for sent in (signal.SIGINT, signal.SIGTERM):
            with self.head(*arguments) as head:
                # A game has ended in each part, or in the one that is left.
                seen = next((line for line in head.stderr if " games" in line), None)
                self.assertTrue(seen, (sent, kept))
                # As a terminal does, to all of the group.
                os.killpg(head.pid, sent) if sent == signal.SIGINT else head.send_signal(sent)
                said = head.communicate(timeout=60)[1]
                self.assertEqual(head.returncode, 130, said)
                self.assertNotIn("Traceback", said)
            games = sum(path.read_text().count("\n") - 1 for path in self.path.glob("out/parts/*/games.csv"))
            self.assertGreater(games, kept)
            kept = games
            self.assertEqual(running(), [])
        with self.head(*arguments) as head:
            head.communicate(timeout=120)
        self.assertEqual(self.rows("out"), self.rows("alone"))

    def test_a_scheduler_that_is_not_there_is_said_soon(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            for port in (1, silent.getsockname()[1]):
                with self.head(f"tcp://127.0.0.1:{port}", "match", "--out=x") as head:
                    said = head.communicate(timeout=30)[1]
                self.assertEqual(said, f"zeitnot.cluster: no scheduler answers at tcp://127.0.0.1:{port}: start one with `dask scheduler`\n")


if __name__ == "__main__":
    # A shell starts what is in the background deaf to Ctrl-C, and so would all be that these tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()

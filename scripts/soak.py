#!/usr/bin/env python3
"""Lets the engine play and search for hours, in parts that can be stopped and gone on with, and counts what went wrong.

    soak.py games ENGINE FOLDER --runner FASTCHESS --tc 1+0.01 --games 2000     games against itself, two at once
    soak.py sessions ENGINE FOLDER --hours 12                                   random commands and options, checked
    soak.py summary FOLDER                                                      what FOLDER holds so far; exit code 1 if anything is wrong

Each part ends with a line in FOLDER/games.jsonl or FOLDER/sessions.jsonl; the same command goes on behind the last one.
Needs the package `chess` of PyPI; games need fastchess (https://github.com/Disservin/fastchess).
"""

import argparse
import io
import itertools
import json
import queue
import random
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import chess
import chess.pgn

# Games between two lines of the record.
GAMES_AT_ONCE = 20
# An answer that takes longer counts as missing, s; other work on the machine must not look like a fault.
PATIENCE = 120
# Options that name files or heads that a network may not have, would make a session unlike any other, or take memory that is not there.
LEFT_ALONE = {"PolicyHead", "ValueHead", "WeightsFile", "LogFile", "ConfigFile", "SyzygyPath", "BackendOptions", "EngineName", "Backend", "Fallback"}
CAPS = {"Threads": (0, 4), "MaxPrefetch": (0, 40), "NNCacheSize": (0, 200_000), "RamLimitMb": (20, 100), "MinibatchSize": (0, 64), "Hash": (1, 64), "MultiPV": (1, 20)}
# Whose values a number is to be drawn around: a limit of one node a second would only wait.
SLOWING = {"NodesPerSecondLimit", "MoveOverheadMs", "Move Overhead", "nodestime"}


def append(path, row):
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def children_of(pid):
    """Returns the processes that any thread of a process has started."""
    pids = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            pids += file.read_text().split()
        except OSError:
            pass  # The thread has just ended.
    return pids


def memory_kb(pid):
    """Returns the memory that a process has in use."""
    status = Path(f"/proc/{pid}/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS")), None)


def play_games(args):
    """Plays parts of games until there are enough."""
    record = args.folder / "games.jsonl"
    flags = ["--threads=1", *args.engine_flag]
    while (done := sum(row["games"] for row in rows(record) if row["tc"] == args.tc)) < args.games:
        pgn = args.folder / "part.pgn"
        pgn.unlink(missing_ok=True)
        player = [f"cmd={args.engine}", "proto=uci", f"args={' '.join(flags)}"]
        command = [args.runner, "-engine", "name=a", *player, "-engine", "name=b", *player, "-each", f"tc={args.tc}"]
        command += ["-rounds", str(min(GAMES_AT_ONCE, args.games - done) // 2 or 1), "-repeat", "-concurrency", str(args.at_once)]
        command += ["-pgnout", f"file={pgn}", "timeleft=true", "-srand", str(done), "-maxmoves", "200"]
        if args.openings:
            command += ["-openings", f"file={args.openings}", "format=epd", "order=random"]
        began, peak = time.monotonic(), 0
        with (args.folder / "part.log").open("w+") as log:
            runner = subprocess.Popen(command, cwd=args.folder, stdout=log, stderr=subprocess.STDOUT)
            try:
                while runner.poll() is None:
                    time.sleep(1)
                    peak = max([peak, *(memory_kb(pid) or 0 for pid in children_of(runner.pid))])
            finally:
                # Else a part that was stopped would play on beside the next one.
                runner.terminate()
                runner.wait()
            log.seek(0)
            said = log.read()
        row = {"tc": args.tc, "games": 0, "plies": 0, "ends": {}, "seconds": round(time.monotonic() - began, 1), "peak_kb": peak}
        row["warnings"] = [line for line in said.splitlines() if "arning" in line or "illegal" in line.lower() or "disconnect" in line.lower()]
        text = pgn.read_text(encoding="utf-8")
        row["least_clock_ms"] = min((round(1000 * float(left)) for left in re.findall(r"\btl=(-?[0-9.]+)s", text)), default=None)
        with io.StringIO(text) as file:
            while (game := chess.pgn.read_game(file)) is not None:
                row["games"] += 1
                row["plies"] += game.end().ply()
                end = game.headers.get("Termination", "?")
                row["ends"][end] = row["ends"].get(end, 0) + 1
        if runner.returncode != 0 or row["games"] == 0:
            sys.exit(f"{args.runner} failed:\n{said}")
        append(record, row)
        print(json.dumps(row), flush=True)


class Engine:
    """A process whose lines are read by a thread."""

    def __init__(self, program, flags):
        self.process = subprocess.Popen([program, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.lines = queue.Queue()
        self.faults = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip())
        self.lines.put(None)

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read_until(self, start):
        """Returns the next line that begins with `start`, and notes complaints before it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            line = self.lines.get(timeout=max(0.01, deadline - time.monotonic()))
            if line is None:
                raise EOFError(f"the engine ended before {start}")
            if line.startswith(start):
                return line
            if line.startswith("bestmove"):
                self.faults.append(f"unexpected: {line}")
            if line.startswith("info string ERROR"):
                self.faults.append(line)

    def ask_options(self):
        self.send("uci")
        options = []
        while (line := self.lines.get(timeout=PATIENCE)) != "uciok":
            if line.startswith("option name "):
                options.append(line)
        return options


def random_setting(line, random):
    """Returns a `setoption` with a value that the option line allows, or None."""
    name, rest = line.removeprefix("option name ").split(" type ", 1)
    words = rest.split()
    value_of = lambda key: words[words.index(key) + 1] if key in words else None
    if name in LEFT_ALONE or words[0] == "string" and name not in ("Threads",):
        return None
    if words[0] == "button":
        return f"setoption name {name}"
    if words[0] == "check":
        return f"setoption name {name} value {random.choice(['true', 'false'])}"
    if words[0] == "combo":
        values = rest.split(" var ")[1:]
        return f"setoption name {name} value {random.choice(values).strip()}"
    if name in SLOWING:
        return f"setoption name {name} value {value_of('default')}"
    least, most = CAPS.get(name, (int(value_of("min")), int(value_of("max"))))
    most = min(most, least + 1000) if name not in CAPS else most
    return f"setoption name {name} value {random.randint(least, most)}"


def random_board(random):
    board = chess.Board()
    for _ in range(random.randrange(0, 160)):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(random.choice(moves))
    if not any(board.legal_moves):
        board.pop()
    return board


def random_go(random):
    """Returns a `go`, and whether only `stop` ends it."""
    clock = f"wtime {random.randrange(50, 5000)} btime {random.randrange(50, 5000)} winc {random.randrange(0, 50)} binc {random.randrange(0, 50)}"
    kinds = ["infinite"] * 4 + [f"nodes {random.randrange(1, 3000)}", f"movetime {random.randrange(1, 300)}", clock, f"depth {random.randrange(1, 6)}", clock + " movestogo 5"]
    kind = random.choice(kinds)
    return f"go {kind}", kind == "infinite"


def one_session(args, number):
    """Runs one process through random searches; returns its row."""
    random_ = random.Random(number)
    backend = random_.choice(["--backend=random"] * 3 + ["--backend=native"])
    engine = Engine(args.engine, [backend, "--show-hidden", *args.engine_flag])
    row = {"session": number, "backend": backend, "searches": 0, "stops": 0, "settings": 0, "new_games": 0}
    began, first_kb = time.monotonic(), None
    try:
        options = engine.ask_options()
        for search in range(args.searches):
            for _ in range(random_.randrange(0, 4)):
                if setting := random_setting(random_.choice(options), random_):
                    engine.send(setting)
                    row["settings"] += 1
            if random_.random() < 0.1:
                engine.send("ucinewgame")
                row["new_games"] += 1
            engine.send("isready")
            engine.read_until("readyok")
            board = random_board(random_)
            # UCI_Chess960 may be on: castling is then written in another way, which is understood both ways.
            moves = " ".join(move.uci() for move in board.move_stack)
            engine.send(f"position startpos moves {moves}" if moves and random_.random() < 0.5 else f"position fen {board.fen()}")
            go, is_infinite = random_go(random_)
            engine.send(go)
            if is_infinite or random_.random() < 0.2:
                time.sleep(random_.random() ** 2 * 0.6)
                if random_.random() < 0.3 and (setting := random_setting(random_.choice(options), random_)):
                    engine.send(setting)
                    row["settings"] += 1
                if random_.random() < 0.3:
                    engine.send("isready")
                if is_infinite and any(line and line.startswith("bestmove") for line in list(engine.lines.queue)):
                    engine.faults.append("bestmove before stop")
                engine.send("stop")
                row["stops"] += 1
            answer = engine.read_until("bestmove").split()[1]
            chess960 = chess.Board(board.fen(), chess960=True)
            legal = {move.uci() for move in board.legal_moves} | {move.uci() for move in chess960.legal_moves}
            if answer not in legal:
                engine.faults.append(f"{answer} is not legal in {board.fen()}")
            row["searches"] += 1
            if search == args.searches // 4:
                first_kb = memory_kb(engine.process.pid)
        row["kb_after_a_quarter"], row["kb_at_the_end"] = first_kb, memory_kb(engine.process.pid)
        engine.send("quit")
        row["exit_code"] = engine.process.wait(timeout=PATIENCE)
        if row["exit_code"] != 0:
            engine.faults.append(f"exit code {row['exit_code']}")
    except (queue.Empty, EOFError, BrokenPipeError, subprocess.TimeoutExpired) as error:
        engine.faults.append(f"{type(error).__name__}: {error}")
        engine.process.kill()
    row["seconds"] = round(time.monotonic() - began, 1)
    row["faults"] = engine.faults
    return row


def run_sessions(args):
    """Runs sessions until their times add up to the hours that are wanted."""
    record = args.folder / "sessions.jsonl"
    done = rows(record)
    numbers = itertools.count(1 + max((row["session"] for row in done), default=-1))
    left = args.hours * 3600 - sum(row["seconds"] for row in done)
    lock = threading.Lock()

    def work():
        nonlocal left
        while left > 0:
            with lock:
                number = next(numbers)
            row = one_session(args, number)
            with lock:
                left -= row["seconds"]
                append(record, row)
                print(json.dumps(row), flush=True)

    # They end with the process, as a part that was stopped does not count.
    threads = [threading.Thread(target=work, daemon=True) for _ in range(args.at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def summarize(args):
    wrong = 0
    games = rows(args.folder / "games.jsonl")
    for tc in sorted({row["tc"] for row in games}):
        part = [row for row in games if row["tc"] == tc]
        ends = {}
        for row in part:
            for end, count in row["ends"].items():
                ends[end] = ends.get(end, 0) + count
        warnings = [warning for row in part for warning in row["warnings"]]
        wrong += len(warnings) + sum(count for end, count in ends.items() if end not in ("normal", "adjudication"))
        print(f"{tc}: {sum(row['games'] for row in part)} games, {sum(row['plies'] for row in part)} plies, {sum(row['seconds'] for row in part) / 3600:.2f} h")
        clocks = [row["least_clock_ms"] for row in part if row.get("least_clock_ms") is not None]
        print(f"  ends {ends}, warnings of the runner {len(warnings)}, most memory of a process {max(row['peak_kb'] for row in part) // 1024} MB")
        print(f"  smallest clock {min(clocks, default='?')} ms")
    sessions = rows(args.folder / "sessions.jsonl")
    if sessions:
        faults = [fault for row in sessions for fault in row["faults"]]
        wrong += len(faults)
        total = lambda key: sum(row.get(key, 0) or 0 for row in sessions)
        print(f"sessions: {len(sessions)}, {total('seconds') / 3600:.2f} h, {total('searches')} searches, {total('stops')} stopped, {total('settings')} options set, {total('new_games')} new games")
        print(f"  faults {len(faults)} {faults[:5]}")
        for when in ("kb_after_a_quarter", "kb_at_the_end"):
            kb = sorted(row[when] for row in sessions if row.get(when)) or [0]
            print(f"  memory {when[3:].replace('_', ' ')} of a session, MB: median {kb[len(kb) // 2] // 1024}, most {kb[-1] // 1024}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("games", "sessions", "summary"):
        command = commands.add_parser(name)
        if name != "summary":
            command.add_argument("engine", type=lambda path: str(Path(path).resolve()))
            command.add_argument("--engine-flag", action="append", default=[], help="a flag for the engine; may be given several times")
            command.add_argument("--at-once", type=int, default=2 if name == "games" else 1, help="so many games or sessions beside each other")
        command.add_argument("folder", type=lambda path: Path(path).resolve())
        if name == "games":
            command.add_argument("--runner", default="fastchess")
            command.add_argument("--tc", default="1+0.01")
            command.add_argument("--games", type=int, default=2000)
            command.add_argument("--openings", help="an EPD file")
        if name == "sessions":
            command.add_argument("--hours", type=float, default=12, help="sum of the sessions' durations")
            command.add_argument("--searches", type=int, default=20, help="commands `go` of one process, between two lines of the record")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    # As Ctrl-C does: what is under way is ended, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run = {"games": play_games, "sessions": run_sessions, "summary": summarize}[args.command]
    sys.exit(run(args))


if __name__ == "__main__":
    main()

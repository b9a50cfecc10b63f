"""Runs Zeitnot on the workers of a Dask cluster.

    python -m zeitnot.cluster --scheduler ADDRESS match --games 4000 --nodes 400 --b CPuct=2 --out match1
    python -m zeitnot.cluster --scheduler local:4 movesleft --pgn games.pgn.zst --out movesleft1

The command is one of match, movesleft, timelab and analyse, with its own flags. It is cut into parts, and what comes of them is
put together as if one machine had done all. The same command goes on where it was stopped. Programs call `analyse`. See
docs/guide/long-runs.md.
"""

import argparse
import hashlib
import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict, deque
from contextlib import contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NoReturn, Optional, Sequence, Set, Tuple

try:
    import distributed
except ImportError as error:
    raise SystemExit("zeitnot.cluster needs Dask: pip install distributed") from error

from .client import Engine, Position, Result, program, query_of

# Dask's functions have no types.
dask: Any = distributed

SHARDED = ("match", "movesleft", "timelab")
COMMANDS = (*SHARDED, "analyse")
# Parts for each worker unless the user says otherwise: a slow or lost one then costs little.
PARTS_PER_WORKER = 4
# How often a part is begun again whose program failed.
RETRIES = 2
OPTIONS: Dict[str, Any] = {"allow_other_workers": False, "retries": RETRIES, "pure": False}
# Characters of a program's messages that are shown where it failed.
SHOWN = 2000
# Seconds until a scheduler must have answered, between two looks at the parts, between two lines of progress, and between two
# looks for the workers.
CONNECT, LOOK, PROGRESS, ABSENCE = 4, 0.1, 10, 15
# Seconds in which the parts must end that are told to.
ENDING = 30
# What is known of a run, in its folder.
STATE = "cluster.json"
# Ends a program with the process that holds its input: a worker that is killed cannot.
WATCH = """
import os, signal, subprocess, sys, threading
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
def watch():
    sys.stdin.read()
    child.send_signal(signal.SIGTERM if os.name == "nt" else signal.SIGINT)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
threading.Thread(target=watch, daemon=True).start()
sys.exit(child.wait())
"""

Show = Callable[[str], Any]
Submit = Callable[[str, int], Any]
Keep = Callable[[int, bool, List[Tuple[str, bytes]]], bool]
# Paths in a folder with contents.
Files = List[Tuple[str, bytes]]
# Paths in a part's folder with their contents' hashes.
Places = List[Tuple[str, str]]


class ClusterError(Exception):
    """A run cannot begin or go on. The message says why and what helps."""


# What runs on the workers.


def _program(name: Optional[str]) -> str:
    return os.path.abspath(name) if name and os.path.dirname(name) else name or program()


def _version(name: Optional[str]) -> str:
    try:
        command = [_program(name), "--version"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no program ({error})"


def _stored(sha256: str) -> Path:
    return Path(tempfile.gettempdir(), "zeitnot-files", sha256)


def _missing(hashes: List[str]) -> List[str]:
    return [sha256 for sha256 in hashes if not _stored(sha256).exists()]


def _store(sha256: str, mode: int, data: bytes) -> None:
    _write(_stored(sha256).parent, [(sha256, data)])
    _stored(sha256).chmod(mode)


def _lay(folder: Path, places: Places) -> None:
    """Puts the files that arguments name where they are named."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, sha256 in places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_stored(sha256), folder / place)


# The programs of a run, and the runs that are to end.
_running: Dict[str, List["subprocess.Popen[bytes]"]] = defaultdict(list)
_stopped: Set[str] = set()
_lock = threading.Lock()


def _stop(run: str) -> None:
    with _lock:
        _stopped.add(run)
        for child in _running[run]:
            child.stdin.close() if child.stdin else None


def _run(run: str, part: int, command: List[str], places: Places, before: Files) -> Tuple[bool, str, Files]:
    """Begins a part or goes on with it. Returns whether it is whole, why it failed, and the files that it has written."""
    with tempfile.TemporaryDirectory(prefix="zeitnot-part-") as folder:
        inputs, out, pipe = Path(folder, "in"), Path(folder, "out"), subprocess.PIPE
        _lay(inputs, places)
        _write(out, before)
        command = [sys.executable, "-c", WATCH, _program(command[0]), *command[1:], "--out", str(out)]
        with _lock:
            if run in _stopped:
                return False, "", []
            # Ctrl-C on a terminal is for the head alone.
            keys: Dict[str, Any] = {"stdin": pipe, "stdout": subprocess.DEVNULL, "stderr": pipe, "start_new_session": True}
            child = subprocess.Popen(command, cwd=inputs, **keys)
            _running[run].append(child)
        said = ""
        with child:
            for line in child.stderr or ():
                said = (said + line.decode(errors="replace"))[-SHOWN:]
                if b" games" in line:
                    dask.get_worker().log_event(run, f"part {part}: {said.splitlines()[-1].strip()}")
        with _lock:
            is_whole = child.returncode == 0 and run not in _stopped
            _running[run] = [other for other in _running[run] if other is not child]
        failure = f"{' '.join(command[3:])} ended with code {child.returncode}: {said}" if child.returncode else ""
        return is_whole, failure, _read(out)


def _read(folder: Path) -> Files:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in paths]


def _write(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, whatever ends this.
        new = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        new.write_bytes(data)
        new.replace(path)


# With the folders of their files, which go with the worker.
_engines: Dict[Any, Tuple[Engine, "tempfile.TemporaryDirectory[str]"]] = {}


def _answers(name: Optional[str], flags: List[str], places: Places, queries: List[Any], keys: Dict[str, Any]) -> List[Result]:
    key = json.dumps([name, flags, places])
    with _lock:
        if key not in _engines:
            folder = tempfile.TemporaryDirectory(prefix="zeitnot-serve-")
            _lay(Path(folder.name), places)
            _engines[key] = Engine(*flags, program=_program(name), folder=folder.name), folder
        engine, _ = _engines[key]
    try:
        return list(engine.answers(queries, in_order=True, errors="return", **keys))
    except BaseException:
        # The next positions get a program of their own.
        _engines.pop(key, None)
        engine.close()
        raise


# What runs where the cluster is used from.


@contextmanager
def connect(scheduler: str) -> Iterator[Any]:
    """A client of the scheduler at an address, or of `local:N`, workers of one thread each on this machine."""
    if not scheduler.startswith("local"):
        found: List[Any] = []

        def call() -> None:
            with suppress(Exception):
                found.append(dask.Client(scheduler, timeout=CONNECT))

        # Dask's own limit does not hold where something accepts and is silent.
        (thread := threading.Thread(target=call, daemon=True)).start()
        thread.join(CONNECT)
        if not found:
            raise ClusterError(f"no scheduler answers at {scheduler}: start one with `dask scheduler`")
        with found[0] as client:
            yield client
        return
    # Ctrl-C on a terminal is for this process alone, which then ends the others.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    workers = int(scheduler.partition(":")[2] or 1)
    with dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        signal.signal(signal.SIGINT, handler)
        with dask.Client(cluster) as client:
            yield client


def usable_workers(client: Any, name: Optional[str] = None) -> List[str]:
    """The addresses of the workers whose program is of this machine's version. Others are named on stderr."""
    own = _version(name)
    found = client.run(_version, name, on_error="return")
    if not found:
        raise ClusterError("the scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`")
    for worker in [worker for worker, version in found.items() if version != own]:
        print(f"{worker} is left out: {found.pop(worker)}, but {own} here", file=sys.stderr)
    if not found:
        raise ClusterError(f"no worker has {own}: install the same version of zeitnot on all")
    return list(found)


class _Files:
    """The files that arguments name: where they are here, and where the workers have them."""

    def __init__(self) -> None:
        self.paths: Dict[str, str] = {}
        self.places: Places = []

    def place(self, text: str, separators: Sequence[str] = ("=,()\"'", r"\s")) -> str:
        """The text as the workers are to read it: the name of a file, or words of which some are."""
        if os.path.isfile(text):
            path = os.path.normpath(text)
            is_inside = not os.path.isabs(path) and not path.startswith(os.pardir)
            place = path if is_inside else f"files/{len(self.places)}/{os.path.basename(path)}"
            sha256 = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            self.paths[sha256] = path
            self.places.append((place, sha256))
            return text if is_inside else place
        if not separators:
            return text
        return re.sub(f"[^{separators[0]}]+", lambda word: self.place(word[0], separators[1:]), text)

    def bring(self, client: Any, workers: List[str]) -> None:
        """Sends each worker what it lacks."""
        lacking = defaultdict(list)
        for worker, missing in client.run(_missing, list(self.paths), workers=workers).items():
            for sha256 in missing:
                lacking[sha256].append(worker)
        for sha256, these in lacking.items():
            path = Path(self.paths[sha256])
            client.run(_store, sha256, path.stat().st_mode & 0o777, path.read_bytes(), workers=these)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ClusterError(f"{self.prog}: {message}")


class _Command:
    """A command with its flags, read as the program's own help describes them."""

    def __init__(self, name: Optional[str], command: str, arguments: Sequence[str]) -> None:
        said = subprocess.run([_program(name), command, "--help-all"], stdout=subprocess.PIPE, text=True).stdout
        parser = _Parser(prog=f"zeitnot {command}", add_help=False, allow_abbrev=False)
        parser.add_argument("games", nargs="*") if command == "analyse" else None
        self.command, self._kinds = command, {"games": "FILE"}
        described = r"^ {2,6}(?:(-\w), |    )?(--[\w-]+)(?:( |\[=)<(.+?)>)?(\.\.\.)?"
        for short, flag, sign, kind, many in re.findall(described, said, re.M):
            bare, valued = {"action": "store_const", "const": [None]}, {"action": "extend", "nargs": "+" if many else 1}
            parser.add_argument(*filter(None, (short, flag)), dest=flag, **(valued if sign else bare))
            self._kinds[flag] = kind
            if sign == "[=":
                arguments = [word + "=true" if word == flag else word for word in arguments]
        found = vars(parser.parse_intermixed_args(arguments))
        self.flags: Dict[str, List[Optional[str]]] = {flag: values for flag, values in found.items() if values}

    def take(self, flag: str) -> Optional[str]:
        return self.flags.pop(flag, [None])[-1]

    def place(self, files: _Files) -> None:
        """Names files as the workers have them. What must be a file and is none is an error before anything begins."""
        for flag, values in self.flags.items():
            for value in filter(None, values):
                is_file = "FILE" in self._kinds[flag] or flag == "--weights" and value[0] != "<"
                for file in [value] if is_file else re.findall(r"(?i)WeightsFile=([^,\"'<]+)", value):
                    if not os.path.isfile(file):
                        raise ClusterError(f"{flag} {file}: there is no such file".strip())
            placed = [value and files.place(value) for value in values]
            if placed != values and flag in ("--a", "--b") and not re.search(r"\b(name|cmd)=|'", values[0] or ""):
                # In tables and games the engine has the name that the user gave it.
                placed = [f"name='{values[0]}',{placed[0]}"]
            self.flags[flag] = placed

    def words(self) -> List[str]:
        given = [(flag, value) for flag, values in self.flags.items() for value in values]
        return [flag if value is None else f"{flag}={value}" for flag, value in given]

    def parts(self, most: int) -> List[Tuple[List[str], str]]:
        """The arguments of each part, and the folder of what it writes."""
        if self.command in SHARDED:
            words = [self.command, *self.words()]
            return [([*words, f"--shard={index}/{most}"], f"parts/{index}") for index in range(1, most + 1)]
        games = self.flags.pop("games", [])
        if not games:
            raise ClusterError("analyse: no file of games is named")
        folders: List[str] = []
        for game in map(str, games):
            stem = re.sub(r"(\.pgn)?(\.(gz|zst|bz2|zip))?$", "", os.path.basename(game))
            names = chain([stem], (f"{stem}-{number}" for number in count(2)))
            folders.append(next(name for name in names if name not in folders))
        return [([self.command, str(game), *self.words()], folder) for game, folder in zip(games, folders)]


def _report(name: Optional[str], folder: Path, flags: List[str]) -> Any:
    """What `zeitnot report` makes of all rows that are there."""
    rows = sorted(str(path) for path in (folder / "parts").rglob("*.csv"))
    done = subprocess.run([_program(name), "report", "--json", *flags, *rows], stdout=subprocess.PIPE)
    if done.returncode:
        raise ClusterError(f"zeitnot report ended with code {done.returncode} on the rows in {folder}")
    return json.loads(done.stdout)


def _is_decided(report: Any) -> bool:
    tests = [match.get("sprt") for match in report.get("matches", ())]
    return bool(tests) and all(test and test["verdict"] != "undecided" for test in tests)


def _state(path: Path, new: Dict[str, Any]) -> Dict[str, Any]:
    """What is known of a run, whose folder may be that of an earlier one with the same options."""
    if path.exists():
        state: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if any(state[key] != new[key] for key in ("command", "files")):
            raise ClusterError(f"{path.parent} has a run with other options: name another --out, or remove it")
        return state
    if path.parent.exists() and any(path.parent.iterdir()):
        raise ClusterError(f"{path.parent} has files already: name another --out, or remove it")
    return new


def run(
    client: Any, command: str, arguments: Sequence[str], *, name: Optional[str] = None, parts: Optional[int] = None, show: Show = print
) -> Any:
    """Runs a command on all workers, and returns what it found, as `zeitnot report --json` says it, or the folder of its files.

    A run that was stopped, by an error or Ctrl-C, keeps its parts in the folder, and goes on there."""
    given, files = _Command(name, command, arguments), _Files()
    out, sprt, estimators = given.take("--out"), given.take("--sprt"), given.flags.get("--estimator", [])
    given.take("--json")
    if not out:
        raise ClusterError("name a folder for the results with --out")
    given.flags.setdefault("--threads", ["1"])
    given.place(files)
    workers, folder = usable_workers(client, name), Path(out)
    most = parts or PARTS_PER_WORKER * len(workers)
    if command == "match":
        most = max(1, min(most, int(given.flags.get("--games", ["100"])[-1] or 0) // 2))
    new = {"command": [command, *given.words()], "files": [[*place] for place in files.places], "parts": most, "done": []}
    state = _state(folder / STATE, new)
    planned = given.parts(state["parts"])
    files.bring(client, workers)
    test = [f"--sprt={sprt}"] if sprt else []

    def submit(run: str, index: int) -> Any:
        words, place = planned[index]
        before = _read(folder / place)
        words = [name or "", *words]
        return client.submit(_run, run, index + 1, words, files.places, before, workers=workers, **OPTIONS)

    def keep(index: int, is_whole: bool, written: Files) -> bool:
        _write(folder / planned[index][1], written)
        if is_whole:
            state["done"].append(index)
            _write(folder, [(STATE, json.dumps(state).encode())])
            show(f"{len(state['done'])}/{len(planned)} parts")
        return is_whole and bool(sprt) and _is_decided(_report(name, folder, test))

    _write(folder, [(STATE, json.dumps(state).encode())])
    _collect(client, submit, keep, [index for index in range(len(planned)) if index not in state["done"]], workers, show)
    if command not in SHARDED:
        return {"out": out, "parts": len(planned)}
    if command == "match":
        games = [folder / place / "games.pgn" for _, place in planned]
        _write(folder, [("games.pgn", b"".join(path.read_bytes() for path in games if path.exists()))])
    return _report(name, folder, [*test, *(f"--estimator={value}" for value in estimators), f"--out={out}"])


def _collect(client: Any, submit: Submit, keep: Keep, left: List[int], workers: List[str], show: Show) -> None:
    """Runs the parts that are `left`, until `keep`, which gets what comes of them, says that this is enough. Whatever ends this
    early, the programs end and what they have written is kept."""
    notes: Deque[str] = deque([], 1)
    run, tries = uuid.uuid4().hex, dict.fromkeys(left, 0)
    client.subscribe_topic(run, lambda event: notes.append(event[1]))
    waiting, end = {index: submit(run, index) for index in left}, None
    deadline, told, looked, is_absent = float("inf"), 0.0, time.monotonic(), False
    while waiting and time.monotonic() < deadline:
        try:
            for index, future in [(index, future) for index, future in waiting.items() if future.done()]:
                why = future.exception() if future.status == "error" else future.status
                is_whole, failure, written = future.result() if future.status == "finished" else (False, str(why), [])
                is_enough = keep(index, is_whole, written)
                del waiting[index]
                tries[index] += 1
                if is_enough and not end:
                    show("the test is decided, the other parts are not played")
                    raise _Enough
                if failure and not end:
                    if tries[index] > RETRIES:
                        raise ClusterError(f"part {index + 1}: {failure}")
                    waiting[index] = submit(run, index)
            if notes and time.monotonic() >= told + PROGRESS:
                show(notes.pop())
                told = time.monotonic()
            if time.monotonic() >= looked + ABSENCE:
                looked, was_absent = time.monotonic(), is_absent
                is_absent = not set(workers) & set(client.nthreads())
                if was_absent and is_absent:
                    raise ClusterError("the workers are gone: start others, and give the same command again")
            time.sleep(LOOK)
        except (KeyboardInterrupt, ClusterError, _Enough) as reason:
            if end:
                raise
            end, deadline = reason, time.monotonic() + ENDING
            client.run(_stop, run)
    if end and not isinstance(end, _Enough):
        raise end


class _Enough(Exception):
    """A test over all parts is decided."""


def analyse(
    positions: Iterable[Position], client: Any, *, flags: Sequence[str] = (), name: Optional[str] = None, chunk: int = 64, **keys: Any
) -> Iterator[Result]:
    """Yields the answers to `positions` in their order, with one `zeitnot serve` on each worker. What is refused is yielded as a
    `QueryError`.

    `flags` are those of the program, such as "--weights=net.pb.gz", whose files each worker gets. `keys` are those of every query.
    Only a few chunks of positions are under way, so that there may be any number of them."""
    files = _Files()
    waiting: Deque[Any] = deque()
    placed, workers = [files.place(flag) for flag in flags], usable_workers(client, name)
    files.bring(client, workers)
    queries = map(query_of, positions)
    try:
        while True:
            while len(waiting) < 2 * len(workers) and (these := list(islice(queries, chunk))):
                waiting.append(client.submit(_answers, name, placed, files.places, these, keys, workers=workers, **OPTIONS))
            if not waiting:
                return
            yield from waiting.popleft().result()
    finally:
        client.cancel(list(waiting))


def main(arguments: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m zeitnot.cluster", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scheduler", required=True, help="address of a Dask scheduler, or local:N for N workers here")
    parser.add_argument("--program", help="the program, if it is not the package's")
    parser.add_argument("--parts", type=int, help="number of parts (default: four for each worker)")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="flags of the command")
    args = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # What matters of a worker or a scheduler that is gone is said here.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)

    def show(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    try:
        with connect(args.scheduler) as client:
            found = run(client, args.command, args.arguments, name=args.program, parts=args.parts, show=show)
    except (ClusterError, OSError) as error:
        raise SystemExit(f"zeitnot.cluster: {error}") from None
    except KeyboardInterrupt:
        show("stopped; the same command goes on")
        raise SystemExit(130) from None
    print(json.dumps(found))


if __name__ == "__main__":
    # Workers find the functions by the module's name, which is not __main__.
    from zeitnot.cluster import main

    main()

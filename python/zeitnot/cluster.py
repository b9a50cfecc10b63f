"""Runs Zeitnot on the workers of a Dask cluster.

    python -m zeitnot.cluster --scheduler ADDRESS match --games 4000 --nodes 400 --b CPuct=2 --out match1
    python -m zeitnot.cluster --scheduler local:4 movesleft --pgn games.pgn.zst --out movesleft1

The command is one of match, movesleft, timelab and analyse, with its own flags. It is cut into parts, and what comes of them is
put together as if one machine had done all. The same command goes on where it was stopped. Programs call `analyse`. See
docs/guide/long-runs.md.
"""

import argparse
import asyncio
import getpass
import hashlib
import json
import logging
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import defaultdict, deque
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain, count, islice, starmap
from pathlib import Path, PurePath
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NoReturn, Optional, Sequence, Set, Tuple

try:
    import fcntl
except ImportError:
    fcntl = None  # type: ignore[assignment]
try:
    import distributed
except ImportError as error:
    raise SystemExit("zeitnot.cluster needs Dask: pip install distributed") from error

from .client import Engine, Position, Result, listed, program, query_of

__all__ = ["ClusterError", "analyse", "connect", "main", "run", "usable_workers"]

# Dask's functions have no types.
dask: Any = distributed

SHARDED = ("match", "movesleft", "timelab")
COMMANDS = (*SHARDED, "analyse")
# Parts for each worker unless the user says otherwise: a slow or lost one then costs little.
PARTS_PER_WORKER = 4
# How often a part is begun again whose program failed.
RETRIES = 2
# How often a part is begun again whose worker died: what kills workers must not kill all of them.
LOSSES = 5
OPTIONS: Dict[str, Any] = {"allow_other_workers": False, "pure": False}
# Characters of a program's messages that are shown where it failed.
SHOWN = 2000
# Seconds until a scheduler must have answered, between two looks at the parts, between two lines of progress, between two looks for
# workers that have come or gone, and without any worker before a run is given up.
CONNECT, LOOK, PROGRESS, WORKERS, ABSENCE = 4, 0.1, 10, 1, 30
# Seconds in which what a worker has returned must come.
FETCH = 60
# Seconds in which the parts must end that are told to.
ENDING = 30
# What is known of a run, in its folder, and what is locked there as long as a head runs, which names itself in it.
STATE, LOCK = "cluster.json", "cluster.lock"
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
Submit = Callable[[str, int, str], Any]
Keep = Callable[[int, bool, List[Tuple[str, bytes]]], bool]
# Paths in a folder with contents.
Files = List[Tuple[str, bytes]]
# Paths in a part's folder with their contents' hashes.
Places = List[Tuple[str, str]]


NO_PROGRAM = "no program"


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
        return f"{NO_PROGRAM} ({error})"


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(1 << 20):
            found.update(data)
    return found.hexdigest()


@lru_cache(None)
def _store() -> Path:
    """The folder of the files that this user's workers have got. No other user can write there: what they run comes from it."""
    is_unix = hasattr(os, "getuid")
    path = Path(tempfile.gettempdir(), f"zeitnot-files-{os.getuid() if is_unix else getpass.getuser()}")
    with suppress(OSError):
        path.mkdir(mode=0o700, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and (not is_unix or found.st_uid == os.getuid()):
            path.chmod(0o700)
            return path
    # Somebody else has made it. This one goes with the worker.
    own = tempfile.TemporaryDirectory(prefix="zeitnot-files-")
    _folders.append(own)
    return Path(own.name)


_folders: List["tempfile.TemporaryDirectory[str]"] = []


def _missing(hashes: List[str]) -> List[str]:
    return [sha256 for sha256 in hashes if not _is_whole(_store() / sha256, sha256)]


def _is_whole(path: Path, sha256: str) -> bool:
    return path.is_file() and not path.is_symlink() and _sha256(path) == sha256


def _keep(sha256: str, mode: int, data: bytes) -> None:
    if hashlib.sha256(data).hexdigest() != sha256:
        raise ClusterError("a file has changed while it was sent: start again")
    _write(_store(), [(sha256, data)])
    (_store() / sha256).chmod(mode & 0o700 | 0o600)


def _lay(folder: Path, places: Places) -> None:
    """Puts the files that arguments name where they are named. What is used is what was hashed."""
    folder.mkdir(parents=True, exist_ok=True)
    for place, sha256 in places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(_store() / sha256, folder / place)
        if _sha256(folder / place) != sha256:
            raise ClusterError(f"{place} is not the file that was sent: {_store()} is damaged, remove it on this worker")


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
        if ".." in PurePath(name).parts or os.path.isabs(name):
            raise ClusterError(f"{name!r} leads out of {folder}")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, whatever ends this.
        new = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
        new.write_bytes(data)
        new.replace(path)


# With the folders of their files, which go with the worker.
_engines: Dict[Any, Tuple[Engine, "tempfile.TemporaryDirectory[str]"]] = {}


def _answers(name: Optional[str], flags: List[str], places: Places, queries: List[Any]) -> List[Result]:
    key = json.dumps([name, flags, places])
    with _lock:
        if key not in _engines:
            folder = tempfile.TemporaryDirectory(prefix="zeitnot-serve-")
            _lay(Path(folder.name), places)
            _engines[key] = Engine(*flags, program=_program(name), folder=folder.name), folder
        engine, _ = _engines[key]
    try:
        return list(engine.answers(queries, in_order=True, errors="return"))
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
    number = scheduler.partition(":")[2] or "1"
    if not number.isdecimal() or int(number) == 0:
        raise ClusterError(f"{scheduler}: write local:N, such as local:4 for four workers")
    workers = int(number)
    # Ctrl-C on a terminal is for this process alone, which then ends the others.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with dask.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        signal.signal(signal.SIGINT, handler)
        with dask.Client(cluster) as client:
            yield client


def _version_of(name: Optional[str]) -> str:
    own = _version(name)
    if own.startswith(NO_PROGRAM):
        raise ClusterError(f"{name or program()}: {own}: name the program with --program PATH")
    return own


def usable_workers(client: Any, name: Optional[str] = None, workers: Optional[List[str]] = None) -> List[str]:
    """The addresses of the workers whose program is of this machine's version. Others are named on stderr."""
    own = _version_of(name)
    found = client.run(_version, name, workers=workers, on_error="return")
    for worker in [worker for worker, version in found.items() if version != own]:
        print(f"{worker} is left out: {found.pop(worker)}, but {own} here", file=sys.stderr)
    return list(found)


class _Pool:
    """The workers that have this version of the program, and get the files that arguments name. They may come and go."""

    def __init__(self, client: Any, name: Optional[str], files: "_Files") -> None:
        self._client, self._name, self._files = client, name, files
        self._seen: Set[str] = set()
        # How many parts each of them may have at once.
        self.threads: Dict[str, int] = {}
        self._looked, self._was_there = float("-inf"), time.monotonic()
        self.look()
        if not self._seen:
            raise ClusterError("the scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`")
        if not self.threads:
            raise ClusterError(f"no worker has {_version(name)}: install the same version of zeitnot on all")

    def look(self) -> None:
        """Finds out which workers have come and gone."""
        if time.monotonic() < self._looked + WORKERS:
            return
        there = self._client.nthreads()
        self.threads = {worker: self.threads[worker] for worker in self.threads if worker in there}
        new = [worker for worker in there if worker not in self._seen]
        usable = usable_workers(self._client, self._name, new) if new else []
        self.threads.update((worker, there[worker]) for worker in self._files.bring(self._client, usable))
        self._seen |= set(new)
        self._looked = time.monotonic()
        if self.threads:
            self._was_there = self._looked
        elif self._looked > self._was_there + ABSENCE:
            raise ClusterError("the workers are gone: start others, and give the same command again")

    def free(self, busy: Iterable[str], per_thread: int = 1) -> Optional[str]:
        """The worker with the most room besides what is busy."""
        room = {worker: per_thread * threads for worker, threads in self.threads.items()}
        for worker in busy:
            room[worker] = room.get(worker, 0) - 1
        best = max(room, key=lambda worker: room[worker], default=None)
        return best if best and room[best] > 0 else None


class _Files:
    """The files that arguments name: where they are here, and where the workers have them."""

    def __init__(self) -> None:
        self.paths: Dict[str, str] = {}
        self.places: Places = []

    def place(self, text: str, is_quoted: bool = False) -> str:
        """The name that workers read in the place of a file's. What is no file stays as it is."""
        if not os.path.isfile(text):
            return text
        path = os.path.normpath(text)
        is_inside = not os.path.isabs(path) and path.split(os.sep)[0] != os.pardir
        place = path if is_inside else f"files/{len(self.places)}/{os.path.basename(path)}"
        sha256 = _sha256(Path(path))
        self.paths[sha256] = path
        self.places.append((place, sha256))
        if is_inside:
            # Of a program, the folder says that it is none of the search path.
            return text if os.pardir not in PurePath(text).parts else os.path.join(os.curdir, path)
        return place if not is_quoted else f"'{place}'" if "'" not in place else f'"{place}"'

    def place_in_list(self, text: str) -> str:
        """Places the files that a list such as "name=x,cmd=engine,args=--net 'a b.pb'" names, where values may be quoted."""
        return ",".join(starmap(self._place_value, _entries(text)))

    def _place_value(self, entry: str, key: str, value: str) -> str:
        name = key.strip().lower()
        if name == "args":
            word = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")
            return f"{key}={word.sub(lambda found: self._place_word(found[0]), value)}"
        bare = _unquoted(value)
        is_file = name in ("weightsfile", "cmd") or name.startswith("option.")
        placed = self.place(bare, True) if is_file else bare
        return entry if placed == bare else f"{key}={placed}"

    def _place_word(self, word: str) -> str:
        bare = re.sub(r"""'([^']*)'|"([^"]*)\"""", r"\1\2", word)
        flag, sign, file = bare.rpartition("=") if not os.path.isfile(bare) else ("", "", bare)
        placed = self.place(file, True)
        return word if placed == file else f"{flag}{sign}{placed}"

    def bring(self, client: Any, workers: List[str]) -> List[str]:
        """Sends each worker what it lacks. Returns those that have all."""
        if not workers or not self.paths:
            return workers
        lacking = defaultdict(list)
        found = client.run(_missing, list(self.paths), workers=workers, on_error="return")
        for worker, missing in found.items():
            for sha256 in missing if isinstance(missing, list) else ():
                lacking[sha256].append(worker)
        failed = {worker: missing for worker, missing in found.items() if not isinstance(missing, list)}
        for sha256, these in lacking.items():
            path = Path(self.paths[sha256])
            sent = client.run(
                _keep, sha256, path.stat().st_mode & 0o777, path.read_bytes(), workers=these, on_error="return"
            )
            failed.update((worker, error) for worker, error in sent.items() if error)
        for worker, error in failed.items():
            print(f"{worker} is left out: it cannot get the files: {error}", file=sys.stderr)
        return [worker for worker in found if worker not in failed]


def _entries(text: str) -> Iterator[Tuple[str, str, str]]:
    """The parts of a list between commas outside brackets and quotes, as the program divides it: the part, its key, its value."""
    depth, quote, part = 0, "", ""
    for sign in [*text, None]:
        if sign is None or (sign == "," and depth <= 0 and not quote):
            key, is_given, value = part.partition("=")
            yield part, key, value if is_given else ""
            part = ""
            continue
        part += sign
        if quote or sign in "\"'":
            quote = "" if quote == sign else quote or sign
        else:
            depth += (sign == "(") - (sign == ")")


def _unquoted(value: str) -> str:
    value = value.strip()
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value


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
        # A description is further to the right, and may have a flag at the head of a line.
        described = r"^ {2}(?:(-\w), |    )?(--[\w-]+)(?:( |\[=)<(.+?)>)?(\.\.\.)?"
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
            kind, placed = self._kinds[flag], list(values)
            for number, value in enumerate(values):
                if not value:
                    continue
                named: List[str] = []
                place: Callable[[str], str] = files.place
                if "FILE" in kind or flag == "--weights":
                    named = [value]
                elif kind == "LIST":
                    place = files.place_in_list
                    named = [_unquoted(of) for _, key, of in _entries(value) if key.strip().lower() == "weightsfile"]
                for file in named:
                    if file and file[0] != "<" and not os.path.isfile(file) and (flag, file) != ("--openings", "none"):
                        raise ClusterError(f"{flag} {file}: there is no such file".strip())
                placed[number] = place(value) if named or kind == "LIST" else value
            if flag in ("--a", "--b", "--engine"):
                # In tables and games the engine has the name that the user gave it.
                has_name = [old == new or re.search(r"\b(name|cmd)=|'", old or "") for old, new in zip(values, placed)]
                placed = [new if is_named else f"name='{old}',{new}" for old, new, is_named in zip(values, placed, has_name)]
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
            # A name without dots in front is a folder in the run's own, and none is twice there, small or large letters.
            stem = re.sub(r"(\.pgn)?(\.(gz|zst|bz2|zip))?$", "", os.path.basename(game)).strip(". ") or "games"
            names = chain([stem], (f"{stem}-{number}" for number in count(2)))
            taken = {STATE, LOCK, *(folder.lower() for folder in folders)}
            folders.append(next(name for name in names if name.lower() not in taken))
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


@contextmanager
def _alone(folder: Path, show: Show) -> Iterator[None]:
    """Keeps other heads out of a folder."""
    if fcntl is None:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClusterError(f"{folder}: in use by process {file.read()}; wait for its end, or name another --out") from None
        except OSError:
            show("this drive knows no locks: nothing keeps a second run out, and two would spoil what both write")
        file.truncate()
        print(os.getpid(), "on", platform.node(), end="", file=file, flush=True)
        yield
        file.truncate(0)


def _state(path: Path, new: Dict[str, Any]) -> Dict[str, Any]:
    """What is known of a run, whose folder may be that of an earlier one with the same options."""
    if path.exists():
        try:
            state: Dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            is_other = any(state[key] != new[key] for key in ("command", "files"))
            [range(state["parts"])[index] for index in state["done"]]
        except (ValueError, LookupError, TypeError):
            raise ClusterError(f"{path} is damaged: bring it back as it was, or name another --out") from None
        if is_other:
            raise ClusterError(f"{path.parent} has a run with other options: name another --out, or remove it")
        return state
    if any(entry.name != LOCK for entry in path.parent.iterdir()):
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
    pool, folder = _Pool(client, name, files), Path(out)
    most = parts or PARTS_PER_WORKER * len(pool.threads)
    if command == "match":
        most = max(1, min(most, int(given.flags.get("--games", ["100"])[-1] or 0) // 2))
    with _alone(folder, show):
        new = {"command": [command, *given.words()], "files": [[*place] for place in files.places], "parts": most, "done": []}
        state = _state(folder / STATE, new)
        planned = given.parts(state["parts"])
        test = [f"--sprt={sprt}"] if sprt else []

        def submit(run: str, index: int, worker: str) -> Any:
            words, place = planned[index]
            before = _read(folder / place)
            words = [name or "", *words]
            return client.submit(_run, run, index + 1, words, files.places, before, workers=[worker], **OPTIONS)

        def keep(index: int, is_whole: bool, written: Files) -> bool:
            _write(folder / planned[index][1], written)
            if is_whole:
                state["done"].append(index)
                _write(folder, [(STATE, json.dumps(state).encode())])
                show(f"{len(state['done'])}/{len(planned)} parts")
            return is_whole and bool(sprt) and _is_decided(_report(name, folder, test))

        _write(folder, [(STATE, json.dumps(state).encode())])
        _collect(client, submit, keep, [index for index in range(len(planned)) if index not in state["done"]], pool, show)
        if command not in SHARDED:
            return {"out": out, "parts": len(planned)}
        if command == "match":
            games = [folder / place / "games.pgn" for _, place in planned]
            _write(folder, [("games.pgn", b"".join(path.read_bytes() for path in games if path.exists()))])
        return _report(name, folder, [*test, *(f"--estimator={value}" for value in estimators), f"--out={out}"])


def _fetch(future: Any) -> Any:
    """What a worker has returned, or None where it has not, or where that has gone with the worker."""
    with suppress(asyncio.TimeoutError, TimeoutError):
        return future.result(timeout=FETCH) if future.done() else None


def _collect(client: Any, submit: Submit, keep: Keep, left: List[int], pool: _Pool, show: Show) -> None:
    """Runs the parts that are `left`, until `keep`, which gets what comes of them, says that this is enough. Whatever ends this
    early, the programs end and what they have written is kept."""
    notes: Deque[str] = deque([], 1)
    run, tries, losses = uuid.uuid4().hex, dict.fromkeys(left, 0), dict.fromkeys(left, 0)
    client.subscribe_topic(run, lambda event: notes.append(event[1]))
    # The parts under way with their workers.
    waiting: Dict[int, Tuple[Any, str]] = {}
    end: Optional[BaseException] = None
    deadline, told, queue = float("inf"), 0.0, deque(left)
    while (waiting or (queue and not end)) and time.monotonic() < deadline:
        try:
            while queue and not end and (worker := pool.free(busy for _, busy in waiting.values())):
                waiting[queue[0]] = submit(run, queue[0], worker), worker
                queue.popleft()
            for index, (future, worker) in list(waiting.items()):
                is_lost = worker not in pool.threads and not future.done()
                try:
                    found = (False, "", []) if is_lost else _fetch(future)
                except Exception as error:
                    found = False, str(error), []
                if found is None:
                    continue
                is_whole, failure, written = found
                is_enough = not is_lost and keep(index, is_whole, written)
                del waiting[index]
                if is_lost:
                    client.cancel([future])
                    losses[index] += 1
                    failure = f"{losses[index]} workers died with it"
                else:
                    tries[index] += 1
                if is_enough and not end:
                    show("the test is decided, the other parts are not played")
                    raise _Enough
                if failure and not end:
                    if tries[index] > RETRIES or losses[index] > LOSSES:
                        raise ClusterError(f"part {index + 1}: {failure}")
                    queue.append(index)
            if notes and time.monotonic() >= told + PROGRESS:
                show(notes.pop())
                told = time.monotonic()
            if not end:
                pool.look()
            time.sleep(LOOK)
        except (KeyboardInterrupt, ClusterError, _Enough) as reason:
            if end:
                raise
            end, deadline = reason, time.monotonic() + ENDING
            client.run(_stop, run, on_error="ignore")
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
    placed = [_place_flag(files, flag) for flag in flags]
    pool = _Pool(client, name, files)
    queries = ({"id": number, **keys, **query} for number, query in enumerate(map(query_of, listed(positions))))
    # The chunks under way in their order, each with its worker and what came of it, and how often it lost one.
    chunks: Deque[_Chunk] = deque()
    try:
        while True:
            pool.look()
            while len(chunks) < 2 * sum(pool.threads.values()) and (these := list(islice(queries, chunk))):
                chunks.append(_Chunk(these))
            if not chunks:
                return
            for one in chunks:
                if one.future and one.worker not in pool.threads and not one.future.done():
                    client.cancel([one.future])
                    one.future, one.losses = None, one.losses + 1
                    if one.losses > LOSSES:
                        raise ClusterError(f"{one.losses} workers died with the same positions")
                busy = (other.worker for other in chunks if other.future and not other.future.done())
                if not one.future and (worker := pool.free(busy, 2)):
                    given = (name, placed, files.places, one.queries)
                    one.worker = worker
                    one.future = client.submit(_answers, *given, workers=[worker], retries=RETRIES, **OPTIONS)
            first = chunks[0].future
            with suppress(asyncio.TimeoutError, TimeoutError):
                dask.wait([first], timeout=WORKERS) if first else time.sleep(LOOK)
            if first and (found := _fetch(first)) is not None:
                chunks.popleft()
                yield from found
    finally:
        client.cancel([one.future for one in chunks if one.future])


class _Chunk:
    """Positions that one worker answers, which may have to be another one."""

    def __init__(self, queries: List[Any]) -> None:
        self.queries, self.worker, self.losses = queries, "", 0
        self.future: Any = None


def _place_flag(files: _Files, flag: str) -> str:
    """A flag such as --weights=FILE, with the file's name as workers read it."""
    name, sign, value = flag.partition("=")
    return f"{name}{sign}{files.place(value)}" if sign else files.place(flag)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line, as `python -m zeitnot.cluster` does."""
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

"""Runs Zeitnot on the workers of a Dask cluster.

    python -m zeitnot.cluster --scheduler ADDRESS match --games 4000 --nodes 400 --b CPuct=2 --out match1
    python -m zeitnot.cluster --scheduler local:4 movesleft --pgn games.pgn.zst --out movesleft1

The command is one of match, movesleft, timelab, analyse and datagen, with its own flags. It is cut into parts, and what
comes of them is put together as if one machine had done all. Programs call `analyse`. See docs/guide/long-runs.md.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from pathlib import Path

try:
    from distributed import Client, LocalCluster, as_completed
except ImportError as error:
    raise SystemExit("zeitnot.cluster needs Dask: pip install distributed") from error

from .client import Engine, program

SHARDED = ("match", "movesleft", "timelab")
COMMANDS = (*SHARDED, "analyse", "datagen")
# Parts for each worker unless the user says otherwise: a slow or lost one then costs little.
PARTS_PER_WORKER = 4
# How often a part is begun again whose program failed.
RETRIES = 2
# Bytes of a program's messages that are shown where it failed.
SHOWN = 2000
# Words of an argument, each of which may name a file, as in --a WeightsFile=net.pb.gz,CPuct=2.
WORD = re.compile(r"[^=,()]+")


class ClusterError(Exception):
    """A run cannot begin or go on. The message says why and what helps."""


class PartError(Exception):
    """The program failed on a worker."""


# What runs on the workers.


def _version(name):
    try:
        return subprocess.run([name or program(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no program ({error})"


def _stored(sha256, name):
    return Path(tempfile.gettempdir(), "zeitnot-cluster", sha256, name)


def _missing(files):
    return [sha256 for sha256, name in files if not _stored(sha256, name).exists()]


def _store(sha256, name, mode, data):
    path = _stored(sha256, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(data)
    Path(part.name).chmod(mode)
    # Whole or not at all, whoever else stores the same.
    Path(part.name).replace(path)


def _run(name, arguments, files, out):
    """Runs a part, and returns the files that it has written: names and contents."""
    for text, sha256, stored in files:
        arguments = [argument.replace(text, str(_stored(sha256, stored))) for argument in arguments]
    with tempfile.TemporaryDirectory(prefix="zeitnot-part-") as folder:
        target = Path(folder, out)
        command = [name or program(), *arguments, "--out", str(target)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if done.returncode:
            messages = done.stderr[-SHOWN:].decode(errors="replace")
            raise PartError(f"{' '.join(command)} ended with code {done.returncode}: {messages}")
        written = [target] if target.is_file() else sorted(path for path in target.rglob("*") if path.is_file())
        return [(str(path.relative_to(folder if target.is_file() else target)), path.read_bytes()) for path in written]


_engines, _engines_lock = {}, threading.Lock()


def _answers(name, flags, positions, keys):
    with _engines_lock:
        engine = _engines.get((name, flags)) or _engines.setdefault((name, flags), Engine(*flags, program=name))
        try:
            return list(engine.answers(positions, in_order=True, errors="return", **keys))
        except BaseException:
            # The next positions get a program of their own.
            _engines.pop((name, flags)).close()
            raise


# What runs where the cluster is used from.


def connect(scheduler):
    """A client of the scheduler at an address, or of `local:N`, workers of one thread each on this machine."""
    if not scheduler.startswith("local"):
        return Client(scheduler)
    _, _, workers = scheduler.partition(":")
    return Client(LocalCluster(n_workers=int(workers or 1), threads_per_worker=1, dashboard_address=None))


def usable_workers(client, name=None):
    """The addresses of the workers whose program is of this machine's version. Others are named on stderr."""
    own = _version(name)
    found = client.run(_version, name, on_error="return")
    if not found:
        raise ClusterError("the scheduler has no workers: start some with `dask worker ADDRESS --nthreads 1`")
    for worker, version in found.items():
        if version != own:
            print(f"{worker} is left out: {version}, but {own} here", file=sys.stderr)
    same = [worker for worker, version in found.items() if version == own]
    if not same:
        raise ClusterError(f"no worker has {own}: install the same version of zeitnot on all")
    return same


class _Files:
    """The files that the arguments name, with their contents' hashes."""

    def __init__(self, arguments):
        self.found = {}
        for argument in arguments:
            whole = argument.partition("=")[2] if argument.startswith("--") else argument
            for text in [whole] if Path(whole).is_file() else WORD.findall(argument):
                if Path(text).is_file() and text not in self.found:
                    self.found[text] = hashlib.sha256(Path(text).read_bytes()).hexdigest()

    def bring(self, client, workers):
        """Sends each worker what it lacks."""
        names = {sha256: text for text, sha256 in self.found.items()}
        asked = client.run(_missing, [(sha256, Path(text).name) for sha256, text in names.items()], workers=workers)
        lacking = defaultdict(list)
        for worker, missing in asked.items():
            for sha256 in missing:
                lacking[sha256].append(worker)
        for sha256, these in lacking.items():
            path = Path(names[sha256])
            client.run(_store, sha256, path.name, path.stat().st_mode & 0o777, path.read_bytes(), workers=these)

    def places(self):
        # Longer names first: one may be a part of another.
        found = sorted(self.found.items(), key=lambda item: -len(item[0]))
        return [(text, sha256, Path(text).name) for text, sha256 in found]


def _value(arguments, *flags):
    """The value of a flag, or None."""
    for index, argument in enumerate(arguments):
        flag, sign, value = argument.partition("=")
        if flag in flags:
            return value if sign else (arguments[index + 1] if index + 1 < len(arguments) else "")
    return None


def _without(arguments, *flags):
    kept, skip = [], False
    for argument in arguments:
        flag, sign, _ = argument.partition("=")
        if skip:
            skip = False
        elif flag in flags:
            skip = not sign
        else:
            kept.append(argument)
    return kept


def parts_of(command, arguments, count):
    """The parts of a command: the arguments of each, and the name of what it writes."""
    if command in SHARDED:
        if command == "match":
            count = max(1, min(count, int(_value(arguments, "--games", "-g") or 100) // 2))
        return [([command, *arguments, "--shard", f"{index}/{count}"], "out") for index in range(1, count + 1)]
    if command == "analyse":
        games = [argument for argument in arguments if Path(argument).is_file()]
        if not games:
            raise ClusterError("analyse: no file of games is named")
        others = [argument for argument in arguments if argument not in games]
        return [([command, file, *others], Path(file).name.partition(".")[0]) for file in games]
    kind, *others = arguments or [""]
    if kind != "play":
        raise ClusterError("datagen: only `datagen play` is cut into parts")
    games, seed = int(_value(others, "--games", "-g") or 0), int(_value(others, "--seed") or 0)
    others = _without(others, "--games", "-g", "--seed")
    shares = [games // count + (index < games % count) for index in range(count)]
    return [
        ([command, kind, *others, f"--games={share}", f"--seed={seed + index}"], f"part{index + 1}.zng")
        for index, share in enumerate(shares)
        if share
    ]


def _report(name, command, folder, flags, out=None):
    """What `zeitnot report` makes of all rows that are there: its JSON, and in the folder `out` page and rows."""
    rows = sorted(str(path) for path in folder.rglob("*.csv"))
    target = ["--out", str(out)] if out else []
    done = subprocess.run([name or program(), "report", "--json", *flags, *target, *rows], stdout=subprocess.PIPE)
    if done.returncode:
        raise ClusterError(f"zeitnot report ended with code {done.returncode} on the rows in {folder}")
    return json.loads(done.stdout)


def _is_decided(report):
    tests = [match.get("sprt") for match in report.get("matches", ())]
    return bool(tests) and all(test and test["verdict"] != "undecided" for test in tests)


def run(client, command, arguments, *, name=None, parts=None, show=print):
    """Runs a command on all workers, and returns what it found, as `zeitnot report --json` says it, or the folder of its files."""
    out = _value(arguments, "--out", "-o")
    if not out:
        raise ClusterError("name a folder for the results with --out")
    out, sprt = Path(out), _value(arguments, "--sprt")
    arguments = _without(arguments, "--out", "-o", "--sprt", "--json")
    if not _value(arguments, "--threads"):
        arguments = [*arguments, "--threads=1"] if command != "datagen" else arguments
    workers = usable_workers(client, name)
    files = _Files(arguments)
    files.bring(client, workers)
    planned = parts_of(command, arguments, parts or PARTS_PER_WORKER * len(workers))
    is_sharded, test = command in SHARDED, ["--sprt", sprt] if sprt else []
    folder = out / "parts" if is_sharded else out
    if folder.exists() and any(folder.iterdir()):
        raise ClusterError(f"{folder} has files already: name another --out, or remove it")
    options = {"workers": workers, "allow_other_workers": False, "retries": RETRIES, "pure": False}
    futures = {
        client.submit(_run, name, part, files.places(), target, **options): (index, target)
        for index, (part, target) in enumerate(planned, 1)
    }
    done = 0
    for future, written in as_completed(list(futures), with_results=True, raise_errors=False):
        index, target = futures[future]
        if future.status == "error":
            error = future.exception()
            client.cancel(list(futures))
            raise ClusterError(f"part {index}: {error}")
        # Datagen's parts are files, all others folders.
        place = folder / str(index) if is_sharded else folder if command == "datagen" else folder / target
        for path, data in written:
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(data)
        done += 1
        show(f"{done}/{len(planned)} parts")
        if sprt and _is_decided(_report(name, command, folder, test)):
            client.cancel([other for other in futures if not other.done()])
            show("the test is decided, the other parts are not played")
            break
    if not is_sharded:
        return {"out": str(out), "parts": done}
    if command == "match":
        games = sorted(folder.glob("*/games.pgn"), key=lambda path: int(path.parent.name))
        (out / "games.pgn").write_bytes(b"".join(path.read_bytes() for path in games))
    estimators = [["--estimator", value] for value in _values(arguments, "--estimator")] if command == "movesleft" else []
    return _report(name, command, folder, [*test, *sum(estimators, [])], out)


def _values(arguments, flag):
    rest = list(arguments)
    while (value := _value(rest, flag)) is not None:
        yield value
        index = next(i for i, argument in enumerate(rest) if argument.partition("=")[0] == flag)
        rest = rest[index + 1 :]


def analyse(positions, client, *, flags=(), name=None, chunk=64, **keys):
    """Yields the answers to `positions` in their order, as `zeitnot.Engine.answers` does, with one `zeitnot serve` on each worker.

    `flags` are those of the program, such as "--weights=net.pb.gz", whose files each worker gets. `keys` are those of every query.
    Only a few chunks of positions are under way, so that there may be any number of them."""
    from .client import query_of

    workers, files = usable_workers(client, name), _Files(flags)
    files.bring(client, workers)
    places, waiting = files.places(), []
    options = {"workers": workers, "allow_other_workers": False, "retries": RETRIES, "pure": False}
    positions, most = iter(positions), 2 * len(workers)
    while True:
        while len(waiting) < most:
            queries = [query_of(position) for _, position in zip(range(chunk), positions)]
            if not queries:
                break
            waiting.append(client.submit(_chunk, name, tuple(flags), places, queries, keys, **options))
        if not waiting:
            return
        yield from waiting.pop(0).result()


def _chunk(name, flags, places, queries, keys):
    for text, sha256, stored in places:
        flags = tuple(flag.replace(text, str(_stored(sha256, stored))) for flag in flags)
    return _answers(name, flags, queries, keys)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="python -m zeitnot.cluster", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--scheduler", required=True, help="address of a Dask scheduler, or local:N for N workers here")
    parser.add_argument("--program", help="the program, if it is not the package's")
    parser.add_argument("--parts", type=int, help="number of parts (default: four for each worker)")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="flags of the command")
    args = parser.parse_args(arguments)
    show = lambda text: print(text, file=sys.stderr)
    try:
        with connect(args.scheduler) as client:
            found = run(client, args.command, args.arguments, name=args.program, parts=args.parts, show=show)
    except (ClusterError, OSError) as error:
        raise SystemExit(f"zeitnot.cluster: {error}") from None
    print(json.dumps(found))


if __name__ == "__main__":
    # Workers find the functions by the module's name, which is not __main__.
    from zeitnot.cluster import main

    main()

"""The client of `zeitnot serve`: streams queries to the program and answers back.

`_Stream` knows which queries may go out and what the answers belong to, and no pipe. `Engine` drives it with a thread that
reads, `AsyncEngine` with asyncio. No more positions are under way than the server takes, however many queries there are.
"""

import asyncio
import json
import queue
import socket
import subprocess
import sysconfig
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any, NamedTuple, Optional, Tuple, Union

# Positions under way unless the caller says otherwise: enough for the batches of several GPUs.
IN_FLIGHT = 2000
# Seconds until a query is sent again that a server refused because other clients fill its queue.
AGAIN = 0.05
# The longest answer, bytes: all moves of a position with their lines.
MAX_LINE = 1 << 24


class RootMove(NamedTuple):
    """A move of the position, for the side to move."""

    move: str
    visits: int
    q: float
    wdl: Tuple[float, float, float]
    policy: float
    plies_left: Optional[float]
    mate: Optional[int]
    pv: Tuple[str, ...]


class Answer(NamedTuple):
    """What a search has found in one position; docs/guide/serve.md explains the fields. Values are for the side to move.

    A position without a legal move has a reason and no figures."""

    id: Any
    ply: int
    turn: str
    final: bool
    reason: Optional[str]
    best: Optional[str]
    visits: Optional[int]
    q: Optional[float]
    wdl: Optional[Tuple[float, float, float]]
    plies_left: Optional[float]
    mate: Optional[int]
    depth: Optional[int]
    seldepth: Optional[int]
    time_ms: Optional[float]
    tbhits: Optional[int]
    moves: Tuple[RootMove, ...]
    warnings: Tuple[str, ...]


class EngineError(Exception):
    """The program is missing, could not start, or has ended before it had answered."""


class QueryError(Exception):
    """A query was refused, or one of its positions could not be searched."""

    def __init__(self, id, error, field=None, ply=None):
        super().__init__(f"{field}: {error}" if field else error)
        self.id, self.error, self.field, self.ply = id, error, field, ply


def program():
    """The path of the program: the one beside this Python, else that of the search path."""
    installed = Path(sysconfig.get_path("scripts"), "zeitnot" + (sysconfig.get_config_var("EXE") or ""))
    return str(installed) if installed.exists() else "zeitnot"


def query_of(position):
    """A query of a position: a dictionary as in docs/guide/serve.md, a `chess.Board`, or a `chess.pgn.Game`, whose positions
    are all searched. Boards and games keep what was played before, which matters for repetitions."""
    if isinstance(position, dict):
        return position
    if isinstance(position, str):
        return {"fen": position}
    if hasattr(position, "mainline"):
        return {**query_of(position.end().board()), "plies": "all"}
    if hasattr(position, "move_stack"):
        root = position.root()
        return {
            "fen": root.fen(shredder=True) if position.chess960 else root.fen(),
            "moves": [move.uci() for move in position.move_stack],
            "chess960": position.chess960,
        }
    raise TypeError(f"a query is a dict, a FEN, or a board or game of python-chess, not {type(position).__name__}")


def _positions(query):
    plies = query.get("plies")
    if plies == "all":
        return len(query.get("moves", ())) + 1
    return max(len(plies), 1) if isinstance(plies, (list, tuple)) else 1


def _answer_of(line, id):
    get = line.get
    moves = tuple(RootMove._make(map(move.get, RootMove._fields)) for move in get("moves", ()))
    answer = Answer._make(map(get, Answer._fields))
    return answer._replace(id=id, moves=moves, warnings=tuple(get("warnings", ())))


class _Open:
    """A query without all of its answers."""

    def __init__(self, number, query):
        self.number, self.query, self.left, self.answers = number, query, _positions(query), []


class _Stream:
    """The queries of one caller and what has come of them. It tells what to send, and takes what was received."""

    def __init__(self, numbers, defaults, in_flight, in_order):
        self._numbers, self._defaults, self._most, self._in_order = numbers, defaults, in_flight, in_order
        self._open, self._refused = {}, deque()
        # Positions that were sent and have no answer, and those whose answer waits for its turn.
        self.left, self._held = 0, 0
        self._order = deque()

    def has_room(self):
        """Whether a further query may be sent."""
        return not self._refused and self.left + self._held < self._most

    def is_idle(self):
        return not self._open and not self._refused

    def send(self, query):
        """Takes a query, and returns the line to send."""
        new = _Open(next(self._numbers), {**self._defaults, **query_of(query)})
        if self._in_order:
            self._order.append(new)
        return self._line(new)

    def send_refused(self):
        """The line of a query that is to be sent again, or None."""
        return self._line(self._refused.popleft()) if self._refused else None

    def _line(self, query):
        self._open[query.number] = query
        self.left += query.left
        return json.dumps({**query.query, "id": query.number}) + "\n"

    def take(self, line):
        """Takes a line of the server, and returns what the caller gets now: answers, and errors as `QueryError`."""
        line = json.loads(line)
        query = self._open.get(line.get("id"))
        if query is None:
            # An answer to what an earlier caller has given up.
            return []
        id = query.query.get("id", query.number)
        is_last, positions = True, 1
        if "error" in line:
            if line.get("field") is None and line["error"].startswith("the queue is full"):
                del self._open[query.number]
                self.left -= query.left
                self._refused.append(query)
                return []
            result = QueryError(id, line["error"], line.get("field"), line.get("ply"))
            positions = query.left if line.get("ply") is None else 1
        else:
            result = _answer_of(line, id)
            if not result.final:
                return [result]
        query.left -= positions
        self.left -= positions
        is_last = query.left == 0
        if is_last:
            del self._open[query.number]
        if not self._in_order:
            return [result]
        query.answers.append(result)
        self._held += 1
        return self._in_turn()

    def _in_turn(self):
        ready = []
        while self._order and self._order[0].left == 0:
            answers = self._order.popleft().answers
            self._held -= len(answers)
            ready.extend(sorted(answers, key=lambda answer: answer.ply or 0))
        return ready


def _raised(result, errors):
    if isinstance(result, QueryError) and errors == "raise":
        raise result
    return result


def _command(flags, name):
    return [name or program(), "serve", *flags]


def _not_found(name):
    return EngineError(
        f"the program {name} was not found: install it, or name it as in Engine(program='path/to/zeitnot')"
    )


def _flags_of(flags, in_flight):
    # The window is what the server takes, unless the caller gives it a queue of its own.
    return flags if any(flag.startswith("--queue") for flag in flags) else (*flags, f"--queue={max(in_flight, 1)}")


class Engine:
    """The program in the background, for one thread. `flags` are those of `zeitnot serve`.

    with zeitnot.Engine("--weights=network.pb.gz") as engine:
        for answer in engine.answers(boards, nodes=400):
            print(answer.best, answer.q)

    `address` such as "127.0.0.1:7777" names a server that runs already. `in_flight` is the number of positions under way."""

    def __init__(self, *flags, program=None, address=None, in_flight=IN_FLIGHT):
        self._in_flight, self._process, self._socket = max(1, in_flight), None, None
        if address:
            host, _, port = address.rpartition(":")
            try:
                self._socket = socket.create_connection((host.strip("[]"), int(port)))
            except (OSError, ValueError) as error:
                raise EngineError(f"{address}: no server answers there: {error}") from error
            self._input = self._socket.makefile("w", encoding="utf-8", newline="\n")
            output = self._socket.makefile("r", encoding="utf-8", newline="\n")
        else:
            command = _command(_flags_of(flags, self._in_flight), program)
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
                )
            except FileNotFoundError as error:
                raise _not_found(command[0]) from error
            self._input, output = self._process.stdin, self._process.stdout
        self._numbers = iter(range(1 << 62))
        self._lines = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, args=(output,), daemon=True)
        self._reader.start()
        self._stream = None

    def _read(self, output):
        try:
            for line in output:
                self._lines.put(line)
        except (OSError, ValueError):
            pass
        self._lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the program, whatever it searches."""
        if self._socket:
            # Ends the queries of this client; its server lives on.
            self._socket.close()
        if self._process:
            if self._process.poll() is None:
                self._process.terminate()
            try:
                self._input.close()
            except OSError:
                pass
            self._process.wait()
            self._reader.join()
            self._process.stdout.close()
        self._process = self._socket = None

    def _write(self, line):
        try:
            self._input.write(line)
            self._input.flush()
        except (OSError, ValueError) as error:
            raise self._ended() from error

    def _receive(self, wait):
        """The next line; None if none is there and none is waited for."""
        try:
            line = self._lines.get(block=wait)
        except queue.Empty:
            return None
        if line is None:
            self._lines.put(None)
            raise self._ended()
        return line

    def _ended(self):
        if self._process is None:
            return EngineError("the server has closed the connection" if self._socket else "the engine is closed")
        code = self._process.wait()
        return EngineError(f"zeitnot serve has ended with code {code}; its messages are on stderr")

    def answers(self, queries, *, in_order=False, errors="raise", **defaults):
        """Yields the `Answer`s to `queries` as they come, or in the order of the queries and their positions.

        Queries are dictionaries, FENs, or boards and games of python-chess, and may be without end: they are taken as the
        server has room. `defaults` are keys of every query, such as nodes=400. What is refused raises `QueryError`, or is
        yielded as one with errors="return". Whoever leaves the loop early ends the searches under way."""
        self._give_up()
        stream = self._stream = _Stream(self._numbers, defaults, self._in_flight, in_order)
        queries, is_at_end = iter(queries), False
        try:
            while True:
                if not is_at_end and stream.has_room():
                    try:
                        query = next(queries)
                    except StopIteration:
                        is_at_end = True
                    else:
                        self._write(stream.send(query))
                elif stream.left == 0 and not stream.is_idle():
                    time.sleep(AGAIN)
                    self._write(stream.send_refused())
                elif is_at_end and stream.is_idle():
                    self._stream = None
                    return
                line = self._receive(wait=stream.left > 0 and (is_at_end or not stream.has_room()))
                while line is not None:
                    results = stream.take(line)
                    again = stream.send_refused() if results else None
                    if again:
                        self._write(again)
                    for result in results:
                        yield _raised(result, errors)
                    line = self._receive(wait=False)
        finally:
            self._give_up()

    def _give_up(self):
        """Ends what an earlier caller has left, and takes its answers in."""
        stream, self._stream = self._stream, None
        if stream is None or (self._process is None and self._socket is None):
            return
        try:
            if stream.left:
                self._write('{"action": "cancel_all"}\n')
            while stream.left:
                stream.take(self._receive(wait=True))
        except EngineError:
            pass

    def analyse(self, position, **keys):
        """Searches one position, or all of a game, and returns the answer, or the list of answers in the order of the game."""
        found = list(self.answers([position], in_order=True, **keys))
        return found[0] if len(found) == 1 else found

    def _ask(self, action):
        self._give_up()
        self._write(json.dumps({"action": action}) + "\n")
        while True:
            answer = json.loads(self._receive(wait=True))
            if answer.get("action") == action:
                return {key: value for key, value in answer.items() if key not in ("action", "id")}

    def version(self):
        """Version, backend and network of the server, as a dictionary."""
        return self._ask("version")

    def status(self):
        """What the server has done and has to do, as a dictionary."""
        return self._ask("status")

    def clear_cache(self):
        """Lets the server forget its evaluations."""
        self._ask("clear_cache")


class AsyncEngine:
    """The same for asyncio:

    async with zeitnot.AsyncEngine() as engine:
        async for answer in engine.answers(queries, nodes=400):
            print(answer.best, answer.q)

    Queries may be an asynchronous iterable, too. One loop of answers runs at a time."""

    def __init__(self, *flags, program=None, address=None, in_flight=IN_FLIGHT):
        self._flags, self._program, self._address, self._in_flight = flags, program, address, max(1, in_flight)
        self._process = self._reader = self._writer = None
        self._numbers = iter(range(1 << 62))

    async def __aenter__(self):
        if self._address:
            host, _, port = self._address.rpartition(":")
            try:
                opened = asyncio.open_connection(host.strip("[]"), int(port), limit=MAX_LINE)
                self._reader, self._writer = await opened
            except (OSError, ValueError) as error:
                raise EngineError(f"{self._address}: no server answers there: {error}") from error
            return self
        command = _command(_flags_of(self._flags, self._in_flight), self._program)
        pipe = asyncio.subprocess.PIPE
        try:
            started = asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, limit=MAX_LINE)
            self._process = await started
        except FileNotFoundError as error:
            raise _not_found(command[0]) from error
        self._reader, self._writer = self._process.stdout, self._process.stdin
        return self

    async def __aexit__(self, *_):
        self._writer.close()
        if self._process:
            if self._process.returncode is None:
                self._process.terminate()
            await self._process.wait()

    async def _write(self, line):
        try:
            self._writer.write(line.encode())
            await self._writer.drain()
        except OSError as error:
            raise EngineError("zeitnot serve has ended; its messages are on stderr") from error

    async def _receive(self):
        line = await self._reader.readline()
        if not line:
            raise EngineError("zeitnot serve has ended; its messages are on stderr")
        return line

    async def answers(self, queries, *, in_order=False, errors="raise", **defaults):
        """Yields answers as `Engine.answers` does."""
        stream = _Stream(self._numbers, defaults, self._in_flight, in_order)
        room = asyncio.Event()
        room.set()

        async def feed():
            async for query in _each(queries):
                while not stream.has_room():
                    room.clear()
                    await room.wait()
                await self._write(stream.send(query))

        feeder = asyncio.ensure_future(feed())
        received = None
        try:
            while not (feeder.done() and stream.is_idle()):
                if feeder.done():
                    feeder.result()
                if stream.left == 0 and not stream.is_idle():
                    await asyncio.sleep(AGAIN)
                    await self._write(stream.send_refused())
                received = received or asyncio.ensure_future(self._receive())
                await asyncio.wait({received} if feeder.done() else {received, feeder}, return_when=asyncio.FIRST_COMPLETED)
                if received.done():
                    line, received = received.result(), None
                    results = stream.take(line)
                    again = stream.send_refused() if results else None
                    if again:
                        await self._write(again)
                    room.set()
                    for result in results:
                        yield _raised(result, errors)
            feeder.result()
        finally:
            feeder.cancel()
            if stream.left and not self._writer.is_closing():
                await self._write('{"action": "cancel_all"}\n')
            while stream.left:
                received = received or asyncio.ensure_future(self._receive())
                line, received = await received, None
                stream.take(line)
            if received:
                received.cancel()

    async def analyse(self, position, **keys):
        """Searches as `Engine.analyse` does."""
        found = [answer async for answer in self.answers([position], in_order=True, **keys)]
        return found[0] if len(found) == 1 else found


async def _each(queries):
    if hasattr(queries, "__aiter__"):
        async for query in queries:
            yield query
    else:
        for query in queries:
            yield query


def answers(queries, engine: Optional[Union[str, list]] = None, **keys):
    """Yields the answers to `queries` of a program that lives as long as the loop. `engine` is the program with flags, if need be."""
    name, *flags = [engine] if isinstance(engine, str) else engine or [None]
    with Engine(*flags, program=name) as started:
        yield from started.answers(queries, **keys)

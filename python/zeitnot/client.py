"""The client of `zeitnot serve`: streams queries to the program and answers back.

`AsyncEngine` is a connection. Its one task that reads hands each line to the `_Stream` that has asked, so that any number of
callers share the connection. `Engine` is the same for programs without asyncio: it runs an `AsyncEngine` in a thread.
"""

import asyncio
import json
import os
import re
import socket
import sys
import sysconfig
import threading
import weakref
from collections import deque
from contextlib import suppress
from functools import partial
from html import escape
from importlib import import_module
from itertools import count, repeat
from pathlib import Path
from typing import Any, AsyncGenerator, AsyncIterator, Callable, Coroutine, Deque, Dict, Generator, Iterator, List, Literal, NamedTuple
from typing import Optional, Sequence, Set, Tuple, TYPE_CHECKING, TypedDict, TypeVar, Union, cast, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Positions under way unless the caller says otherwise: enough for the batches of several GPUs.
IN_FLIGHT = 2000
# Queries that are taken ahead from an iterator that may be slow.
AHEAD = 32
# Seconds until a query is sent again that a server refused because other clients fill its queue.
AGAIN = 0.05
# Seconds in which searches and programs must end that are told to, and in which a port must answer.
PATIENCE = 5.0
# Seconds in which a program must be ready. Some devices compile the network first.
START = 1800.0
# The longest answer, bytes: all moves of a position with their lines.
MAX_LINE = 1 << 24
# Characters of the program's messages that an error repeats.
SHOWN = 2000
# Moves that have an arrow on the board of an answer, and the width of that board.
SHOWN_MOVES = 3
BOARD_PIXELS = 320

T = TypeVar("T")
Line = Dict[str, Any]
Text = Optional[str]
# A dictionary as in docs/guide/serve.md, a FEN or "startpos", or a board or game of python-chess.
Position = Any
Wdl = Tuple[float, float, float]


class Keys(TypedDict, total=False):
    """The keys of a query:

    id              a string or a number, which all answers repeat
    fen             the position before the moves, by default the start of a game
    moves           the moves, in UCI's notation or algebraic notation
    chess960        True: castling is written king takes rook
    plies           which positions of the game to search, by the moves played before them: a list, or "all"
    nodes           visits of each position
    movetime        time of each search, ms
    depth           average depth at which a search ends
    mate            a search ends when it finds a mate in so many moves
    infinite        True: a search ends only with its caller's loop
    multipv         the number of moves in the answer, by default all
    searchmoves     the root moves to search, for a query of one position
    report_every    ms between two reports before the answer
    options         options of the engine for this query, such as {"CPuct": 2}
    priority        a whole number, by default 0. The largest is searched first.
    """

    id: Union[str, float]
    fen: str
    moves: Sequence[Any]
    chess960: bool
    plies: Union[Sequence[int], Literal["all"]]
    nodes: int
    movetime: float
    depth: int
    mate: int
    infinite: bool
    multipv: int
    searchmoves: Sequence[Any]
    report_every: float
    options: Dict[str, Any]
    priority: int


class RootMove(NamedTuple):
    """A move of the position, for the side to move. A move without a visit has no value: q, wdl, centipawns, plies_left
    and mate are None.

    policy is the network's probability of the move, prior the search's, after PolicyTemperature and noise."""

    move: str
    visits: int
    q: Optional[float]
    wdl: Optional[Wdl]
    centipawns: Optional[int]
    policy: Optional[float]
    prior: Optional[float]
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
    wdl: Optional[Wdl]
    centipawns: Optional[int]
    plies_left: Optional[float]
    mate: Optional[int]
    depth: Optional[int]
    seldepth: Optional[int]
    time_ms: Optional[float]
    tbhits: Optional[int]
    nps: Optional[int]
    eps: Optional[int]
    batch: Optional[float]
    cached: Optional[float]
    moves: Tuple[RootMove, ...]
    warnings: Tuple[str, ...]
    # What was asked, as JSON.
    query: str

    def _repr_svg_(self) -> Optional[str]:
        """The board with the three most visited moves, as notebooks show it where python-chess is installed."""
        try:
            chess: Any = import_module("chess.svg").chess
        except ImportError:
            return None
        query = json.loads(self.query)
        board = chess.Board(query.get("fen", chess.STARTING_FEN), chess960=query.get("chess960", False))
        for move in query.get("moves", ())[: self.ply]:
            is_uci = re.fullmatch("([a-h][1-8]){2}[nbrq]?", move)
            board.push(board.parse_uci(move) if is_uci else board.parse_san(move))
        shown = [board.parse_uci(move.move) for move in self.moves[:SHOWN_MOVES]]
        lines = [(move.from_square, move.to_square) for move in shown]
        return str(chess.svg.board(board, orientation=board.turn, arrows=lines, size=BOARD_PIXELS))

    def _repr_html_(self) -> str:
        """The board and a table of the moves, as notebooks show it."""
        def row(cells: Sequence[Any], kind: str = "td") -> str:
            return "<tr>" + "".join(f"<{kind}>{escape(str(cell))}</{kind}>" for cell in cells) + "</tr>"

        def figures(found: Any) -> List[Any]:
            if found.q is None:
                return [found.visits, "", "", ""]
            score = f"mate {found.mate}" if found.mate is not None else f"{found.centipawns / 100:+.2f}"
            return [found.visits, f"{found.q:+.3f}", " / ".join(f"{100 * share:.0f}" for share in found.wdl), score]

        head = row(["move", "visits", "q", "win / draw / loss, %", "pawns", "line"], "th")
        moves = [row([move.move, *figures(move), " ".join(move.pv)]) for move in self.moves]
        told = f"ply {self.ply}, {self.turn} to move: {self.best or self.reason}"
        return f"{self._repr_svg_() or ''}<table><caption>{escape(told)}</caption>{head}{''.join(moves)}</table>"


class EngineError(Exception):
    """The program is missing, could not start, or has ended before it had answered."""


class QueryError(Exception):
    """A query was refused, or one of its positions could not be searched."""

    def __init__(self, id: Any, error: str, field: Optional[str] = None, ply: Optional[int] = None) -> None:
        super().__init__(id, error, field, ply)
        self.id, self.error, self.field, self.ply = id, error, field, ply

    def __str__(self) -> str:
        return f"{self.field}: {self.error}" if self.field else self.error


Result = Union[Answer, QueryError]


def program() -> str:
    """The path of the program: the one beside this Python, else that of the search path."""
    installed = Path(sysconfig.get_path("scripts"), "zeitnot" + (sysconfig.get_config_var("EXE") or ""))
    return str(installed) if installed.exists() else "zeitnot"


def listed(queries: Any) -> Any:
    """The queries of one position, which may stand alone, or of many."""
    is_one = isinstance(queries, (dict, str)) or hasattr(queries, "move_stack") or hasattr(queries, "mainline")
    return [queries] if is_one else queries


def query_of(position: Position) -> Line:
    """The query of a position. Boards and games of python-chess keep what was played before, which matters for repetitions.
    Of a game all positions are searched."""
    if isinstance(position, dict):
        return {key: value for key, value in position.items() if (key, value) != ("fen", "startpos")}
    if isinstance(position, str):
        return query_of({"fen": position})
    if hasattr(position, "mainline"):
        return {**query_of(position.end().board()), "plies": "all"}
    if hasattr(position, "move_stack"):
        root, chess960 = position.root(), position.chess960
        fen = root.fen(shredder=True) if chess960 else root.fen()
        return {"fen": fen, "moves": [move.uci() for move in position.move_stack], "chess960": chess960}
    raise TypeError(f"a query is a dict, a FEN, or a board or game of python-chess, not {type(position).__name__}")


def _plain(value: Any) -> Any:
    """A move of python-chess in UCI's notation, and numbers and arrays of numpy as Python's."""
    if hasattr(value, "from_square"):
        return str(value.uci())
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a query cannot hold a {type(value).__name__}")


class _Query:
    """A query as JSON without its number, and how many of its positions have no answer."""

    def __init__(self, position: Position, defaults: Line, number: int) -> None:
        query = {**defaults, **query_of(position)}
        self.id, self.left, self.text = query.pop("id", number), 1, ""
        self.answers: List[Result] = []
        self.error = QueryError(self.id, "actions are methods of the engine", "action") if "action" in query else None
        try:
            self.text = json.dumps(query, default=_plain, allow_nan=False, ensure_ascii=False).encode().decode()[1:-1]
        except (TypeError, ValueError, RecursionError) as error:
            self.error = QueryError(self.id, str(error))
        if "plies" in query and not self.error:
            # Of what is sent, not of what was given: the server counts the same.
            sent = json.loads("{" + self.text + "}")
            plies, moves = sent["plies"], sent.get("moves")
            if plies == "all" and isinstance(moves, list):
                self.left = len(moves) + 1
            elif isinstance(plies, list):
                self.left = len(set(map(str, plies))) or 1


def _fields(line: Line, names: Sequence[str]) -> Iterator[Any]:
    """The values of these keys, lists as tuples, so that what holds them can be hashed."""
    return (tuple(value) if isinstance(value, list) else value for value in map(line.get, names))


def _answer_of(line: Line, query: _Query) -> Answer:
    moves = tuple(RootMove._make(_fields(move, RootMove._fields)) for move in line.get("moves", ()))
    answer = Answer._make(_fields(line, Answer._fields))
    return answer._replace(id=query.id, moves=moves, warnings=answer.warnings or (), query="{" + query.text + "}")


def _check_process(own: int) -> None:
    """A fork has the memory of its parent, but not the thread that reads the answers."""
    if own != os.getpid():
        raise EngineError("the engine was made in another process: make one in each process, after the fork")


def _check_errors(errors: str) -> None:
    if errors not in ("raise", "return"):
        raise ValueError(f'errors is "raise" or "return", not {errors!r}')


async def _each(queries: Any, defaults: Line) -> AsyncGenerator[_Query, None]:
    """The queries of an iterable. An iterator has a thread of its own, because it may wait for whatever it likes."""
    if hasattr(queries, "__aiter__"):
        numbers = count()
        async for position in queries:
            yield _Query(position, defaults, next(numbers))
        return
    made = map(_Query, queries, repeat(defaults), count())
    if isinstance(queries, Sequence):
        for query in made:
            yield query
        return
    taken: Deque[Union[_Query, BaseException, None]] = deque()
    loop, came, room, is_left = asyncio.get_running_loop(), asyncio.Event(), threading.Semaphore(AHEAD), threading.Event()

    def put(item: Union[_Query, BaseException, None]) -> None:
        taken.append(item)
        if len(taken) == 1:
            # The event loop may be over.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(came.set)

    def pull() -> None:
        try:
            for query in made:
                put(query)
                room.acquire()
                if is_left.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=pull, daemon=True, name="zeitnot-queries").start()
    try:
        while True:
            while not taken:
                await came.wait()
                came.clear()
            item = taken.popleft()
            room.release()
            if isinstance(item, BaseException):
                raise item if isinstance(item, Exception) else EngineError(f"the queries have ended: {item!r}")
            if item is None:
                return
            yield item
    finally:
        is_left.set()
        room.release()


class _Stream:
    """The queries of one caller, and what has come of them. It lives in the thread of the event loop."""

    def __init__(self, engine: "AsyncEngine", queries: Any, in_order: bool, defaults: Line) -> None:
        self._engine, self._in_order, self._is_closed = engine, in_order, False
        self._order: Deque[_Query] = deque()
        self._refused: Deque[_Query] = deque()
        self._open: Set[int] = set()
        self._ready: List[Result] = []
        # Positions that the caller has given and not got back.
        self._under_way = 0
        self._error: Optional[Exception] = None
        self._timer: Optional[asyncio.TimerHandle] = None
        self._changed = asyncio.Event()
        self._feeder = asyncio.ensure_future(self._feed(_each(listed(queries), defaults)))
        self._feeder.add_done_callback(lambda _: self._changed.set())
        engine._ended.add_done_callback(self._end)

    async def _until(self, is_so: Callable[[], Any]) -> None:
        while not is_so():
            self._changed.clear()
            await self._changed.wait()

    async def _feed(self, queries: AsyncGenerator[_Query, None]) -> None:
        try:
            async for query in queries:
                await self._until(lambda: not self._refused and self._under_way < self._engine._in_flight)
                self._under_way += query.left
                if self._in_order:
                    self._order.append(query)
                if query.error:
                    self._give(query, query.error, query.left)
                else:
                    self._send(query)
                    await self._engine._drain()
        except Exception as error:
            # That of the caller's own iterator.
            self._error = self._error or error
        finally:
            await queries.aclose()

    def _send(self, query: _Query) -> None:
        self._open.add(self._engine._send(query.text, partial(self._take, query)))

    def _send_again(self) -> None:
        """Sends two of the refused queries: the better it goes, the more there are."""
        for _ in range(min(2, len(self._refused))):
            self._send(self._refused.popleft())
        if self._timer:
            self._timer.cancel()
        # What is open may be searched for ever, so that the others wait for none of it.
        self._timer = asyncio.get_running_loop().call_later(AGAIN, self._send_again) if self._refused else None
        self._changed.set()

    def _take(self, query: _Query, line: Line) -> bool:
        """Takes a line on a query, and says whether it is the last one."""
        error, ply = line.get("error"), line.get("ply")
        full = re.match(r"the queue is full: .* of (\d+) that may", error) if error else None
        if full and query.left <= int(full[1]):
            self._refused += [] if self._is_closed else [query]
            self._timer = self._timer or asyncio.get_running_loop().call_later(AGAIN, self._send_again)
        elif error:
            self._give(query, QueryError(query.id, error, line.get("field"), ply), query.left if ply is None else 1)
        elif line["final"]:
            self._give(query, _answer_of(line, query), 1)
        elif len(self._ready) < self._engine._in_flight:
            # Who reads slowly gets fewer reports.
            self._ready.append(_answer_of(line, query))
        is_last = bool(full) or query.left == 0
        if is_last:
            self._open.discard(line["id"])
            self._send_again() if not full else None
        self._changed.set()
        return is_last

    def _give(self, query: _Query, result: Result, positions: int) -> None:
        """Gives the caller what came of some positions: now, or when it is their turn."""
        query.left -= positions
        self._under_way -= positions - 1
        query.answers.append(result)
        if not self._in_order:
            self._ready.append(query.answers.pop())
        while self._order and self._order[0].left == 0:
            self._ready += sorted(self._order.popleft().answers, key=lambda answer: answer.ply or 0)
        self._changed.set()

    def _end(self, _: object) -> None:
        self._open.clear()
        self._feeder.cancel()
        self._error = self._error or self._engine._error()
        self._changed.set()

    async def batch(self) -> List[Result]:
        """What has come since the last call, or nothing at the end. An error comes behind the answers that are there."""
        await self._until(lambda: self._ready or self._error or (self._feeder.done() and not self._under_way))
        if self._error and not self._ready:
            raise self._error
        ready, self._ready = self._ready, []
        self._under_way -= sum(isinstance(result, QueryError) or result.final for result in ready)
        self._changed.set()
        return ready

    async def close(self) -> None:
        """Ends the searches under way, and gives them some time to do so."""
        self._is_closed = True
        self._refused.clear()
        self._feeder.cancel()
        for number in self._open:
            self._engine._write(f'{{"id": {number}, "action": "cancel"}}')
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._until(lambda: self._feeder.done() and not self._open), PATIENCE)
        self._engine._ended.remove_done_callback(self._end)


class Answers(Iterator[T]):
    """Answers as they come. Their length is the number of positions, if the queries are not an iterator."""

    def __init__(self, found: Generator[T, None, None], queries: Any, defaults: Line) -> None:
        self._found, self._queries, self._defaults = found, queries, defaults

    def __next__(self) -> T:
        return next(self._found)

    def __len__(self) -> int:
        if not hasattr(self._queries, "__len__"):
            raise TypeError("queries that come from an iterator have no number")
        return sum(_Query(position, self._defaults, 0).left for position in listed(self._queries))

    def close(self) -> None:
        """Ends the searches under way."""
        self._found.close()


class AsyncEngine:
    """The program in the background, for asyncio. `flags` are those of `zeitnot serve`.

    async with zeitnot.AsyncEngine("--weights=network.pb.gz") as engine:
        async for answer in engine.answers(boards, nodes=400):
            print(answer.best, answer.q)

    `address` such as "127.0.0.1:7777" names a server that runs already. Any number of tasks may call at once. `in_flight` is the
    number of positions under way of each. The program runs in `folder`."""

    _ended: "asyncio.Task[str]"
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _messages: "asyncio.Task[None]"

    def __init__(
        self, *flags: str, program: Text = None, address: Text = None, in_flight: int = IN_FLIGHT, folder: Text = None
    ) -> None:
        self._in_flight, self._program, self._address, self._folder = max(1, in_flight), program, address, folder
        # The window is what the server takes, unless the caller gives it a queue of its own.
        self._flags = flags if any(flag.startswith("--queue") for flag in flags) else (*flags, f"--queue={self._in_flight}")
        self._process: Optional[asyncio.subprocess.Process] = None
        # Who waits for a line, by the number of the line that asked.
        self._waiting: Dict[int, Callable[[Line], Any]] = {}
        self._sent, self._said, self._is_closed = 0, "", False
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def __repr__(self) -> str:
        is_running = self._loop and not self._is_closed and not self._ended.done()
        return f"<zeitnot.AsyncEngine, {'running' if is_running else 'closed'}>"

    async def __aenter__(self) -> "AsyncEngine":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Starts the program, and waits until it is ready."""
        name = self._address or self._program or program()
        try:
            await (self._connect(self._address) if self._address else self._spawn(name))
        except FileNotFoundError as error:
            how = "install it, or name it as in Engine(program='path/to/zeitnot')"
            raise EngineError(f"the program {name} was not found: {how}") from error
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            what = "no server answers there" if self._address else "the program cannot be started"
            raise EngineError(f"{name}: {what}: {error}") from error
        self._loop, self._process_id = asyncio.get_running_loop(), os.getpid()
        self._turn, self._ended = asyncio.Lock(), asyncio.ensure_future(self._read())
        try:
            await asyncio.wait_for(self.version(), PATIENCE if self._address else START)
        except BaseException as error:
            await self.close()
            if isinstance(error, asyncio.TimeoutError):
                raise EngineError(f"{name}: it does not answer as zeitnot serve does") from error
            raise

    async def _connect(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        opened = asyncio.open_connection(host.strip("[]"), int(port), limit=MAX_LINE)
        self._reader, self._writer = await asyncio.wait_for(opened, PATIENCE)
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    async def _spawn(self, name: str) -> None:
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            name, "serve", *self._flags, limit=MAX_LINE, stdin=pipe, stdout=pipe, stderr=pipe, cwd=self._folder
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._reader, self._writer = self._process.stdout, self._process.stdin
        self._messages = asyncio.ensure_future(self._listen(self._process.stderr))

    async def close(self) -> None:
        """Ends the program, whatever it searches. A server on a port ends the queries of this client."""
        if self._loop and self._process_id == os.getpid():
            self._is_closed = True
            self._writer.close()
            with suppress(ProcessLookupError):
                self._process.terminate() if self._process else None
            await asyncio.wait({self._ended}, timeout=3 * PATIENCE)

    def _break(self) -> None:
        self._writer.close()
        with suppress(ProcessLookupError):
            self._process.kill() if self._process else None

    async def _listen(self, messages: asyncio.StreamReader) -> None:
        """Shows the program's messages, and keeps the last of them."""
        while text := (await messages.read(SHOWN)).decode(errors="replace"):
            self._said = (self._said + text)[-SHOWN:]
            if sys.stderr:
                print(text, end="", file=sys.stderr, flush=True)

    async def _read(self) -> str:
        """Hands each line to whoever waits for it, and returns why there are no more."""
        reason = "the server has closed the connection"
        try:
            async for text in self._reader:
                if text.endswith(b"\n"):
                    self._hand_out(json.loads(text))
        except OSError:
            pass
        except Exception as error:
            reason = f"this is no answer of zeitnot serve: {error}"
            self._break()
        if self._process:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), PATIENCE)
            await asyncio.wait({self._messages}, timeout=PATIENCE)
            reason = f"zeitnot serve has ended with code {self._process.returncode}: {self._said.strip() or reason}"
        self._break()
        return "the engine is closed" if self._is_closed else reason

    def _hand_out(self, line: Any) -> None:
        if line.get("id") is None:
            # The server names a line that it cannot read by its number, which is that of who has sent it.
            found = re.match(r"line (\d+): ", line["error"])
            if not found:
                raise ValueError(line["error"])
            line["id"] = int(found[1])
        take = self._waiting.get(line["id"])
        if take and line.get("action") != "cancel" and take(line):
            del self._waiting[line["id"]]

    def _error(self) -> EngineError:
        return EngineError(self._ended.result() if self._ended.done() else "the engine is closed")

    def _write(self, text: str) -> int:
        """Writes a line, and returns its number."""
        self._sent += 1
        if not self._writer.is_closing():
            self._writer.write(text.encode() + b"\n")
        return self._sent

    def _send(self, text: str, take: Callable[[Line], Any]) -> int:
        """Sends an object, which gets its line's number. `take` gets what is answered until it says that no more is to come."""
        number = self._write(f'{{"id": {self._sent + 1}{", " if text else ""}{text}}}')
        self._waiting[number] = take
        return number

    async def _drain(self) -> None:
        try:
            # Before Python 3.11 one task at a time may wait.
            async with self._turn:
                await self._writer.drain()
        except OSError:
            # Who reads finds out why.
            self._break()

    def _check(self) -> None:
        """Refuses to wait where no answer can come."""
        if not self._loop:
            raise EngineError("the engine has not been started: use `async with AsyncEngine() as engine:`")
        _check_process(self._process_id)
        if self._loop is not asyncio.get_running_loop():
            raise EngineError("the engine was started in another event loop: start one in this loop")

    async def _open(self, queries: Any, in_order: bool, defaults: Line) -> _Stream:
        self._check()
        return _Stream(self, queries, in_order, defaults)

    @overload
    def answers(self, queries: Any, *, in_order: bool = ..., errors: Literal["return"], **keys: "Unpack[Keys]") -> AsyncIterator[Result]: ...
    @overload
    def answers(self, queries: Any, *, in_order: bool = ..., errors: Literal["raise"] = ..., **keys: "Unpack[Keys]") -> AsyncIterator[Answer]: ...
    def answers(self, queries: Any, *, in_order: bool = False, errors: str = "raise", **defaults: "Unpack[Keys]") -> AsyncIterator[Any]:
        """Yields answers as `Engine.answers` does. Queries may be an asynchronous iterable, too."""
        _check_errors(errors)
        return self._answers(queries, in_order, errors, cast(Line, defaults))

    async def _answers(self, queries: Any, in_order: bool, errors: str, defaults: Line) -> AsyncGenerator[Any, None]:
        stream = await self._open(queries, in_order, defaults)
        try:
            while batch := await stream.batch():
                for result in batch:
                    if isinstance(result, QueryError) and errors == "raise":
                        raise result
                    yield result
        finally:
            await stream.close()

    async def analyse_all(self, position: Position, *, errors: Any = "raise", **keys: "Unpack[Keys]") -> List[Answer]:
        """Searches all positions that a query asks for, in their order. `keys` are those of `zeitnot.Keys`."""
        found = [answer async for answer in self.answers([position], in_order=True, errors=errors, **keys)]
        return [answer for answer in found if isinstance(answer, QueryError) or answer.final]

    async def analyse(self, position: Position, *, errors: Any = "raise", **keys: "Unpack[Keys]") -> Answer:
        """Searches one position. `keys` are those of `zeitnot.Keys`, such as nodes=400, movetime=1000 or multipv=3."""
        found = await self.analyse_all(position, errors=errors, **keys)
        if len(found) != 1:
            raise TypeError("the query asks for several positions, as analyse_all searches them")
        return found[0]

    async def _ask(self, action: str) -> Line:
        self._check()
        answer: "asyncio.Future[Line]" = asyncio.get_running_loop().create_future()

        def take(line: Line) -> bool:
            # Who asked may have left.
            if not answer.done():
                answer.set_result(line)
            return True

        self._send(f'"action": "{action}"', take)
        either: Set["asyncio.Future[Any]"] = {answer, self._ended}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise self._error()
        return {key: value for key, value in answer.result().items() if key not in ("action", "id")}

    async def version(self) -> Line:
        """Version, backend and network of the server."""
        return await self._ask("version")

    async def status(self) -> Line:
        """What the server has done and has to do."""
        return await self._ask("status")

    async def clear_cache(self) -> None:
        """Lets the server forget its evaluations."""
        await self._ask("clear_cache")


class Engine:
    """The program in the background, as `AsyncEngine` has it, for any number of threads:

    with zeitnot.Engine("--weights=network.pb.gz") as engine:
        for answer in engine.answers(boards, nodes=400):
            print(answer.best, answer.q)

    A process that is forked makes an engine of its own."""

    def __init__(
        self, *flags: str, program: Text = None, address: Text = None, in_flight: int = IN_FLIGHT, folder: Text = None
    ) -> None:
        self._engine = AsyncEngine(*flags, program=program, address=address, in_flight=in_flight, folder=folder)
        self._loop, self._process_id = asyncio.new_event_loop(), os.getpid()
        thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="zeitnot")
        thread.start()
        # Also at the end of the interpreter, which leaves the thread where it is.
        self._ending = weakref.finalize(self, _shut, self._process_id, self._engine, self._loop, thread)
        try:
            self._wait(self._engine.start())
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<zeitnot.Engine, {'running' if self._ending.alive else 'closed'}>"

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program, whatever it searches. A server on a port ends the queries of this client."""
        self._ending()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            _check_process(self._process_id)
            if not self._ending.alive:
                raise EngineError("the engine is closed")
        except EngineError:
            coroutine.close()
            raise
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @overload
    def answers(self, queries: Any, *, in_order: bool = ..., errors: Literal["return"], **keys: "Unpack[Keys]") -> "Answers[Result]": ...
    @overload
    def answers(self, queries: Any, *, in_order: bool = ..., errors: Literal["raise"] = ..., **keys: "Unpack[Keys]") -> "Answers[Answer]": ...
    def answers(self, queries: Any, *, in_order: bool = False, errors: str = "raise", **defaults: "Unpack[Keys]") -> "Answers[Any]":
        """Yields the `Answer`s to `queries` as they come, or in the order of the queries and their positions.

        Queries are dictionaries, FENs, or boards and games of python-chess. There may be any number of them: an iterator is asked
        in a thread of its own as there is room, and may wait for answers. `defaults` are keys of every query, such as nodes=400.
        Of queries in a list the answers have a length, so that tqdm shows how far they are.
        What is refused raises `QueryError`, or is yielded as one with errors="return". Whoever leaves the loop early ends the
        searches under way."""
        _check_errors(errors)
        line = cast(Line, defaults)
        return Answers(self._answers(queries, in_order, errors, line), queries, line)

    def _answers(self, queries: Any, in_order: bool, errors: str, defaults: Line) -> Generator[Any, None, None]:
        stream = self._wait(self._engine._open(queries, in_order, defaults))
        try:
            while batch := self._wait(stream.batch()):
                for result in batch:
                    if isinstance(result, QueryError) and errors == "raise":
                        raise result
                    yield result
        finally:
            with suppress(EngineError):
                self._wait(stream.close())

    def analyse_all(self, position: Position, *, errors: Any = "raise", **keys: "Unpack[Keys]") -> List[Answer]:
        """Searches all positions that a query asks for, in their order. `keys` are those of `zeitnot.Keys`."""
        return self._wait(self._engine.analyse_all(position, errors=errors, **keys))

    def analyse(self, position: Position, *, errors: Any = "raise", **keys: "Unpack[Keys]") -> Answer:
        """Searches one position. `keys` are those of `zeitnot.Keys`, such as nodes=400, movetime=1000 or multipv=3."""
        return self._wait(self._engine.analyse(position, errors=errors, **keys))

    def version(self) -> Line:
        """Version, backend and network of the server."""
        return self._wait(self._engine.version())

    def status(self) -> Line:
        """What the server has done and has to do."""
        return self._wait(self._engine.status())

    def clear_cache(self) -> None:
        """Lets the server forget its evaluations."""
        self._wait(self._engine.clear_cache())


def _shut(process_id: int, engine: AsyncEngine, loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if process_id != os.getpid():
        # The program is the parent's.
        return

    async def end() -> None:
        await engine.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.wait(others or {asyncio.ensure_future(asyncio.sleep(0))}, timeout=PATIENCE)
        loop.stop()

    asyncio.run_coroutine_threadsafe(end(), loop)
    # The garbage collector may call from the thread itself, which cannot wait for its own end.
    if threading.current_thread() is not thread:
        thread.join(6 * PATIENCE)
        loop.close()


def answers(
    queries: Any,
    engine: Union[str, Sequence[str], None] = None,
    *,
    in_order: bool = False,
    errors: Any = "raise",
    **keys: "Unpack[Keys]",
) -> Iterator[Answer]:
    """Yields the answers to `queries` of a program that lives as long as the loop. `engine` is the program with flags, if need be."""
    name, *flags = [engine] if isinstance(engine, str) else engine or [program()]
    with Engine(*flags, program=name) as started:
        yield from started.answers(queries, in_order=in_order, errors=errors, **keys)

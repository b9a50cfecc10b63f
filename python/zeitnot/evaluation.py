"""What the network alone says of positions: `zeitnot eval` behind an iterator."""

import json
import subprocess
import threading
from collections import deque
from importlib import import_module
from itertools import count
from typing import IO, Any, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .client import EngineError, Position, QueryError, Text, Wdl, listed, program as installed, query_of

# Numbers of a network's policy, in Lc0's order of moves.
POLICY_SIZE = 1858
# Lines of messages that an error repeats.
SHOWN = 20


class Evaluation(NamedTuple):
    """The network's figures of one position, for the side to move. `m` is in plies, None if the network does not tell.
    `policy` has the probability of each legal move, `scores` its place among the 1858 and its logit. `backend` names what
    has computed, and in which precision."""

    position: Position
    q: float
    wdl: Wdl
    m: Optional[float]
    policy: Dict[str, float]
    scores: Tuple[Tuple[int, float], ...]
    backend: str
    network_sha256: Optional[str]

    def logits(self) -> Any:
        """`[1858]`, an array where numpy is there, else a list: NaN where no legal move is."""
        numbers = [float("nan")] * POLICY_SIZE
        for index, logit in self.scores:
            numbers[index] = logit
        try:
            numpy: Any = import_module("numpy")
        except ImportError:
            return numbers
        return numpy.array(numbers, dtype="float32")


def _text(position: Position) -> str:
    """A position as UCI writes it, in one line."""
    query = query_of(position)
    fen, moves = query.get("fen"), [str(move) for move in query.get("moves", ())]
    text = " ".join([f"fen {fen}" if fen else "startpos", *(["moves", *moves] if moves else [])])
    return " ".join(text.split())


def evaluate(positions: Any, *flags: str, program: Text = None, folder: Text = None) -> Iterator[Evaluation]:
    """Yields the network's figures of each position, in order. Of any number only some are held at once. `flags` are those of
    `zeitnot eval`, such as "--weights=network.pb.gz", and "--chess960" to have castling written as Chess960 does. A position
    that is refused raises a `QueryError` with its number."""
    name = program or installed()
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen([name, "eval", "--json", "-", *flags], stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder)
    except OSError as error:
        raise EngineError(f"{name}: the program cannot be started: {error}") from error
    assert process.stdin and process.stdout and process.stderr
    asked: Deque[Position] = deque()
    failed: List[BaseException] = []
    said: Deque[str] = deque(maxlen=SHOWN)

    def feed(items: Iterable[Position], to: IO[bytes]) -> None:
        try:
            with to:
                for position in items:
                    asked.append(position)
                    to.write((_text(position) + "\n").encode())
        except OSError:
            # The program has ended, which is noticed where its answers are read.
            pass
        except BaseException as error:
            failed.append(error)

    def listen(messages: IO[bytes]) -> None:
        with messages:
            said.extend(line.decode(errors="replace").rstrip() for line in messages)

    feeder = threading.Thread(target=feed, args=(listed(positions), process.stdin), daemon=True)
    threads = [feeder, threading.Thread(target=listen, args=(process.stderr,), daemon=True)]
    for thread in threads:
        thread.start()
    try:
        for number in count(1):
            line = process.stdout.readline()
            if not line:
                break
            found = json.loads(line)
            position = asked.popleft()
            if found["line"] != number:
                raise QueryError(number, _reason(number, said) or "it cannot be evaluated")
            moves = found["policy"]
            yield Evaluation(
                position,
                found["q"],
                (found["w"], found["d"], found["l"]),
                found.get("m"),
                {move["move"]: move["p"] for move in moves},
                tuple((move["index"], move["logit"]) for move in moves),
                found["backend"],
                found["network_sha256"],
            )
        if failed:
            raise failed[0]
        threads[1].join()
        if reason := _reason(number, said):
            raise QueryError(number, reason)
        if asked or process.wait():
            raise EngineError(f"{name}: it has ended: " + "\n".join(said))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _reason(number: int, said: Iterable[str]) -> str:
    """What the program has said of a position, if anything."""
    told = (line.partition(f"line {number}: ")[2] for line in list(said))
    return next(filter(None, told), "")

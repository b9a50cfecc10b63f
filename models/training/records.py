"""Reads the record format of `src/lab/training/record.rs`: labelled games in at most 12 bytes per position.

Usage: python records.py RECORDS.zng     (prints each game's moves and evaluations; decompress .zst first)

Records name moves by their place among the legal moves, so that reading them needs the rules of chess, here python-chess.
The trainer doesn't need this: it reads the tables that `zeitnot datagen table` expands records to.
"""

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import chess

MAGIC = b"ZNTG\x01"
ENDINGS = [
    "checkmate", "stalemate", "fifty moves", "repetition", "insufficient material", "dead draw", "length",
    "adjudication", "broken off",
]  # fmt: skip
CHOICES = ["best", "deviation", "blunder", "book"]
TEACHER, HELD_OUT, REFERENCE, HAS_START = 1, 2, 4, 8
NOT_A_CANDIDATE, NO_EVALUATION = 7, -32768


class DamagedError(ValueError):
    """The file is no file of records, ends early or contradicts itself."""


@dataclass
class Ply:
    """A move and what was thought before it; centipawns from the side to move, mates ±(32000 - plies)."""

    played: chess.Move
    choice: str
    centipawns: int | None
    candidates: list[tuple[chess.Move, int]]


@dataclass
class Game:
    """A labelled game; the result is White's."""

    teacher: bool
    held_out: bool
    reference: bool
    start: str | None
    result: int
    ending: str
    plies: list[Ply] = field(default_factory=list)


def gap_of(code: int) -> int:
    """Centipawns of a gap's code: exact below 128, then a fourteenth of an octave a step."""
    return code if code < 128 else round(128 * 2 ** ((code - 128) / 14))


def move_bits(move: chess.Move) -> int:
    """from | to << 6 | promotion << 12; N 1, B 2, R 3, Q 4."""
    promotion = move.promotion - 1 if move.promotion else 0
    return move.from_square | move.to_square << 6 | promotion << 12


class Reader:
    """Takes little-endian numbers from bytes."""

    def __init__(self, data: bytes) -> None:
        self.data, self.offset = data, 0

    def take(self, count: int) -> bytes:
        taken = self.data[self.offset : self.offset + count]
        if len(taken) < count:
            raise DamagedError(f"the file ends early, at byte {self.offset}")
        self.offset += count
        return taken

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize(form)))[0]


def read_ply(reader: Reader, board: chess.Board) -> Ply:
    """One ply of a game that has come to `board`."""
    legal = sorted(board.legal_moves, key=move_bits)
    head = reader.number("B")
    evaluation = reader.number("h")
    count = head & 7
    places, gaps = reader.take(count), reader.take(max(0, count - 1))
    try:
        moves = [legal[place] for place in places]
        candidates = [(move, max(-32000, evaluation - gap_of(gap))) for move, gap in zip(moves, b"\0" + gaps)]
        played = legal[reader.number("B")] if head >> 5 == NOT_A_CANDIDATE else moves[head >> 5]
    except IndexError as error:
        raise DamagedError(f"a move that is not legal, before byte {reader.offset}") from error
    return Ply(played, CHOICES[head >> 3 & 3], None if evaluation == NO_EVALUATION else evaluation, candidates)


def read_games(data: bytes) -> Iterator[Game]:
    """All games of a file's uncompressed bytes."""
    reader = Reader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise DamagedError("no file of training records, or of a newer version")
    while reader.offset < len(data):
        length, result, ending, flags = (reader.number(form) for form in "HbBB")
        start = reader.take(reader.number("B")).decode() if flags & HAS_START else None
        if ending >= len(ENDINGS):
            raise DamagedError(f"unknown ending {ending} before byte {reader.offset}")
        game = Game(
            bool(flags & TEACHER), bool(flags & HELD_OUT), bool(flags & REFERENCE), start, result, ENDINGS[ending]
        )
        board = chess.Board(start or chess.STARTING_FEN, chess960=True)
        for _ in range(length):
            ply = read_ply(reader, board)
            game.plies.append(ply)
            board.push(ply.played)
        yield game


def main() -> None:
    for game in read_games(Path(sys.argv[1]).read_bytes()):
        print(game.ending, game.result, game.start or "startpos")
        print(" ".join(f"{ply.played.uci()}:{ply.centipawns}" for ply in game.plies))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Makes the built-in book of openings, crates/lab/src/matches/openings.txt: balanced lines of 4 to 8 plies, far apart.

Usage: opening_book.py PATH_TO_ZEITNOT > crates/lab/src/matches/openings.txt

The built-in network goes on from the start position with the moves that it finds likely. Of the positions that it calls
even, each choice is the one that is farthest from all chosen before, by pieces on squares. A search of each has to call it
even, too. Needs python-chess. The result depends on the network and the numbers below, not on the machine.
"""

import hashlib
import pathlib
import sys

import chess

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
import zeitnot  # noqa: E402

SIZE, SEARCHED = 500, 900
PLIES = range(4, 9)
# Visits to choose moves, and to judge what may enter the book.
VISITS, MORE_VISITS = 2, 40
# Moves that a line goes on with: the likeliest, and only those of some likelihood.
WIDTH, LIKELY = {0: 10, 1: 8}, 0.05
OTHER_WIDTH = 5
# Lines that are gone on with at each ply, drawn by a hash.
MOST = 700
# Win minus loss, from White's view, that counts as even, and the distance below which positions are alike.
EVEN, ALIKE = 0.12, 4


def board_of(line):
    board = chess.Board()
    for move in line:
        board.push_uci(move)
    return board


def squares(board):
    """A set of pieces on squares as the bits of a number."""
    bits = (1 << (64 * (piece.piece_type - 1 + 6 * piece.color) + square) for square, piece in board.piece_map().items())
    return sum(bits)


def drawn(lines, most):
    return sorted(lines, key=lambda line: hashlib.sha256(" ".join(line).encode()).digest())[:most]


def searched(engine, lines, visits):
    queries = [{"id": number, "moves": list(line), "nodes": visits} for number, line in enumerate(lines)]
    return [(lines[answer.id], answer) for answer in engine.answers(queries, in_order=True)]


def of_white(line, answer):
    return answer.q if len(line) % 2 == 0 else -answer.q


def far_apart(lines, most):
    bits = {line: squares(board_of(line)) for line in lines}
    chosen, nearest = [], dict.fromkeys(lines, 1 << 9)
    while len(chosen) < most:
        best = max(nearest, key=lambda line: (nearest[line], line))
        if nearest[best] < ALIKE:
            break
        chosen.append(best)
        for line in nearest:
            nearest[line] = min(nearest[line], (bits[line] ^ bits[best]).bit_count())
    return chosen


def main():
    with zeitnot.Engine("--threads=1", "--nncache=0", program=sys.argv[1]) as engine:
        lines, candidates, known = [()], [], set()
        for ply in range(PLIES[-1] + 1):
            found = searched(engine, lines, VISITS)
            print(f"ply {ply}: {len(lines)} lines", file=sys.stderr)
            if ply in PLIES:
                candidates += [line for line, answer in found if abs(of_white(line, answer)) < EVEN]
            after = {}
            for line, answer in found:
                moves = sorted(answer.moves, key=lambda move: -move.policy)[: WIDTH.get(ply, OTHER_WIDTH)]
                for move in moves:
                    longer = (*line, move.move)
                    key = board_of(longer).epd()
                    if (move.policy >= LIKELY or ply == 0) and key not in known:
                        known.add(key)
                        after[key] = longer
            lines = drawn(after.values(), MOST)
        apart = far_apart(candidates, SEARCHED)
        judged = searched(engine, apart, MORE_VISITS)
    even = [line for line, answer in judged if abs(of_white(line, answer)) < EVEN]
    chosen = far_apart(even, SIZE)
    print(f"{len(candidates)} lines, {len(apart)} apart, {len(even)} even, {len(chosen)} chosen", file=sys.stderr)
    for line in sorted(chosen):
        board, text = chess.Board(), []
        for move in line:
            text.append(board.san(chess.Move.from_uci(move)))
            board.push_uci(move)
        print(" ".join(text))


if __name__ == "__main__":
    main()

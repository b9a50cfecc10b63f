"""Lc0's 1858 moves: their order, and their places in the convolution policy head."""

import numpy as np

#: (file, rank) steps of planes 0-55: eight directions, seven distances each.
DIRECTIONS = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)]
#: (file, rank) steps of planes 56-63.
KNIGHT_STEPS = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)]
#: Promotion pieces in the order of the 1858 moves, as promotion codes of a move (N 1, B 2, R 3, Q 4).
PROMOTIONS = [4, 3, 2]
#: Place of a promotion code within its direction's three planes of the head: rook, bishop, queen.
PROMOTION_PLANE = {3: 0, 2: 1, 4: 2}
#: A code that is no move.
NO_INDEX = 0xFFFF


def _plane(from_square: int, to_square: int) -> int | None:
    """The plane of a move without promotion, or None where no piece moves like that."""
    files, ranks = to_square % 8 - from_square % 8, to_square // 8 - from_square // 8
    if (files, ranks) in KNIGHT_STEPS:
        return 56 + KNIGHT_STEPS.index((files, ranks))
    distance = max(abs(files), abs(ranks))
    if distance == 0 or (files and ranks and abs(files) != abs(ranks)):
        return None
    return 7 * DIRECTIONS.index((files // distance, ranks // distance)) + distance - 1


def build() -> tuple[np.ndarray, np.ndarray]:
    """Returns (index of a move code, cell of an index).

    The first maps `from | to << 6 | promotion << 12`, seen by the side to move, to 0..1857 (`NO_INDEX`: no move).
    The second maps an index to `plane * 64 + from` of the head's 80 planes.
    """
    index_of_code = np.full(5 << 12, NO_INDEX, np.uint16)
    cells: list[int] = []
    for from_square in range(64):
        for to_square in range(64):
            plane = _plane(from_square, to_square)
            if plane is None:
                continue
            code = from_square | to_square << 6
            # A knight promotion is the plain move.
            index_of_code[code] = index_of_code[code | 1 << 12] = len(cells)
            cells.append(plane * 64 + from_square)
    for from_file in range(8):
        for to_file in range(max(0, from_file - 1), min(7, from_file + 1) + 1):
            for promotion in PROMOTIONS:
                code = (48 + from_file) | (56 + to_file) << 6 | promotion << 12
                index_of_code[code] = len(cells)
                plane = 64 + 3 * (to_file - from_file + 1) + PROMOTION_PLANE[promotion]
                cells.append(plane * 64 + 48 + from_file)
    assert len(cells) == 1858
    return index_of_code, np.array(cells, np.int64)


INDEX_OF_CODE, CELL_OF_INDEX = build()

"""Chooses which positions are trained on, in which order, and which are measured."""

from collections.abc import Iterator

import numpy as np

import table

#: Share of the positions shown without their past.
NO_HISTORY_SHARE = 0.1


def has_label(labels: np.ndarray) -> np.ndarray:
    """Which rows are to learn from; the others are there as their past."""
    return labels & (table.POLICY | table.RESULT | table.MOVES_LEFT) != 0


class Source:
    """The rows of one kind; every pass over them is a new permutation, divided among the processes."""

    def __init__(self, rows: np.ndarray, number: int) -> None:
        self.rows, self.number = rows, number
        self.epoch, self.order = -1, rows

    def take(self, first: int, count: int) -> np.ndarray:
        """The rows from place `first` of the endless sequence on; fewer than a pass has."""
        epoch, place = divmod(first, len(self.rows))
        if epoch != self.epoch:
            self.epoch, self.order = epoch, np.random.default_rng([1, epoch, self.number]).permutation(self.rows)
        taken = self.order[place : place + count]
        rest = count - len(taken)
        return taken if rest == 0 else np.concatenate([taken, self.take(first + len(taken), rest)])


class Sampler:
    """Endless batches of row numbers with a fixed share of the teacher's positions, drawn without replacement."""

    def __init__(self, labels: np.ndarray, teacher_share: float, batch: int, rank: int, world: int) -> None:
        training = np.flatnonzero(has_label(labels) & (labels & table.HELD_OUT == 0)).astype(np.uint32)
        is_teacher = labels[training] & table.TEACHER != 0
        kinds = [training[~is_teacher], training[is_teacher]]
        shares = [1 - teacher_share, teacher_share]
        # Where one kind is missing, the other fills the batches.
        present = [number for number in range(2) if len(kinds[number])]
        self.sources = [Source(kinds[number], number) for number in present]
        self.shares = np.array([shares[number] for number in present]) if len(present) > 1 else np.ones(len(present))
        self.batch, self.rank, self.world = batch, rank, world

    def batches(self, start: int) -> Iterator[tuple[np.ndarray, np.random.Generator]]:
        """Row numbers i8 [batch] and a random generator, from step `start` on; the same for the same step always."""
        ends = np.rint(np.cumsum(self.shares) * self.batch).astype(int)
        counts = np.diff(ends, prepend=0)
        step = start
        while True:
            parts = [
                source.take((step * self.world + self.rank) * int(count), int(count))
                for source, count in zip(self.sources, counts, strict=True)
            ]
            yield np.concatenate(parts).astype(np.int64), np.random.default_rng([2, step, self.rank])
            step += 1


def held_out(labels: np.ndarray, flags: int, count: int) -> np.ndarray:
    """At most `count` held-out row numbers whose `TEACHER` and `REFERENCE` flags are `flags`, evenly spread."""
    mask = table.HELD_OUT | table.TEACHER | (flags & table.REFERENCE)
    rows = np.flatnonzero(has_label(labels) & (labels & mask == table.HELD_OUT | flags))
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)]

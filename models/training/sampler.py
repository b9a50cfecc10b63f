"""Chooses which positions are trained on, in which order, and which are measured."""

from collections.abc import Iterator

import numpy as np

import table

#: Teacher positions are drawn so many times as often as tournament positions: they teach more each.
TEACHER_WEIGHT = 2
#: Share of the positions shown without their past.
NO_HISTORY_SHARE = 0.1


class Sampler:
    """Endless batches of row numbers; every epoch is a new permutation, divided among the processes."""

    def __init__(self, labels: np.ndarray, batch: int, rank: int, world: int) -> None:
        training = np.flatnonzero(labels & table.HELD_OUT == 0).astype(np.uint32)
        teacher = training[labels[training] & table.TEACHER != 0]
        self.pool = np.concatenate([training] + [teacher] * (TEACHER_WEIGHT - 1))
        self.batch, self.rank, self.world = batch, rank, world

    def batches(self, start: int) -> Iterator[tuple[np.ndarray, np.random.Generator]]:
        """Row numbers i8 [batch] and a random generator, from step `start` on; the same for the same step always."""
        per_epoch = len(self.pool) // (self.batch * self.world)
        step, epoch, order = start, -1, self.pool
        while True:
            if step // per_epoch != epoch:
                epoch = step // per_epoch
                order = np.random.default_rng([1, epoch]).permutation(self.pool)
            first = ((step % per_epoch) * self.world + self.rank) * self.batch
            indices = order[first : first + self.batch].astype(np.int64)
            yield indices, np.random.default_rng([2, step, self.rank])
            step += 1


def held_out(labels: np.ndarray, flags: int, count: int) -> np.ndarray:
    """At most `count` held-out row numbers whose `TEACHER` and `REFERENCE` flags are `flags`, evenly spread."""
    mask = table.HELD_OUT | table.TEACHER | (flags & table.REFERENCE)
    rows = np.flatnonzero(labels & mask == table.HELD_OUT | flags)
    return rows[np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)]

"""Rows on several machines, in this process: parts are sent, done twice in an odd order, and one answer is taken."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import TypeVar

import pyarrow as pa

from graveler_core.stores import Cluster, Stores

U = TypeVar("U")


@dataclass
class PartedRows:
    """A table, cut into parts, each of which comes in batches."""

    open: Callable[[], Stores]
    parts: Sequence[pa.Table]
    batch_rows: int = 10
    seed: int = 0
    answers: list[bytes] = field(default_factory=list)
    """All that was handed back, also what was not taken."""
    between: Callable[[], object] = lambda: None
    """Called when all parts are written and nothing is handed back yet."""

    def map(self, cluster: Cluster | None, work: Callable[[Stores, Iterator[pa.RecordBatch]], U]) -> Iterator[U]:
        sent, chance = pickle.dumps(work), Random(self.seed)
        order = [number for number in range(len(self.parts)) for _ in range(2)]
        chance.shuffle(order)
        made: dict[int, list[bytes]] = {}
        for number in order:
            batches = iter(self.parts[number].to_batches(max_chunksize=self.batch_rows))
            made.setdefault(number, []).append(pickle.dumps(pickle.loads(sent)(self.open(), batches)))
        self.answers += [answer for both in made.values() for answer in both]
        self.between()
        return (pickle.loads(chance.choice(made[number])) for number in range(len(self.parts)))


def parted(table: pa.Table, cuts: Sequence[bytes]) -> list[pa.Table]:
    """The rows sorted by key, cut before each of some keys."""
    rows = table.set_column(0, "key", table.column("key").cast(pa.binary())).sort_by("key")
    keys = rows.column("key").to_pylist()
    at = [0, *sorted(sum(key < cut for key in keys) for cut in cuts), len(keys)]
    return [rows.slice(start, end - start) for start, end in pairwise(at)]

"""A cluster in this process: work and results are sent, stores opened anew, each item done twice in an odd order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from random import Random
from typing import TypeVar

import pyarrow as pa

from graveler_core.blobs.port import LISTED
from graveler_core.segments.sorted_keys import between
from graveler_core.stores import Stores

T = TypeVar("T")
U = TypeVar("U")


@dataclass
class Scattered:
    """Does each item twice, the last first; hands back the result of either, as a seed says."""

    open: Callable[[], Stores]
    least: int = 1
    """From so many rows on, work is cut."""
    into: int = 4
    seed: int = 0
    done: list[int] = field(default_factory=list)
    """How many items each call of `map` had."""
    before: Callable[[], object] = lambda: None
    """Called before the items of a call are worked on."""

    def tasks(self, rows: int) -> int:
        return self.into if rows >= self.least else 1

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        self.before()
        sent, chance = pickle.dumps(work), Random(self.seed)
        order = [number for number in range(len(items)) for _ in range(2)]
        chance.shuffle(order)
        results: dict[int, list[bytes]] = {}
        for number in order:
            done = pickle.loads(sent)(self.open(), pickle.loads(pickle.dumps(items[number])))
            results.setdefault(number, []).append(pickle.dumps(done))
        self.done.append(len(items))
        return (pickle.loads(chance.choice(results[number])) for number in range(len(items)))

    def sort(
        self,
        read: Callable[[Stores, T], Iterator[pa.Table]],
        items: Sequence[T],
        split_points: Sequence[bytes],
        work: Callable[[Stores, int, Iterator[pa.Table]], U],
    ) -> Iterator[U]:
        given = [pickle.loads(pickle.dumps(item)) for item in items]
        reading = pickle.loads(pickle.dumps(read))
        tables = [LISTED.empty_table(), *(table for item in given for table in reading(self.open(), item))]
        rows = pa.concat_tables(tables).sort_by("key")
        bounds = [b"", *(point + b"\0" for point in split_points), None]
        partitions = [between(rows, start or b"", end) for start, end in pairwise(bounds)]
        return self.map(partial(_partition_worked, work), list(enumerate(partitions)))


def _partition_worked(
    work: Callable[[Stores, int, Iterator[pa.Table]], U], stores: Stores, item: tuple[int, pa.Table]
) -> U:
    number, rows = item
    return work(stores, number, iter([rows.slice(at, 7) for at in range(0, rows.num_rows, 7)]))

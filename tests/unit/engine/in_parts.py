"""A cluster in this process: work and results are sent, stores opened anew, each item done twice in an odd order."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

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
    before: Callable[[], None] = lambda: None
    """Called before the items of a call are worked on."""

    def pieces(self, rows: int) -> int:
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

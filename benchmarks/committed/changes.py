"""Random changes: which entries, and as what they are handed over."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from benchmarks import entries
from graveler_core.model.operations import OperationConflict, Put, Resolution

_NEW = 1_000_000_000
"""Keys to draw from where there is no entry to overwrite."""


class Draw:
    """Draws entries to change, of the first so many; of new ones where there are none. The same for each run."""

    def __init__(self, size: int) -> None:
        self._chance = random.Random(7)
        self._among = range(size or _NEW)
        self._seed = 0

    def numbers(self, count: int) -> list[int]:
        """Distinct ones, at most as many as there are."""
        return self._chance.sample(self._among, min(count, len(self._among)))

    def table(self, count: int) -> pa.Table:
        """New content for some, as `stage_many` takes it."""
        self._seed += 1
        return entries.entries(np.array(self.numbers(count)), self._seed)

    def puts(self, count: int) -> list[Put]:
        """New content for some, as `transact` takes it."""
        self._seed += 1
        return puts(self.numbers(count), self._seed)


def puts(numbers: Sequence[int], seed: int) -> list[Put]:
    """Puts of the entries of some numbers; another seed gives other content."""
    paths = entries.keys(np.array(numbers)).to_pylist()
    return [Put(path, entries.one(number, seed)) for path, number in zip(paths, numbers, strict=True)]


def whatever_is_there(conflict: OperationConflict) -> Resolution:
    """The arbiter that overwrites."""
    return Resolution.APPLY

"""Random changes of entries, as tables for `stage_many` and as puts for `transact`."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from benchmarks import entries
from graveler_core.model.operations import OperationConflict, Put, Resolution

_NEW = 1_000_000_000
"""Number of keys to choose from in an empty repository."""


class Draw:
    """Random choice of entries to change. The choices are the same in each run.

    Args:
        size: Number of entries in the repository. With 0, new entries are chosen.
    """

    def __init__(self, size: int) -> None:
        self._chance = random.Random(7)
        self._among = range(size or _NEW)
        self._seed = 0

    def numbers(self, count: int) -> list[int]:
        """Return `count` distinct numbers of entries, or all numbers if there are fewer."""
        return self._chance.sample(self._among, min(count, len(self._among)))

    def table(self, count: int) -> pa.Table:
        """Return new content for `count` entries as a table for `stage_many`."""
        self._seed += 1
        return entries.entries(np.array(self.numbers(count)), self._seed)

    def puts(self, count: int) -> list[Put]:
        """Return new content for `count` entries as operations for `transact`."""
        self._seed += 1
        return puts(self.numbers(count), self._seed)


def puts(numbers: Sequence[int], seed: int) -> list[Put]:
    """Return puts of the entries with these numbers. Different seeds give different content."""
    paths = entries.keys(np.array(numbers)).to_pylist()
    return [Put(path, entries.one(number, seed)) for path, number in zip(paths, numbers, strict=True)]


def whatever_is_there(conflict: OperationConflict) -> Resolution:
    """Resolve every conflict by applying the operation."""
    return Resolution.APPLY

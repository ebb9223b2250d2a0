"""Decisions about a merge that a caller gives in advance: a strategy for all conflicts, and resolutions of single
paths.

Memory is proportional to the number of resolved paths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.codec.entry import normalise_entry, record_table
from graveler_core.errors import InvalidInput
from graveler_core.model.changes import MergeStrategy, Resolved
from graveler_core.model.entry import Entry
from graveler_core.model.names import path_key
from graveler_core.segments.sorted_keys import KEY, positions


class Choice(IntEnum):
    """Decision about one path."""

    SOURCE = 0
    DESTINATION = 1
    VALUE = 2


_SIDES = {MergeStrategy.SOURCE: Choice.SOURCE, MergeStrategy.DESTINATION: Choice.DESTINATION}


@dataclass(frozen=True, slots=True, eq=False)
class Resolutions:
    """Decisions about single paths."""

    keys: pa.Table
    """Sorted, distinct keys."""
    choices: NDArray[np.int8]
    """A `Choice` for each key."""
    values: pa.Table
    """New records of the keys with `Choice.VALUE`, sorted, in `RECORD_SCHEMA`."""

    def rows(self, keys: pa.Table) -> NDArray[np.int64]:
        """Return, for each of the sorted keys, its row here, or -1 if it is not resolved."""
        at, there = positions(self.keys.column(KEY), keys.column(KEY))
        return np.where(there, at, -1)

    def chose(self, rows: NDArray[np.int64], choice: Choice) -> NDArray[np.bool_]:
        """Return a mask of the rows, as returned by `rows`, with this choice."""
        found: NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
        found[rows >= 0] = self.choices[rows[rows >= 0]] == choice
        return found

    def values_at(self, rows: NDArray[np.int64]) -> pa.Table:
        """Return the values of some ascending rows."""
        numbered = np.cumsum(self.choices == Choice.VALUE) - 1
        return self.values.take(pa.array(numbered[rows[self.chose(rows, Choice.VALUE)]]))


@dataclass(frozen=True, slots=True)
class MergeRules:
    """Rules of a merge. A resolution applies if both sides changed the path, and also if only the source did. For other
    paths that both sides changed, the strategy decides.
    """

    strategy: MergeStrategy | None = None
    resolutions: Resolutions | None = None


def resolutions(chosen: Mapping[str, Resolved]) -> Resolutions | None:
    """Return the decisions by path, or `None` if there are none.

    Args:
        chosen: For each path: the name of a side, a new entry, or `None` to remove the path.

    Raises:
        InvalidInput: A path or entry is invalid, or a value is none of these.
    """
    if not chosen:
        return None
    decided = [(path_key(path), _decided(path, chosen[path])) for path in sorted(chosen)]
    keys = pa.table({KEY: pa.array([key for key, _ in decided], pa.binary())})
    choices = np.array([choice for _, (choice, _) in decided], np.int8)
    values = [(key, value) for key, (choice, value) in decided if choice is Choice.VALUE]
    return Resolutions(keys, choices, record_table(values))


def _decided(path: str, choice: Resolved) -> tuple[Choice, Entry | None]:
    if choice is None:
        return Choice.VALUE, None
    if isinstance(choice, Entry):
        return Choice.VALUE, normalise_entry(path, choice)
    if choice in tuple(MergeStrategy):
        return _SIDES[MergeStrategy(choice)], None
    raise InvalidInput(f"resolution of {path!r}: must be 'source', 'destination', an entry or None, but is {choice!r}")

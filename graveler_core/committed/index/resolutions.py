"""What a caller has decided of a merge beforehand: who wins in general, and what becomes of single paths.

Memory is that of the paths that were named.
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
from graveler_core.segments.sorted_keys import KEY, key_series, positions


class Choice(IntEnum):
    """What becomes of one path."""

    SOURCE = 0
    DESTINATION = 1
    VALUE = 2


_SIDES = {MergeStrategy.SOURCE: Choice.SOURCE, MergeStrategy.DESTINATION: Choice.DESTINATION}


@dataclass(frozen=True, slots=True, eq=False)
class Resolutions:
    """Decisions on single paths."""

    keys: pa.Table
    """Sorted, each once."""
    choices: NDArray[np.int8]
    """A `Choice` for each key."""
    values: pa.Table
    """What the keys of `Choice.VALUE` become, sorted, in `RECORD_SCHEMA`."""

    def rows(self, keys: pa.Table) -> NDArray[np.int64]:
        """For each of some sorted keys its row here, -1 where nothing was decided."""
        at, there = positions(key_series(self.keys), key_series(keys))
        return np.where(there, at, -1)

    def chose(self, rows: NDArray[np.int64], choice: Choice) -> NDArray[np.bool_]:
        """Which of some rows, as `rows` gives them, are this choice."""
        found: NDArray[np.bool_] = np.zeros(len(rows), np.bool_)
        found[rows >= 0] = self.choices[rows[rows >= 0]] == choice
        return found

    def values_at(self, rows: NDArray[np.int64]) -> pa.Table:
        """The values among some rising rows."""
        numbered = np.cumsum(self.choices == Choice.VALUE) - 1
        return self.values.take(pa.array(numbered[rows[self.chose(rows, Choice.VALUE)]]))


@dataclass(frozen=True, slots=True)
class Rules:
    """How a merge decides. A path that was resolved is decided so, whether both sides changed it or the source alone;
    for others the strategy says who wins where both did."""

    strategy: MergeStrategy | None = None
    resolutions: Resolutions | None = None


def resolutions(chosen: Mapping[str, Resolved]) -> Resolutions | None:
    """Decisions by path: a side by its name, an entry that the path becomes, or None for its removal; None if none.

    Raises:
        InvalidInput: a bad path or entry, or something that is none of these.
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
    raise InvalidInput(f"resolution {choice!r} of {path!r}: must be 'source', 'destination', an entry or None")

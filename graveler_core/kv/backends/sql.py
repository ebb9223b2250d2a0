"""Base class of the stores in SQL databases: each method for one row is one statement."""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Final, LiteralString, Protocol, TypeVar

from graveler_core.errors import SlowDown
from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import split_rows
from graveler_core.kv.store import EXISTS, Item, Predicate, Stored, predicate_failed

_T = TypeVar("_T")

_ATTEMPTS: Final = 6


@dataclass(frozen=True, slots=True)
class RowStatements:
    """Statements of one database for single rows, and for the number of rows of a partition.

    The order of parameters is: new value, partition, key, expected value. For `set` and `create`, it is partition, key,
    value.
    """

    get: LiteralString
    set: LiteralString
    create: LiteralString
    replace: LiteralString
    swap: LiteralString
    delete: LiteralString
    delete_if: LiteralString
    count: LiteralString


class TurnKeeper(Protocol):
    """Turns between the handles on one database."""

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        """Wait for a turn, as `Store.turn` specifies."""

    def close(self) -> None:
        """Close the files or sessions that turns use."""


class SqlStore(PagedStore):
    """Store in a SQL database."""

    statements: ClassVar[RowStatements]
    _turns: TurnKeeper

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        return stored(self._read(self.statements.get, (partition, key)))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        self._write(self.statements.set, (partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        if not self._write(*swap_statement(self.statements, (partition, key, value), predicate)):
            raise predicate_failed(partition, key, predicate)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        self._write(self.statements.delete, (partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        if predicate == EXISTS:
            removed = self._write(self.statements.delete, (partition, key))
        else:
            removed = self._write(self.statements.delete_if, (partition, key, predicate.token))
        if not removed:
            raise predicate_failed(partition, key, predicate)

    def about_rows(self, partition: bytes) -> int:
        [[rows]] = self._read(self.statements.count, (partition,))
        return int(rows)

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        return self._turns.turn(name, patience)

    @abstractmethod
    def _read(self, statement: LiteralString, parameters: Sequence[Any]) -> list[Any]:
        """Run a statement that only reads, and return its rows."""

    @abstractmethod
    def _write(self, statement: LiteralString, parameters: Sequence[Any]) -> int:
        """Run a statement that writes, and return the number of written rows."""


def swap_statement(
    statements: RowStatements, row: Item, predicate: Predicate | None
) -> tuple[LiteralString, Sequence[Any]]:
    """Return the statement that writes a row if a predicate holds, and its parameters."""
    partition, key, value = row
    if predicate is None:
        return statements.create, row
    if predicate == EXISTS:
        return statements.replace, (value, partition, key)
    return statements.swap, (value, partition, key, predicate.token)


def stored(rows: list[Any]) -> Stored | None:
    """Return the result of `get` for the rows of its statement."""
    return Stored(rows[0][0], Predicate(rows[0][0])) if rows else None


def tried_again(once: Callable[[], _T], undone: Collection[object]) -> _T:
    """Run a transaction. Run it again if the server rolled it back and allows this.

    Args:
        once: Function that runs the transaction once.
        undone: Values of the detail `state` of a `SlowDown` after which the transaction can be run again.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return once()
        except SlowDown as error:
            if error.details.get("state") not in undone:
                raise
            time.sleep(random.uniform(0, 0.005 * 2**attempt))  # noqa: S311 - jitter, no secret
    return once()


def split_points_by_steps(rows: int, pieces: int, step: Callable[[bytes, int], list[bytes]]) -> list[bytes]:
    """Return split points by stepping through the index, which is faster than a window function over all rows.

    Args:
        rows: Number of rows of the partition.
        pieces: Number of key ranges.
        step: Function of a key and a number of rows. It returns the key that is this number of rows after the first
            key, or nothing if there is none.
    """
    points: list[bytes] = []
    before = 0
    for row in split_rows(rows, pieces):
        points += step(points[-1] if points else b"", row - before)
        before = row
    return points

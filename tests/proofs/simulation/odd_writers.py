"""Stores of processes that stop, or pause for days, between the records of a commit and the swap of the branch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import Final

from graveler_core.errors import OutcomeUnknown
from graveler_core.kv import bulk
from graveler_core.kv.store import Item, Predicate, Store
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.stores import Stores

BRANCHES: Final = b"branches/"
"""Prefix of the keys of branches."""
MOVING: Final = b"commits/", b"refs/int/former/"
"""Prefixes of the keys of records that are written before the head of a branch moves."""


class Oddity(Enum):
    """What befalls the first swap of a branch that makes a commit the head, or leaves one."""

    KILLED = "killed"
    """The process is killed before it."""
    SLOW = "slow"
    """The process pauses between the records of the commit and the swap."""
    STALLED = "stalled"
    """The process pauses before both."""
    LATE = "late"
    """The request is lost, and arrives days later."""


class Killed(BaseException):
    """The process was killed. No error of the library, so nothing handles it."""


class OddStore(Passing):
    """The store of a process that swaps branches oddly.

    Args:
        inner: The store.
        oddity: What befalls the first swap of a branch after records of a commit were written, or before a hard reset.
            Other swaps are as usual.
        pause: Lets days pass.
        later: Has a call done days later.
    """

    def __init__(
        self,
        inner: Store,
        oddity: Oddity,
        pause: Callable[[], None],
        later: Callable[[Callable[[], object]], None],
    ) -> None:
        super().__init__(inner)
        self._oddity: Oddity | None = oddity
        self._moves = False
        self._pause, self._later = pause, later

    def set_many(self, items: Sequence[Item]) -> None:
        self._moves = self._moves or _move(items)
        if self._moves and self._oddity is Oddity.STALLED:
            self._oddity = None
            self._pause()
        self.inner.set_many(items)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        if predicate is not None and key.startswith(BRANCHES):
            return self.write_and_swap([], (partition, key, value), predicate)
        return self.inner.set_if(partition, key, value, predicate)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        oddity = self._oddity
        if not swapped[1].startswith(BRANCHES) or oddity is None or not (self._moves or _move(items)):
            return bulk.write_and_swap(self.inner, items, swapped, predicate)
        self._oddity = None
        if oddity is Oddity.STALLED:
            self._pause()
            return bulk.write_and_swap(self.inner, items, swapped, predicate)
        if items:
            bulk.set_many(self.inner, items)
        if oddity is Oddity.KILLED:
            raise Killed
        if oddity is Oddity.LATE:
            self._later(lambda: self.inner.set_if(*swapped, predicate))
            raise OutcomeUnknown("the request of a swap was lost")
        self._pause()
        return self.inner.set_if(*swapped, predicate)


def _move(items: Sequence[Item]) -> bool:
    return any(key.startswith(MOVING) for _, key, _ in items)


class OldStore(Passing):
    """The store of a process of an earlier version, which does not record former heads."""

    def set_many(self, items: Sequence[Item]) -> None:
        if left := _known_before(items):
            self.inner.set_many(left)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        return bulk.write_and_swap(self.inner, _known_before(items), swapped, predicate)


def _known_before(items: Sequence[Item]) -> list[Item]:
    return [item for item in items if not item[1].startswith(MOVING[1])]


ODDITIES: Final = (Oddity.KILLED, Oddity.KILLED, Oddity.SLOW, Oddity.SLOW, Oddity.STALLED, Oddity.LATE)
"""How often each is drawn."""


def odd(
    stores: Stores, oddity: Oddity, pause: Callable[[], None], later: Callable[[Callable[[], object]], None]
) -> Stores:
    """The stores of a process that swaps the next branch oddly."""
    return replace(stores, kv=OddStore(stores.kv, oddity, pause, later))


def survived(act: Callable[[], None]) -> None:
    """Act, perhaps as a process that is killed meanwhile."""
    with suppress(Killed):
        act()

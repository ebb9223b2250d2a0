"""Interference at one moment inside a flow: calls of other processes, and failures of the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from graveler_core.blobs.port import BlobStores, Foreign
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.address import Namespace
from graveler_core.records.access import LOST_ANSWERS
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.testing.faulty_store import Fault, Faulty

T = TypeVar("T")


def swaps_branch(call: StoreCall) -> bool:
    """Whether a call is the swap of a branch record."""
    return call.verb in ("set_if", "write_and_swap") and call.key.startswith(b"branches/")


class Interrupted(Passing):
    """Lets others work just before calls of a kind: the first piece of work before the first, and so on."""

    def __init__(
        self, inner: Store, *work: Callable[[], object], before: Callable[[StoreCall], bool] = swaps_branch
    ) -> None:
        super().__init__(inner)
        self._work = list(work)
        self._before = before
        self.met = 0
        """Calls of that kind so far."""

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        if self._before(call):
            self.met += 1
            if self._work:
                self._work.pop(0)()
        return work()


def failing_swap(kv: Store, *faults: Fault | None) -> Faulty:
    """A store whose first swaps of a branch record fail so; None passes one."""
    left = list(faults)
    return Faulty(kv, lambda call, _: left.pop(0) if left and swaps_branch(call) else None)


def late_swaps() -> list[tuple[int, int]]:
    """After how many calls a swap comes through that nobody waits for, and how many sendings of it get no answer.

    One: while it is sent again. As many as are tried: from there on through the whole next attempt.
    """
    return [(calls, 1) for calls in range(1, 4)] + [(calls, LOST_ANSWERS) for calls in range(5, 14)]


@dataclass
class WatchedBlobs:
    """Storage namespaces that remember what was created in them, in order."""

    inner: BlobStores
    created: list[str] = field(default_factory=list)
    _opened: dict[str, CountingBlobs] = field(default_factory=dict)

    def at(self, namespace: str) -> CountingBlobs:
        """The objects of a storage namespace."""
        if namespace not in self._opened:
            self._opened[namespace] = CountingBlobs(self.inner.at(namespace), self._note)
        return self._opened[namespace]

    def foreign(self, place: Namespace) -> Foreign:
        """The objects of others."""
        return self.inner.foreign(place)

    def _note(self, verb: str, address: str) -> None:
        if verb == "create":
            self.created.append(address)

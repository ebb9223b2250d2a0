"""An import that outgrows one machine: each share of its source is listed and made a part of the tree on the cluster.

Nobody knows how large a place is before it is listed. So it is listed here, and now and then the cluster is asked
whether so much is worth it (`Cluster.pieces`); once it is, what was listed is dropped and all of it listed there. That
costs the listing of twice the cluster's threshold at most, and small imports start no cluster.

A worker lists one share and makes the part of the tree of it (`committed.parts`); the driver assembles the parts. Of
what is listed nothing comes to the driver but the parts' edges and a tally. Blobs are written by their content and
named by nobody, so shares may be worked on twice, and a driver that dies leaves what a sweep takes, or the next attempt
finds there.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from graveler_core.committed.apply import Applied
from graveler_core.committed.interval import Cut, Interval
from graveler_core.committed.parts import Part, apply_part, assemble
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import PAGE_ROWS, records
from graveler_core.engine.importing.shares import Share, Shares
from graveler_core.engine.importing.sorting import in_order
from graveler_core.model.entities import Repository
from graveler_core.stores import Cluster, Stores

FIRST: Final = PAGE_ROWS
"""Objects after which the cluster is asked for the first time; then whenever they have doubled."""


class Large(Exception):
    """So much was listed that the cluster is worth it."""


@dataclass(slots=True)
class Asking:
    """Counts what is listed, on any thread, and raises `Large` on all of them once it is much."""

    cluster: Cluster
    _rows: int = 0
    _next: int = field(default_factory=lambda: FIRST)
    _large: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, rows: int) -> None:
        with self._lock:
            self._rows += rows
            if self._rows >= self._next:
                self._next = 2 * self._rows
                self._large = self._large or self.cluster.pieces(self._rows) > 1
            if self._large:
                raise Large


@dataclass(slots=True)
class Onward:
    """Progress of a listing that is begun again: what was told once is not told twice."""

    progress: Progress
    _told: int = 0
    _now: int = 0

    def __call__(self, more: int) -> None:
        self._now += more
        if self._now > self._told:
            self.progress(self._now - self._told)
            self._told = self._now

    def again(self) -> None:
        """From the beginning."""
        self._now = 0


def spread(
    stores: Stores, repo: Repository, request: ImportRequest, shares: Shares, progress: Progress
) -> tuple[Applied, Tally]:
    """Gather on the cluster. Raises as `gather`, what a worker has raised."""
    tally = Tally()

    def parts() -> Iterator[Part]:
        assert stores.cluster is not None  # noqa: S101 - who has none asks for no shares
        for part, met in shares.each(stores, stores.cluster, partial(_part_gathered, repo, request)):
            tally.add(met)
            progress(met.met)
            yield part

    return assemble(stores.trees(repo), parts()), tally


def _part_gathered(repo: Repository, request: ImportRequest, stores: Stores, share: Share) -> tuple[Part, Tally]:
    """In a worker: the part of the tree that a share makes."""
    tally, below = Tally(), request.below.encode()
    interval = Interval(_cut(below, share.after), _cut(below, share.through))
    with in_order(records(request, share.pages, tally), rising=True) as found:
        return apply_part(stores.trees(repo), None, found, interval), tally


def _cut(below: bytes, key: bytes | None) -> Cut | None:
    return None if key is None else Cut(below + key)

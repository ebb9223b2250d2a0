"""Import on a cluster: each task lists a partition of the source and builds the partition of the tree.

The size of a place is unknown before it is listed. The listing therefore begins on this machine. From time to time,
the cluster is asked whether the number of objects is large enough (`Cluster.tasks`). Once it is, the result so far is
dropped and everything is listed on the cluster. This lists at most twice the cluster's threshold on this machine,
and small imports start no cluster.

A worker lists one partition and builds a partition of the tree from it (`committed.partitioned_build`). The driver
assembles these partitions. It receives only their first and last entries and a tally, and none of the listed objects.
Blobs are named by their content and nothing refers to them, so a task may run twice. A driver that dies leaves blobs
that a sweep deletes or the next attempt finds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from graveler_core.committed.apply import Applied
from graveler_core.committed.partitioned_build import TreePartition, apply_partition, assemble
from graveler_core.committed.split_points import Partition, SplitPoint
from graveler_core.engine.importing.partitions import PartitionedSource, SourcePartition
from graveler_core.engine.importing.request import ImportRequest, Progress, Tally
from graveler_core.engine.importing.rows import PAGE_ROWS, records
from graveler_core.engine.importing.sorting import in_order
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Cluster, Stores

FIRST: Final = PAGE_ROWS
"""Number of objects after which the cluster is asked for the first time. It is asked again each time the number
doubles.
"""


class Large(Exception):
    """Signal that enough objects were listed to use the cluster."""


@dataclass(slots=True)
class Asking:
    """Counter of listed objects, on any thread. It raises `Large` on all threads once there are enough."""

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
                self._large = self._large or self.cluster.tasks(self._rows) > 1
            if self._large:
                raise Large


@dataclass(slots=True)
class Onward:
    """Progress of a listing that is started again: objects that were reported once are not reported twice."""

    progress: Progress
    _told: int = 0
    _now: int = 0

    def __call__(self, more: int) -> None:
        self._now += more
        if self._now > self._told:
            self.progress(self._now - self._told)
            self._told = self._now

    def again(self) -> None:
        """Start again from the beginning."""
        self._now = 0


def spread(
    stores: Stores, repo: RepositoryRecord, request: ImportRequest, shares: PartitionedSource, progress: Progress
) -> tuple[Applied, Tally]:
    """Gather on the cluster. Raises the same errors as `gather`, as raised in a worker."""
    tally = Tally()

    def parts() -> Iterator[TreePartition]:
        assert stores.cluster is not None  # noqa: S101 - who has none asks for no shares
        for part, met in shares.each(stores, stores.cluster, partial(_part_gathered, repo, request)):
            tally.add(met)
            progress(met.met)
            yield part

    return assemble(stores.trees(repo), parts()), tally


def _part_gathered(
    repo: RepositoryRecord, request: ImportRequest, stores: Stores, share: SourcePartition
) -> tuple[TreePartition, Tally]:
    """Build the part of the tree of a partition, in a worker."""
    tally, below = Tally(), request.below.encode()
    interval = Partition(_cut(below, share.after), _cut(below, share.through))
    with in_order(records(request, share.pages, tally), rising=True) as found:
        return apply_partition(stores.trees(repo), None, found, interval), tally


def _cut(below: bytes, key: bytes | None) -> SplitPoint | None:
    return None if key is None else SplitPoint(below + key)

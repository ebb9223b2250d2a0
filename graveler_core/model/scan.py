"""Values of partitioned scans: plans and partitions. They are picklable and contain no connection and no credentials.

A scan is planned in one process and read in many. All of them must read the same state, so a plan names immutable
content: an index, or commit ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from graveler_core.model.ids import CommitId, RepositoryId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.model.key_intervals import KeyInterval, intersection, key_interval, ordered
from graveler_core.model.names import prefix_key


@dataclass(frozen=True, slots=True)
class Pinned:
    """Entries of a ref at one moment."""

    repository: RepositoryId
    uid: RepositoryUid
    commit_id: CommitId
    """Commit that was read, or head of the branch that was read."""
    index: Index


@dataclass(frozen=True, slots=True)
class EntryScanPlan:
    """Plan of a scan of the entries of a ref."""

    content: Pinned
    prefix: str
    """Beginning of all paths of the scan."""
    intervals: tuple[KeyInterval, ...]
    """Keys to read: sorted, disjoint intervals."""

    @property
    def repository(self) -> RepositoryId:
        """Name of the repository."""
        return self.content.repository

    @property
    def uid(self) -> RepositoryUid:
        """Unique id of the repository."""
        return self.content.uid

    @property
    def commit_id(self) -> CommitId:
        """Id of the commit to scan. For a branch with staged changes, its head at that time."""
        return self.content.commit_id

    def within(self, intervals: Iterable[tuple[bytes, bytes | None]]) -> EntryScanPlan:
        """Return a plan that reads only the keys that are also in these intervals."""
        return replace(self, intervals=intersection(self.intervals, ordered(intervals)))


@dataclass(frozen=True, slots=True)
class ChangeScanPlan:
    """Plan of a scan of the changes from one commit to another."""

    repository: RepositoryId
    uid: RepositoryUid
    before: CommitId | None
    """Commit before the changes. `None` means a state without entries."""
    commit_id: CommitId
    """Commit after the changes."""
    prefix: str
    """Beginning of all paths of the scan."""
    intervals: tuple[KeyInterval, ...]
    """Keys to read: sorted, disjoint intervals."""

    def within(self, intervals: Iterable[tuple[bytes, bytes | None]]) -> ChangeScanPlan:
        """Return a plan that reads only the keys that are also in these intervals."""
        return replace(self, intervals=intersection(self.intervals, ordered(intervals)))


def scanned_keys(prefix: str, start: str, end: str | None) -> tuple[KeyInterval, ...]:
    """Return the keys of a scan: those with `prefix`, from `start`, before `end`.

    Raises:
        InvalidInput: A text is not valid in a path.
    """
    last = None if end is None else prefix_key(end)
    return ordered([key_interval(prefix_key(prefix), prefix_key(start), last)])


ScanPlan: TypeAlias = EntryScanPlan | ChangeScanPlan
"""Description of a scan, from which another process can open it."""


@dataclass(frozen=True, slots=True)
class ScanPartition:
    """Partition of a scan: a part of its keys, which one task reads."""

    intervals: tuple[KeyInterval, ...]
    """Sorted, disjoint key intervals."""
    entries: int
    """Approximate number of entries to read, for the distribution of work."""

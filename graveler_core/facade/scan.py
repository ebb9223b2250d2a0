"""Partitioned scans of entries or changes, for readers that work in many processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from graveler_core.engine.reading import scans
from graveler_core.facade.listing import number
from graveler_core.guard.operation import operation
from graveler_core.guard.scans import of_scan
from graveler_core.guard.scope import Scope
from graveler_core.model.changes import CHANGE_SCHEMA
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.key_intervals import intersection, ordered
from graveler_core.model.permission import Action
from graveler_core.model.scan import EntryScanPlan, ScanPartition, ScanPlan
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget

PARTITION_ROWS: Final = 1_000_000
"""Default number of entries per partition: a few seconds of work, and a few ranges in memory at a time."""


class Scan:
    """Entries of a ref, or changes between two commits, divided into partitions.

    The content is fixed when the scan is opened. It does not change if a ref moves, and a partition that is read again
    has the same rows. Partitions are picklable values. `Repository.open_scan` opens the same scan in another process.
    """

    def __init__(self, stores: Stores, plan: ScanPlan, scopes: tuple[Scope, ...]) -> None:
        self._stores = stores
        self._plan = plan
        self._scopes = scopes
        self._flow_target: FlowTarget = (plan.repository, scopes[0].branch if scopes else "")

    def __repr__(self) -> str:
        return f"Scan({self._plan.repository!r}, {self._plan.commit_id!r}, prefix={self._plan.prefix!r})"

    @property
    def plan(self) -> ScanPlan:
        """The plan: a picklable value without connections and credentials, for `Repository.open_scan`."""
        return self._plan

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows: `ENTRY_SCHEMA` for entries, `CHANGE_SCHEMA` for changes."""
        return ENTRY_SCHEMA if isinstance(self._plan, EntryScanPlan) else CHANGE_SCHEMA

    def within(self, intervals: Iterable[tuple[bytes, bytes | None]]) -> Scan:
        """Return a scan of the keys of this scan that are also in some key intervals.

        Args:
            intervals: Key intervals, in any order. An interval with a single key is looked up instead of scanned.

        Returns:
            The new scan. Its content is that of this scan.

        Raises:
            TypeError: An item is not a pair of keys.
        """
        return Scan(self._stores, self._plan.within(intervals), self._scopes)

    @operation("plan scan", of_scan(Action.LIST_OBJECTS))
    def partitions(self, rows: int = PARTITION_ROWS) -> list[ScanPartition]:
        """Divide the scan into partitions with about equal numbers of entries.

        This reads about as many nodes of the tree as there are partitions, and neither ranges nor entries. Recent
        changes that are stored above the tree of a commit are not counted.

        Args:
            rows: Approximate maximum number of entries per partition. A range is never divided.

        Returns:
            The partitions, in order of the paths. Together they contain each row of the scan once.

        Raises:
            NotFound: the repository has been deleted.
            InvalidInput: the number is not positive.
        """
        return scans.partitions(self._stores, self._plan, number("rows", rows, 1))

    @operation("read scan", of_scan(Action.LIST_OBJECTS, Action.READ_OBJECT))
    def read(self, partition: ScanPartition | None = None) -> pa.RecordBatchReader:
        """Return the rows of a partition as a stream of record batches, lazily.

        Args:
            partition: A partition of this scan. Keys that are not in the scan are left out. `None` means the whole
                scan.

        Returns:
            A reader of non-empty batches with the scan's schema, sorted by key.

        Raises:
            NotFound: the repository has been deleted. Raised when the first batch is read.
            CorruptData: a part of the content is missing or damaged. Raised when the batch is read.
        """
        keys = self._plan.intervals
        if partition is not None:
            keys = intersection(keys, ordered(partition.intervals))
        return pa.RecordBatchReader.from_batches(self.schema, scans.batches(self._stores, self._plan, keys))

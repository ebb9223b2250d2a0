"""Shared state of the cleaner's stages: plan, counts, treatment of failures, and removal of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TypeVar

from graveler_core.engine.cleaning.plan import MAX_FAILURES, Cleaned, CleaningPlan
from graveler_core.errors import CorruptData, GravelerError, PredicateFailed
from graveler_core.kv.bulk import drop_partition
from graveler_core.model.address import namespace
from graveler_core.model.clock import has_lapsed, is_far_ahead
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.objects.store_clock import clock_difference
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.staging import segment_layer
from graveler_core.stores import Stores

T = TypeVar("T")
PAGE = 500
"""Number of records that are processed together. The records that they name are read in one round trip."""
Position = tuple[str, ...]
"""Completed position of a stage, followed by the position within the next item."""
BEGINNING: Position = ("",)
Step = tuple[Position, int]
"""Position, and number of items that were examined since the last step."""


@dataclass(slots=True)
class CleaningCall:
    """State of one call of a cleaner."""

    stores: Stores
    plan: CleaningPlan
    done: Cleaned
    left: int | None
    """Number of items that may still be examined."""
    right_clocks: dict[str, bool] = field(default_factory=dict)
    """Results of comparisons of this machine's clock with those of object stores, by scheme and bucket."""

    @property
    def page(self) -> int:
        """Number of records to process together."""
        return PAGE if self.left is None else max(1, min(PAGE, self.left))

    def is_past(self, since: datetime, grace: timedelta) -> bool:
        """Return `True` if at least the given time has passed since a moment."""
        return self.stores.clock.now() - since >= grace

    def has_lapsed(self, since: datetime, time: timedelta, repo: RepositoryRecord) -> bool:
        """Return `True` if a claim has lasted for some time, or if a wrong clock has begun it and the clock of this
        machine is right.
        """
        now = self.stores.clock.now()
        if since <= now or self.plan.dry_run:
            return now - since >= time
        return has_lapsed(since, time, now) and self._has_right_clock(repo)

    def began_far_ahead(self, since: datetime, repo: RepositoryRecord) -> bool:
        """Return `True` if a wrong clock has written a time, and the clock of this machine is right."""
        return is_far_ahead(since, self.stores.clock.now()) and self._has_right_clock(repo)

    def _has_right_clock(self, repo: RepositoryRecord) -> bool:
        place = namespace(repo.storage_namespace)
        store = f"{place.scheme}://{place.bucket}"
        if store not in self.right_clocks:
            self.right_clocks[store] = False
            with self.trying(f"clock of {store}"):
                blobs = self.stores.blobs.at(repo.storage_namespace)
                self.right_clocks[store] = clock_difference(blobs, repo.uid, self.stores.clock) == timedelta(0)
        return self.right_clocks[store]

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Record a failure, and continue with other items."""
        try:
            yield
        except PredicateFailed:
            self.done.contested += 1
        except GravelerError as e:
            self.failed(what, e)

    def failed(self, what: str, e: GravelerError) -> None:
        """Record a failure."""
        self.done.failed += 1
        if len(self.done.failures) < MAX_FAILURES:
            self.done.failures.append((what, e.message))

    def damaged(self, e: CorruptData) -> None:
        """Record a damaged record."""
        self.failed(str(e.details.get("name", "record")), e)

    def together(self, what: str, rows: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
        """Process records together, or one by one if a record that they name is damaged."""
        try:
            with self.trying(what):
                _unless_damaged(work, rows)
        except _Damaged:
            for row in rows:
                with self.trying(what):
                    work([row])

    def drop_layer(self, repo: RepositoryRecord, layer: Layer) -> None:
        """Empty a layer that no branch lists or will list. An empty layer costs one read."""
        if isinstance(layer, SealedToken):
            self.drop_partition(keys.staging(layer.token), layers=1)
        elif isinstance(layer, SegmentLayer):
            blobs = self.stores.blobs.at(repo.storage_namespace)
            if self.plan.dry_run:
                prefix = segment_layer.address(layer.id, "")
                self.done.layers += next(iter(blobs.list(prefix=prefix)), None) is not None
                return
            files = segment_layer.drop(blobs, layer.id)
            self.done.files += files
            self.done.layers += files > 0

    def drop_partition(self, partition: bytes, *, layers: int = 0) -> None:
        """Empty a partition. An empty partition, which is the usual leftover of a crash, costs one read."""
        if next(iter(self.stores.kv.scan(partition, limit=1)), None) is not None:
            self.done.layers += layers
            if not self.plan.dry_run:
                self.done.rows += drop_partition(self.stores.kv, partition)

    def repositories(self, after: str) -> Iterator[tuple[str, Held[RepositoryRecord]]]:
        """Yield the records of repositories in any state, in order of their names. A plan with a repository limits them
        to it.
        """
        only = self.plan.repository
        found = access.scan(self.stores.kv, keys.REPOSITORIES, prefix=only or "", after=after, damaged=self.damaged)
        return found if only is None else takewhile(lambda row: row[0] == only, found)


class _Damaged(Exception):
    """Signal that one of several records, or a record that it names, is damaged."""


def _unless_damaged(work: Callable[[Sequence[T]], None], rows: Sequence[T]) -> None:
    try:
        work(rows)
    except CorruptData as e:
        if len(rows) > 1:
            raise _Damaged from e
        raise

"""What all parts of a cleaner share: the plan, the counts, what to do about failures, and how a layer is dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import TypeVar

from graveler_core.engine.cleaning.plan import MAX_FAILURES, Cleaned, CleaningPlan
from graveler_core.errors import CorruptData, GravelerError, PredicateFailed
from graveler_core.kv.bulk import drop_partition
from graveler_core.model.entities import Repository
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.staging import segment_layer
from graveler_core.stores import Stores

T = TypeVar("T")
PAGE = 500
"""Records that are looked at together: those they name are read in one round trip."""
Position = tuple[str, ...]
"""What a part is done with, and then how far it has come in the next thing."""
BEGINNING: Position = ("",)
Step = tuple[Position, int]
"""A position, and how many more things were looked at."""


@dataclass(slots=True)
class Work:
    """One call of a cleaner."""

    stores: Stores
    plan: CleaningPlan
    done: Cleaned
    left: int | None
    """How many more things may be looked at."""

    @property
    def page(self) -> int:
        """How many records to look at together."""
        return PAGE if self.left is None else max(1, min(PAGE, self.left))

    def is_past(self, since: datetime, grace: timedelta) -> bool:
        """Whether something began at least so long ago."""
        return self.stores.clock.now() - since >= grace

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Note a failure, and go on with other things."""
        try:
            yield
        except PredicateFailed:
            self.done.contested += 1
        except GravelerError as e:
            self.failed(what, e)

    def failed(self, what: str, e: GravelerError) -> None:
        """Note a failure."""
        self.done.failed += 1
        if len(self.done.failures) < MAX_FAILURES:
            self.done.failures.append((what, e.message))

    def damaged(self, e: CorruptData) -> None:
        """Note a record that cannot be read."""
        self.failed(str(e.details.get("name", "record")), e)

    def together(self, what: str, rows: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
        """Work on some records at once; one by one if something that they name is damaged."""
        try:
            with self.trying(what):
                _unless_damaged(work, rows)
        except _Damaged:
            for row in rows:
                with self.trying(what):
                    work([row])

    def drop_layer(self, repo: Repository, layer: Layer) -> None:
        """Empty a layer that no branch lists, and none will. One read where there is nothing."""
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
        """Empty a partition. One read where there is nothing: the most that a crash leaves is empty."""
        if next(iter(self.stores.kv.scan(partition, limit=1)), None) is not None:
            self.done.layers += layers
            if not self.plan.dry_run:
                self.done.rows += drop_partition(self.stores.kv, partition)

    def repositories(self, after: str) -> Iterator[tuple[str, Held[Repository]]]:
        """The records of repositories in whatever state, in order of their names; only the plan's, where it has one."""
        only = self.plan.repository
        found = access.scan(self.stores.kv, keys.REPOSITORIES, prefix=only or "", after=after, damaged=self.damaged)
        return found if only is None else takewhile(lambda row: row[0] == only, found)


class _Damaged(Exception):
    """One of several records, or what it names, cannot be read."""


def _unless_damaged(work: Callable[[Sequence[T]], None], rows: Sequence[T]) -> None:
    try:
        work(rows)
    except CorruptData as e:
        if len(rows) > 1:
            raise _Damaged from e
        raise

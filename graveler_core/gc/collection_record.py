"""Record of the collections of a repository, and the files that it lists. See `gc.collection` for the states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.unreadable import ExaminedBlobs
from graveler_core.errors import CorruptData, PredicateFailed
from graveler_core.gc.deleted_sets import FOREVER_FILES, Shortening, shortening
from graveler_core.gc.examined_objects import measured
from graveler_core.model.collection import (
    NEVER_REACHED,
    Collections,
    CollectionState,
    CondemnedSet,
    RemovedCommits,
)
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce
from graveler_core.objects import condemned, expired_commits
from graveler_core.objects.sorted_files import FILES
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from graveler_core.telemetry.events import tell_damaged

T = TypeVar("T")
PREFIXES = condemned.PREFIX, expired_commits.PREFIX, expired_commits.REMOVED_PREFIX
"""Prefixes of the files in the storage namespace."""
REPLACED = 64
"""Maximum number of replaced sets whose files stay for a grace period. A collection replaces up to five sets."""


@dataclass(frozen=True, slots=True)
class ListedFiles:
    """Content of the files that the record lists for the current set, and for expired and removed commits."""

    objects: pa.Table
    """Condemned objects, in `CONDEMNED`."""
    expiring: pa.Table
    """Commits that were announced to expire and are not revived, in `COMMITS`."""
    unreached: pa.Table
    """Commits that were announced to be removed and are not revived, in `COMMITS`."""
    expired: pa.Table
    """Expired commits, in `COMMITS`."""
    removed: pa.Table
    """Removed commits, in `COMMITS`."""


@dataclass(frozen=True, slots=True)
class EnteredCommits:
    """Removed commits to enter in the record, with those that were removed recently."""

    commits: pa.Table
    """In `COMMITS`."""
    since: datetime
    """Time in the rows that are new."""


class CollectionRecord:
    """The record as it was read last, and the changes of one collector."""

    def __init__(self, stores: Stores, repository: RepositoryRecord) -> None:
        self._stores = stores
        self._blobs = stores.blobs.at(repository.storage_namespace)
        self._examined = ExaminedBlobs(self._blobs)
        self._where = keys.collections(repository.id, repository.uid)
        self._held = access.read(stores.kv, self._where)

    @property
    def value(self) -> Collections:
        """The record. It lists nothing if it was never written."""
        return Collections(nonce=Nonce("")) if self._held is None else self._held.value

    def read_files(self) -> ListedFiles:
        """Read the files that the record lists. If another collection has removed some, read the record again first.

        Raises:
            CorruptData: A file is missing or damaged.
        """
        return self._of_current_record(self._files)

    def _files(self, record: Collections) -> ListedFiles:
        sets = [] if record.current is None else condemned.read(self._blobs, record.current)
        objects = pa.concat_tables([condemned.CONDEMNED.empty_table(), *sets])
        announced = expired_commits.expiring(self._blobs, record)
        removes = pc.equal(announced.column("rule"), NEVER_REACHED)
        return ListedFiles(
            objects,
            expiring=announced.filter(pc.invert(removes)),
            unreached=announced.filter(removes),
            expired=expired_commits.expired(self._blobs, record),
            removed=expired_commits.removed(self._blobs, record),
        )

    def lists(self, address: str) -> bool:
        """Return `True` if a file below one of `PREFIXES` belongs to a set that the record lists, or that was replaced
        recently.
        """
        prefix = next((prefix for prefix in PREFIXES if address.startswith(prefix)), None)
        ids = self.value.listed | self.value.replaced.keys()
        return prefix is not None and address.removeprefix(prefix).split("/")[0] in ids

    def is_current(self, deleting: CondemnedSet) -> bool:
        """Read the record again. Return `True` if it still lists a set that is being deleted."""
        self._held = access.read(self._stores.kv, self._where)
        return self.value.current == deleting

    def is_removing(self, removed: RemovedCommits) -> bool:
        """Read the record again. Return `True` if it still lists commits that are being removed."""
        self._held = access.read(self._stores.kv, self._where)
        return self.value.removed == removed

    def renew(self) -> bool:
        """Replace the record by an equal one with a fresh nonce. Return `False` if another process has changed it.

        Afterwards, a collector that has read an earlier record cannot enter the files that it has written.
        """
        return self._swap()

    def condemn(self, objects: pa.Table, expiring: pa.Table) -> bool:
        """Condemn objects, and announce commits. Return `False` if another process has changed the record."""
        written = self._written(CollectionState.CONDEMNED, [objects], objects.num_rows)
        announced = expired_commits.write_expiring(self._blobs, written.id, expiring)
        return self._swap(current=written.model_copy(update={"unconfirmed": True, "expiring": announced}))

    def confirm(self) -> bool:
        """Begin the grace period of the condemned set, which the record lists. Return `False` if another process has
        changed the record.
        """
        current = self.value.current
        assert current is not None  # noqa: S101 - the caller has read it
        update = {"since": self._stores.clock.now(), "unconfirmed": False}
        return self._swap(current=current.model_copy(update=update))

    def verify(
        self, objects: pa.Table, expired: pa.Table | None, removed: EnteredCommits | None = None
    ) -> CondemnedSet | None:
        """Replace the condemned set by the objects that are to be deleted, and the expired and the removed commits.

        Args:
            objects: Objects that are to be deleted.
            expired: All expired commits. `None` leaves them.
            removed: Commits that are to be removed, and those that were removed recently. `None` leaves them.

        Returns:
            The set of the objects. `None` if there is none, or if another process has changed the record.
        """
        count = objects.num_rows
        deleting = self._written(CollectionState.DELETING, [objects], count) if count else None
        update: dict[str, Any] = {"current": deleting}
        if expired is not None:
            update["expired"] = expired_commits.write_expired(self._blobs, self._stores.ids.fresh(), expired)
        if removed is not None:
            id = self._stores.ids.fresh()
            update["removed"] = expired_commits.write_removed(self._blobs, id, removed.commits, removed.since)
        return deleting if self._swap(**update) else None

    def note_recording(self) -> bool:
        """Note that all processes record former heads now. Return `False` if another process has changed the record."""
        return self._swap(recording=self._stores.clock.now())

    def note_adoption(self) -> bool:
        """Note that all commits that nothing reached are former heads. Return `False` if another process has changed
        the record.
        """
        return self._swap(adopted=True)

    def note_removal(self) -> bool:
        """Note that the removed commits are deleted. Return `False` if another process has changed the record."""
        removed = self.value.removed
        assert removed is not None  # noqa: S101 - the caller has read it
        return self._swap(removed=removed.model_copy(update={"done": True}))

    def remember(self, deleted: CondemnedSet) -> bool:
        """Enter a set as deleted. Return `False` if another process has changed the record."""
        past = deleted.model_copy(update={"state": CollectionState.DELETED, "since": self._stores.clock.now()})
        return self._swap(current=None, past=(past, *self.value.past))

    def shorten(self, cutoff: datetime) -> bool:
        """Forget old sets of deleted objects, and put others together, so that the record stays small
        (`gc.deleted_sets`). Return `False` if another process has changed the record.

        A set with a file that cannot be read stays as it is, and is logged: collections do not need the file otherwise.

        Args:
            cutoff: Sets that were replaced until then are forgotten. Their files can be deleted.

        Raises:
            CorruptData: A file became unreadable while it was read.
        """
        past, forever = self._of_current_record(self._shortened)
        record = self.value
        replaced = {id: time for id, time in record.replaced.items() if time > cutoff}
        update = {"past": past, "forever": forever, "replaced": replaced}
        return record.model_copy(update=update) == record or self._swap(**update)

    def _shortened(self, record: Collections) -> tuple[tuple[CondemnedSet, ...], CondemnedSet | None]:
        """Return the deleted sets, after some were put together, and those that are remembered for ever."""
        now, unreadable, read = self._stores.clock.now(), set[str](), set[str]()
        # All files are read before one is written, so that damage leaves no new files behind.
        plan = shortening(record, now, unreadable)
        while one := next((one for one in plan.rewritten() if one.id not in read), None):
            (read if self._is_readable(one) else unreadable).add(one.id)
            plan = shortening(record, now, unreadable)
        past = tuple(self._united(plan, group, FILES) for group in plan.past)
        return past, self._united(plan, plan.forever, FOREVER_FILES) if plan.forever else None

    def _is_readable(self, one: CondemnedSet) -> bool:
        """Return `True` if all files of a set can be read.

        Raises:
            CorruptData, MemoryError: A file cannot be read, and another process has changed the record.
        """
        try:
            for _ in condemned.read(self._examined, one):
                continue
        except (CorruptData, MemoryError) as e:
            if access.read(self._stores.kv, self._where) != self._held:
                raise
            tell_damaged(e if isinstance(e, CorruptData) else CorruptData(f"{one.id}: {e}", name=one.id))
            return False
        return True

    def _united(self, plan: Shortening, sets: Sequence[CondemnedSet], files: int) -> CondemnedSet:
        """Return one deleted set for some. It is as young as the youngest of them."""
        if not plan.is_rewritten(sets, files):
            return sets[0]
        tables, count = condemned.united(self._examined, sets), sum(one.objects for one in sets)
        written = self._written(CollectionState.DELETED, tables, count, files=files)
        return written.model_copy(update={"since": max(one.since for one in sets)})

    def _of_current_record(self, read: Callable[[Collections], T]) -> T:
        """Call a function that reads files of the record. If another collection has removed some, read the record again
        and call it again.
        """
        while True:
            try:
                return read(self.value)
            except CorruptData:
                before, self._held = self._held, access.read(self._stores.kv, self._where)
                if self._held == before:
                    raise

    def _written(
        self, state: CollectionState, objects: Iterable[pa.Table], count: int, *, files: int = FILES
    ) -> CondemnedSet:
        """Write a set. `count` is the number of its objects, or a greater number."""
        id, sizes = self._stores.ids.fresh(), list[int]()

        def noted() -> Iterator[pa.Table]:
            for table in objects:
                sizes.append(measured(table)[1])
                yield table

        listed = condemned.write(self._blobs, id, noted(), count, files=files)
        return CondemnedSet(
            id=id,
            state=state,
            since=self._stores.clock.now(),
            files=listed,
            objects=sum(file.count for file in listed),
            size=sum(sizes),
        )

    def _swap(self, **update: Any) -> bool:
        """Replace the record. A creation is sent once, because a delayed second request could repeat it."""
        record = self.value.model_copy(update={**update, "nonce": Nonce(self._stores.ids.fresh())})
        record = record.model_copy(update={"replaced": self._replaced(record)})
        try:
            if self._held is None:
                self._held = access.create(self._stores.kv, self._where, record, once=True)
            else:
                self._held = access.replace(self._stores.kv, self._where, self._held, record)
        except PredicateFailed:
            self._held = access.read(self._stores.kv, self._where)
            return False
        return True

    def _replaced(self, record: Collections) -> dict[str, datetime]:
        """Return the sets that were replaced, after the record is replaced by another one: the newest `REPLACED`."""
        now = self._stores.clock.now()
        known = {id: min(time, now) for id, time in record.replaced.items()}  # a clock may have been ahead
        known |= dict.fromkeys(sorted(self.value.listed - record.listed), now)
        return dict(sorted(known.items(), key=itemgetter(1))[-REPLACED:])

"""Collection of data: deletion of objects of users that nothing names.

    nothing  ──condemn──▶  condemned  ──verify──▶  deleting  ──▶  deleted

1. Condemn. List the namespace. Candidates are the objects that graveler has created (`data/`), that are older than the
   grace period, and that belong to no upload in progress. Read all names of the repository, and those of other
   repositories of the store that lie in the namespace (`gc.named_addresses`). Candidates without a name are condemned:
   their addresses are written to files, and then the collection record lists the files. ✓
2. Wait for the grace period. From step 1 on, nothing can stage a condemned address (`engine.staging.kept_content`).
3. Verify. Read all names again. Objects that have a name are spared. The others are entered as `deleting`. ✓
4. Delete the objects, and enter the set as `deleted`. ✓ Its addresses are remembered for 90 days, so that an entry that
   somebody has kept in memory cannot be staged.

Proof that no object is deleted to which an entry refers. A name of an object comes from the flow that stored the
object, from an entry that is staged by its address, or from another name in the repository. Step 4 deletes objects
that had no name at step 3. Consider the ways in which one may get a name later:

* The flow that stored the object stages it within the grace period. The object was older when it was condemned, so
  that flow had ended before step 1, and step 3 found its name.
* A flow that stages an entry by its address reads the collection record first. If it reads the record after step 1, it
  refuses the entry. If it reads the record before step 1, it ends within the grace period, and step 3 found the entry.
  A flow does not read the collection record if the repository record that it has read says that nothing was ever
  condemned. The first collection changes the repository record before step 1, so such a flow began before step 1.
* A commit, merge, compaction or import names only content of commits and of staged changes. Step 3 finds all of these
  names, wherever they move (`gc.named_addresses`). It reads all commits, so no operation on an old commit can name an
  object without a name.

The grace period must therefore be longer than any flow that stages entries by address or stores content. A sweep has
the same condition. Less than a day is refused unless no other process works on the repository.

The record is changed by swaps only. If two collectors find the same state, one of them wins the swap, and the other
goes on from the record that it finds. If a file of a set is missing and the record has changed since it was read,
another collector has verified the set, and the collection begins again with the new record. Both may delete the
objects of a set that is entered as `deleting`, because the set never changes and addresses are never used again. After
a crash, the next collection goes on from the record. Files of addresses that no record lists are deleted when they are
older than the grace period.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import CorruptData, InvalidInput, Kind, PredicateFailed, SlowDown
from graveler_core.gc.candidates import Candidates, list_candidates
from graveler_core.gc.stock import Progress
from graveler_core.gc.sweep import GRACE, LEAST_GRACE
from graveler_core.model.collection import REMEMBERED, Collections, CollectionState, CondemnedSet
from graveler_core.model.entities import Repository
from graveler_core.model.ids import Nonce
from graveler_core.objects import condemned
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.stores import Stores

_LONGEST = timedelta(days=36_500)
_ATTEMPTS = 100
"""Maximum number of times that a collection begins again because another one has changed the record."""


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """Options of a collection."""

    grace: timedelta = GRACE
    dry_run: bool = False
    """Only report what would be condemned or deleted."""
    alone: bool = False
    """True asserts that no other process works on the repository. Any grace period is then allowed."""
    foreign: bool = False
    """Also collect objects in the namespace that graveler has not created."""

    def __post_init__(self) -> None:
        if not isinstance(self.grace, timedelta):
            raise InvalidInput(f"collect: grace {self.grace!r} must be a timedelta")
        if self.grace < timedelta(0):
            raise InvalidInput(f"collect: grace {self.grace} must not be negative")
        if self.grace < LEAST_GRACE and not self.alone:
            raise InvalidInput(
                f"collect: grace {self.grace} is shorter than {LEAST_GRACE}, so other processes may be about to stage "
                "content that nothing names yet; set alone if no other process uses the repository"
            )


@dataclass(slots=True)
class Collected:
    """Result of a collection, or the expected result of a dry run. Sizes are in bytes."""

    dry_run: bool
    deleted: int = 0
    """Number of objects that were deleted. In a dry run: that are condemned, due, and still without a name."""
    deleted_size: int = 0
    spared: int = 0
    """Number of condemned objects that were kept because something names them."""
    spared_size: int = 0
    condemned: int = 0
    """Number of objects that were condemned. In a dry run: that would be."""
    condemned_size: int = 0
    named: int = 0
    """Number of objects that something names."""
    named_size: int = 0
    young: int = 0
    """Number of objects that were kept because they are younger than the grace period."""
    young_size: int = 0
    uploading: int = 0
    """Number of objects that were kept because they belong to an upload in progress."""
    uploading_size: int = 0
    waiting: int = 0
    """Number of condemned objects that wait for the end of their grace period."""
    waiting_size: int = 0
    due: datetime | None = None
    """Time from which on a collection deletes the waiting objects."""


def collect(
    stores: Stores, repo: Repository, plan: CollectionPlan | None = None, *, progress: Progress = lambda more: None
) -> Collected:
    """Delete the objects that are due, and condemn those that nothing names any more.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        plan: Options.
        progress: Called with the number of items examined since the last call.

    Returns:
        Numbers and sizes of the objects.

    Raises:
        CorruptData: An item that names objects is missing or damaged, or the namespace belongs to another repository.
            Nothing was condemned or deleted.
        InvalidInput: The repository is bare, so it is unknown which objects a restoration will need.
        NotFound: The repository was deleted.
        SlowDown, Unavailable, OutcomeUnknown: Collect again. Some objects may be deleted.
    """
    if repo.bare:
        raise InvalidInput(f"collect: repository {repo.id!r} is bare, so it is unknown which objects are needed")
    work = _Collection(stores, repo, plan or CollectionPlan(), progress)
    work.require_claim()
    for _ in range(_ATTEMPTS):
        try:
            return work.run()
        except CorruptData:
            if not work.is_overtaken():
                raise
    raise SlowDown(f"repository {repo.id!r}: other collections changed its record {_ATTEMPTS} times; try again later")


class _Collection:
    def __init__(self, stores: Stores, repository: Repository, plan: CollectionPlan, progress: Progress) -> None:
        self.stores = stores
        self.repository = repository
        self.plan = plan
        self.progress = progress
        self.done = Collected(plan.dry_run)
        self.cutoff = stores.clock.now() - min(plan.grace, _LONGEST)
        self.blobs = stores.blobs.at(repository.storage_namespace)
        self.where = keys.collections(repository.id, repository.uid)
        self.held = access.read(stores.kv, self.where)
        self.due: CondemnedSet | None = None
        """Set that a dry run would delete."""

    @property
    def current(self) -> CondemnedSet | None:
        """Set that is condemned or being deleted. After a dry run would have deleted it, `None`."""
        return None if self.held is None or self.due is not None else self.held.value.current

    def require_claim(self) -> None:
        """Refuse to work in a namespace that belongs to another repository."""
        repo = self.repository
        if repositories.get(self.stores.kv, self.stores.clock, self.stores.ids, repo.id).uid != repo.uid:
            repositories.usable(repo.id, None)
        claim = access.read(self.stores.kv, keys.namespace_claim(repo.storage_namespace))
        if claim is None or claim.value.owner != repo.uid:
            raise CorruptData(
                f"repository {repo.id!r}: does not own its storage namespace {repo.storage_namespace!r}; nothing was "
                "deleted",
                kind=Kind.CorruptRecord,
            )

    def run(self) -> Collected:
        """Take all steps that are due."""
        if self.plan.dry_run:
            self.done, self.due = Collected(dry_run=True), None
        self.finish()
        self.condemn()
        self.finish()
        self.drop_unlisted()
        self.report_waiting()
        return self.done

    def is_overtaken(self) -> bool:
        """Read the record again. Return true if it has changed, so that files of the former set may be gone."""
        before, self.held = self.held, access.read(self.stores.kv, self.where)
        return self.held != before

    def finish(self) -> None:
        """Delete the objects of the current set if it is due."""
        current = self.current
        if current is None:
            return
        if current.state is CollectionState.CONDEMNED:
            if self.stores.clock.now() - current.since < self.plan.grace:
                return
            current = self._verified(current)
        if current is None:
            return
        if self.plan.dry_run:
            self.due = current
            self.done.deleted, self.done.deleted_size = current.objects, current.size
        else:
            self._delete(current)

    def condemn(self) -> None:
        """Condemn the objects that nothing names, if no other set is condemned."""
        found = list_candidates(self.stores, self.repository, self.cutoff, self.progress, foreign=self.plan.foreign)
        for known in (self.current, self.due):
            if known is not None:
                found = found.without(condemned.read(self.blobs, known))
        self._mark_named(found)
        self.done.named, self.done.named_size = found.named()
        self.done.young, self.done.young_size = found.young
        self.done.uploading, self.done.uploading_size = found.uploading
        if self.current is not None:
            return
        unnamed = found.unnamed()
        self.done.condemned, self.done.condemned_size = _measured(unnamed)
        if unnamed.num_rows and not self.plan.dry_run:
            self.repository = repositories.check_addresses(self.stores.kv, self.stores.ids, self.repository)
            self.stores.registers.forget_all(self.repository.id)
            self._swap(current=self._written(CollectionState.CONDEMNED, unnamed))

    def drop_unlisted(self) -> None:
        """Delete old files of addresses that no record lists."""
        if self.plan.dry_run:
            return
        listed = set() if self.held is None else {one.id for one in self.held.value.sets}
        for blob in list(self.blobs.list(condemned.PREFIX)):
            if condemned.set_of(blob.address) not in listed and blob.mtime <= self.cutoff:
                self.blobs.delete(blob.address)

    def report_waiting(self) -> None:
        """Note the set that waits for the end of its grace period."""
        current = self.current
        if current is not None and current.state is CollectionState.CONDEMNED:
            self.done.waiting, self.done.waiting_size = current.objects, current.size
            self.done.due = current.since + self.plan.grace

    def _mark_named(self, found: Candidates) -> None:
        found.mark_named(self.stores, self.repository.storage_namespace, self.repository, self.progress)

    def _verified(self, current: CondemnedSet) -> CondemnedSet | None:
        """Spare the objects of a condemned set that something names. Enter the others as `deleting`."""
        found = Candidates(pa.concat_tables(condemned.read(self.blobs, current)))
        self._mark_named(found)
        unnamed = found.unnamed()
        self.done.spared, self.done.spared_size = found.named()
        if self.plan.dry_run:
            self.due = current
            self.done.deleted, self.done.deleted_size = _measured(unnamed)
            return None
        deleting = self._written(CollectionState.DELETING, unnamed) if unnamed.num_rows else None
        return deleting if self._swap(current=deleting) else None

    def _delete(self, current: CondemnedSet) -> None:
        """Delete all objects of a set in the state `deleting`."""
        for table in condemned.read(self.blobs, current):
            for _ in self.stores.executor.map(self.blobs.delete, table.column("address").to_pylist()):
                self.progress(1)
        self.done.deleted += current.objects
        self.done.deleted_size += current.size
        now = self.stores.clock.now()
        past = () if self.held is None else self.held.value.past
        kept = tuple(one for one in past if now - one.since < REMEMBERED)
        deleted = current.model_copy(update={"state": CollectionState.DELETED, "since": now})
        self._swap(current=None, past=(deleted, *kept))

    def _written(self, state: CollectionState, objects: pa.Table) -> CondemnedSet:
        id = self.stores.ids.fresh()
        files = condemned.write(self.blobs, id, objects)
        count, size = _measured(objects)
        return CondemnedSet(id=id, state=state, since=self.stores.clock.now(), files=files, objects=count, size=size)

    def _swap(self, current: CondemnedSet | None, past: tuple[CondemnedSet, ...] | None = None) -> bool:
        """Replace the record that was read last. Return `False` if another collector has changed it."""
        before = () if self.held is None else self.held.value.past
        nonce = Nonce(self.stores.ids.fresh())
        record = Collections(current=current, past=before if past is None else past, nonce=nonce)
        try:
            self.held = _replaced(self.stores, self.where, self.held, record)
        except PredicateFailed:
            self.held = access.read(self.stores.kv, self.where)
            return False
        return True


def _replaced(
    stores: Stores, where: Location[Collections], held: Held[Collections] | None, record: Collections
) -> Held[Collections]:
    """Swap the record. A creation is sent once, because a delayed second request could repeat it."""
    if held is None:
        return access.create(stores.kv, where, record, once=True)
    return access.replace(stores.kv, where, held, record)


def _measured(objects: pa.Table) -> tuple[int, int]:
    """Return number and total size of objects."""
    return objects.num_rows, pc.sum(objects.column("size")).as_py() or 0

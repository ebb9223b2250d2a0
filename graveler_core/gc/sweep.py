"""Deletion of unreachable data. A sweep deletes no commits, because a reader may know any commit id. Only a collection
removes commits (`gc.unreached`). Reachable data is therefore: everything named by the layout of any commit; everything
named by a layout that was replaced within the grace period; and the compacted trees of branches. Staged layers with a
cleanup record are left to the cleaner.

1. Stock (`gc.stock`): list the stored items. Only listed items are deleted.
2. Marks (`gc.inspection`): mark reachable items. Branches are read before layouts, because data that a compacted
tree shares with the commit that takes it is in that commit's layout before it leaves the branch. Damage ends the
sweep, because it is unknown which items the damaged item named. So does an owner file of another repository
(`objects.owner_files`).
3. Objects: delete those that are old and unmarked. An object is deleted only if it has not changed since its age was
read. A writer that is about to name an object writes it again.
4. Blobs: delete those that are old and unmarked, in batches. A batch holds a lock (`SweepRegister`) that each renewal
of a file also takes. It reads the age of each blob again, and deletes those that are still old, a few at a time.
`objects.kept_blobs` and `objects.sweep_register` explain why a writer that finds a stored blob and is about to name it
is safe. The repository and the owner files are read again before each batch.
5. Files of layers: delete those that are old, on no branch, and in no cleanup record that is read after the listing.
Such files were written after the cleaner had dropped the layer, by a writer that did not know this. The cleanup record
exists from before the first file until the layer cannot be listed any more (`engine.cleaning.live`), so such a layer is
never listed again.

Proof that the sweep does not delete data that will be named: A build writes its layout within the grace period after
its start. Data that it wrote, or found and renewed, is young until then, and marked from then on. Data from the
layout that it started with is marked by that layout. If that layout was replaced concurrently, or within the hour
for which it may be cached, the data is marked by the replacement, which keeps it. Data from a compacted tree is
marked by the branch; otherwise the build's swap fails.

The grace period must therefore exceed the sum of the two longest builds (one that replaces a layout, another that began
before), the hour of a cached layout, and the difference of the clocks. A build that takes longer than
`objects.build_time` allows refers to nothing and fails, also if its process was suspended. The shortest grace period
that is accepted beside other processes covers two builds. Two cases are not covered. A process is suspended after the
check of the time, while the last request of its build is under way. Or a virtual machine is paused for days, and the
build ends before the clock of the machine is set. The duration of the sweep does not matter: items that it considers
old were old at its start.

After a crash or a failed deletion the register remains held for three minutes, and the next sweep deletes the rest.
Two sweeps take turns with the register; the later one finds items young that were created again after the first one had
deleted them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from itertools import islice

from graveler_core.blobs.deletion import RefusedDeletions, batches, delete_permitted, is_refusal
from graveler_core.committed.trees import address
from graveler_core.errors import CorruptData, GravelerError, InvalidInput, Kind, PredicateFailed
from graveler_core.gc.findings import Finding, Thing
from graveler_core.gc.inspection import Inspection, begun
from graveler_core.gc.own_namespace import require_own_namespace
from graveler_core.gc.stock import Progress
from graveler_core.gc.uploads import purge
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import LayerId, ObjectId
from graveler_core.objects import owner_files
from graveler_core.objects.objects import decode_object
from graveler_core.objects.store_clock import require_right_clock
from graveler_core.objects.sweep_register import SweepRegister
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging import segment_layer
from graveler_core.stores import Stores

GRACE = timedelta(days=7)
LEAST_GRACE = timedelta(days=1)
"""A shorter grace period requires that no other process works on the repository."""
_LEADING = (Thing.NAMESPACE, Thing.BRANCH, Thing.TAG, Thing.REFERENCE_LOG, Thing.COMMIT, Thing.LAYOUT, Thing.NODE)
"""Kinds of items that name other items."""
BATCH = 100
"""Number of blobs that are deleted while the lock is held."""
_DELETED_AT_ONCE = 16
"""Maximum number of blobs that are deleted without asking if time is left. A store deletes so many at once, so they
take no longer than one request.
"""


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """Options of a sweep."""

    grace: timedelta = GRACE
    dry_run: bool = False
    """Only report what would be deleted."""
    limit: int | None = None
    """Maximum number of items to delete."""
    alone: bool = False
    """True asserts that no other process works on the repository. Any grace period is then allowed."""
    uploads: bool = False
    """Also delete user data that failed jobs and unfinished multipart uploads have stored (`gc.uploads`)."""

    def __post_init__(self) -> None:
        if not isinstance(self.grace, timedelta):
            raise InvalidInput(f"sweep: grace {self.grace!r} must be a timedelta")
        if self.grace < timedelta(0) or (self.limit is not None and self.limit < 0):
            raise InvalidInput(f"sweep: grace {self.grace} and limit {self.limit} must not be negative")
        if self.grace < LEAST_GRACE and not self.alone:
            raise InvalidInput(
                f"sweep: grace {self.grace} is shorter than {LEAST_GRACE}, so other processes may need data to which "
                "nothing refers yet; set alone if no other process uses the repository"
            )


@dataclass(slots=True)
class Swept:
    """Result of a sweep, or the expected result of a dry run."""

    dry_run: bool
    objects: int = 0
    """Number of objects deleted from the key-value store."""
    blobs: int = 0
    """Number of blobs deleted; the files of a layer count as one."""
    size: int = 0
    """Total size of both in bytes."""
    young: int = 0
    """Number of unreferenced items that were kept because they are younger than the grace period."""
    renewed: int = 0
    """Number of items that were kept because a process needed them during the sweep."""
    rest: int = 0
    """Number of items left because the limit was reached, the register was held for too long, or the store refuses to
    delete them.
    """
    unreadable: int = 0
    """Number of unreferenced objects, and of uploads, that were kept because they are damaged, so that their age is
    unknown.
    """
    uploads: int = 0
    """Number of uploads of failed jobs whose files were deleted. The files count as blobs."""


class _Age(Enum):
    """Age of a blob of a batch."""

    OLD = 1
    RENEWED = 2
    GONE = 3
    """Another process deleted it."""


@dataclass(slots=True)
class _Sweep:
    stores: Stores
    repository: RepositoryRecord
    plan: SweepPlan
    began: datetime
    done: Swept
    left: int
    """Number of items that may still be deleted."""
    refused: RefusedDeletions = field(default_factory=RefusedDeletions)

    @property
    def cutoff(self) -> datetime:
        """Time limit of the sweep: items that were needed later are kept."""
        return self.began - min(self.plan.grace, self.began - datetime.min.replace(tzinfo=UTC))


def sweep(
    stores: Stores, repo: RepositoryRecord, plan: SweepPlan | None = None, *, progress: Progress = lambda more: None
) -> Swept:
    """Delete unreferenced items that are older than the grace period.

    Args:
        progress: Called with the number of items examined since the last call.

    Raises:
        CorruptData: An item that refers to others is damaged; nothing was deleted. Or the namespace belongs to another
            repository; nothing more is deleted.
        InvalidInput: The repository is bare, so it is unknown which items a restoration will need. Or the clock of this
            machine is wrong (`objects.store_clock`).
        NotFound: The repository was deleted.
        SlowDown, Unavailable, OutcomeUnknown: Some items may be deleted; sweep again.
        GravelerError: The store refuses to delete some blobs (`details["failed"]`). All else is done.
    """
    if repo.bare:
        raise InvalidInput(f"sweep: repository {repo.id!r} is bare, so it is unknown which objects are needed")
    plan = plan or SweepPlan()
    began = stores.clock.now()
    most = plan.limit if plan.limit is not None else sys.maxsize
    work = _Sweep(stores, repo, plan, began, Swept(plan.dry_run), most)
    look = begun(stores, repo, deep=False, progress=progress)
    claim = list(look.names.claim(look.stock.owners))
    found = [*claim, *look.walk_all(), *look.note_rest(work.cutoff)]
    if claim or look.blind:
        raise _refused(repo, next(finding for finding in found if finding.damage and finding.thing in _LEADING))
    if not plan.dry_run:
        blobs = stores.blobs.at(repo.storage_namespace)
        owner_files.require_owner(blobs, repo)
        require_right_clock(blobs, repo.uid, stores.clock)
    _objects(work, look)
    _blobs(work, look)
    _layers(work, look)
    if plan.uploads:
        _uploads(work)
    work.refused.require_none(work.done.blobs)
    return work.done


def _objects(work: _Sweep, look: Inspection) -> None:
    for id, stored in look.stock.objects.items():
        if id in look.walk.objects:
            continue
        if stored.needed is None:
            work.done.unreadable += 1
        elif stored.needed > work.cutoff:
            work.done.young += 1
        elif not work.left:
            work.done.rest += 1
        elif work.plan.dry_run or _delete_object(work, ObjectId(id.hex())):
            work.left -= 1
            work.done.objects += 1
            work.done.size += stored.size
        else:
            work.done.renewed += 1


def _delete_object(work: _Sweep, id: ObjectId) -> bool:
    """Delete an object if it was last needed before the cutoff. Return true if it was deleted."""
    partition, key = keys.stored_object(work.repository, id)
    held = work.stores.kv.get(partition, key)
    if held is None or decode_object(held.value, id)[1] > work.cutoff:
        return False
    try:
        work.stores.kv.delete_if(partition, key, held.predicate)
    except PredicateFailed:
        return False
    return True


def _blobs(work: _Sweep, look: Inspection) -> None:
    old = _old_blobs(work, look)
    while batch := list(islice(old, min(BATCH, work.left))):
        work.left -= len(batch)
        if not work.plan.dry_run:
            batch = _deleted(work, batch)
        work.done.blobs += len(batch)
        work.done.size += sum(look.stock.blobs[bytes.fromhex(id)].size for id in batch)
    work.done.rest += sum(1 for _ in old)


def _old_blobs(work: _Sweep, look: Inspection) -> Iterator[ObjectId]:
    for id, stored in look.stock.blobs.items():
        if id in look.walk.blobs:
            continue
        if stored.needed is None or stored.needed > work.cutoff:
            work.done.young += 1
        else:
            yield ObjectId(id.hex())


def _deleted(work: _Sweep, batch: Sequence[ObjectId]) -> list[ObjectId]:
    """Delete a batch. Return the ids of the deleted blobs."""
    stores, repo = work.stores, work.repository
    blobs, deleted = stores.blobs.at(repo.storage_namespace), list[ObjectId]()
    with SweepRegister(stores.kv, repo, stores.clock, stores.ids).held() as hold:
        require_own_namespace(stores, repo)
        ages = list(stores.executor.map(partial(_age, work), batch))
        old = [id for id, age in zip(batch, ages, strict=True) if age is _Age.OLD]
        for some in batches(old, min(_DELETED_AT_ONCE, blobs.deletes_at_once)):
            if hold.is_in_time():
                hold.deleting = True
                refused = delete_permitted(blobs, [address(id) for id in some])
                work.refused.add(refused)
                deleted += [id for id in some if address(id) not in refused]
    work.done.renewed += ages.count(_Age.RENEWED)
    work.done.rest += len(old) - len(deleted)
    return deleted


def _layers(work: _Sweep, look: Inspection) -> None:
    """Delete the files of layers that were dropped before the files were written."""
    unlisted = [(LayerId(id), files) for id, files in look.stock.staged.items() if id not in look.names.listed]
    old = [(id, files) for id, files in unlisted if files.needed is None or files.needed <= work.cutoff]
    records = access.read_many(work.stores.kv, [keys.cleanup(work.repository, id) for id, _ in old]) if old else []
    for (id, files), record in zip(old, records, strict=True):
        if record is not None:
            continue
        if not work.left:
            work.done.rest += 1
            continue
        work.left -= 1
        if work.plan.dry_run or _drop_layer(work, id):
            work.done.blobs += 1
            work.done.size += files.size


def _drop_layer(work: _Sweep, id: LayerId) -> bool:
    """Delete the files of a layer. Return false if the store refuses to delete one of them."""
    try:
        segment_layer.drop(work.stores.blobs.at(work.repository.storage_namespace), id)
    except GravelerError as e:
        if not is_refusal(e):
            raise
        work.refused.add({id: e})
        return False
    return True


def _age(work: _Sweep, id: ObjectId) -> _Age:
    """Find out if a blob is still old."""
    found = work.stores.blobs.at(work.repository.storage_namespace).head(address(id))
    if found is None:
        return _Age.GONE
    return _Age.RENEWED if found.mtime > work.cutoff else _Age.OLD


def _uploads(work: _Sweep) -> None:
    stores, repo = work.stores, work.repository
    uploads = Uploads(stores.kv, stores.blobs.at(repo.storage_namespace), repo, stores.clock, stores.ids)
    purged = purge(uploads, work.cutoff, work.left, dry_run=work.plan.dry_run)
    work.left = max(0, work.left - purged.blobs)
    work.refused.extend(purged.refused)
    for name in ("uploads", "blobs", "size", "young", "rest", "unreadable"):
        setattr(work.done, name, getattr(work.done, name) + getattr(purged, name))


def _refused(repo: RepositoryRecord, finding: Finding) -> CorruptData:
    return CorruptData(
        f"repository {repo.id!r}: {finding.thing} {finding.id}: {finding.why}; nothing was deleted, because it is "
        "unknown which objects are needed",
        kind=Kind.CorruptRecord,
        thing=finding.thing.value,
        id=finding.id,
    )

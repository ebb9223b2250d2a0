"""Deleting what nothing names and nobody is about to name. Commits stay, whatever leads to them: who knows an id may
read it, and how long history is kept is for people to say. So what is named is: what the layout of any commit names;
what a layout named that was replaced within the grace; the compacted trees of branches. Staged layers are left to the
cleaner, for as long as they have a cleanup record.

1. Stock (`gc.stock`): what there is. Only that is ever deleted.
2. Marks (`gc.inspection`): branches before layouts, since what a compacted tree shares with the commit that takes it is
   in that commit's layout before it leaves the branch. Damage on the way ends the sweep: nobody knows what it led to.
3. Objects that are old and unmarked, each only in the very state that was old: who is about to name it writes it anew.
4. Blobs that are old and unmarked, in batches. A batch holds the register that renewals hold too, looks at the age of
   each blob once more, and deletes what is still old: `objects.kept_blobs` says why whoever finds a blob stored
   already, and is about to name it, is safe. The repository is read again before each batch.
5. Files of layers that are old, on no branch, and in no cleanup record that is read after they were listed: what
   somebody wrote who did not know that the cleaner had dropped the layer. The record stands before the first file and
   until nobody can list the layer any more (`engine.cleaning.live`): so nobody ever will.

Why nothing is lost that will be named. A build writes its layout within the grace after it began. What it wrote, or
found and renewed, is young until then, and marked from then on. What it took over from the layout it began with is
marked by that layout: or, if that was replaced meanwhile or an hour before (that long it may be cached), by what the
replacement keeps. What it took over from a compacted tree is marked by the branch, or else its swap fails.

So the grace must be longer than the two longest builds (one that replaces a layout, another that began before it did),
a cached layout's hour and the difference of the clocks together; less than a day is refused unless nobody else is at
work. How long the sweep takes does not matter: what it takes for old was old when it began.

A crash leaves the register held, for a minute, and what was not deleted yet to the next sweep. Two sweeps take turns by
the register; the later one finds young what somebody made anew after the first had deleted it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from itertools import islice

from graveler_core.committed.trees import address
from graveler_core.errors import CorruptData, InvalidInput, Kind, PredicateFailed
from graveler_core.gc.findings import Finding, Thing
from graveler_core.gc.inspection import Inspection, begun
from graveler_core.gc.stock import Progress
from graveler_core.gc.uploads import purge
from graveler_core.model.entities import Repository
from graveler_core.model.ids import LayerId, ObjectId
from graveler_core.objects.objects import decode_object
from graveler_core.objects.sweep_register import SweepRegister
from graveler_core.objects.uploads import Uploads
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.staging import segment_layer
from graveler_core.stores import Stores

GRACE = timedelta(days=7)
LEAST_GRACE = timedelta(days=1)
"""Less is for repositories at rest."""
_LEADING = (Thing.NAMESPACE, Thing.BRANCH, Thing.TAG, Thing.REFERENCE_LOG, Thing.COMMIT, Thing.LAYOUT, Thing.NODE)
"""What leads to other things."""
BATCH = 100
"""Blobs that are deleted while the register is held: few enough to be done within half of its time."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep may do."""

    grace: timedelta = GRACE
    dry_run: bool = False
    """Say what would be deleted."""
    limit: int | None = None
    """Delete at most so many things."""
    alone: bool = False
    """Nobody else is at work on the repository: any grace will do."""
    uploads: bool = False
    """Delete what dead jobs have stored of users' data, too (`gc.uploads`)."""

    def __post_init__(self) -> None:
        if not isinstance(self.grace, timedelta):
            raise InvalidInput(f"sweep: grace {self.grace!r} must be a timedelta")
        if self.grace < timedelta(0) or (self.limit is not None and self.limit < 0):
            raise InvalidInput(f"sweep: grace {self.grace} and limit {self.limit} must not be negative")
        if self.grace < LEAST_GRACE and not self.alone:
            raise InvalidInput(
                f"sweep: a grace of {self.grace} is shorter than {LEAST_GRACE}, in which somebody may be about to name "
                "what nothing names yet; only if nobody else is at work on the repository"
            )


@dataclass(slots=True)
class Swept:
    """What a sweep did, or would do."""

    dry_run: bool
    objects: int = 0
    """Objects deleted, of the key-value store."""
    blobs: int = 0
    """Blobs deleted; the files of a layer count as one."""
    size: int = 0
    """Bytes of both."""
    young: int = 0
    """Things that nothing names, left for they are younger than the grace."""
    renewed: int = 0
    """Left for somebody needed them while the sweep was under way."""
    rest: int = 0
    """Left for the limit was reached, or the register was held for too long."""
    unreadable: int = 0
    """Objects that nothing names, left for they are damaged: their age is not known."""
    uploads: int = 0
    """Uploads of dead jobs whose files were deleted, which count as blobs."""


class _Fate(Enum):
    """What became of a blob of a batch."""

    DELETED = 1
    RENEWED = 2
    GONE = 3
    """Somebody else deleted it."""
    LATE = 4
    """The register was held for too long already."""


@dataclass(slots=True)
class _Sweep:
    stores: Stores
    repository: Repository
    plan: Plan
    began: datetime
    done: Swept
    left: int
    """How many more may be deleted."""

    @property
    def cutoff(self) -> datetime:
        """What was needed later is spared."""
        return self.began - min(self.plan.grace, self.began - datetime.min.replace(tzinfo=UTC))


def sweep(
    stores: Stores, repo: Repository, plan: Plan | None = None, *, progress: Progress = lambda more: None
) -> Swept:
    """Delete what nothing names and is older than the grace.

    Args:
        progress: Told how many more things were looked at.

    Raises:
        CorruptData: something is damaged that others hang on; nothing was deleted.
        InvalidInput: the repository is bare: what is to be restored into it is not known.
        NotFound: the repository was deleted.
        SlowDown, Unavailable, OutcomeUnknown: part of it may be deleted; sweep again.
    """
    if repo.bare:
        raise InvalidInput(f"sweep: repository {repo.id!r} is bare, so nothing says yet what is needed")
    plan = plan or Plan()
    began = stores.clock.now()
    most = plan.limit if plan.limit is not None else sys.maxsize
    work = _Sweep(stores, repo, plan, began, Swept(plan.dry_run), most)
    look = begun(stores, repo, deep=False, progress=progress)
    claim = list(look.names.claim())
    found = [*claim, *look.walk_all(), *look.note_rest(work.cutoff)]
    if claim or look.blind:
        raise _refused(repo, next(finding for finding in found if finding.damage and finding.thing in _LEADING))
    _objects(work, look)
    _blobs(work, look)
    _layers(work, look)
    if plan.uploads:
        _uploads(work)
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
    """Delete it in the state in which nobody has needed it since the cutoff."""
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
    """Delete a batch; gives what was deleted of it."""
    stores, repo = work.stores, work.repository
    if repositories.get(stores.kv, stores.clock, stores.ids, repo.id).uid != repo.uid:
        repositories.usable(repo.id, None)
    with SweepRegister(stores.kv, repo, stores.clock, stores.ids).held() as in_time:
        fates = list(stores.executor.map(partial(_delete_blob, work, in_time), batch))
    work.done.renewed += fates.count(_Fate.RENEWED)
    work.done.rest += fates.count(_Fate.LATE)
    return [id for id, fate in zip(batch, fates, strict=True) if fate is _Fate.DELETED]


def _layers(work: _Sweep, look: Inspection) -> None:
    """Files of layers that were dropped before they were written."""
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
        work.done.blobs += 1
        work.done.size += files.size
        if not work.plan.dry_run:
            segment_layer.drop(work.stores.blobs.at(work.repository.storage_namespace), id)


def _delete_blob(work: _Sweep, in_time: Callable[[], bool], id: ObjectId) -> _Fate:
    """Delete a blob if it is still old."""
    blobs, where = work.stores.blobs.at(work.repository.storage_namespace), address(id)
    found = blobs.head(where)
    if found is None:
        return _Fate.GONE
    if found.mtime > work.cutoff:
        return _Fate.RENEWED
    if not in_time():
        return _Fate.LATE
    blobs.delete(where)
    return _Fate.DELETED


def _uploads(work: _Sweep) -> None:
    stores, repo = work.stores, work.repository
    uploads = Uploads(stores.kv, stores.blobs.at(repo.storage_namespace), repo, stores.clock, stores.ids)
    purged = purge(uploads, work.cutoff, work.left, dry_run=work.plan.dry_run)
    work.left = max(0, work.left - purged.blobs)
    for name, count in asdict(purged).items():
        setattr(work.done, name, getattr(work.done, name) + count)


def _refused(repo: Repository, finding: Finding) -> CorruptData:
    return CorruptData(
        f"repository {repo.id!r}: {finding.thing} {finding.id}: {finding.why}; nothing was deleted, for it is not "
        "known what all is needed",
        kind=Kind.CorruptRecord,
        thing=finding.thing.value,
        id=finding.id,
    )

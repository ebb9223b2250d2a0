"""Emptying of deleted repositories. Source: seed 001, `Trash Cleaner`, made safe by the lifecycle records.

1. An entry that has been `restoring` for more than two minutes becomes `deleted` ✓: its restoration cannot succeed
   any more. An entry that is `deleted` and has the time of a clock far ahead is entered again with the time now ✓, so
   its time begins again.
2. An entry that is `deleted` within its time is skipped: the repository can be restored, and late writers may still
   write to it. Otherwise the entry becomes `purging` ✓.
3. `repos/<name>` is read. If it has the uid and is `initial` or `active`, the entry is void and is removed ✓, unless
   the record is left by the restoration of an earlier deletion. If it is `deleting`, but the entry is of an earlier
   deletion, the entry becomes that of this deletion ✓, as `deleted` (`engine.repositories.deletion`). Otherwise the
   entry becomes `emptying` ✓, and only from then on anything is removed: first the record, if it says `deleting` ✓.
4. All layers of all branches and cleanup records are dropped. Then the partitions are dropped, with these records,
   which named the layers.
5. The namespace is entered as abandoned, so that its objects can be deleted (`gc.namespaces`). If the repository was
   never active, there is nothing but its owner file, which is deleted. The namespace is released ✓, repeatedly until
   the claim is not the uid's: a restoration that lost the entry may have renewed the claim in between. Then the entry
   is removed ✓.

A repository that is reachable, or will be, is never emptied, for these reasons. A restoration removes its entry, as
`restoring`, before it makes the repository active. Once the entry is `purging`, no running restoration can succeed,
and none begins. An earlier successful restoration is detected after the claim, because then its record exists. An
entry becomes void only before it is `emptying`, in one swap from the same record: if an entry was void, no cleaner
has removed anything, and after `emptying` it is never void. (Without `emptying`, another cleaner that takes over the
claim could find the record of a failed restoration, treat the entry as void, and permit the next restoration of a
repository that is being emptied. A record in `deleting` that was removed earlier would be forgotten if another
cleaner treated the entry as void.) If an emptied repository is nevertheless restored, from a record that a failed
restoration left, the restoration finds neither branches nor namespace: both were removed before the entry.

Several cleaners may run steps 4 and 5 concurrently. A crash at any point leaves the entry, and the next cleaner
continues. A bucket that does not exist any more counts as empty. Late writes, by calls that began before the deletion,
have ended by the time that an entry is old enough for step 2. Commits and compactions may build for longer, and hooks
may take longer. The flows check that the repository exists before they write rows after that
(`registers.require_repository`, `protocol.hooks`). A process that is stopped between
this check and the write for longer than `CleaningPlan.late` leaves rows that nothing removes. The objects in the
namespace stay: see decisions 020 and 043.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from graveler_core.blobs.missing_bucket import bucket_may_be_missing
from graveler_core.engine.cleaning.work import CleaningCall, Position, Step
from graveler_core.engine.repositories.deletion import enter_for_cleaner
from graveler_core.engine.staging import pressure
from graveler_core.errors import PredicateFailed
from graveler_core.model.clock import not_before
from graveler_core.model.entities import (
    AbandonedNamespace,
    DeletedRepository,
    DeletedState,
    RepositoryRecord,
    RepositoryState,
)
from graveler_core.model.ids import Nonce
from graveler_core.model.layers import Layer
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.staging.stack import layers_of

BRANCHES, CLEANUPS, PARTITIONS = "branches", "cleanup", "partitions"


def deleted(work: CleaningCall, at: Position) -> Iterator[Step]:
    """Process the entries of deleted repositories."""
    done, inner = at[0], at[1:]
    prefix = f"{work.plan.repository}/" if work.plan.repository else ""
    for name, held in access.scan(
        work.stores.kv, keys.DELETED_REPOSITORIES, prefix=prefix, after=done, damaged=work.damaged
    ):
        if work.plan.uid not in (None, held.value.repository.uid):
            done = name
            continue
        with work.trying(f"deleted repository {name}"):
            taken = _taken(work, held)
            if taken is not None:
                for further in _emptied(work, taken, inner):
                    yield (done, *further), 1
        done = name
        yield (done,), 1


def _taken(work: CleaningCall, held: Held[DeletedRepository]) -> Held[DeletedRepository] | None:
    """Return the entry once the repository is unreachable and may be emptied."""
    now, plan = work.stores.clock.now(), work.plan
    if held.value.state is DeletedState.RESTORING:
        over = work.has_lapsed(held.value.since, repositories.CREATION_TIME, held.value.repository)
        if over and not plan.dry_run:
            _enter(work, held, DeletedState.DELETED)
        work.done.waiting += 1
        return None
    is_deleted = held.value.state is DeletedState.DELETED
    if is_deleted and not plan.dry_run and work.began_far_ahead(held.value.since, held.value.repository):
        held = _enter(work, held, DeletedState.DELETED)
    entry = held.value
    if entry.state is DeletedState.DELETED and not is_due(work, entry):
        restorable = entry.repository.was_active and not work.is_past(_since(entry, now), plan.undelete_within)
        work.done.waiting += restorable
        work.done.late += not restorable
        return None
    if plan.dry_run:
        return held
    if entry.state is DeletedState.DELETED:
        held = _enter(work, held, DeletedState.PURGING)
    if not held.value.emptying:
        standing = _standing(work, entry.repository)
        if standing is not None and standing.state is not RepositoryState.DELETING:
            access.remove(work.stores.kv, _where(held), held)  # it exists, or a restoration may make it exist
            return None
        if standing is not None and standing.deletions > entry.repository.deletions:
            enter_for_cleaner(work.stores, standing)
            work.done.waiting += 1
            return None
        held = _enter(work, held, DeletedState.PURGING, emptying=True)
    _remove_record(work, entry.repository)
    return held


def is_due(work: CleaningCall, entry: DeletedRepository) -> bool:
    """Return `True` if an entry is old enough to be taken. A repository that was never active is never restored, so its
    entry does not wait.
    """
    grace = max(work.plan.late, work.plan.undelete_within if entry.repository.was_active else timedelta(0))
    return entry.state is DeletedState.PURGING or (
        entry.state is DeletedState.DELETED and work.is_past(_since(entry, work.stores.clock.now()), grace)
    )


def _since(entry: DeletedRepository, now: datetime) -> datetime:
    """Return the time from which on a repository can be restored: that of its entry, which came after the deletion."""
    return not_before(entry.repository.since, entry.since, now)


def _enter(
    work: CleaningCall, held: Held[DeletedRepository], state: DeletedState, *, emptying: bool = False
) -> Held[DeletedRepository]:
    """Swap the entry. Raises `PredicateFailed` if another process changed it."""
    nonce = Nonce(work.stores.ids.fresh())
    entry = held.value.model_copy(
        update={"state": state, "nonce": nonce, "since": work.stores.clock.now(), "emptying": emptying}
    )
    return access.replace(work.stores.kv, _where(held), held, entry, mine=lambda current: current.nonce == nonce)


def _standing(work: CleaningCall, repo: RepositoryRecord) -> RepositoryRecord | None:
    """Read the record that has the name, if it is of this repository, and not left by the restoration of an earlier
    deletion, which cannot succeed any more.
    """
    standing = repositories.find(work.stores.kv, repo.id)
    if standing is None or standing.value.uid != repo.uid or standing.value.deletions < repo.deletions:
        return None
    return standing.value


def _remove_record(work: CleaningCall, repo: RepositoryRecord) -> None:
    """Remove the record of a deletion that waits for this or was interrupted."""
    kv = work.stores.kv
    while True:
        standing = repositories.find(kv, repo.id)
        if (
            standing is None
            or standing.value.uid != repo.uid
            or standing.value.state is not RepositoryState.DELETING
            or access.remove(kv, keys.repository(repo.id), standing)
        ):
            return


def _emptied(work: CleaningCall, held: Held[DeletedRepository], inner: Position) -> Iterator[Position]:
    """Empty a repository, then remove its entry."""
    repo, nonce = held.value.repository, held.value.nonce
    # With another nonce, another process has worked on the entry, and the remaining data is unknown.
    folder, after = inner[1:3] if inner[:1] == (nonce,) else (BRANCHES, "")
    for named in _layers_dropped(work, repo, folder, after):
        yield nonce, *named
    if work.plan.dry_run:
        work.done.repositories += 1
        return
    for partition in (keys.partition(repo), *keys.object_partitions(repo)):
        name = partition.decode()
        if folder != PARTITIONS or name > after:
            work.drop_partition(partition)
            yield nonce, PARTITIONS, name
    for _, ended in pressure.forget_ended(work.stores, prefix=f"{repo.id}/", damaged=work.damaged):
        work.done.counters += ended
    _release(work, repo)
    if access.remove(work.stores.kv, _where(held), held):
        work.done.repositories += 1


def _layers_dropped(work: CleaningCall, repo: RepositoryRecord, folder: str, after: str) -> Iterator[tuple[str, str]]:
    """Drop the layers of all branches and those that cleanup records name. The records stay, so that a later run finds
    the layers again.
    """
    kv = work.stores.kv
    if folder == BRANCHES:
        for name, branch in access.scan(kv, keys.branches(repo), after=after):
            for layer in layers_of(branch.value):
                _drop_layer(work, repo, layer)
            yield BRANCHES, name
        folder, after = CLEANUPS, ""
    if folder == CLEANUPS:
        for name, cleanup in access.scan(kv, keys.cleanups(repo), after=after):
            _drop_layer(work, repo, cleanup.value.layer)
            yield CLEANUPS, name


def _drop_layer(work: CleaningCall, repo: RepositoryRecord, layer: Layer) -> None:
    with bucket_may_be_missing():  # then the files of the layer do not exist either
        work.drop_layer(repo, layer)


def _release(work: CleaningCall, repo: RepositoryRecord) -> None:
    """Release the namespace, if the repository has claimed it. The creation may have written the owner file after an
    earlier cleaner released the namespace.
    """
    if not repo.was_active:
        with bucket_may_be_missing():
            owner_files.remove(work.stores.blobs.at(repo.storage_namespace), repo.uid)
    kv, place = work.stores.kv, repo.storage_namespace
    while True:
        # Before the claim, so that the record of a later repository in the namespace is never replaced.
        former = access.read(kv, keys.abandoned_namespace(place))
        claim = access.read(kv, keys.namespace_claim(place))
        if claim is None or claim.value.owner != repo.uid:
            return
        try:
            _abandon(work, repo, former)
        except PredicateFailed:  # the record was changed since it was read
            continue
        access.remove(kv, keys.namespace_claim(place), claim)


def _abandon(work: CleaningCall, repo: RepositoryRecord, former: Held[AbandonedNamespace] | None) -> None:
    """Enter the namespace as abandoned, instead of an earlier repository from which this one has taken it over. An
    interrupted creation has written nothing there that needs this.
    """
    if not repo.was_active or (former is not None and former.value.uid == repo.uid):
        return
    nonce, since = Nonce(work.stores.ids.fresh()), work.stores.clock.now()
    record = AbandonedNamespace(repository=repo.id, uid=repo.uid, nonce=nonce, since=since)
    access.replace(work.stores.kv, keys.abandoned_namespace(repo.storage_namespace), former, record)


def _where(held: Held[DeletedRepository]) -> Location[DeletedRepository]:
    repo = held.value.repository
    return keys.deleted_repository(repo.id, repo.uid)

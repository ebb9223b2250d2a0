"""Restoration of a deleted repository, as long as no cleaner has taken it.

Its entry `deleted → restoring` ✓, which blocks others for two minutes → check that a branch exists (unless the
repository is bare; the default branch itself may be missing, as in an active repository) and that the uid still has
the claim of the namespace: the claim is renewed ✓ → `repos/<name>` := `initial` ✓ → the entry that was written is
removed ✓; if it has changed by now, the restoration ends here → active ✓. Only the last swap makes the repository
visible, with everything that was staged on it.

The entry is removed before the last swap for this reason: once a cleaner or a deletion has taken the entry, this
restoration must not succeed. It therefore also ends if the response of the removal was lost and the entry exists and
has changed. The claim is read once more for this reason: a missing entry may have been removed by a cleaner that has
emptied the repository in the meantime (if the response of the removal was lost, this looks the same). But a cleaner
releases the namespace first, and once it is released, no process renews the claim.

A repository that was never active is not restored: an interrupted creation may have claimed a namespace that
overlaps another. A refusal restores the entry. A crash leaves the entry in `restoring`, which becomes `deleted`
again after two minutes, or a record in `initial`, which is deleted like other repositories. An error after the entry
was removed leaves such a record too. It has no entry until its deletion is completed, by a cleaner or by the next
restoration. The next restoration also completes a deletion that was interrupted before it wrote the entry. Like a
cleaner, it waits for two minutes, in which the other process may still go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.repositories.deletion import complete_deletion
from graveler_core.errors import Conflict, CorruptData, GravelerError, Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.stores import Stores

Entry = Held[DeletedRepository]


def deleted_repositories(
    stores: Stores, prefix: str = "", after: str = "", damaged: Callable[[CorruptData], object] | None = None
) -> Iterator[DeletedRepository]:
    """Yield the entries of deleted repositories, in any state, lazily and in order of `<name>/<uid>`.

    Args:
        stores: Stores of the flow.
        prefix: Limits the result to names with this prefix.
        after: `<name>/<uid>`. Limits the result to later entries.
        damaged: Called for each damaged entry, which is then skipped. Without it, such an entry ends the listing.

    Raises:
        CorruptData: An entry is damaged, and `damaged` is not given.
    """
    entries = access.scan(stores.kv, keys.DELETED_REPOSITORIES, prefix=prefix, after=after, damaged=damaged)
    return (held.value for _, held in entries)


def undelete_repository(stores: Stores, name: RepositoryId, uid: str | None = None) -> RepositoryRecord:
    """Undelete a repository under its name, with everything that was staged on it.

    Args:
        stores: Stores of the flow.
        name: Name of the repository.
        uid: Selects one of several deleted repositories with this name. By default, the last one that was deleted.

    Raises:
        NotFound: No repository with this name can be undeleted (`RepositoryNotFound`). The message states the reason.
        CorruptData: An entry is damaged: the one that `uid` names, or any entry of this name if `uid` is not given.
        NotUnique: Another repository has the name by now (`RepositoryExists`).
        Conflict: Another process is restoring or deleting it, has deleted it again, or took over (`LostRace`). An
            interrupted restoration or deletion counts as running for two minutes.
        OutcomeUnknown: It may be restored. Check, or try again after two minutes.
    """

    def attempt() -> RepositoryRecord | None:
        entry = _chosen(stores, name, uid)
        if entry is None:
            return None
        claimed = _entered(stores, entry, DeletedState.RESTORING)
        return None if claimed is None else _restored(stores, claimed, entry)

    return retry(stores, f"restoration of repository {name}", attempt)


def _restored(stores: Stores, claimed: Entry, before: Entry) -> RepositoryRecord:
    """Return the repository, active. On failure, its entry is restored."""
    try:
        _still_whole(stores, claimed.value.repository)
        initial = _initial(stores, claimed.value.repository)
        stores.registers.forget_all(initial.value.id)  # so that no write of this process reaches another of this name
    except GravelerError:
        with suppress(GravelerError):
            # The time of the entry is not reset: a failed attempt does not keep the repository from the cleaner.
            back = before.value.model_copy(update={"nonce": Nonce(stores.ids.fresh())})
            access.replace(stores.kv, _where(claimed), claimed, back)
        raise
    repo = initial.value
    gone = access.remove(stores.kv, _where(claimed), claimed, lives_on=_is_taken)
    if not gone or not _is_claimed(stores, repo):
        raise _lost(repo, "was deleted again while it was being restored")
    active = repositories.enter(repo, RepositoryState.ACTIVE, stores.clock, stores.ids)
    try:
        return access.replace(stores.kv, keys.repository(repo.id), initial, active).value
    except PredicateFailed:
        raise _lost(repo, f"took over {repositories.CREATION_TIME} to restore and was declared deleted") from None


def _chosen(stores: Stores, name: RepositoryId, uid: str | None) -> Entry | None:
    """Return the entry to restore, in state `deleted`, or `None` to look again."""
    damaged = list[CorruptData]()
    entries = access.scan(stores.kv, keys.DELETED_REPOSITORIES, prefix=f"{name}/", damaged=damaged.append)
    found = [held for _, held in entries if uid is None or held.value.repository.uid == uid]
    for error in damaged:  # that of another repository does not matter
        if uid is None or error.details["record"] == f"{name}/{uid}":
            raise error
    fit = [held for held in found if held.value.state is not DeletedState.PURGING and held.value.repository.was_active]
    if not fit:
        if _completed(stores, name, uid, found):
            return None
        raise _not_found(name, found, uid)
    entry = max(fit, key=lambda held: (held.value.since, held.value.repository.uid))
    if entry.value.state is DeletedState.DELETED:
        return entry
    if stores.clock.now() - entry.value.since < repositories.CREATION_TIME:
        raise _lost(entry.value.repository, "is being restored by somebody else")
    freed = _entered(stores, entry, DeletedState.DELETED)
    return _chosen(stores, name, uid) if freed is None else freed


def _completed(stores: Stores, name: RepositoryId, uid: str | None, found: list[Entry]) -> bool:
    """Complete an interrupted restoration or deletion of a repository without entry. Return `False` if there is none.

    Raises:
        Conflict: It may still be running (`LostRace`).
    """
    held = repositories.find(stores.kv, name)
    entered = {entry.value.repository.uid for entry in found}
    if held is None or held.value.uid in entered or uid not in (None, held.value.uid):
        return False
    repo = held.value
    if not repo.was_active or not repo.state.passes:
        return False
    if not repositories.has_taken_too_long(repo, stores.clock):
        what = "restored" if repo.state is RepositoryState.INITIAL else "deleted"
        raise _lost(repo, f"is being {what} by somebody else; if that was interrupted, try again after two minutes")
    with suppress(PredicateFailed):
        complete_deletion(stores, held)
    return True


def _entered(stores: Stores, held: Entry, state: DeletedState) -> Entry | None:
    """Swap the entry. Return `None` if another process was faster."""
    nonce = Nonce(stores.ids.fresh())
    entry = held.value.model_copy(update={"state": state, "nonce": nonce, "since": stores.clock.now()})
    with suppress(PredicateFailed):
        return access.replace(stores.kv, _where(held), held, entry, mine=lambda current: current.nonce == nonce)
    return None


def _still_whole(stores: Stores, repo: RepositoryRecord) -> None:
    """Check that nothing is missing, and renew the claim of the namespace."""
    branches = keys.branches(repo)
    rows = stores.kv.scan(branches.partition, prefix=branches.prefix, limit=1)
    if not repo.bare and next(iter(rows), None) is None:
        raise _missing(repo, "its branches are gone")
    where = keys.namespace_claim(repo.storage_namespace)
    claim = access.read(stores.kv, where)
    if claim is None or claim.value.owner != repo.uid:
        raise _missing(repo, f"its storage namespace {repo.storage_namespace!r} was given up")
    renewed = claim.value.model_copy(update={"nonce": Nonce(stores.ids.fresh()), "since": stores.clock.now()})
    try:
        access.replace(stores.kv, where, claim, renewed)
    except PredicateFailed:
        raise _lost(repo, "lost its storage namespace while it was being restored") from None


def _is_taken(_: DeletedRepository) -> bool:
    """Return `True`: an entry that exists after a lost response of its removal belongs to another process, regardless
    of which process removed this one.
    """
    return True


def _is_claimed(stores: Stores, repo: RepositoryRecord) -> bool:
    claim = access.read(stores.kv, keys.namespace_claim(repo.storage_namespace))
    return claim is not None and claim.value.owner == repo.uid


def _initial(stores: Stores, repo: RepositoryRecord) -> Held[RepositoryRecord]:
    """Take the name, or the record of this repository that a deletion or a failed restoration left there.

    That record is never removed first: the entry may be gone by now, and then no other record names the repository. It
    has the newer settings, unless it is of an earlier deletion than the entry.
    """
    where = keys.repository(repo.id)

    def attempt() -> Held[RepositoryRecord] | None:
        standing = access.read(stores.kv, where)
        if standing is not None and (standing.value.uid != repo.uid or standing.value.state is RepositoryState.ACTIVE):
            raise NotUnique(
                f"repository {repo.id!r} already exists: delete it first, or wait until it is deleted",
                kind=Kind.RepositoryExists,
                repository=repo.id,
            )
        newest = repo if standing is None or standing.value.deletions < repo.deletions else standing.value
        record = repositories.enter(newest, RepositoryState.INITIAL, stores.clock, stores.ids)
        with suppress(PredicateFailed):
            return access.replace(stores.kv, where, standing, record)
        return None

    return retry(stores, f"restoration of repository {repo.id}", attempt)


def _where(held: Entry) -> Location[DeletedRepository]:
    repo = held.value.repository
    return keys.deleted_repository(repo.id, repo.uid)


def _not_found(name: RepositoryId, found: list[Entry], uid: str | None) -> NotFound:
    which = f"{name!r}" if uid is None else f"{name!r} ({uid})"
    if any(held.value.state is DeletedState.PURGING for held in found):
        why = "is being cleaned up for good and cannot be restored any more"
    elif found:
        why = "was never created completely, there is nothing to restore"
    else:
        why = "was not deleted, or is gone for good"
    return NotFound(f"repository {which} {why}", kind=Kind.RepositoryNotFound, repository=name)


def _missing(repo: RepositoryRecord, why: str) -> NotFound:
    return NotFound(
        f"repository {repo.id!r} cannot be restored: {why}", kind=Kind.RepositoryNotFound, repository=repo.id
    )


def _lost(repo: RepositoryRecord, what: str) -> Conflict:
    return Conflict(f"repository {repo.id!r} {what}", kind=Kind.LostRace, repository=repo.id)

"""Bringing back a deleted repository, as long as no cleaner has taken it.

`deleted → restoring` ✓ of its entry, which keeps others away for two minutes → the default branch exists (unless bare),
and the namespace is still claimed by the uid: the claim is renewed ✓ → `repos/<name>` := `initial` ✓ → the entry
removed ✓, as it was made; if it is another one by now, the restoration ends here → active ✓. Only the last swap makes
the repository visible, with all that was staged on it.

Why the entry goes before: once a cleaner or a deletion has taken it, this restoration must not succeed; so it ends also
where the answer of the removal was lost and an entry stands that has changed. Why the claim is read once more: an entry
that is gone may have been removed by a cleaner that has emptied the repository meanwhile (if the answer of the removal
was lost, that looks the same); but a cleaner releases the namespace first, and once it is released nobody renews the
claim.

What never was active is not restored: a creation that stalled may have claimed a namespace that overlaps another.
A refusal puts the entry back. A crash leaves it `restoring`, which is `deleted` again after two minutes; or a record in
`initial`, which takes the common way of deletion.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from graveler_core.engine.retry import attempts
from graveler_core.errors import Conflict, GravelerError, Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.model.entities import DeletedRepository, DeletedState, Repository, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.stores import Stores

Entry = Held[DeletedRepository]


def deleted_repositories(stores: Stores, prefix: str = "", after: str = "") -> Iterator[DeletedRepository]:
    """The entries of deleted repositories in order of `<name>/<uid>`, lazily, whatever their state.

    Args:
        prefix: Only names that begin so.
        after: Only those behind `<name>/<uid>`.
    """
    return (held.value for _, held in access.scan(stores.kv, keys.DELETED_REPOSITORIES, prefix=prefix, after=after))


def undelete_repository(stores: Stores, name: RepositoryId, uid: str | None = None) -> Repository:
    """Bring back a deleted repository under its name, with everything that was staged on it.

    Args:
        uid: Which one, where several of the name were deleted; else the one that was deleted last.

    Raises:
        NotFound: (`RepositoryNotFound`) none of the name can be restored: the message says why.
        NotUnique: (`RepositoryExists`) another repository bears the name by now.
        Conflict: (`LostRace`) somebody else is restoring it, has deleted it again, or took over.
        OutcomeUnknown: it may be restored; look, or do it again after two minutes.
    """
    for _ in attempts(stores, f"restoration of repository {name}"):
        entry = _chosen(stores, name, uid)
        claimed = _entered(stores, entry, DeletedState.RESTORING)
        if claimed is not None:
            return _restored(stores, claimed, entry)
    raise AssertionError("attempts() raises when it ends")


def _restored(stores: Stores, claimed: Entry, before: Entry) -> Repository:
    """The repository, active; or its entry is back as it was."""
    try:
        _still_whole(stores, claimed.value.repository)
        initial = _initial(stores, claimed.value.repository)
    except GravelerError:
        with suppress(GravelerError):
            # Its time goes on: whoever tries and fails does not keep it from the cleaner.
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
    except PredicateFailed as e:
        raise _lost(repo, f"took over {repositories.CREATION_TIME} to restore and was declared deleted") from e


def _chosen(stores: Stores, name: RepositoryId, uid: str | None) -> Entry:
    """The entry to restore: it stands as `deleted`."""
    found = [
        held
        for _, held in access.scan(stores.kv, keys.DELETED_REPOSITORIES, prefix=f"{name}/")
        if uid is None or held.value.repository.uid == uid
    ]
    fit = [held for held in found if held.value.state is not DeletedState.PURGING and held.value.repository.was_active]
    if not fit:
        raise _not_found(name, found, uid)
    entry = max(fit, key=lambda held: (held.value.since, held.value.repository.uid))
    if entry.value.state is DeletedState.DELETED:
        return entry
    if stores.clock.now() - entry.value.since < repositories.CREATION_TIME:
        raise _lost(entry.value.repository, "is being restored by somebody else")
    freed = _entered(stores, entry, DeletedState.DELETED)
    return _chosen(stores, name, uid) if freed is None else freed


def _entered(stores: Stores, held: Entry, state: DeletedState) -> Entry | None:
    """Swap the entry; None if somebody else was quicker."""
    nonce = Nonce(stores.ids.fresh())
    entry = held.value.model_copy(update={"state": state, "nonce": nonce, "since": stores.clock.now()})
    with suppress(PredicateFailed):
        return access.replace(stores.kv, _where(held), held, entry, mine=lambda current: current.nonce == nonce)
    return None


def _still_whole(stores: Stores, repo: Repository) -> None:
    """See that nothing is missing, and renew the claim on the namespace."""
    if not repo.bare and access.read(stores.kv, keys.branch(repo, repo.default_branch)) is None:
        raise _missing(repo, f"its default branch {repo.default_branch!r} is gone")
    where = keys.namespace_claim(repo.storage_namespace)
    claim = access.read(stores.kv, where)
    if claim is None or claim.value.owner != repo.uid:
        raise _missing(repo, f"its storage namespace {repo.storage_namespace!r} was given up")
    renewed = claim.value.model_copy(update={"nonce": Nonce(stores.ids.fresh()), "since": stores.clock.now()})
    try:
        access.replace(stores.kv, where, claim, renewed)
    except PredicateFailed as e:
        raise _lost(repo, "lost its storage namespace while it was being restored") from e


def _is_taken(_: DeletedRepository) -> bool:
    """An entry that stands after the answer of its removal was lost is another's, whoever has removed this one."""
    return True


def _is_claimed(stores: Stores, repo: Repository) -> bool:
    claim = access.read(stores.kv, keys.namespace_claim(repo.storage_namespace))
    return claim is not None and claim.value.owner == repo.uid


def _initial(stores: Stores, repo: Repository) -> Held[Repository]:
    """Take the name, or the record that a deletion or a failed restoration of this very repository left there.

    That one is never removed first: the entry may be gone by now, and then nothing else tells of the repository.
    """
    where = keys.repository(repo.id)
    record = repositories.enter(repo, RepositoryState.INITIAL, stores.clock, stores.ids)
    for _ in attempts(stores, f"restoration of repository {repo.id}"):
        standing = access.read(stores.kv, where)
        if standing is None:
            with suppress(PredicateFailed):
                return access.create(stores.kv, where, record)
        elif standing.value.uid != repo.uid or standing.value.state is RepositoryState.ACTIVE:
            raise NotUnique(
                f"repository {repo.id!r} exists already: delete it first, or wait until it is deleted",
                kind=Kind.RepositoryExists,
                repository=repo.id,
            )
        else:
            with suppress(PredicateFailed):
                return access.replace(stores.kv, where, standing, record)
    raise AssertionError("attempts() raises when it ends")


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


def _missing(repo: Repository, why: str) -> NotFound:
    return NotFound(
        f"repository {repo.id!r} cannot be restored: {why}", kind=Kind.RepositoryNotFound, repository=repo.id
    )


def _lost(repo: Repository, what: str) -> Conflict:
    return Conflict(f"repository {repo.id!r} {what}", kind=Kind.LostRace, repository=repo.id)

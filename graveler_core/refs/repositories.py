"""Repositories and their states. Source: seed 001, `GetRepository`, step 2.

The repository record alone decides whether a repository exists. Every operation on a repository starts here.
`engine.repositories` creates and deletes repositories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from graveler_core.codec.records import encode
from graveler_core.errors import Conflict, Kind, NotFound, PermissionDenied, PredicateFailed, SlowDown
from graveler_core.kv.store import Store
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.model.limit import require_limit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Damaged, Held

CREATION_TIME = timedelta(minutes=2)
"""Maximum duration of a creation. An older creation counts as failed, and every process that sees it may mark it so."""
MAX_RECORD_BYTES = 88 * 1024
"""Maximum size of a repository record with the settings that users choose, in bytes. What flows add to the record, and
the entry of a deleted repository, which contains the record, then fit into a value of a store.
"""
_SWAPS = 100
"""Maximum number of attempts to swap a record."""
MIGRATION_TIME = timedelta(days=1)
"""Maximum time between two renewals of a migration. After that the migration counts as failed."""


def find(kv: Store, repo: RepositoryId) -> Held[RepositoryRecord] | None:
    """Read the record of a repository in any state, always from the store."""
    return access.read(kv, keys.repository(repo))


def usable(repo: RepositoryId, held: Held[RepositoryRecord] | None) -> RepositoryRecord:
    """Return the repository if users may use it.

    Raises:
        NotFound: The repository does not exist, is being created, or is being deleted.
        Conflict: Its commits have no indexes yet (`RepositoryIncomplete`).
    """
    found = existing(repo, held)
    if found.state is RepositoryState.INCOMPLETE:
        raise Conflict(
            f"repository {repo!r} is incomplete: it was imported without indexes; complete it with `graveler migrate "
            f"complete graveler://{repo}` (complete_migration), or delete it",
            kind=Kind.RepositoryIncomplete,
            repository=repo,
        )
    return found


def existing(repo: RepositoryId, held: Held[RepositoryRecord] | None) -> RepositoryRecord:
    """Return the repository if users may see it, even if it is incomplete.

    Raises:
        NotFound: The repository does not exist, is being created, or is being deleted.
    """
    if held is None or held.value.state is RepositoryState.INITIAL:
        raise NotFound(f"repository {repo!r} does not exist", kind=Kind.RepositoryNotFound, repository=repo)
    if held.value.state is RepositoryState.DELETING:
        raise NotFound(f"repository {repo!r} is being deleted", kind=Kind.RepositoryDeleting, repository=repo)
    return held.value


def require_changeable(repository: RepositoryRecord) -> None:
    """Refuse to change a read-only repository.

    Raises:
        PermissionDenied: The repository is read-only (`RepositoryReadOnly`).
    """
    if repository.read_only:
        raise PermissionDenied(
            f"repository {repository.id!r} is read-only", kind=Kind.RepositoryReadOnly, repository=repository.id
        )


def require_room(changed: RepositoryRecord, before: RepositoryRecord) -> None:
    """Refuse settings that fill the repository record. A full record could not be deleted.

    A change that makes the record no larger is accepted in any case, and so is one that makes the repository read-only:
    it adds a few bytes, and protects content.

    Raises:
        LimitExceeded: The record would be too large (`ValueTooLarge`).
    """
    if changed.read_only and not before.read_only:
        return
    size = len(encode(changed))
    if size > len(encode(before)):
        what = f"rules, hooks and description of repository {changed.id!r}"
        require_limit(what, size, MAX_RECORD_BYTES, "bytes", Kind.ValueTooLarge)


def get(kv: Store, clock: Clock, ids: IdSource, repo: RepositoryId) -> RepositoryRecord:
    """Read an active repository from the store, as `opened` does.

    Raises:
        NotFound: As in `opened`.
        Conflict: Its commits have no indexes yet (`RepositoryIncomplete`).
    """
    return usable(repo, _settled(kv, clock, ids, repo))


def opened(kv: Store, clock: Clock, ids: IdSource, repo: RepositoryId) -> RepositoryRecord:
    """Read an active or incomplete repository from the store.

    This is the only read that may write: it marks a creation that has taken too long as failed. The caller is told that
    the repository is being deleted, and that answer must stay true: without the mark, a creator that stalled could
    still finish, and the repository would become active after it was reported as deleted. The mark is one swap. It is
    made once for each failed creation, and repositories in other states are only read.

    Raises:
        NotFound: The repository does not exist or is being created (`RepositoryNotFound`), or it is being deleted
            (`RepositoryDeleting`). A creation that began more than two minutes ago counts as being deleted.
    """
    return existing(repo, _settled(kv, clock, ids, repo))


def _settled(kv: Store, clock: Clock, ids: IdSource, repo: RepositoryId) -> Held[RepositoryRecord] | None:
    """Read the record, and mark a failed creation."""
    held = find(kv, repo)
    if held is not None and held.value.state is RepositoryState.INITIAL:
        held = expire(kv, clock, ids, held)
    return held


def expire(kv: Store, clock: Clock, ids: IdSource, held: Held[RepositoryRecord]) -> Held[RepositoryRecord] | None:
    """Mark a creation as failed if it has taken too long, and return the current record."""
    return give_up(kv, clock, ids, held) if has_taken_too_long(held.value, clock) else held


def give_up(kv: Store, clock: Clock, ids: IdSource, held: Held[RepositoryRecord]) -> Held[RepositoryRecord] | None:
    """Mark a creation as failed, regardless of its age, and return the current record."""
    where = keys.repository(held.value.id)
    try:
        return access.replace(kv, where, held, enter(held.value, RepositoryState.DELETING, clock, ids))
    except PredicateFailed:
        return access.read(kv, where)


def check_addresses(kv: Store, ids: IdSource, repo: RepositoryRecord) -> RepositoryRecord:
    """Set `addresses_checked` for ever, and return the record.

    Raises:
        NotFound: The repository was deleted.
        SlowDown: The record changes too often.
    """
    return _changed(kv, ids, repo, lambda now: {} if now.addresses_checked else {"addresses_checked": True})


def require_former_heads(kv: Store, ids: IdSource, repo: RepositoryRecord) -> RepositoryRecord:
    """Set `former_heads` for ever, and return the record.

    Raises:
        NotFound: The repository was deleted.
        SlowDown: The record changes too often.
    """
    return _changed(kv, ids, repo, lambda now: {} if now.former_heads else {"former_heads": True})


def count_erasure(kv: Store, ids: IdSource, repo: RepositoryRecord) -> RepositoryRecord:
    """Increment `erasures`, and return the record. Flows that have read an earlier record find out in their re-read.

    Raises:
        NotFound: The repository was deleted.
        SlowDown: The record changes too often.
    """
    return _changed(kv, ids, repo, lambda now: {"erasures": now.erasures + 1})


def _changed(
    kv: Store, ids: IdSource, repo: RepositoryRecord, change: Callable[[RepositoryRecord], dict[str, Any]]
) -> RepositoryRecord:
    """Swap in the fields that a function returns for the current record. If it returns none, nothing is changed."""
    for _ in range(_SWAPS):
        held = find(kv, repo.id)
        current = usable(repo.id, held if held is not None and held.value.uid == repo.uid else None)
        fields = change(current)
        if not fields or held is None:
            return current
        changed = current.model_copy(update={**fields, "nonce": Nonce(ids.fresh())})
        with suppress(PredicateFailed):
            return access.replace(kv, keys.repository(repo.id), held, changed).value
    raise SlowDown(f"repository {repo.id!r}: its record changes too often; try again")


def completion_time(repo: RepositoryRecord) -> timedelta:
    """Return the maximum duration of the repository's current temporary state."""
    migrating = repo.migrating and repo.state is RepositoryState.INITIAL
    return MIGRATION_TIME if migrating else CREATION_TIME


def has_taken_too_long(repo: RepositoryRecord, clock: Clock) -> bool:
    """Return true if the current temporary state of a repository has exceeded its maximum duration. The process that
    began it may be alive, but its next swap fails once the record has changed.
    """
    return clock.now() - repo.since >= completion_time(repo)


def enter(repo: RepositoryRecord, state: RepositoryState, clock: Clock, ids: IdSource) -> RepositoryRecord:
    """Return the record in another state, with a fresh nonce and time. The record remembers if it was ever active."""
    was_active = repo.was_active or repo.state is RepositoryState.ACTIVE
    update = {"state": state, "nonce": Nonce(ids.fresh()), "since": clock.now(), "was_active": was_active}
    return repo.model_copy(update=update)


def active(kv: Store, within: Bounds = ALL) -> Iterator[RepositoryRecord]:
    """Yield the active repositories in the order of their names."""
    return (repo for repo in listed(kv, within) if repo.state is RepositoryState.ACTIVE)


def listed(kv: Store, within: Bounds = ALL, damaged: Damaged | None = None) -> Iterator[RepositoryRecord]:
    """Yield the active and incomplete repositories in the order of their names.

    `damaged` is called for each record that cannot be read, which is then left out. Without it, such a record ends the
    listing.
    """
    for _, held in access.scan_within(kv, keys.REPOSITORIES, within, damaged):
        if not held.value.state.passes:
            yield held.value

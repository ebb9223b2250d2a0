"""Deletion of repositories. Source: seed 001, step 2, made safe by the lifecycle records.

active (or incomplete) → deleting ✓, after which the repository cannot be used → the entry for the cleaner → the
repository record is removed, conditionally ✓, after which the name is free. A crash in between leaves `deleting`, and
another deletion completes it. Every record contains a fresh nonce, so no swap succeeds on an equal older state.

A cleaner may have claimed the entry in the meantime and died since. Then the deletion continues the cleaner's work
(`engine.cleaning.deleted`, step 3). The record was read after the claim and says `deleting`, so the repository is
unreachable, and the entry may become `emptying` ✓. From then on the entry stays until everything is emptied,
regardless of which process removes the record.

The creation of an entry may arrive late, when a restoration has removed the entry of this deletion already. Then the
entry of an *earlier* deletion stands beside the active repository, with an old time and old settings. The next deletion
replaces it ✓. Records of a repository count its deletions, because neither times nor nonces tell which of two is
earlier: a deletion or a restoration that stalled may write its record after later ones have come and gone.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import GravelerError, OutcomeUnknown, PermissionDenied, PredicateFailed, SlowDown, Unavailable
from graveler_core.model.entities import DeletedRepository, DeletedState, RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

_ATTEMPTS = 3
"""Maximum number of attempts to enter a repository that is found deleted."""


def delete_repository(stores: Stores, repo: RepositoryId) -> None:
    """Delete a repository. It is unreachable at once and its name is free again; the cleaner empties it later.
    Repeatable.

    A repository that is being migrated is deleted too, although it is not visible yet. This process forgets its
    cached copy of the registers in any case, also after an error.

    Raises:
        NotFound: The repository does not exist (`RepositoryNotFound`).
        PermissionDenied: The repository is read-only.
        OutcomeUnknown: The repository is unreachable, but its name is not free yet. Delete it again.
    """
    try:
        _delete(stores, repo)
    finally:
        stores.registers.forget_all(repo)  # so that later calls of this process read its state, even after an error


def _delete(stores: Stores, repo: RepositoryId) -> None:
    where = keys.repository(repo)
    held = repositories.find(stores.kv, repo)
    if held is not None and held.value.state is RepositoryState.INITIAL:
        # A migration takes long, and a caller that gives it up need not wait for its end.
        ended = repositories.give_up if held.value.migrating else repositories.expire
        held = ended(stores.kv, stores.clock, stores.ids, held)
    if held is None or held.value.state is RepositoryState.INITIAL:
        repositories.usable(repo, held)
        return
    if not held.value.state.passes:
        repositories.require_changeable(held.value)
        counted = held.value.model_copy(update={"deletions": held.value.deletions + 1})
        deleting = repositories.enter(counted, RepositoryState.DELETING, stores.clock, stores.ids)
        try:
            held = access.replace(stores.kv, where, held, deleting)
        except PredicateFailed:
            _delete(stores, repo)
            return
        try:
            _hand_over(stores, held)
        except (SlowDown, Unavailable, PermissionDenied) as e:
            raise OutcomeUnknown(
                f"repository {repo!r}: deleted, but its name is not free yet ({e.message}); delete it again",
                repository=repo,
            ) from e
        return
    _hand_over(stores, held)


def complete_deletion(stores: Stores, held: Held[RepositoryRecord]) -> bool:
    """Delete a repository whose creation or deletion was interrupted, without waiting. Return `True` if the name is
    free now.

    This requires exactly the state that was read: a repository that has become active since is not changed.

    Raises:
        PredicateFailed: The entry changed in the meantime.
    """
    current: Held[RepositoryRecord] | None = held
    if held.value.state is RepositoryState.INITIAL:
        current = repositories.give_up(stores.kv, stores.clock, stores.ids, held)
    if current is None or current.value.state is not RepositoryState.DELETING:
        return False
    # The cleaner that claimed the entry removes the record.
    claimed = enter_for_cleaner(stores, current.value)
    return claimed is None and access.remove(stores.kv, keys.repository(current.value.id), current)


def enter_for_cleaner(stores: Stores, repo: RepositoryRecord) -> Held[DeletedRepository] | None:
    """Ensure that the entry of this deletion, or of a later one, exists as `deleted`. Otherwise return the entry that a
    cleaner has claimed.

    Raises:
        PredicateFailed: The entry changed in the meantime.
    """
    where, entry = keys.deleted_repository(repo.id, repo.uid), _entry(stores, repo)
    known = access.read(stores.kv, where)
    if known is None or _is_replaced(known.value, repo):
        access.replace(stores.kv, where, known, entry, mine=partial(_is_entry, entry.nonce))
        return None
    return known if known.value.state is DeletedState.PURGING else None


def _is_replaced(known: DeletedRepository, repo: RepositoryRecord) -> bool:
    """Return true if a deletion replaces an entry: that of an earlier deletion, or its own while it is restored."""
    if known.repository.deletions == repo.deletions:
        return known.state is DeletedState.RESTORING
    return known.repository.deletions < repo.deletions and not known.emptying


def leave_to_cleaner(stores: Stores, repo: RepositoryRecord) -> None:
    """Ensure that a cleaner finds the data that a creation or a migration has written into a repository that was
    deleted in the meantime. A cleaner may have emptied it before the last part was written, and removed the entry.

    An entry that exists stays as it is: the repository may have been active since, made so by another run or by a
    request whose response was lost, and then it can be restored.

    Errors are not raised. If all attempts fail, data may be left that nothing removes.
    """
    for _ in range(_ATTEMPTS):
        with suppress(GravelerError):
            standing = repositories.find(stores.kv, repo.id)
            if standing is None or standing.value.uid != repo.uid:
                where = keys.deleted_repository(repo.id, repo.uid)
                access.write_if_absent(stores.kv, where, _entry(stores, repo))
            return


def _hand_over(stores: Stores, held: Held[RepositoryRecord]) -> None:
    """Write the entry for the cleaner, then remove the record. In this order, the repository is never forgotten."""
    where = keys.repository(held.value.id)

    def attempt() -> bool | None:
        try:
            claimed = enter_for_cleaner(stores, held.value)
            if claimed is not None:
                if access.read(stores.kv, where) != held:
                    return True
                _say_emptying(stores, claimed)
        except PredicateFailed:
            return None
        access.remove(stores.kv, where, held)
        return True

    retry(stores, f"deletion of repository {held.value.id}", attempt)


def _say_emptying(stores: Stores, claimed: Held[DeletedRepository]) -> None:
    """Take the step before which the claiming cleaner may have died. Raises `PredicateFailed` if another process took
    it.

    It is taken even if the entry is in this state already: the entry then stays until after the record is removed,
    regardless of which process removes it.
    """
    repo, nonce = claimed.value.repository, Nonce(stores.ids.fresh())
    entry = claimed.value.model_copy(update={"nonce": nonce, "since": stores.clock.now(), "emptying": True})
    where = keys.deleted_repository(repo.id, repo.uid)
    access.replace(stores.kv, where, claimed, entry, mine=partial(_is_entry, nonce))


def _entry(stores: Stores, repo: RepositoryRecord) -> DeletedRepository:
    return DeletedRepository(
        repository=repo, state=DeletedState.DELETED, nonce=Nonce(stores.ids.fresh()), since=stores.clock.now()
    )


def _is_entry(nonce: Nonce, current: DeletedRepository) -> bool:
    return current.nonce == nonce

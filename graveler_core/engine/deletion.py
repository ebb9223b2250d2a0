"""Deleting repositories. Source: seed 001, step 2, made safe by the lifecycle registers.

active → deleting ✓, after which nobody can use the repository → the entry for the cleaner → the repository record
removed, conditionally ✓, after which the name is free. A crash between leaves `deleting`, and deleting again completes
it. Every record carries a fresh nonce, so no swap succeeds on an equal older state.

A cleaner may have claimed the entry meanwhile, and have died since: then the deletion goes its way on
(`engine.cleaning.deleted`, step 3). The record was read after the claim and says `deleting`, so nobody can reach the
repository, and the entry may say `emptying` ✓; from then on it stands until all is emptied, whoever removes the record.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine.retry import attempts
from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.model.entities import DeletedRepository, DeletedState, Repository, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def delete_repository(stores: Stores, repo: RepositoryId) -> None:
    """Delete a repository: unreachable at once, its name free again; the cleaner empties it later. Repeatable.

    One that is being migrated is given up, though nobody can see it yet.

    Raises:
        NotFound: (`RepositoryNotFound`) there is none.
        PermissionDenied: it is read-only.
        OutcomeUnknown: it cannot be reached any more, but its name is not free yet: delete it again.
    """
    where = keys.repository(repo)
    held = repositories.find(stores.kv, repo)
    if held is not None and held.value.state is RepositoryState.INITIAL:
        # A migration takes long, and whoever wants it no more need not wait for it.
        ended = repositories.give_up if held.value.migrating else repositories.expire
        held = ended(stores.kv, stores.clock, stores.ids, held)
    if held is None or held.value.state is RepositoryState.INITIAL:
        repositories.usable(repo, held)
        return
    if held.value.state is RepositoryState.ACTIVE:
        repositories.require_changeable(held.value)
        deleting = repositories.enter(held.value, RepositoryState.DELETING, stores.clock, stores.ids)
        try:
            held = access.replace(stores.kv, where, held, deleting)
        except PredicateFailed:
            delete_repository(stores, repo)
            return
        try:
            _hand_over(stores, held)
        except (SlowDown, Unavailable) as e:
            raise OutcomeUnknown(
                f"repository {repo!r}: deleted, but its name is not free yet ({e.message}); delete it again",
                repository=repo,
            ) from e
        return
    _hand_over(stores, held)


def complete_deletion(stores: Stores, held: Held[Repository]) -> bool:
    """Take a creation or deletion that stopped half-way the common way, without waiting; true if the name is free now.

    Only in the very state that was read: a repository that has become active since is left alone.

    Raises:
        PredicateFailed: the entry changed meanwhile.
    """
    current: Held[Repository] | None = held
    if held.value.state is RepositoryState.INITIAL:
        current = repositories.expire(stores.kv, stores.clock, stores.ids, held)
    if current is None or current.value.state is not RepositoryState.DELETING:
        return False
    # The cleaner that claimed the entry removes the record itself.
    claimed = enter_for_cleaner(stores, current.value)
    return claimed is None and access.remove(stores.kv, keys.repository(current.value.id), current)


def enter_for_cleaner(stores: Stores, repo: Repository) -> Held[DeletedRepository] | None:
    """See that the entry stands as `deleted`, else give the one that a cleaner has claimed.

    Raises:
        PredicateFailed: it changed meanwhile.
    """
    where = keys.deleted_repository(repo.id, repo.uid)
    entry = DeletedRepository(
        repository=repo, state=DeletedState.DELETED, nonce=Nonce(stores.ids.fresh()), since=stores.clock.now()
    )
    known = access.read(stores.kv, where)
    if known is None:
        access.create(stores.kv, where, entry, mine=partial(_is_entry, entry.nonce))
    elif known.value.state is DeletedState.RESTORING:
        access.replace(stores.kv, where, known, entry, mine=partial(_is_entry, entry.nonce))
    return known if known is not None and known.value.state is DeletedState.PURGING else None


def _hand_over(stores: Stores, held: Held[Repository]) -> None:
    """Leave the entry for the cleaner, then remove the record: in this order, so that nothing is ever forgotten."""
    where = keys.repository(held.value.id)
    for _ in attempts(stores, f"deletion of repository {held.value.id}"):
        try:
            claimed = enter_for_cleaner(stores, held.value)
            if claimed is not None:
                if access.read(stores.kv, where) != held:
                    return
                _say_emptying(stores, claimed)
        except PredicateFailed:
            continue
        access.remove(stores.kv, where, held)
        return
    raise AssertionError("attempts() raises when it ends")


def _say_emptying(stores: Stores, claimed: Held[DeletedRepository]) -> None:
    """Take the step that the claiming cleaner may have died before. Raises `PredicateFailed` if another one took it.

    Also where it was taken already: so the entry stands, and outlasts the record, whoever is about to remove it.
    """
    repo, nonce = claimed.value.repository, Nonce(stores.ids.fresh())
    entry = claimed.value.model_copy(update={"nonce": nonce, "since": stores.clock.now(), "emptying": True})
    where = keys.deleted_repository(repo.id, repo.uid)
    access.replace(stores.kv, where, claimed, entry, mine=partial(_is_entry, nonce))


def _is_entry(nonce: Nonce, current: DeletedRepository) -> bool:
    return current.nonce == nonce

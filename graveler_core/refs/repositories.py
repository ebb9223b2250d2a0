"""Repositories and their states: which of them can be seen. Source: seed 001, `GetRepository`, step 2.

A repository's record is the one register that decides whether it exists. Every operation that needs a repository starts
here. `engine.repository` creates and deletes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from graveler_core.errors import Kind, NotFound, PermissionDenied, PredicateFailed
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.entities import Repository, RepositoryState
from graveler_core.model.ids import Nonce, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held

CREATION_TIME = timedelta(minutes=2)
"""A creation that has not ended after this long has failed, and anyone who sees it says so."""
MIGRATION_TIME = timedelta(days=1)
"""A migration that nobody has gone on with for this long has failed likewise."""


def find(kv: Store, repo: RepositoryId) -> Held[Repository] | None:
    """The repository's record in whatever state, always from the store."""
    return access.read(kv, keys.repository(repo))


def usable(repo: RepositoryId, held: Held[Repository] | None) -> Repository:
    """The repository if its users may see it, else the error that says why not."""
    if held is None or held.value.state is RepositoryState.INITIAL:
        raise NotFound(f"repository {repo!r} does not exist", kind=Kind.RepositoryNotFound, repository=repo)
    if held.value.state is RepositoryState.DELETING:
        raise NotFound(f"repository {repo!r} is being deleted", kind=Kind.RepositoryDeleting, repository=repo)
    return held.value


def require_changeable(repository: Repository) -> None:
    """Refuse any change of a read-only repository. Raises `PermissionDenied` (`RepositoryReadOnly`)."""
    if repository.read_only:
        raise PermissionDenied(
            f"repository {repository.id!r} is read-only", kind=Kind.RepositoryReadOnly, repository=repository.id
        )


def get(kv: Store, clock: Clock, ids: IdSource, repo: RepositoryId) -> Repository:
    """An active repository, read anew.

    Raises:
        NotFound: it does not exist or is being created (`RepositoryNotFound`), or is being deleted, which includes a
            creation that began more than two minutes ago (`RepositoryDeleting`).
    """
    held = find(kv, repo)
    if held is not None and held.value.state is RepositoryState.INITIAL:
        held = expire(kv, clock, ids, held)
    return usable(repo, held)


def expire(kv: Store, clock: Clock, ids: IdSource, held: Held[Repository]) -> Held[Repository] | None:
    """Declare a creation failed if it has taken too long; gives the record as it then stands."""
    if clock.now() - held.value.since < completion_time(held.value):
        return held
    return give_up(kv, clock, ids, held)


def give_up(kv: Store, clock: Clock, ids: IdSource, held: Held[Repository]) -> Held[Repository] | None:
    """Declare a creation failed, however long it has taken; gives the record as it then stands."""
    where = keys.repository(held.value.id)
    try:
        return access.replace(kv, where, held, enter(held.value, RepositoryState.DELETING, clock, ids))
    except PredicateFailed:
        return access.read(kv, where)


def completion_time(repo: Repository) -> timedelta:
    """For how long a repository may stay in a state that it is to leave."""
    migrating = repo.migrating and repo.state is RepositoryState.INITIAL
    return MIGRATION_TIME if migrating else CREATION_TIME


def enter(repo: Repository, state: RepositoryState, clock: Clock, ids: IdSource) -> Repository:
    """The repository's record in another state: fresh nonce, fresh time; that it was active is kept."""
    was_active = repo.was_active or repo.state is RepositoryState.ACTIVE
    update = {"state": state, "nonce": Nonce(ids.fresh()), "since": clock.now(), "was_active": was_active}
    return repo.model_copy(update=update)


def active(kv: Store, *, prefix: str = "", after: str = "") -> Iterator[Repository]:
    """The active repositories in order of their names, lazily."""
    for _, held in access.scan(kv, keys.REPOSITORIES, prefix=prefix, after=after):
        if held.value.state is RepositoryState.ACTIVE:
            yield held.value

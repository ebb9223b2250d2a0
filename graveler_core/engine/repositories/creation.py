"""Creation of repositories. Source: seed 001, step 2, made safe by the lifecycle records.

`repos/<name>` := initial ✓ (names its namespace) → claim the namespace ✓, then look for claims above and below → write
the owner file, then look for files of other repositories → first commit → default branch → active ✓. Only the last swap
makes the repository visible. A crash before it leaves a record in `initial`. After two minutes, any process may declare
it failed, and it is deleted like other repositories. A creation that fails and finds its record gone enters the
repository as deleted once more, because a cleaner may have emptied it before the last part of it was written.

The first steps are those of `engine.repositories.beginning` and `engine.repositories.first_files`. Every record
contains a fresh nonce, so no swap succeeds on an equal older state.
"""

from __future__ import annotations

from graveler_core.committed.apply import Applied
from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.repositories.beginning import (
    NewRepository,
    begin,
    claim,
    require_as_durable,
    require_claimable,
)
from graveler_core.engine.repositories.deletion import leave_to_cleaner
from graveler_core.engine.repositories.first_files import first_tree
from graveler_core.errors import Conflict, GravelerError, Kind, PredicateFailed
from graveler_core.model import past
from graveler_core.model.address import namespace
from graveler_core.model.entities import Commit, Layout, RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.branches import new_branch
from graveler_core.stores import Stores


def create_repository(stores: Stores, wanted: NewRepository) -> RepositoryRecord:
    """Create a repository. It becomes visible completely or not at all.

    Raises:
        NotUnique: The name is in use (`RepositoryExists`). Or another repository owns the storage namespace, a place
            above it or a place inside it, or a repository of another store owns it, or an earlier repository left files
            there (`NamespaceInUse`).
        InvalidInput, LimitExceeded: The namespace or the committer is invalid, or the namespace is in memory and the
            key-value store is not.
        Unavailable: The namespace is not writable.
        NotFound: An earlier repository with the name is still being deleted (`RepositoryDeleting`).
    """
    place = namespace(wanted.storage_namespace)
    require_claimable(place)
    require_as_durable(stores, wanted, place)
    Draft("", wanted.committer)
    held = begin(stores, wanted, place)
    try:
        root = first_tree(stores, held.value, claim(stores, held.value, place), adopt=wanted.adopt)
        return _completed(stores, wanted, held, root)
    except PredicateFailed:
        raise Conflict(
            f"repository {wanted.id!r}: took over {repositories.CREATION_TIME} to create and was declared failed",
            kind=Kind.LostRace,
            repository=wanted.id,
        ) from None


def _completed(stores: Stores, wanted: NewRepository, held: Held[RepositoryRecord], root: Applied) -> RepositoryRecord:
    """Write the first commit, and make the repository visible. If this fails, and the repository was deleted in the
    meantime, leave it to a cleaner.
    """
    try:
        if not wanted.bare:
            _first_commit(stores, held.value, root, wanted.committer)
        active = repositories.enter(held.value, RepositoryState.ACTIVE, stores.clock, stores.ids)
        return access.replace(stores.kv, keys.repository(wanted.id), held, active).value
    except GravelerError:
        leave_to_cleaner(stores, held.value)
        raise


def _first_commit(stores: Stores, repo: RepositoryRecord, root: Applied, committer: str) -> None:
    header = Commit(
        committer=committer,
        message="Repository created",
        creation_date=stores.clock.now(),
        parents=(),
        generation=1,
        nonce=Nonce(stores.ids.fresh()),
        operations=root.operations,
    )
    commit, writes = prepare(repo, header, Layout(index=Index(metarange_id=root.metarange_id)))
    record_writes(stores, writes)
    name, began = repo.default_branch, past.begun(commit.id, stores.moment())
    access.create(stores.kv, keys.branch(repo, name), new_branch(stores.ids, repo, name, commit.id, began))

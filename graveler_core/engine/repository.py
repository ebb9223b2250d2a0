"""Creating repositories. Source: seed 001, step 2, made safe by the lifecycle registers.

`repos/<name>` := initial ✓ (names its namespace) → claim the namespace ✓, then look for claims above and below
→ first commit → default branch → active ✓. Only the last swap makes the repository visible. A crash before it leaves a
record in `initial`, which anyone declares failed after two minutes, and which deletion then takes the common way.

The first steps are those of `engine.beginning`. Every record carries a fresh nonce, so no swap succeeds on an equal
older state.
"""

from __future__ import annotations

from contextlib import suppress

from graveler_core.committed.apply import Applied
from graveler_core.engine.beginning import NewRepository, begin, claim, first_tree, require_claimable
from graveler_core.engine.deletion import enter_for_cleaner
from graveler_core.engine.draft import Draft
from graveler_core.engine.swap import moment, record_writes
from graveler_core.errors import Conflict, GravelerError, Kind, PredicateFailed
from graveler_core.model import past
from graveler_core.model.address import namespace
from graveler_core.model.entities import Commit, Layout, Repository, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.model.index import Index
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.refs.branches import new_branch
from graveler_core.stores import Stores


def create_repository(stores: Stores, wanted: NewRepository) -> Repository:
    """Create a repository; it is seen whole or not at all.

    Raises:
        NotUnique: (`RepositoryExists`) the name is taken; (`NamespaceInUse`) another repository owns the storage
            namespace, a place above it or a place inside it, or an earlier one left its files there.
        InvalidInput, LimitExceeded: the namespace or the committer breaks a rule.
        Unavailable: the namespace cannot be written.
        NotFound: (`RepositoryDeleting`) an earlier repository of the name is still being deleted.
    """
    place = namespace(wanted.storage_namespace)
    require_claimable(place)
    Draft("", wanted.committer)
    held = begin(stores, wanted, place)
    try:
        root = first_tree(stores, held.value, claim(stores, held.value, place), adopt=wanted.adopt)
        if not wanted.bare:
            _first_commit(stores, held.value, root, wanted.committer)
        active = repositories.enter(held.value, RepositoryState.ACTIVE, stores.clock, stores.ids)
        return access.replace(stores.kv, keys.repository(wanted.id), held, active).value
    except PredicateFailed as e:
        # What was deleted may have been emptied before the last of this was written.
        with suppress(GravelerError):
            enter_for_cleaner(stores, held.value)
        raise Conflict(
            f"repository {wanted.id!r}: took over {repositories.CREATION_TIME} to create and was declared failed",
            kind=Kind.LostRace,
            repository=wanted.id,
        ) from e


def _first_commit(stores: Stores, repo: Repository, root: Applied, committer: str) -> None:
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
    name, began = repo.default_branch, past.begun(commit.id, moment(stores))
    access.create(stores.kv, keys.branch(repo, name), new_branch(stores.ids, repo, name, commit.id, began))

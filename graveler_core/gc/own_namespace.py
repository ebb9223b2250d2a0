"""Check before deletions that a repository still owns its storage namespace.

A repository loses its namespace when it is deleted, or when a repository of another store takes the namespace over
(`objects.owner_files`). A process may have paused before each batch of deletions, so the check is repeated there.
"""

from __future__ import annotations

from graveler_core.errors import CorruptData, Kind
from graveler_core.model.entities import RepositoryRecord
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def require_own_namespace(stores: Stores, repo: RepositoryRecord, *, dry_run: bool = False) -> None:
    """Refuse to delete anything in a namespace that belongs to another repository.

    Args:
        stores: Stores of the flow.
        repo: The repository. Its owner file is written if it is missing.
        dry_run: Write nothing.

    Raises:
        CorruptData: The claim or an owner file of the namespace belongs to another repository.
        NotFound: The repository was deleted.
    """
    if repositories.get(stores.kv, stores.clock, stores.ids, repo.id).uid != repo.uid:
        repositories.usable(repo.id, None)
    claim = access.read(stores.kv, keys.namespace_claim(repo.storage_namespace))
    if claim is None or claim.value.owner != repo.uid:
        raise CorruptData(
            f"repository {repo.id!r}: does not own its storage namespace {repo.storage_namespace!r}; nothing "
            "more is deleted",
            kind=Kind.CorruptRecord,
        )
    owner_files.require_owner(stores.blobs.at(repo.storage_namespace), repo, dry_run=dry_run)

"""Collections of the repository to which the storage namespace of a restoration belonged.

A dump contains no collection record. Files in the namespace name the commits that have expired there
(`objects.expired_commits`), and the objects that were deleted (`objects.condemned`), also after the dump. A restoration
takes over both, so that a read of such content raises an error that explains the loss, and its addresses cannot be
staged. Addresses are recorded as if the objects had been deleted at the time of the restoration.
"""

from __future__ import annotations

import pyarrow.compute as pc

from graveler_core.model.collection import Collections, CollectionState, CondemnedSet
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import Nonce
from graveler_core.objects import condemned, expired_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def adopt_collections(stores: Stores, repo: RepositoryRecord) -> bool:
    """Enter the expired commits and the deleted objects that the files of a namespace name. Can be repeated.

    Args:
        stores: Stores of the flow.
        repo: The bare repository.

    Returns:
        True if there are any, or the repository has a collection record already.
    """
    where = keys.collections(repo.id, repo.uid)
    if access.read(stores.kv, where) is not None:
        return True
    expired = expired_commits.adopt(stores.blobs.at(repo.storage_namespace), stores.ids.fresh())
    deleted = _deleted_set(stores, repo)
    if expired is None and deleted is None:
        return False
    past = () if deleted is None else (deleted,)
    access.write_if_absent(stores.kv, where, Collections(expired=expired, past=past, nonce=Nonce(stores.ids.fresh())))
    return True


def _deleted_set(stores: Stores, repo: RepositoryRecord) -> CondemnedSet | None:
    blobs, id = stores.blobs.at(repo.storage_namespace), stores.ids.fresh()
    objects = condemned.deleted_objects(blobs)
    if not objects.num_rows:
        return None
    return CondemnedSet(
        id=id,
        state=CollectionState.DELETED,
        since=stores.clock.now(),
        files=condemned.write(blobs, id, [objects], objects.num_rows),
        objects=objects.num_rows,
        size=pc.sum(objects.column("size")).as_py(),
    )

"""Whether a storage namespace holds what an earlier repository left: a new one takes it over only where it is told to.

A refusal is a courtesy, not a guarantee: files that come later are not seen. Nothing is ever overwritten by their being
there, since blobs are known by their content; but a collection would delete what the new repository does not name.
"""

from __future__ import annotations

from graveler_core.committed.node import EMPTY
from graveler_core.committed.trees import address, encoded
from graveler_core.errors import Kind, NotUnique
from graveler_core.model.entities import Repository
from graveler_core.stores import Stores


def require_unused(stores: Stores, repo: Repository) -> None:
    """Refuse files of an earlier repository: nothing of this one would name them, and a sweep would delete them."""
    mine = address(encoded(EMPTY)[0])
    for blob in stores.blobs.at(repo.storage_namespace).list(address("")):
        if blob.address != mine:
            raise NotUnique(
                f"storage namespace {repo.storage_namespace!r}: holds {blob.address} of an earlier repository, which a "
                "restored one may need; adopt=True takes the namespace over, and collections delete what nothing names",
                kind=Kind.NamespaceInUse,
                repository=repo.id,
                namespace=repo.storage_namespace,
            )

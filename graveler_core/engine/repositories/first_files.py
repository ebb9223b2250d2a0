"""First files of every new repository: the owner file and the empty tree.

Repositories of different stores find each other by their owner files (`objects.owner_files`). The check also finds
other files of an earlier repository. A new repository takes over files only if the caller requests it, because a sweep
would delete the files to which the new repository does not refer.

A creation that is refused first removes its record, then the owner file, and then the claim. Once the record is
removed, no later run of a migration goes on with this uid, so nobody needs the file. After a crash in between, a
cleaner removes the file and the claim.

A creation may pause until a cleaner has removed its record, claim and files, and then write its owner file. It finds
out at its last swap, or at an error, and enters its repository for the next cleaner. If its process is killed before
that, the file stays. A later creation in the namespace is refused then, and its error names the file.
"""

from __future__ import annotations

from graveler_core.blobs.port import Blobs
from graveler_core.committed.apply import Applied, apply
from graveler_core.committed.node import EMPTY
from graveler_core.committed.trees import address, encoded
from graveler_core.engine.repositories.beginning import withdraw
from graveler_core.engine.repositories.deletion import leave_to_cleaner
from graveler_core.errors import GravelerError, Kind, NotUnique, SlowDown, Unavailable
from graveler_core.model.entities import NamespaceClaim, RepositoryRecord
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores

_TAKING_OVER = "--adopt (adopt=True) takes the namespace over, and collections then delete what nothing names"


def first_tree(stores: Stores, repo: RepositoryRecord, claimed: Held[NamespaceClaim], *, adopt: bool) -> Applied:
    """Write the owner file and the empty tree. They are the first files in the namespace, and prove that it is
    writable.

    Any error is raised after the creation is undone.

    Args:
        stores: Stores of the flow.
        repo: The new repository.
        claimed: Its claim.
        adopt: Take the namespace over from other repositories.

    Raises:
        NotUnique: Another repository owns the namespace or has left files there (`NamespaceInUse`).
        Unavailable: The namespace is not writable.
    """
    blobs = stores.blobs.at(repo.storage_namespace)
    try:
        owner_files.write(blobs, repo.id, repo.uid)
    except (SlowDown, Unavailable):
        _undo(stores, repo, claimed, written=bool(repo.migrating))
        raise
    except GravelerError:
        _undo(stores, repo, claimed, written=True)
        raise
    try:
        _require_owner(stores, repo, blobs, adopt=adopt)
        return apply(stores.trees(repo), None, RECORD_SCHEMA.empty_table())
    except GravelerError:
        _undo(stores, repo, claimed, written=True)
        raise


def _undo(stores: Stores, repo: RepositoryRecord, claimed: Held[NamespaceClaim], *, written: bool) -> None:
    """Undo a creation. If the owner file, which may have been written, cannot be deleted, it is left to a cleaner, and
    the claim stays.
    """
    if withdraw(stores, repo) and written:
        try:
            owner_files.remove(stores.blobs.at(repo.storage_namespace), repo.uid)
        except GravelerError:
            leave_to_cleaner(stores, repo)
            return
    access.remove(stores.kv, keys.namespace_claim(repo.storage_namespace), claimed)


def _require_owner(stores: Stores, repo: RepositoryRecord, blobs: Blobs, *, adopt: bool) -> None:
    """Take the namespace over from other repositories, or refuse their files."""
    if adopt:
        if not owner_files.take_over(blobs, repo):
            raise _foreign(repo, "is being taken over by another repository at this moment")
    elif _of_others(repo, blobs) is not None:
        _require_no_owner(stores, repo, blobs)
        left = _of_others(repo, blobs)
        if left is not None:
            raise _foreign(
                repo, f"holds {left} of an earlier repository, which a restored one may need; {_TAKING_OVER}"
            )


def _require_no_owner(stores: Stores, repo: RepositoryRecord, blobs: Blobs) -> None:
    """Refuse the owner files of other repositories. Delete that of a repository that a cleaner has removed."""
    for uid in owner_files.others(blobs, repo):
        gone = access.read(stores.kv, keys.abandoned_namespace(repo.storage_namespace))
        if gone is None or gone.value.uid != uid:
            why = f"belongs to repository {uid} of another store ({owner_files.address(uid)}); {_TAKING_OVER}"
            raise _foreign(repo, why)
        owner_files.remove(blobs, uid)


def _of_others(repo: RepositoryRecord, blobs: Blobs) -> str | None:
    """Return the address of a file of another repository. This repository would not refer to it, and a sweep would
    delete it.
    """
    mine = {address(encoded(EMPTY)[0]), owner_files.address(repo.uid)}
    return next((blob.address for blob in blobs.list(address("")) if blob.address not in mine), None)


def _foreign(repo: RepositoryRecord, why: str) -> NotUnique:
    return NotUnique(
        f"storage namespace {repo.storage_namespace!r}: {why}",
        kind=Kind.NamespaceInUse,
        repository=repo.id,
        namespace=repo.storage_namespace,
    )

"""Files in a storage namespace that name the repository that owns it.

_graveler/owners/<uid>      a sentence for people; only the name of the file is read

Claims in the key-value store keep the repositories of one store apart (`engine.repositories.beginning`). These files
keep repositories of different stores apart: they are the only thing that two stores both see. A repository deletes
data in its namespace only while no other repository has a file there.

A creation writes its own file first and then lists the files of others. If two creations in different stores run at
once, at least one of them lists the file of the other and is refused. Each repository deletes only its own file, and
uids are never used again, so no file is deleted on behalf of a repository that needs it. The exception is a takeover
(`adopt`): it deletes the files of the others. From then on, they delete nothing in the namespace.

Two takeovers at once may delete each other's files. One of them or both are refused then. If one succeeds, its file may
be missing. The file of a repository that an older version has created may be missing, too. The next collection or sweep
writes the missing file.
"""

from __future__ import annotations

from graveler_core.blobs.addresses import OWN, OWNERS
from graveler_core.blobs.port import Blobs
from graveler_core.errors import CorruptData, Kind, Unavailable
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import RepositoryId, RepositoryUid

PREFIX = OWNERS


def address(uid: RepositoryUid) -> str:
    """Return the address of the file of a repository."""
    return PREFIX + uid


def write(blobs: Blobs, repository: RepositoryId, uid: RepositoryUid) -> bool:
    """Write the file of a repository. Return `False` if it exists."""
    text = f"Repository {repository} (uid {uid}) of a graveler store owns this storage namespace.\n"
    return blobs.create(address(uid), text.encode())


def remove(blobs: Blobs, uid: RepositoryUid) -> None:
    """Delete the file of a repository that does not need the namespace any more."""
    blobs.delete(address(uid))


def owners(blobs: Blobs) -> set[RepositoryUid]:
    """Return the uids of all repositories that have a file in the namespace."""
    return {RepositoryUid(blob.address.removeprefix(PREFIX)) for blob in blobs.list(PREFIX)}


def others(blobs: Blobs, repo: RepositoryRecord) -> list[RepositoryUid]:
    """Return the uids of the other repositories that have a file in the namespace, in order."""
    return sorted(owners(blobs) - {repo.uid})


def take_over(blobs: Blobs, repo: RepositoryRecord) -> bool:
    """Delete the files of all other repositories. Return `False` if another one takes the namespace over now."""
    while (found := owners(blobs)) != {repo.uid}:
        if repo.uid not in found:
            return False
        for uid in found - {repo.uid}:
            remove(blobs, uid)
    return True


def require_owner(blobs: Blobs, repo: RepositoryRecord, *, dry_run: bool = False) -> None:
    """Refuse to delete anything while another repository has a file in the namespace.

    Args:
        blobs: The namespace.
        repo: A repository that has the claim of the namespace. Its file is written if it is missing.
        dry_run: Write nothing.

    Raises:
        CorruptData: Another repository has a file in the namespace.
        Unavailable: As for `hold`.
    """
    for uid in others(blobs, repo) if dry_run else hold(blobs, repo):
        raise CorruptData(
            f"repository {repo.id!r}: repository {uid} of another store owns the storage namespace; nothing "
            f"more is deleted; delete {blobs.uri(address(uid))} if that repository does not exist any more",
            kind=Kind.CorruptRecord,
        )


def hold(blobs: Blobs, repo: RepositoryRecord) -> list[RepositoryUid]:
    """Write the file of a repository if it is missing and no other repository has one.

    Returns:
        The uids of the other repositories that have a file in the namespace, in order.

    Raises:
        Unavailable: The namespace has none of the files that a repository always has.
    """
    found = owners(blobs)
    if not found and next(iter(blobs.list(OWN)), None) is None:
        raise Unavailable(
            f"repository {repo.id!r}: the storage namespace {repo.storage_namespace} has no file of the repository; if "
            "it is a directory, its volume may not be mounted",
            kind=Kind.BucketNotFound,
            repository=repo.id,
        )
    if repo.uid not in found and not found and write(blobs, repo.id, repo.uid):
        found = owners(blobs)
        if found - {repo.uid}:
            remove(blobs, repo.uid)
    return sorted(found - {repo.uid})

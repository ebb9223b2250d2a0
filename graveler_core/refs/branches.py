"""Branches and tags by name: new records, lookups, listings, and the errors for missing names."""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.errors import Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.clock import IdSource
from graveler_core.model.entities import BranchRecord, RepositoryRecord, Tag
from graveler_core.model.ids import BranchId, BranchUid, CommitId, TagId
from graveler_core.model.references import ReferenceType
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Damaged, Held
from graveler_core.records.location import Location


def new_branch(ids: IdSource, repo: RepositoryRecord, name: BranchId, commit: CommitId, past: str = "") -> BranchRecord:
    """Return the record of a new branch that begins at a commit and has no staged changes."""
    return BranchRecord(
        id=name,
        uid=BranchUid(ids.fresh()),
        commit_id=commit,
        staging_token=keys.staging_token(repo, name, ids.fresh()),
        past=past,
    )


def branch_missing(repo: RepositoryRecord, name: BranchId) -> NotFound:
    """Return the error for a branch that does not exist."""
    return NotFound(
        f"branch {name!r} does not exist in repository {repo.id!r}",
        kind=Kind.BranchNotFound,
        repository=repo.id,
        branch=name,
    )


def get_branch(kv: Store, repo: RepositoryRecord, name: BranchId) -> Held[BranchRecord]:
    """Read the record of a branch from the store.

    Raises:
        NotFound: The branch does not exist (`BranchNotFound`).
    """
    held = access.read(kv, keys.branch(repo, name))
    if held is None:
        raise branch_missing(repo, name)
    return held


def get_tag(kv: Store, repo: RepositoryRecord, name: TagId) -> Held[Tag]:
    """Read the record of a tag from the store.

    Raises:
        NotFound: The tag does not exist (`TagNotFound`).
    """
    held = access.read(kv, keys.tag(repo, name))
    if held is None:
        raise NotFound(
            f"tag {name!r} does not exist in repository {repo.id!r}",
            kind=Kind.TagNotFound,
            repository=repo.id,
            tag=name,
        )
    return held


def list_branches(
    kv: Store, repo: RepositoryRecord, within: Bounds = ALL, damaged: Damaged | None = None
) -> Iterator[BranchRecord]:
    """Yield branches in the byte order of their names.

    `damaged` is called for each record that cannot be read, which is then left out. Without it, such a record ends the
    listing.
    """
    return (held.value for _, held in access.scan_within(kv, keys.branches(repo), within, damaged))


def list_tags(kv: Store, repo: RepositoryRecord, within: Bounds = ALL) -> Iterator[Tag]:
    """Yield tags in the byte order of their names."""
    return (held.value for _, held in access.scan_within(kv, keys.tags(repo), within))


def reference(repo: RepositoryRecord, type: ReferenceType, name: str) -> Location[BranchRecord] | Location[Tag]:
    """Return the location of the record of a branch or tag."""
    return keys.branch(repo, BranchId(name)) if type is ReferenceType.BRANCH else keys.tag(repo, TagId(name))

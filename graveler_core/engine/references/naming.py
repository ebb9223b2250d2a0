"""Rules that the flows on branches and tags share: the repository may change, the name is free, the commit is expected.

**Expected commits.** A caller may name the commit that a branch or tag must name before it is deleted or assigned.
Source: seed 002 (every change of a reference is conditional); Nessie's `assign` and `delete`. The result of the
comparison cannot become out of date: each flow reads the record, compares (`require_expected`), and swaps or deletes
exactly the record that it has read ✓. There are three orders of another change of the reference:

* It comes before the read. The flow compares with the changed record, and refuses.
* It comes between the read and the swap or deletion. The predicate fails, nothing was changed, and the flow begins
  again with a read. It then refuses if the other change has moved the reference, and goes on if it has not (such as a
  write that sealed a token).
* It comes after the swap or deletion. Then it is ordered after this flow.

So if a flow succeeds, the reference named the expected commit at the moment of the change. A reference that was moved
and moved back in the meantime names the expected commit, and that is what the caller asked for. A reference that was
deleted and created again at the same commit is accepted for the same reason.
"""

from __future__ import annotations

from graveler_core.engine.protocol import hooks
from graveler_core.engine.protocol.hooks import HookedChange
from graveler_core.engine.reading.expired import require_again
from graveler_core.errors import Conflict, InvalidInput, Kind, NotUnique
from graveler_core.model.entities import BranchRecord, RepositoryRecord, Tag
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.model.names import is_commit_id
from graveler_core.model.references import uid_of
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def changeable(stores: Stores, repo: RepositoryId) -> RepositoryRecord:
    """Return an active repository. Raises `PermissionDenied` if it is read-only."""
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    repositories.require_changeable(repository)
    return repository


def require_after_hooks(stores: Stores, repo: RepositoryRecord, commit: StoredCommit) -> None:
    """Check the commit of a new reference again, if there are hooks: they may have taken days.

    Raises:
        NotFound: The commit was removed, or its content has expired, or the repository was deleted.
    """
    if hooks.are_set(stores, repo):
        require_again(stores, repo, [commit.id], commit.header.parents)


def require_expected(reference: BranchRecord | Tag, expected: CommitId | None) -> None:
    """Raise an error unless a reference, as it was read, names the commit that the caller expects.

    Args:
        reference: Record of the branch or tag.
        expected: The commit; `None` accepts any commit.

    Raises:
        Conflict: It names another commit (`LostRace`). `details` has the commit ids `expected` and `actual`.
    """
    if expected is None or reference.commit_id == expected:
        return
    what = "branch" if isinstance(reference, BranchRecord) else "tag"
    raise Conflict(
        f"{what} {reference.id!r} names commit {reference.commit_id}, not {expected} as expected; read it again",
        name=reference.id,
        expected=expected,
        actual=reference.commit_id,
    )


def require_free(
    stores: Stores, repo: RepositoryRecord, *, branch: BranchId | None = None, tag: TagId | None = None
) -> None:
    """Raise an error unless a new branch or tag can have the name.

    Raises:
        NotUnique: A branch (`BranchExists`) or a tag (`TagExists`) has the name.
        InvalidInput: The name has the form of a commit id (`InvalidName`). As a ref it would mean that commit.
    """
    # A convenience, not a guarantee: two creations at once may still give a branch and a tag one name, and then the
    # branch is what the name means.
    name = branch or tag or ""
    if is_commit_id(name):
        raise InvalidInput(
            f"name {name!r}: must not have the form of a commit id, 64 characters of 0-9 a-f",
            kind=Kind.InvalidName,
            name=name,
        )
    if branch is not None and access.read(stores.kv, keys.branch(repo, branch)) is not None:
        raise name_taken(repo, Kind.BranchExists, "branch", branch)
    if tag is not None and access.read(stores.kv, keys.tag(repo, tag)) is not None:
        raise name_taken(repo, Kind.TagExists, "tag", tag)


def hooked(event: HookEvent, record: BranchRecord | Tag, moves: int = 0) -> HookedChange:
    """Return what hooks are told about the creation, assignment or deletion of a branch or tag.

    Args:
        event: Event before the change.
        record: Record after a creation or an assignment, or before a deletion.
        moves: Number of moves of a tag after its assignment.
    """
    fields = {"source_ref": record.commit_id, "commit_id": record.commit_id}
    if isinstance(record, BranchRecord):
        return HookedChange(event, lambda: {"branch_id": record.id, **fields}, record.id, record.uid, record.epoch)
    return HookedChange(event, lambda: {"tag_id": record.id, **fields}, record.id, uid_of(record), moves)


def name_taken(repo: RepositoryRecord, kind: Kind, what: str, name: str) -> NotUnique:
    """Return the error for a name that a branch or tag has."""
    return NotUnique(f"{what} {name!r} already exists in repository {repo.id!r}", kind=kind, name=name)

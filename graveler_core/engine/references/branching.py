"""Creation, deletion and undeletion of branches.

A branch is created by one swap ✓ (its record must not exist) at a commit that was read before. Changes staged on the
source stay there. The swap is sent only once: a repeated request could arrive late and restore a branch that another
caller has deleted since. A branch is deleted by one conditional delete ✓ of exactly the record that was read. Before
that, the cleanup records of its layers, the intent for the log, and the head as a former head
(`engine.references.former_heads`) are written. A crash in between leaves cleanup
records of layers that are still listed, which the cleaner keeps, and an intent of a deletion that did not happen,
which the log ignores. The fresh uid excludes late writers and committers of an earlier branch with the same name.
`engine.references.events` explains how all this is logged.

A branch is undeleted by creating it again at the head that it had at the newest deletion of its name, with a new uid
and a new, empty staging token. Two concurrent undeletions are two creations: one of them is refused.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.hooks import announced
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import cleanups, record_writes, retire, swap
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references import reflog
from graveler_core.engine.references.events import fold_sometimes, intent, note
from graveler_core.engine.references.former_heads import former_head
from graveler_core.engine.references.naming import (
    changeable,
    hooked,
    name_taken,
    require_after_hooks,
    require_expected,
    require_free,
)
from graveler_core.errors import InvalidInput, Kind, NotFound, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import BranchId, BranchUid, CommitId, RepositoryId, TagId
from graveler_core.model.protection import BranchAction
from graveler_core.model.references import EventKind, ReferenceType, deletion, refuse_damaged_event, steps_of
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Registers, Stores


def create_branch(stores: Stores, repo: RepositoryId, name: BranchId, source: str) -> BranchRecord:
    """Create a branch at the commit that a ref names. Copies nothing.

    Raises:
        NotUnique: A branch (`BranchExists`) or a tag (`TagExists`) has the name.
        NotFound: The repository or the source does not exist, or the content of the commit has expired
            (`ContentExpired`).
        PermissionDenied: The repository is read-only, or a hook refused the branch (`HookRefused`).
    """
    repository = changeable(stores, repo)
    commit = resolve_commit(stores, repository, source)
    require_content(stores, repository, [commit.id], parents=commit.header.parents)
    return _create_branch(stores, repository, name, commit)


def undelete_branch(stores: Stores, repo: RepositoryId, name: BranchId) -> BranchRecord:
    """Create a branch again at the head that it had when it was last deleted. Its staged changes are not restored.

    The last deletion is the one with the latest time by the clock of the machine that made it, so if two machines whose
    clocks differ deleted the name within that difference, the earlier deletion may be taken for the last one.

    Raises:
        NotUnique: A branch (`BranchExists`) or a tag (`TagExists`) has the name.
        NotFound: The repository does not exist, no deletion of such a branch is known (`BranchNotFound`), or its
            head does not exist any more (`CommitNotFound`), or the content of the head has expired
            (`ContentExpired`).
        CorruptData: The log of references is damaged, or a pending event, which may be the last deletion of the branch.
        PermissionDenied: The repository is read-only.
    """
    repository = changeable(stores, repo)
    require_free(stores, repository, branch=name, tag=TagId(name))
    found = reflog.of_name(stores, repository, name, damaged=refuse_damaged_event)
    known = (event for event in found if event.type is ReferenceType.BRANCH)
    head = next((event.before for event in known if event.kind is EventKind.DELETED), None)
    if head is None:
        raise NotFound(
            f"branch {name!r}: repository {repo!r} has no record of its deletion",
            kind=Kind.BranchNotFound,
            repository=repo,
            branch=name,
        )
    commit = commit_of(stores, repository, head)
    require_content(stores, repository, [commit.id], parents=commit.header.parents)
    return _create_branch(stores, repository, name, commit)


def delete_branch(  # noqa: PLR0913 - one call, all of it optional
    stores: Stores,
    repo: RepositoryId,
    name: BranchId,
    *,
    expected: CommitId | None = None,
    by: str = "",
    message: str = "",
) -> None:
    """Delete a branch with all its staged changes. Its commits stay.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        name: The branch.
        expected: Commit that the head must be; `None` accepts any head.
        by: Author of the deletion, for the log.
        message: Reason for the deletion, for the log.

    Raises:
        Conflict: The head is not the expected commit (`LostRace`).
        PermissionDenied: The branch is protected from force, the repository is read-only, or a hook refused the
            deletion (`HookRefused`).
        InvalidInput: The branch is the repository's default branch (`DefaultBranch`), or the texts are too long.
        NotFound: The repository or the branch does not exist.
    """
    Draft(message, by)

    def attempt() -> bool | None:
        now = fresh(stores, repo, name)
        require_permitted(now, BranchAction.FORCE)
        if now.repository.default_branch == name:
            raise _is_default(now.repository)
        require_expected(now.branch, expected)
        if now.branch.marked_default:
            _unmark(stores, now)
            return None
        layers = layers_of(now.branch)
        event = deletion(now.branch, stores.moment(), by, message)
        uid = now.branch.uid
        where = keys.branch(now.repository, name)
        change = hooked(HookEvent.PRE_DELETE_BRANCH, now.branch)
        with announced(stores, now.repository, change) as made:
            left = former_head(stores, now.repository, now.branch.commit_id)
            record_writes(stores, [*cleanups(stores, now, layers), left, intent(now.repository, event)])
            made.happened = access.remove(stores.kv, where, now.held, lives_on=partial(_bears, uid))
        if not made.happened:
            return None
        stores.registers.forget(repo, name)
        retire(stores, now, layers)
        fold_sometimes(stores, now.repository)
        return True

    retry(stores, f"deletion of branch {repo}/{name}", attempt)


def _unmark(stores: Stores, now: Registers) -> None:
    """Remove the mark of a former default branch, so that the next attempt can delete it.

    The repository record is read again after the marked branch record: see `engine.references.repository_settings`.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, now.repository.id)
    if repository.default_branch == now.branch.id:
        raise _is_default(repository)
    swap(stores, now, now.branch.model_copy(update={"marked_default": False}))


def _is_default(repository: RepositoryRecord) -> InvalidInput:
    name = repository.default_branch
    return InvalidInput(
        f"branch {name!r} is the default branch of repository {repository.id!r} and cannot be deleted",
        kind=Kind.DefaultBranch,
        branch=name,
    )


def _create_branch(stores: Stores, repo: RepositoryRecord, name: BranchId, commit: StoredCommit) -> BranchRecord:
    require_free(stores, repo, tag=TagId(name))
    record = branches.new_branch(stores.ids, repo, name, commit.id, past.begun(commit.id, stores.moment()))
    where, mine = keys.branch(repo, name), partial(_bears, record.uid)
    try:
        with announced(stores, repo, hooked(HookEvent.PRE_CREATE_BRANCH, record)):
            require_after_hooks(stores, repo, commit)
            made = access.create(stores.kv, where, record, mine=mine, once=True)
    except PredicateFailed:
        raise name_taken(repo, Kind.BranchExists, "branch", name) from None
    note(stores, repo, next(steps_of(record)))
    return made.value


def _bears(uid: BranchUid, current: BranchRecord) -> bool:
    return current.uid == uid

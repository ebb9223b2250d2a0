"""Creating, deleting and undeleting branches and tags.

A branch is created by one swap ✓ (its record must not exist) at a commit that was read before; whatever is staged on
the source stays there. It is sent once only: a second sending could come late, and bring back a branch that somebody
has deleted since. It is deleted by one conditional delete ✓ of exactly the record that was read, after the cleanup
records of its layers and the intent for the log: a crash between leaves records of layers that are still listed, which
the cleaner spares, and an intent of what did not happen, which the log does not take. The fresh uid keeps a late writer
or committer of a former branch of the same name out. `engine.reference_events` says how all this is logged.

A branch is undeleted by creating it anew, at the head that the newest deletion of its name took away: a new uid, a new
empty staging token. Two undeletions at once are two creations: one of them is refused.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine import reflog
from graveler_core.engine.draft import Draft
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.reference_events import fold_sometimes, intent, note
from graveler_core.engine.registers import fresh
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.retry import attempts
from graveler_core.engine.swap import cleanups, moment, record_writes, retire
from graveler_core.engine.view import commit_of
from graveler_core.errors import InvalidInput, Kind, NotFound, NotUnique, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import Branch, Repository, Tag
from graveler_core.model.ids import BranchId, BranchUid, CommitId, RepositoryId, TagId
from graveler_core.model.protection import Action
from graveler_core.model.references import EventKind, ReferenceType, deletion, steps_of
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores


def create_branch(stores: Stores, repo: RepositoryId, name: BranchId, source: str) -> Branch:
    """Create a branch at the commit that a ref names. Copies nothing.

    Raises:
        NotUnique: (`BranchExists`) a branch, or (`TagExists`) a tag, bears the name.
        NotFound: no such repository or source.
        PermissionDenied: the repository is read-only.
    """
    repository = _changeable(stores, repo)
    commit = resolve_commit(stores, repository, source)
    return _create_branch(stores, repository, name, commit.id)


def undelete_branch(stores: Stores, repo: RepositoryId, name: BranchId) -> Branch:
    """Create a branch anew at the head that it had when it was deleted last. What was staged on it stays gone.

    Raises:
        NotUnique: (`BranchExists`) a branch, or (`TagExists`) a tag, bears the name.
        NotFound: no such repository; (`BranchNotFound`) no deletion of such a branch is known; (`CommitNotFound`) its
            head is gone.
        CorruptData: the log of references is damaged.
        PermissionDenied: the repository is read-only.
    """
    repository = _changeable(stores, repo)
    _require_free(stores, repository, branch=name, tag=TagId(name))
    known = (event for event in reflog.of_name(stores, repository, name) if event.type is ReferenceType.BRANCH)
    head = next((event.before for event in known if event.kind is EventKind.DELETED), None)
    if head is None:
        raise NotFound(
            f"branch {name!r}: no deletion of it is known in repository {repo!r}",
            kind=Kind.BranchNotFound,
            repository=repo,
            branch=name,
        )
    return _create_branch(stores, repository, name, commit_of(stores, repository, head).id)


def delete_branch(stores: Stores, repo: RepositoryId, name: BranchId, *, by: str = "", message: str = "") -> None:
    """Delete a branch with everything staged on it; its commits stay.

    Args:
        by: Who deletes it, for the log.
        message: Why.

    Raises:
        PermissionDenied: the branch is protected from force, or the repository is read-only.
        InvalidInput: (`DefaultBranch`) it is the repository's default branch; or the texts are too long.
        NotFound: no such repository or branch.
    """
    Draft(message, by)
    for _ in attempts(stores, f"deletion of branch {repo}/{name}"):
        now = fresh(stores, repo, name)
        require_permitted(now, Action.FORCE)
        if now.repository.default_branch == name:
            raise InvalidInput(
                f"branch {name!r} is the default branch of repository {repo!r} and cannot be deleted",
                kind=Kind.DefaultBranch,
                branch=name,
            )
        layers = layers_of(now.branch)
        event = deletion(now.branch, moment(stores), by, message)
        record_writes(stores, [*cleanups(stores, now, layers), intent(now.repository, event)])
        uid = now.branch.uid
        where = keys.branch(now.repository, name)
        if access.remove(stores.kv, where, now.held, lives_on=partial(_bears, uid)):
            stores.registers.forget(repo, name)
            retire(stores, now, layers)
            fold_sometimes(stores, now.repository)
            return
    raise AssertionError("attempts() raises when it ends")


def create_tag(stores: Stores, repo: RepositoryId, tag: Tag, ref: str) -> Tag:
    """Create a tag at the commit that a ref names (`tag.commit_id` is filled in).

    Raises:
        NotUnique: (`TagExists`) a tag, or (`BranchExists`) a branch, bears the name.
        NotFound: no such repository or ref.
        PermissionDenied: the repository is read-only.
        Whatever the hook raises that verifies tags.
    """
    repository = _changeable(stores, repo)
    commit = resolve_commit(stores, repository, ref)
    _require_free(stores, repository, branch=BranchId(tag.id))
    record = tag.model_copy(update={"commit_id": commit.id, "past": past.begun(commit.id, moment(stores))})
    verify(stores, record, commit)
    try:
        made = access.create(stores.kv, keys.tag(repository, tag.id), record, once=True).value
    except PredicateFailed as e:
        raise _exists(repository, Kind.TagExists, "tag", tag.id) from e
    note(stores, repository, next(steps_of(made)))
    return made


def delete_tag(stores: Stores, repo: RepositoryId, name: TagId, *, by: str = "", message: str = "") -> None:
    """Delete a tag; its commit stays. Arguments as `delete_branch`.

    Raises:
        NotFound: (`TagNotFound`) there is none.
        PermissionDenied: the repository is read-only.
    """
    Draft(message, by)
    repository = _changeable(stores, repo)
    for _ in attempts(stores, f"deletion of tag {repo}/{name}"):
        held = branches.get_tag(stores.kv, repository, name)
        event = deletion(held.value, moment(stores), by, message)
        record_writes(stores, [intent(repository, event)])
        if access.remove(stores.kv, keys.tag(repository, name), held):
            fold_sometimes(stores, repository)
            return
    raise AssertionError("attempts() raises when it ends")


def verify_tag(stores: Stores, repo: RepositoryId, name: TagId) -> Tag:
    """Have the hook look at a tag that stands.

    Raises:
        NotFound: no such repository or tag, or its commit is gone.
        InvalidInput: there is no hook that verifies tags.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    tag = branches.get_tag(stores.kv, repository, name).value
    if stores.hooks.verify_tag is None:
        raise InvalidInput(f"tag {name!r}: nothing is there to verify it; connect(verify_tag=…) takes what does")
    verify(stores, tag, commit_of(stores, repository, tag.commit_id))
    return tag


def verify(stores: Stores, tag: Tag, commit: StoredCommit) -> None:
    """Let the hook refuse a tag, by whatever it raises."""
    if stores.hooks.verify_tag is not None:
        stores.hooks.verify_tag(tag, commit.header)


def _create_branch(stores: Stores, repo: Repository, name: BranchId, commit: CommitId) -> Branch:
    _require_free(stores, repo, tag=TagId(name))
    record = branches.new_branch(stores.ids, repo, name, commit, past.begun(commit, moment(stores)))
    try:
        made = access.create(stores.kv, keys.branch(repo, name), record, mine=partial(_bears, record.uid), once=True)
    except PredicateFailed as e:
        raise _exists(repo, Kind.BranchExists, "branch", name) from e
    note(stores, repo, next(steps_of(record)))
    return made.value


def _changeable(stores: Stores, repo: RepositoryId) -> Repository:
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    repositories.require_changeable(repository)
    return repository


def _bears(uid: BranchUid, current: Branch) -> bool:
    return current.uid == uid


def _require_free(
    stores: Stores, repo: Repository, *, branch: BranchId | None = None, tag: TagId | None = None
) -> None:
    # A convenience, not a guarantee: two creations at once may still give a branch and a tag one name, and then the
    # branch is what the name means.
    if branch is not None and access.read(stores.kv, keys.branch(repo, branch)) is not None:
        raise _exists(repo, Kind.BranchExists, "branch", branch)
    if tag is not None and access.read(stores.kv, keys.tag(repo, tag)) is not None:
        raise _exists(repo, Kind.TagExists, "tag", tag)


def _exists(repo: Repository, kind: Kind, what: str, name: str) -> NotUnique:
    return NotUnique(f"{what} {name!r} exists already in repository {repo.id!r}", kind=kind, name=name)

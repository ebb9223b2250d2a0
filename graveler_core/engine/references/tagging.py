"""Creation, assignment, deletion and verification of tags.

A tag names a commit, the tree of a commit, or another tag. Its record always contains the commit to which it leads,
and a copy of the tag that it names. The flows that keep the content of commits (collections, expiry, sweeps, dumps)
therefore treat all tags alike, and no tag depends on the record of another one.

A tag is created by one swap ✓ (its record must not exist), assigned to another commit by one swap of the record that
was read ✓, and deleted by one conditional delete of the record that was read ✓. The creation is sent only once, for the
reason that `engine.references.branching` gives. Assignments and deletions first record the commit that the tag leaves
(`engine.references.former_heads`). An assignment keeps the creation of the tag in its record, so the tag
stays the same reference. A delayed second request of an assignment fails, because each assignment adds a step to the
past in the record, which makes the record different from every earlier one.
"""

from __future__ import annotations

from functools import partial

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.hooks import announced
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.resolve import resolve_commit, resolve_content
from graveler_core.engine.reading.snapshot import tree_of
from graveler_core.engine.reading.view import commit_of
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
from graveler_core.errors import CorruptData, InvalidInput, Kind, PredicateFailed
from graveler_core.model import past
from graveler_core.model.commit_texts import require_tag_chain
from graveler_core.model.entities import RepositoryRecord, Tag
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.model.names import tag_id
from graveler_core.model.references import deletion, steps_of
from graveler_core.model.tag_target import TagTarget
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.stores import Stores


def create_tag(stores: Stores, repo: RepositoryId, tag: Tag, ref: str, target: TagTarget = TagTarget.COMMIT) -> Tag:
    """Create a tag of what a ref names (sets `tag.commit_id`, `tag.tree` and `tag.tagged`).

    Args:
        stores: Stores of the flow.
        repo: Name of the repository.
        tag: The tag, without what it names.
        ref: Ref expression of a commit, or for the target `TAG` the name of a tag.
        target: What the tag names: the commit, its tree, or the tag itself.

    Raises:
        NotUnique: A tag (`TagExists`) or a branch (`BranchExists`) has the name.
        NotFound: The repository or the ref does not exist, or the content of the commit has expired
            (`ContentExpired`).
        InvalidInput: The ref is a tag of a tree, and the target is a commit (`NotACommit`).
        LimitExceeded: The tags that the tag contains are too many or too long.
        PermissionDenied: The repository is read-only, or a hook refused the change (`HookRefused`).
        Exception: Any error of the function that verifies tags.
    """
    repository = changeable(stores, repo)
    tag, commit = _naming(stores, repository, tag, ref, target)
    require_free(stores, repository, branch=BranchId(tag.id))
    record = tag.model_copy(update={"past": past.begun(commit.id, stores.moment())})
    verify(stores, record, commit)
    require_content(stores, repository, [commit.id], parents=commit.header.parents)
    try:
        with announced(stores, repository, hooked(HookEvent.PRE_CREATE_TAG, record)):
            require_after_hooks(stores, repository, commit)
            made = access.create(stores.kv, keys.tag(repository, tag.id), record, once=True).value
    except PredicateFailed:
        raise name_taken(repository, Kind.TagExists, "tag", tag.id) from None
    note(stores, repository, next(steps_of(made)))
    return made


def assign_tag(  # noqa: PLR0913, PLR0917 - the arguments of `create_tag`, and what is expected
    stores: Stores,
    repo: RepositoryId,
    tag: Tag,
    ref: str,
    expected: CommitId,
    target: TagTarget = TagTarget.COMMIT,
) -> Tag:
    """Assign an existing tag to what a ref names. The arguments are those of `create_tag`, and `expected`, the commit
    to which the tag must lead now.

    Everything else of the given tag replaces what the tag had: a signature holds for one commit only. If nothing
    differs, nothing is written.

    Raises:
        Conflict: The tag does not name the expected commit (`LostRace`).
        NotFound: The repository, the tag or the ref does not exist, or the content of the commit has expired
            (`ContentExpired`).
        InvalidInput: The ref is a tag of a tree, and the target is a commit (`NotACommit`).
        LimitExceeded: The tags that the tag contains are too many or too long.
        PermissionDenied: The repository is read-only, or a hook refused the change (`HookRefused`).
        Exception: Any error of the function that verifies tags.
    """

    def attempt() -> Tag | None:
        repository = changeable(stores, repo)
        held = branches.get_tag(stores.kv, repository, tag.id)
        require_expected(held.value, expected)
        named, commit = _naming(stores, repository, tag, ref, target)
        record = named.model_copy(update={"past": held.value.past})
        verify(stores, record, commit)
        require_content(stores, repository, [commit.id], parents=commit.header.parents)
        if record == held.value:
            return record
        history = past.moved(held.value.past, held.value.commit_id, stores.moment(), assigned=True)
        record = record.model_copy(update={"past": history})
        try:
            with announced(stores, repository, hooked(HookEvent.PRE_CREATE_TAG, record, past.moves(history))):
                require_after_hooks(stores, repository, commit)
                left = [former_head(stores, repository, held.value.commit_id)]
                made = access.replace(stores.kv, keys.tag(repository, tag.id), held, record, before=left).value
        except PredicateFailed:
            return None
        note(stores, repository, next(steps_of(made)))
        return made

    return retry(stores, f"assignment of tag {repo}/{tag.id}", attempt)


def delete_tag(  # noqa: PLR0913 - one call, all of it optional
    stores: Stores,
    repo: RepositoryId,
    name: TagId,
    *,
    expected: CommitId | None = None,
    by: str = "",
    message: str = "",
) -> None:
    """Delete a tag. Its commit stays, and so do tags of this tag. The arguments are those of `delete_branch`.

    Raises:
        Conflict: The tag does not name the expected commit (`LostRace`).
        NotFound: The tag does not exist (`TagNotFound`).
        PermissionDenied: The repository is read-only, or a hook refused the change (`HookRefused`).
    """
    Draft(message, by)
    repository = changeable(stores, repo)

    def attempt() -> bool | None:
        held = branches.get_tag(stores.kv, repository, name)
        require_expected(held.value, expected)
        event = deletion(held.value, stores.moment(), by, message)
        with announced(stores, repository, hooked(HookEvent.PRE_DELETE_TAG, held.value)) as made:
            record_writes(stores, [former_head(stores, repository, held.value.commit_id), intent(repository, event)])
            lives_on = partial(_is_same, held.value)
            made.happened = access.remove(stores.kv, keys.tag(repository, name), held, lives_on=lives_on)
        if not made.happened:
            return None
        fold_sometimes(stores, repository)
        return True

    retry(stores, f"deletion of tag {repo}/{name}", attempt)


def verify_tag(stores: Stores, repo: RepositoryId, name: TagId) -> Tag:
    """Verify an existing tag with the hook.

    Raises:
        NotFound: The repository or the tag does not exist, or the tag's commit is missing.
        InvalidInput: There is no hook that verifies tags.
        CorruptData: The tree that the tag names is not the tree of its commit.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    tag = branches.get_tag(stores.kv, repository, name).value
    if stores.hooks.verify_tag is None:
        raise InvalidInput(
            f"tag {name!r}: there is no hook to verify it; set GRAVELER_TAG_VERIFIER, or give connect(verify_tag=…)"
        )
    commit = commit_of(stores, repository, tag.commit_id)
    if tag.tree and tag.tree != tree_of(stores, repository, commit):
        raise CorruptData(f"tag {name!r}: names tree {tag.tree}, which is not the tree of commit {commit.id}", tag=name)
    verify(stores, tag, commit)
    return tag


def verify(stores: Stores, tag: Tag, commit: StoredCommit) -> None:
    """Let the hook verify a tag. The hook refuses the tag by raising an error."""
    if stores.hooks.verify_tag is not None:
        stores.hooks.verify_tag(tag, commit.header)


def _is_same(before: Tag, current: Tag) -> bool:
    """Return `True` if two records are of the same tag. Assignments keep its creation, and every new tag has one."""
    return past.created(current.past) == past.created(before.past)


def _naming(
    stores: Stores, repository: RepositoryRecord, tag: Tag, ref: str, target: TagTarget
) -> tuple[Tag, StoredCommit]:
    """Return a tag that names what a ref names, and the commit to which it leads."""
    if target is TagTarget.TAG:
        tagged = branches.get_tag(stores.kv, repository, tag_id(ref)).value
        tagged = tagged.model_copy(update={"past": past.created(tagged.past)})
        tag = tag.model_copy(update={"commit_id": tagged.commit_id, "tree": tagged.tree, "tagged": tagged})
        require_tag_chain(tag)
        return tag, commit_of(stores, repository, tagged.commit_id)
    if target is TagTarget.TREE:
        commit = resolve_content(stores, repository, ref)
        return tag.model_copy(update={"commit_id": commit.id, "tree": tree_of(stores, repository, commit)}), commit
    commit = resolve_commit(stores, repository, ref)
    return tag.model_copy(update={"commit_id": commit.id}), commit

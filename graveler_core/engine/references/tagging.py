"""Creation, assignment, deletion and verification of tags.

A tag is created by one swap ✓ (its record must not exist), assigned to another commit by one swap of the record that
was read ✓, and deleted by one conditional delete of the record that was read ✓. The creation is sent only once, for the
reason that `engine.references.branching` gives. An assignment keeps the creation of the tag in its record, so the tag
stays the same reference. A delayed second request of an assignment fails, because each assignment adds a step to the
past in the record, which makes the record different from every earlier one.
"""

from __future__ import annotations

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.protocol.hooks import announced
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import record_writes
from graveler_core.engine.reading.expired import require_content
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.engine.reading.view import commit_of
from graveler_core.engine.references.events import fold_sometimes, intent, note
from graveler_core.engine.references.naming import changeable, hooked, name_taken, require_expected, require_free
from graveler_core.errors import InvalidInput, Kind, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import Tag
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.model.references import deletion, steps_of
from graveler_core.model.webhooks import HookEvent
from graveler_core.objects.commits import StoredCommit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.stores import Stores


def create_tag(stores: Stores, repo: RepositoryId, tag: Tag, ref: str) -> Tag:
    """Create a tag at the commit that a ref names (sets `tag.commit_id`).

    Raises:
        NotUnique: A tag (`TagExists`) or a branch (`BranchExists`) has the name.
        NotFound: The repository or the ref does not exist, or the content of the commit has expired
            (`ContentExpired`).
        PermissionDenied: The repository is read-only, or a hook refused the change (`HookRefused`).
        Exception: Any error of the function that verifies tags.
    """
    repository = changeable(stores, repo)
    commit = resolve_commit(stores, repository, ref)
    require_content(stores, repository, [commit.id])
    require_free(stores, repository, branch=BranchId(tag.id))
    record = tag.model_copy(update={"commit_id": commit.id, "past": past.begun(commit.id, stores.moment())})
    verify(stores, record, commit)
    try:
        with announced(stores, repository, hooked(HookEvent.PRE_CREATE_TAG, record)):
            made = access.create(stores.kv, keys.tag(repository, tag.id), record, once=True).value
    except PredicateFailed:
        raise name_taken(repository, Kind.TagExists, "tag", tag.id) from None
    note(stores, repository, next(steps_of(made)))
    return made


def assign_tag(stores: Stores, repo: RepositoryId, tag: Tag, ref: str, expected: CommitId) -> Tag:
    """Assign an existing tag to the commit that a ref names (sets `tag.commit_id`).

    Everything else of the given tag replaces what the tag had: a signature holds for one commit only. If nothing
    differs, nothing is written.

    Raises:
        Conflict: The tag does not name the expected commit (`LostRace`).
        NotFound: The repository, the tag or the ref does not exist, or the content of the commit has expired
            (`ContentExpired`).
        PermissionDenied: The repository is read-only, or a hook refused the change (`HookRefused`).
        Exception: Any error of the function that verifies tags.
    """

    def attempt() -> Tag | None:
        repository = changeable(stores, repo)
        held = branches.get_tag(stores.kv, repository, tag.id)
        require_expected(held.value, expected)
        commit = resolve_commit(stores, repository, ref)
        require_content(stores, repository, [commit.id])
        record = tag.model_copy(update={"commit_id": commit.id, "past": held.value.past})
        verify(stores, record, commit)
        if record == held.value:
            return record
        history = past.moved(held.value.past, held.value.commit_id, stores.moment(), assigned=True)
        record = record.model_copy(update={"past": history})
        try:
            with announced(stores, repository, hooked(HookEvent.PRE_CREATE_TAG, record, past.moves(history))):
                made = access.replace(stores.kv, keys.tag(repository, tag.id), held, record).value
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
    """Delete a tag. Its commit stays. The arguments are those of `delete_branch`.

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
            record_writes(stores, [intent(repository, event)])
            made.happened = access.remove(stores.kv, keys.tag(repository, name), held)
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
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    tag = branches.get_tag(stores.kv, repository, name).value
    if stores.hooks.verify_tag is None:
        raise InvalidInput(f"tag {name!r}: there is no hook to verify it; set one with connect(verify_tag=…)")
    verify(stores, tag, commit_of(stores, repository, tag.commit_id))
    return tag


def verify(stores: Stores, tag: Tag, commit: StoredCommit) -> None:
    """Let the hook verify a tag. The hook refuses the tag by raising an error."""
    if stores.hooks.verify_tag is not None:
        stores.hooks.verify_tag(tag, commit.header)

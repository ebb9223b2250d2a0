"""Operations on branches: references and staged changes."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content, plain
from graveler.server.api.commits import commit_record
from graveler.server.api.records import ApiRef, BranchCreation, CherryPickCreation, ResetCreation, RevertCreation
from graveler.server.entries import entry_at
from graveler.server.refusals import refusal
from graveler_core.errors import InvalidInput, Kind, PredicateFailed, SlowDown
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository

_RESET_ATTEMPTS: Final = 10
"""Number of times that the reset of a path is tried while other clients change the path."""


def list_branches(call: Call) -> HttpResponse:
    """List branches with their heads."""
    query = call.query
    found = call.graveler.repository(call.repository).branches(query.text("prefix"), query.text("after"))
    return call.page(found, lambda branch: ApiRef(id=branch.id, commit_id=branch.commit_id), lambda branch: branch.id)


def create_branch(call: Call) -> HttpResponse:
    """Create a branch. The answer is the commit id as plain text, as clients expect."""
    wanted: BranchCreation = call.body
    made = call.graveler.repository(call.repository).create_branch(wanted.name, wanted.source)
    return plain(201, made.record().commit_id)


def get_branch(call: Call) -> HttpResponse:
    """Show the head of a branch."""
    record = call.graveler.repository(call.repository).branch(call.branch).record()
    return answer(200, ApiRef(id=record.id, commit_id=record.commit_id))


def delete_branch(call: Call) -> HttpResponse:
    """Delete a branch."""
    call.graveler.repository(call.repository).delete_branch(call.branch)
    return no_content()


def reset_branch(call: Call) -> HttpResponse:
    """Discard staged changes: all, those below a prefix, or that of one path."""
    wanted: ResetCreation = call.body
    repo = call.graveler.repository(call.repository)
    branch = repo.branch(call.branch)
    if wanted.type != "reset" and not wanted.path:
        raise InvalidInput(f"reset of type {wanted.type!r}: needs a path")
    if wanted.type == "object":
        _reset_path(repo, branch, wanted.path)
    else:
        branch.reset(wanted.path if wanted.type == "common_prefix" else "")
    return no_content()


def hard_reset_branch(call: Call) -> HttpResponse:
    """Move the head of a branch to the commit that a ref names."""
    call.graveler.repository(call.repository).branch(call.branch).hard_reset(call.query.required("ref"))
    return no_content()


def revert_branch(call: Call) -> HttpResponse:
    """Undo the changes of a commit."""
    wanted: RevertCreation = call.body
    repo = call.graveler.repository(call.repository)
    if _lacks_parent(repo, wanted):
        return _unknown_parent(wanted.ref)
    repo.revert(
        wanted.ref,
        call.branch,
        message=wanted.commit_overrides.message or "",
        metadata=wanted.commit_overrides.metadata,
        mainline=max(1, wanted.parent_number),
        allow_empty=wanted.allow_empty,
    )
    return no_content()


def cherry_pick(call: Call) -> HttpResponse:
    """Apply the changes of a commit."""
    wanted: CherryPickCreation = call.body
    repo = call.graveler.repository(call.repository)
    if _lacks_parent(repo, wanted):
        return _unknown_parent(wanted.ref)
    made = repo.cherry_pick(
        wanted.ref,
        call.branch,
        message=wanted.commit_overrides.message or "",
        metadata=wanted.commit_overrides.metadata,
        mainline=max(1, wanted.parent_number),
    )
    return answer(201, commit_record(made))


def _reset_path(repo: Repository, branch: Branch, path: str) -> None:
    """Stage the committed entry of a path again, or remove the path if it has none. Both leave no change.

    A concurrent write may have changed the path since it was read, and a concurrent commit the committed entry. The
    path is therefore compared until the branch shows what is committed.

    Raises:
        SlowDown: The path changes again and again.
    """
    for _ in range(_RESET_ATTEMPTS):
        current = entry_at(branch, path)
        committed = entry_at(repo.at(f"{branch.name}@"), path)
        if (current and current.identity) == (committed and committed.identity):
            return
        with suppress(PredicateFailed):  # another client has changed the path
            if committed is None:
                branch.remove(path)
            else:
                branch.stage_if(path, committed, current)
    raise SlowDown(f"path {path!r}: other clients change it at the same time; try again", kind=Kind.RetriesExhausted)


def _lacks_parent(repo: Repository, wanted: RevertCreation | CherryPickCreation) -> bool:
    """Return true if a commit is a merge, and the request does not name the parent to compare it with."""
    return wanted.parent_number <= 0 and len(repo.commit(wanted.ref).parents) > 1


def _unknown_parent(ref: str) -> HttpResponse:
    return refusal(409, f"ref {ref!r}: names a merge commit; parent_number must name one of its parents, from 1")

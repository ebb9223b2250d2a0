"""Operations on branches: references and staged changes."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer, no_content, plain
from graveler.server.api.commits import commit_record
from graveler.server.api.records import ApiRef, BranchCreation, CherryPickCreation, ResetCreation, RevertCreation
from graveler.server.refusals import refusal
from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository


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
    branch = call.graveler.repository(call.repository).branch(call.branch)
    if wanted.type != "reset" and not wanted.path:
        raise InvalidInput(f"reset of type {wanted.type!r}: needs a path")
    if wanted.type == "object":
        branch.reset(path=wanted.path)
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


def _lacks_parent(repo: Repository, wanted: RevertCreation | CherryPickCreation) -> bool:
    """Return true if a commit is a merge, and the request does not name the parent to compare it with."""
    return wanted.parent_number <= 0 and len(repo.commit(wanted.ref).parents) > 1


def _unknown_parent(ref: str) -> HttpResponse:
    return refusal(409, f"ref {ref!r}: names a merge commit; parent_number must name one of its parents, from 1")

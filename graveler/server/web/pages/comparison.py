"""Pages that compare two refs, and merge one into the other."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.links import link
from graveler.server.web.page_call import PageCall, see_other
from graveler_core.errors import Conflict, InvalidInput, Kind, NotFound
from graveler_core.facade.listing import Page
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import Change, ChangeSummary, MergeConflict

_STRATEGIES = {"": None, "source": "source", "destination": "destination"}


def show_comparison(call: PageCall) -> Response:
    """Show what a merge of one ref into another would change."""
    repo = call.repository
    source, into = call.query.text("source"), call.query.text("into") or repo.default_branch
    summary = ChangeSummary()
    changes: Page[Change] = Page([], None)
    conflicts: Page[MergeConflict] = Page([], None)
    if source:
        summary = repo.diff_summary(into, source, since_merge_base=True)
        changes = call.rows(repo.diff(into, source, after=call.query.text("after"), since_merge_base=True))
        conflicts = call.rows(repo.conflicts(source, into))
    return call.page(
        "comparison",
        repo=repo,
        ref=into,
        source=source,
        into=into,
        summary=summary,
        changes=changes,
        conflicts=conflicts,
        mergeable=bool(source) and _is_branch(repo, into),
        problem="",
    )


def merge(call: PageCall) -> Response:
    """Merge a ref into a branch, and show the commit."""
    repo, form = call.repository, call.form
    source, into = form.get("source", ""), form.get("into", "")
    strategy = form.get("strategy", "")
    if strategy not in _STRATEGIES:
        raise InvalidInput(f"strategy {strategy[:40]!r}: must be source, destination or empty")
    try:
        made = repo.merge(source, into=into, message=form.get("message", ""), strategy=_STRATEGIES[strategy])
    except Conflict as error:
        if error.kind is not Kind.MergeConflict:
            raise
        return call.page("conflict", 409, repo=repo, ref=into, source=source, into=into, problem=error.message)
    return see_other(link("repositories", repo.id, "commit", ref=made.id))


def _is_branch(repo: Repository, ref: str) -> bool:
    try:
        repo.branch(ref).record()
    except (InvalidInput, NotFound):
        return False
    return True

"""Pages of the history: the log of a ref, and one commit with its changes."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.page_call import PageCall


def show_log(call: PageCall) -> Response:
    """List the commits that a ref reaches."""
    repo = call.repository
    ref = call.ref(repo)
    found = call.rows(repo.log(ref, after=call.query.text("after") or None))
    return call.page("log", repo=repo, ref=ref, found=found)


def show_commit(call: PageCall) -> Response:
    """Show a commit, and its changes against its first parent."""
    repo = call.repository
    commit = repo.commit(call.query.required("ref"))
    changes = None
    if commit.parents:
        changes = call.rows(repo.diff(commit.parents[0], commit.id, after=call.query.text("after")))
    return call.page("commit", repo=repo, ref=commit.id, commit=commit, changes=changes)

"""Page of the storage state: how much is staged on branches, and how they were compacted."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.page_call import PageCall


def show_storage(call: PageCall) -> Response:
    """Show, for the branches of a page, what is staged and the compactions so far."""
    repo = call.repository
    branches = call.rows(repo.branches("", call.query.text("after")))
    opened = [repo.branch(each.id) for each in branches.items]
    states = [(branch.name, branch.pressure(), branch.compactions()) for branch in opened]
    return call.page("storage", repo=repo, states=states, next=branches.next)

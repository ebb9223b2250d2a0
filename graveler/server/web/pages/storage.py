"""Page of the storage state: the amount of staged changes on branches, and the compactions of the branches."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.page_call import PageCall


def show_storage(call: PageCall) -> Response:
    """Show the staged changes and the past compactions of the branches of a page."""
    repo = call.repository
    branches = call.rows(repo.branches("", call.query.text("after")))
    opened = [repo.branch(each.id) for each in branches.items]
    states = [(branch.name, branch.pressure(), branch.compactions()) for branch in opened]
    return call.page("storage", repo=repo, states=states, next=branches.next)

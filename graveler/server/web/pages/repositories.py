"""Pages that list repositories, branches and tags."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.page_call import PageCall


def show_repositories(call: PageCall) -> Response:
    """List the repositories that the user may read."""
    prefix = call.query.text("prefix")
    found = call.rows(call.graveler.list_repositories(prefix, call.query.text("after")))
    return call.page("repositories", found=found, prefix=prefix)


def show_branches(call: PageCall) -> Response:
    """List branches with their heads."""
    repo, prefix = call.repository, call.query.text("prefix")
    found = call.rows(repo.branches(prefix, call.query.text("after")))
    return call.page("refs", repo=repo, found=found, prefix=prefix, kind="branches")


def show_tags(call: PageCall) -> Response:
    """List tags with their commits."""
    repo, prefix = call.repository, call.query.text("prefix")
    found = call.rows(repo.tags(prefix, call.query.text("after")))
    return call.page("refs", repo=repo, found=found, prefix=prefix, kind="tags")

"""Page of one tag: its target, its attributes, its signature, and the result of its verification."""

from __future__ import annotations

from starlette.responses import Response

from graveler.server.web.page_call import PageCall
from graveler_core.errors import GravelerError
from graveler_core.facade.repository import Repository


def show_tag(call: PageCall) -> Response:
    """Show a tag and the tags that it contains, and verify it with the function that the server was given."""
    repo = call.repository
    tag = repo.tag(call.query.required("name"))
    return call.page("tag", repo=repo, tag=tag, verification=_verification(repo, tag.id))


def _verification(repo: Repository, name: str) -> str:
    try:
        repo.verify_tag(name)
    except GravelerError as e:
        return f"not verified: {e.message}"
    except Exception as e:  # the function refuses a tag by raising any error
        return f"not verified: {e}"
    return "valid"

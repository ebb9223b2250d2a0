"""A request for a page, as the pages see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from starlette.responses import RedirectResponse, Response

from graveler.server.api.call import Query
from graveler.server.authentication import SignedIn
from graveler.server.web import rendering
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.listing import Listing, Page
from graveler_core.facade.repository import Repository

PAGE_ROWS: Final = 50
"""Rows of a listing on one page."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageCall:
    """A request for a page, with the user who is logged in."""

    signed_in: SignedIn
    form_token: str
    """Token of the forms on the page."""
    path: Mapping[str, str]
    """Parameters in the path of the URL."""
    query: Query
    headers: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def graveler(self) -> Graveler:
        """Handle that checks the permissions of the user."""
        return self.signed_in.graveler

    @property
    def repository(self) -> Repository:
        """The repository in the path."""
        return self.graveler.repository(self.path["repository"])

    def ref(self, repository: Repository) -> str:
        """Return the ref in the query, or the default branch."""
        return self.query.text("ref") or repository.default_branch

    def rows(self, listing: Listing[T]) -> Page[T]:
        """Return the rows of one page of a listing."""
        return next(iter(listing.pages(PAGE_ROWS)), Page([], None))

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Answer with a page."""
        return rendering.page(
            template,
            {"user": self.signed_in.user, "form_token": self.form_token, "query": self.query, **values},
            status,
        )


def see_other(address: str) -> Response:
    """Send the browser to another page after a form."""
    return RedirectResponse(address, status_code=303)

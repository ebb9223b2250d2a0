"""Routes of the pages, with login, forms, and errors that are shown as pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from graveler.server.api.call import Query
from graveler.server.api.errors import retry_headers, status_of
from graveler.server.limits import RequestLimits
from graveler.server.observing import facts_of
from graveler.server.parts import ServerParts
from graveler.server.sessions import COOKIE
from graveler.server.web import rendering
from graveler.server.web.forms import FormTokens, form_of, require_same_site
from graveler.server.web.links import ROOT, link, local
from graveler.server.web.page_call import PageCall, see_other
from graveler.server.web.pages import commits, comparison, repositories, storage, tags, tree
from graveler.server.worker_threads import run_in_thread
from graveler_core.errors import GravelerError, InvalidInput, Kind, PermissionDenied
from graveler_core.model.credentials import Credentials

_REPOSITORY: Final = f"{ROOT}/repositories/{{repository}}"
_HEADINGS: Final = {403: "You may not do this", 404: "Not found", 409: "Conflict", 429: "Too many requests"}
_LOGGED_OUT: Final = (Kind.InvalidCredentials, Kind.CredentialsRequired)


@dataclass(frozen=True, slots=True)
class WebPage:
    """A page, or the target of a form."""

    path: str
    show: Callable[[PageCall], Response]
    method: str = "GET"


PAGES: Final = (
    WebPage(ROOT, repositories.show_repositories),
    WebPage(_REPOSITORY, tree.show_tree),
    WebPage(f"{_REPOSITORY}/object", tree.show_object),
    WebPage(f"{_REPOSITORY}/content", tree.send_content),
    WebPage(f"{_REPOSITORY}/branches", repositories.show_branches),
    WebPage(f"{_REPOSITORY}/tags", repositories.show_tags),
    WebPage(f"{_REPOSITORY}/tag", tags.show_tag),
    WebPage(f"{_REPOSITORY}/commits", commits.show_log),
    WebPage(f"{_REPOSITORY}/commit", commits.show_commit),
    WebPage(f"{_REPOSITORY}/compare", comparison.show_comparison),
    WebPage(f"{_REPOSITORY}/storage", storage.show_storage),
    WebPage(f"{_REPOSITORY}/merge", comparison.merge, "POST"),
)
"""All pages for users who are logged in."""


def web_routes(parts: ServerParts) -> list[BaseRoute]:
    """Return the routes of all pages.

    Args:
        parts: Users, limits and shared parts of the server.
    """
    tokens = FormTokens(parts.shared.form_key)
    return [
        *(Route(page.path, partial(_serve, parts, tokens, page), methods=[page.method]) for page in PAGES),
        Route(f"{ROOT}/login", _login_page),
        Route(f"{ROOT}/login", partial(_log_in, parts), methods=["POST"]),
        Route(f"{ROOT}/logout", partial(_log_out, tokens), methods=["POST"]),
        *(Route(f"{ROOT}/{name}", partial(_asset, name)) for name in rendering.ASSETS),
        Route(f"{ROOT}/{{rest:path}}", _unknown, methods=["GET", "POST"]),
    ]


async def _serve(parts: ServerParts, tokens: FormTokens, page: WebPage, request: Request) -> Response:
    """Run one page in a worker thread."""
    facts = facts_of(request.scope)
    facts.operation = f"ui_{page.show.__name__}"
    session = request.cookies.get(COOKIE, "")
    try:
        user = await run_in_thread(parts.users.of_session, session)
        facts.user = user.user
        parts.limits.admit(user.user)
        form: dict[str, str] = {}
        if page.method == "POST":
            require_same_site(request)
            form = await form_of(request)
            tokens.require(form, session)
        query = Query.of(request.url.query)
    except ClientDisconnect:
        return Response(status_code=400)
    except GravelerError as error:
        if error.kind in _LOGGED_OUT and page.method == "GET":
            wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
            return see_other(link("login", next=wanted))
        return _problem(error)
    except ValueError:
        return _problem(InvalidInput("query: must be UTF-8 text"))
    call = PageCall(user, tokens.token_of(session), request.path_params, query, request.headers, form)
    if page.method == "GET":
        return await run_in_thread(_shown, page, call)
    return await _changed(parts.limits, page, call)


async def _changed(limits: RequestLimits, page: WebPage, call: PageCall) -> Response:
    """Run the target of a form, which changes a repository and may call hooks."""
    try:
        return await limits.change_threads.run(call.path["repository"], partial(_shown, page, call))
    except GravelerError as error:  # too many changes
        return _problem(error, call)


def _shown(page: WebPage, call: PageCall) -> Response:
    try:
        return page.show(call)
    except GravelerError as error:
        return _problem(error, call)


def _problem(error: GravelerError, call: PageCall | None = None) -> Response:
    """Answer with an error as a page."""
    status = 403 if isinstance(error, PermissionDenied) else status_of(error)
    known = {} if call is None else {"user": call.signed_in.user, "form_token": call.form_token}
    response = rendering.page(
        "problem", {**known, "heading": _HEADINGS.get(status, "This did not work"), "problem": error.message}, status
    )
    response.headers.update(retry_headers(error))
    return response


async def _login_page(request: Request) -> Response:
    return _login_form(local(request.query_params.get("next", "")))


def _login_form(wanted: str, problem: str = "", status: int = 200) -> Response:
    return rendering.page("login", {"next": wanted, "problem": problem}, status)


async def _log_in(parts: ServerParts, request: Request) -> Response:
    """Begin a session with an access key and its secret."""
    facts_of(request.scope).operation = "ui_log_in"
    form: dict[str, str] = {}
    try:
        require_same_site(request)
        form = await form_of(request)
        given = Credentials(form.get("access_key_id", "").strip(), form.get("secret_access_key", "").strip())
        token, end = await run_in_thread(parts.users.log_in, given)
    except ClientDisconnect:
        return Response(status_code=400)
    except GravelerError as error:
        status = 403 if isinstance(error, PermissionDenied) else status_of(error)
        return _login_form(local(form.get("next", "")), error.message, status)
    response = see_other(local(form.get("next", "")))
    response.set_cookie(COOKIE, token, expires=end, httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return response


async def _log_out(tokens: FormTokens, request: Request) -> Response:
    """End the session in this browser."""
    try:
        require_same_site(request)
        tokens.require(await form_of(request), request.cookies.get(COOKIE, ""))
    except ClientDisconnect:
        return Response(status_code=400)
    except GravelerError as error:
        return _problem(error)
    response = see_other(link("login"))
    response.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return response


async def _asset(name: str, request: Request) -> Response:
    return rendering.asset(name)


async def _unknown(request: Request) -> Response:
    return rendering.page("problem", {"heading": "Not found", "problem": "There is no such page."}, 404)

"""The ASGI application: routes requests to operations, which run in worker threads.

The application holds no state but caches, so any number of servers and library users can work on one store at once. The
changes of an operation are in the store before the response is sent.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.middleware.errors import ServerErrorMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graveler.server.api.call import Call, ContentAnswer, Query
from graveler.server.api.dispatch import ApiDispatch
from graveler.server.api.errors import error_response
from graveler.server.api.openapi import openapi_document
from graveler.server.api.route import ApiRoute
from graveler.server.api.routes import ROUTES
from graveler.server.body_stream import BodyStream
from graveler.server.copy_threads import ended_within
from graveler.server.limits import RequestLimits
from graveler.server.observing import facts_of
from graveler.server.parts import ServerParts
from graveler.server.readiness import Readiness
from graveler.server.refusals import refusal
from graveler.server.request_body import body_of
from graveler.server.sessions import COOKIE
from graveler.server.web.application import web_routes
from graveler.server.web.links import ROOT
from graveler.server.worker_threads import WORKER_THREADS, run_in
from graveler_core.errors import GravelerError, InvalidInput

T = TypeVar("T")
API: Final = "/api/v1"
"""Path of the API."""
MAX_JSON_BYTES: Final = 4 << 20
"""Maximum size of a JSON body."""
MAX_PUBLIC_JSON_BYTES: Final = 16 << 10
"""Maximum size of the JSON body of an operation that needs no credentials."""
_FORM_TYPES: Final = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
"""Content types that a form of a page can send."""
_ROUTE: Final = "graveler.route"
_SECURITY_HEADERS: Final = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))


def create_application(parts: ServerParts) -> ASGIApp:
    """Create the application.

    Args:
        parts: Users, settings and limits of the server.

    Returns:
        The ASGI application.
    """
    api = Starlette(
        routes=[Route(route.path, partial(_serve, parts, route), methods=[route.method]) for route in ROUTES],
        exception_handlers={404: _unknown, 405: _unknown, Exception: _failed},
    )
    for route in api.router.routes:
        if isinstance(route, Route) and route.methods is not None and "GET" in route.methods:
            route.methods.discard("HEAD")  # HEAD is an operation of its own
    routes = [
        Mount(API, app=api),
        Route("/_health", _alive),
        Route("/_ready", Readiness(parts.users.reach).answer),
        Route("/openapi.json", _described),
        Route("/", _to_pages),
        *web_routes(parts),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _elsewhere, 405: _elsewhere, Exception: _failed})
    operations = ServerErrorMiddleware(partial(_operate, parts), handler=_failed)
    return _WithHeaders(_Dispatching(app, operations))


async def _operate(parts: ServerParts, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request whose route is known."""
    response = await _serve(parts, scope[_ROUTE], Request(scope, receive))
    await response(scope, receive, send)


async def _serve(parts: ServerParts, route: ApiRoute, request: Request) -> Response:
    """Run one operation in a worker thread."""
    users, scope = parts.users, request.scope
    facts = facts_of(scope)
    facts.operation = route.name
    try:
        query = _query(scope)
        user = users.remembered(request, public=route.public)
        if user is None and not route.public:
            user = await users.looked_up(request)
        facts.user = "" if user is None else user.user
        if not route.public:
            parts.limits.admit(facts.user)
        body = await _json_body(route, request)
        upload = BodyStream(request) if route.streams else None
        if upload is not None:
            await upload.receive_small()
    except GravelerError as error:
        return error_response(error)
    except ClientDisconnect:
        return refusal(400, "the client ended the connection before the end of the body")
    call = Call(
        signed_in=user,
        log_in=users.log_in,
        secure=scope["scheme"] == "https",
        settings=parts.settings,
        tasks=parts.tasks,
        answers=parts.answers,
        path=request.path_params,
        query=query,
        headers=request.headers,
        body=body,
        **({} if upload is None else {"upload": upload.content}),
    )
    operation = partial(_answered, partial(_run, route, call, parts.limits))
    if route.hooked:
        try:
            answer = await parts.limits.change_threads.run(call.path["repository"], operation)
        except GravelerError as error:  # too many changes
            return error_response(error)
    else:
        threads = WORKER_THREADS if upload is None or not upload.waits else parts.limits.upload_threads
        answer = await run_in(threads, operation)
    return answer if isinstance(answer, Response) else await _copied(parts.limits, answer)


async def _copied(limits: RequestLimits, copy: ContentAnswer) -> Response:
    """Run the rest of an operation, which copies content, or wait for the copy that it repeats."""
    try:
        running = limits.copy_threads.run(partial(_answered, copy.run), copy.repeated)
    except GravelerError as error:  # too many copies
        return error_response(error)
    await ended_within(running, None)
    return running.result()


def _run(route: ApiRoute, call: Call, limits: RequestLimits) -> Response | ContentAnswer:
    with limits.uploading() if route.streams else nullcontext():
        return route.run(call)


def _answered(run: Callable[[], T]) -> T | Response:
    """Run an operation or the rest of it. Return its answer, which may be that to an error."""
    try:
        return run()
    except GravelerError as error:
        return error_response(error)


def _query(scope: Scope) -> Query:
    try:
        return Query.of(scope["query_string"].decode())
    except ValueError as error:
        raise InvalidInput("query: must be UTF-8 text") from error


async def _json_body(route: ApiRoute, request: Request) -> Any:
    """Return the body of a request in the type of its route.

    Raises:
        InvalidInput: The body is not JSON, or a field is missing or wrong, or a form may have sent it with the cookie.
        LimitExceeded: The body is too large.
    """
    if route.body is None:
        return None
    content = await body_of(request, "body", MAX_PUBLIC_JSON_BYTES if route.public else MAX_JSON_BYTES)
    if not content and not route.body_required:
        return None
    if _is_form_with_cookie(request):
        raise InvalidInput("content-type: must be application/json if the request has the cookie of a session")
    try:
        return route.body.model_validate(_document(content.decode()))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"body: {_reason(error)}") from error


def _is_form_with_cookie(request: Request) -> bool:
    """Return true if a form of a page could have sent a request. A browser adds the cookie, whoever made the page."""
    if request.headers.get("authorization") or COOKIE not in request.cookies:
        return False
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() in _FORM_TYPES


def _document(text: str) -> Any:
    """Return a JSON document. Raise `ValueError` if it is none, or escapes half of a character, which has no UTF-8."""
    found = json.loads(text)
    if "\\u" in text:
        json.dumps(found, ensure_ascii=False).encode()
    return found


def _reason(error: Exception) -> str:
    """Return what is wrong with a body, in one line."""
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, wrong["loc"])) or "value"
        return f"{where}: {wrong['msg']}"
    return "must be JSON"


async def _unknown(request: Request, error: Exception) -> Response:
    if "//" in request.scope["path"]:
        return refusal(400, "path of the request: a name must not be empty")
    return refusal(404, "invalid API endpoint")


async def _elsewhere(request: Request, error: Exception) -> Response:
    """Answer in plain text at an address outside the API. Clients recognise a wrong endpoint by it."""
    if request.scope["path"].startswith(f"{API}/"):  # a line feed in the path, which no mount matches
        return await _unknown(request, error)
    return PlainTextResponse(f"nothing is here; the API is at {API}, and the pages at {ROOT}", 404)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer with status 500. The error is only logged, because its text may tell what the user must not see."""
    return refusal(500, "internal error; the log of the server has more")


async def _alive(request: Request) -> Response:
    return PlainTextResponse("alive!")


async def _to_pages(request: Request) -> Response:
    return RedirectResponse(ROOT)


async def _described(request: Request) -> Response:
    return JSONResponse(openapi_document())


class _Dispatching:
    """Passes requests for an operation of the API to one application, and all others to another one."""

    def __init__(self, app: ASGIApp, operations: ASGIApp) -> None:
        self._app = app
        self._operations = operations
        self._dispatch = ApiDispatch(ROUTES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        found = None
        if scope["type"] == "http" and path.startswith(f"{API}/"):
            found = self._dispatch.find(scope["method"], path[len(API) :])
        if found is None:
            await self._app(scope, receive, send)
            return
        route, parameters = found
        await self._operations({**scope, _ROUTE: route, "path_params": parameters}, receive, send)


class _WithHeaders:
    """Adds an id and security headers to each response, unless it already has them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        added = [(b"x-request-id", facts_of(scope).id.encode()), *_SECURITY_HEADERS]
        await self._app(scope, receive, _adding(send, added))


def _adding(send: Send, added: list[tuple[bytes, bytes]]) -> Callable[[Message], Awaitable[None]]:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            present = {name for name, _ in headers}
            message = {**message, "headers": [*headers, *(pair for pair in added if pair[0] not in present)]}
        await send(message)

    return send_with_headers

"""Parts that all requests to a server share, such as users and limits, and those that all of its processes share."""

from __future__ import annotations

from asyncio import Future, wait
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from secrets import token_bytes

from starlette.requests import Request

from graveler.server.api.call import ApiSettings
from graveler.server.authentication import Authentication, SignedIn
from graveler.server.kept_answers import KeptAnswers
from graveler.server.limits import RequestLimits
from graveler.server.same_site import from_another_site
from graveler.server.sessions import COOKIE, UserSessions
from graveler.server.shared_metrics import MetricsBoard
from graveler.server.task_runner import TaskRunner
from graveler.server.worker_threads import run_in_thread
from graveler_core.errors import Kind, PermissionDenied
from graveler_core.model.credentials import Credentials


@dataclass(frozen=True, slots=True)
class ServerUsers:
    """Users of a server."""

    authentication: Authentication | None
    """Authentication of requests, on a store with access control."""
    sessions: UserSessions | None
    """Sessions of users, on a store with access control."""
    reach: Callable[[], object]
    """Reads the store. Raises `GravelerError` if it cannot be reached."""
    everyone: SignedIn | None
    """User that all requests act for, on a store without access control."""
    _found: dict[tuple[str | None, str], Future[SignedIn | None]] = field(default_factory=dict, repr=False)
    """Users that threads look up now, by what their requests show. Only the event loop uses it."""

    def of(self, request: Request, *, public: bool) -> SignedIn | None:
        """Return the user of a request; `None` for an operation that needs no credentials.

        Raises:
            PermissionDenied: The request needs credentials, and has none or wrong ones.
        """
        if public or self.authentication is None:
            return self.everyone
        return self.authentication.user_of(*_shown(request))

    def remembered(self, request: Request, *, public: bool) -> SignedIn | None:
        """Return the user of a request if no verification of a secret and no read of the store is needed for it."""
        if public or self.authentication is None:
            return self.everyone
        return self.authentication.remembered(*_shown(request))

    async def looked_up(self, request: Request) -> SignedIn | None:
        """Return the user of a request for an operation that needs credentials, without a wait in the event loop.

        Requests with the same credentials share one look-up and its thread, so any number of them may wait.

        Raises:
            GravelerError: As `of` raises.
        """
        shown = _shown(request)
        found = self._found.get(shown)
        if found is None:
            found = self._found[shown] = run_in_thread(self.of, request, public=False)
            found.add_done_callback(lambda _: self._found.pop(shown))
        await wait({found})  # a cancellation of this request must not cancel what others wait for
        return found.result()

    def of_session(self, token: str) -> SignedIn:
        """Return the user of the token of a session; on a store without access control, the user of all requests.

        Raises:
            PermissionDenied: (`InvalidCredentials`) There is no token, or it is not valid.
        """
        if self.authentication is None:
            assert self.everyone is not None  # noqa: S101 - a server has users or everyone
            return self.everyone
        return self.authentication.user_of(None, token)

    def log_in(self, given: Credentials) -> tuple[str, datetime]:
        """Verify an access key and its secret. Return the token of a new session, and its end.

        Raises:
            PermissionDenied: The credentials are wrong, or the store has no access control.
            SlowDown: Too many attempts with the access key have failed.
        """
        if self.authentication is None or self.sessions is None:
            raise PermissionDenied("the store has no access control", kind=Kind.InvalidCredentials)
        self.authentication.verify(given)
        return self.sessions.begin(given.access_key_id)


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Parts that all processes of one server share. Create them before the processes are forked."""

    board: MetricsBoard | None = None
    """Memory for the metrics of several processes; `None` for one process."""
    form_key: bytes = field(default_factory=partial(token_bytes, 32), repr=False)
    """Key of the tokens in forms, on a store without access control, which has no sessions."""


@dataclass(frozen=True, slots=True)
class ServerParts:
    """Everything that the operations of a server share."""

    users: ServerUsers
    settings: ApiSettings
    tasks: TaskRunner
    """Runs tasks that outlive a request."""
    limits: RequestLimits
    shared: SharedParts
    answers: KeptAnswers = field(default_factory=KeptAnswers)
    """Answers to listings that the process keeps."""


def _shown(request: Request) -> tuple[str | None, str]:
    """Return the header and the cookie that authenticate a request."""
    authorization = request.headers.get("authorization")
    if authorization:
        return authorization, ""
    cookie = request.cookies.get(COOKIE, "")
    if request.method not in ("GET", "HEAD") and from_another_site(request.headers):
        cookie = ""  # the page of another site acts, and not the user
    return None, cookie

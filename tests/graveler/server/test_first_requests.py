"""Bursts of requests of the API whose credentials the process does not know yet."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import httpx
import pytest
from pydantic import SecretStr
from starlette.requests import Request

from graveler.server.api.call import ApiSettings
from graveler.server.application import create_application
from graveler.server.authentication import Authentication, SignedIn
from graveler.server.limits import RequestLimits
from graveler.server.parts import ServerParts, ServerUsers, SharedParts
from graveler.server.task_runner import TaskRunner
from graveler_core.errors import Kind, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.model.credentials import Credentials

MANY = 100


class Burst:
    """Requests that all come before the first verification ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.verified: list[str] = []
        self._come = 0
        self._all_came = threading.Event()
        remembered = ServerUsers.remembered

        def counted(users: ServerUsers, request: Request, *, public: bool) -> SignedIn | None:
            self._come += 1
            if self._come == MANY:
                asyncio.get_running_loop().call_soon(self._all_came.set)
            return remembered(users, request, public=public)

        monkeypatch.setattr(ServerUsers, "remembered", counted)

    def _sign_in(self, given: Credentials) -> SignedIn:
        self.verified.append(given.access_key_id)
        self._all_came.wait()
        if given.secret_access_key != SecretStr("right"):
            raise PermissionDenied("wrong", kind=Kind.InvalidCredentials)
        return SignedIn(given.access_key_id, object.__new__(Graveler))

    async def send(self, secret: str, *, cancelled: int = 0) -> Counter[int]:
        """Send the requests. Cancel the first ones. Count the statuses of the others."""
        authentication = Authentication(self._sign_in, lambda token: pytest.fail("no session"))
        users = ServerUsers(authentication, None, lambda: None, None)
        parts = ServerParts(users, ApiSettings(""), TaskRunner(), RequestLimits(0, 1), SharedParts())
        transport = httpx.ASGITransport(create_application(parts))
        async with httpx.AsyncClient(transport=transport, base_url="http://a", auth=("ada", secret)) as client:
            sent = [asyncio.create_task(client.get("/api/v1/user")) for _ in range(MANY)]
            if cancelled:
                while not self.verified:
                    await asyncio.sleep(0)
                for each in sent[:cancelled]:
                    each.cancel()
            answers = await asyncio.gather(*sent[cancelled:])
        return Counter(each.status_code for each in answers)


@pytest.mark.parametrize(("secret", "status"), [("right", 200), ("wrong", 401)])
def test_requests_with_the_same_credentials_wait_for_one_verification(
    monkeypatch: pytest.MonkeyPatch, secret: str, status: int
) -> None:
    burst = Burst(monkeypatch)
    assert asyncio.run(burst.send(secret)) == {status: MANY}
    assert burst.verified == ["ada"]


def test_a_client_that_leaves_takes_the_result_from_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    burst = Burst(monkeypatch)
    assert asyncio.run(burst.send("right", cancelled=1)) == {200: MANY - 1}
    assert burst.verified == ["ada"]


def test_a_request_that_needs_no_credentials_makes_no_other_one_pass() -> None:
    """Both show the same: nothing."""

    async def sent() -> list[httpx.Response]:
        users = ServerUsers(Authentication(pytest.fail, pytest.fail), None, lambda: None, None)
        parts = ServerParts(users, ApiSettings(""), TaskRunner(), RequestLimits(0, 1), SharedParts())
        transport = httpx.ASGITransport(create_application(parts))
        async with httpx.AsyncClient(transport=transport, base_url="http://a") as client:
            return await asyncio.gather(*map(client.get, ["/api/v1/setup_lakefs", "/api/v1/user"]))

    public, other = asyncio.run(sent())
    assert (public.status_code, other.status_code) == (200, 401)

"""Bodies of requests that are held in memory: up to a maximum, and refused with the size if it is known."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from graveler.server import request_body
from graveler.server.request_body import body_of
from graveler.server.web.forms import MAX_FORM_BYTES, form_of
from graveler_core.errors import Kind, LimitExceeded, Unavailable

MAXIMUM = 10


def request(*blocks: bytes, headers: dict[str, str]) -> tuple[Request, list[bytes]]:
    """A request, and the blocks of its body that the server has not received yet."""
    left = [*blocks, b""]

    async def receive() -> dict[str, Any]:
        block = left.pop(0)
        return {"type": "http.request", "body": block, "more_body": bool(left)}

    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": sent}, receive), left


@pytest.mark.parametrize("headers", [{}, {"content-length": "10"}])
def test_a_body_of_the_maximum_size_is_accepted(headers: dict[str, str]) -> None:
    sent, _ = request(b"01234", b"56789", headers=headers)
    assert asyncio.run(body_of(sent, "body", MAXIMUM)) == b"0123456789"


@pytest.mark.parametrize(
    ("headers", "details", "left"),
    [({"content-length": "11"}, {"size": 11, "limit": MAXIMUM}, 3), ({}, {"limit": MAXIMUM}, 1)],
    ids=["announced", "not announced"],
)
def test_a_larger_body_is_refused(headers: dict[str, str], details: dict[str, int], left: int) -> None:
    sent, blocks = request(b"01234567", b"8901", headers=headers)
    with pytest.raises(LimitExceeded, match="the maximum") as caught:
        asyncio.run(body_of(sent, "body", MAXIMUM))
    assert (caught.value.kind, caught.value.details, len(blocks)) == (Kind.ValueTooLarge, details, left)


def test_a_larger_form_is_refused() -> None:
    headers = {"content-type": "application/x-www-form-urlencoded", "content-length": str(MAX_FORM_BYTES + 1)}
    sent, _ = request(headers=headers)
    with pytest.raises(LimitExceeded, match="form") as caught:
        asyncio.run(form_of(sent))
    assert caught.value.details == {"size": MAX_FORM_BYTES + 1, "limit": MAX_FORM_BYTES}


@pytest.mark.parametrize("blocks", [[], [b"0", b"1", b"2"]], ids=["no block", "some blocks"])
def test_a_body_that_stops_is_given_up(blocks: list[bytes]) -> None:
    left = list(blocks)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    with pytest.raises(Unavailable, match="the client sent too little within 0"):
        asyncio.run(body_of(Request({"type": "http", "method": "POST", "headers": []}, receive), "body", MAXIMUM, 0.01))
    assert left == []


def test_a_body_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece comes in time, but 4 bytes do not arrive within a tenth of a second."""
    monkeypatch.setattr(request_body, "PROGRESS_BYTES", 4)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.04)
        return {"type": "http.request", "body": b"x", "more_body": True}

    with pytest.raises(Unavailable, match=r"the client sent too little within 0\.1 seconds"):
        asyncio.run(body_of(Request({"type": "http", "method": "POST", "headers": []}, receive), "body", 1000, 0.1))


def test_a_slow_body_that_goes_on_is_received(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "PROGRESS_BYTES", 1)
    left = [b"x"] * 6

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.25)
        return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

    sent = Request({"type": "http", "method": "POST", "headers": []}, receive)
    assert asyncio.run(body_of(sent, "body", MAXIMUM, 1)) == b"xxxxxx"

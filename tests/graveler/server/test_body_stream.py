"""Bodies of requests between the event loop and a worker thread: bounded, complete, and with every end told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request

from graveler.server import body_stream
from graveler.server.body_stream import BodyStream
from graveler.server.worker_threads import run_in_thread
from graveler_core.errors import Unavailable

Messages = list[dict[str, Any]]


def piece(content: bytes, *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.request", "body": content, "more_body": more}


def received(messages: Messages, length: int, work: Callable[[BodyStream], Any], headers: Any = ()) -> Any:
    """What a worker thread makes of a body. Messages that are left then show that the body was not received."""

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        return messages.pop(0) if messages else await asyncio.Event().wait()  # type: ignore[return-value]

    async def main() -> Any:
        sent = [(b"content-length", str(length).encode()), *headers]
        body = BodyStream(Request({"type": "http", "method": "PUT", "headers": sent}, receive))
        await body.receive_small()
        return await asyncio.wait_for(run_in_thread(work, body), 30)

    return asyncio.run(main())


def whole(body: BodyStream) -> tuple[bytes, bool]:
    return b"".join(body.raw()), body.ended


@pytest.mark.parametrize("count", [0, 1, 40])
def test_a_body_arrives_whole(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for small, buffer in ((0, 100), (body_stream.SMALL_BYTES, body_stream.BUFFER_BYTES)):
        monkeypatch.setattr(body_stream, "SMALL_BYTES", small)
        monkeypatch.setattr(body_stream, "BUFFER_BYTES", buffer)
        messages = [*(piece(b"0123456789") for _ in range(count)), piece(b"", more=False)]
        assert received(messages, 10 * count, whole) == (b"0123456789" * count, True)


def test_the_server_stops_to_receive_while_nobody_takes_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_stream, "BUFFER_BYTES", 100)
    monkeypatch.setattr(body_stream, "SMALL_BYTES", 0)
    messages = [*(piece(b"0123456789") for _ in range(100)), piece(b"", more=False)]

    def first(body: BodyStream) -> int:
        pieces = body.raw()
        next(pieces)
        time.sleep(0.1)  # the event loop could receive all of them
        return len(messages)

    assert received(messages, 1_000, first) >= 70


def test_small_bodies_are_received_before_unless_the_client_waits() -> None:
    def left(body: BodyStream) -> int:
        return len(messages)

    messages = [piece(b"0123456789", more=False)]
    assert received(messages, 10, left) == 0
    messages = [piece(b"0123456789", more=False)]
    assert received(messages, 10, left, [(b"expect", b"100-continue")]) == 1


@pytest.mark.parametrize("small", [0, 1 << 16])
def test_a_client_that_goes_away_is_an_error(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_stream, "SMALL_BYTES", small)
    with pytest.raises(Unavailable, match="ended the connection"):
        received([piece(b"01234"), {"type": "http.disconnect"}], 10, whole)
    with pytest.raises(Unavailable, match="has 5 bytes, its header says 10"):
        received([piece(b"01234", more=False)], 10, whole)


@pytest.mark.parametrize("small", [0, 1 << 16])
def test_a_silent_client_is_given_up_and_a_slow_reader_is_not(small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_stream, "SMALL_BYTES", small)
    monkeypatch.setattr(body_stream, "BUFFER_BYTES", 10 if small == 0 else body_stream.BUFFER_BYTES)
    monkeypatch.setattr(body_stream, "IDLE_SECONDS", 0.5)
    with pytest.raises(Unavailable, match=r"sent too little within 0\.5 seconds"):
        received([piece(b"0123456789")], 20, whole)

    def slowly(body: BodyStream) -> int:
        size = 0
        for each in body.raw():
            time.sleep(0.7)
            size += len(each)
        return size

    assert received([piece(b"0123456789"), piece(b"0123456789"), piece(b"", more=False)], 20, slowly) == 20


def test_a_slow_client_is_served_without_waiting_for_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_stream, "SMALL_BYTES", 0)

    def first(body: BodyStream) -> bytes:
        return next(body.raw())

    assert received([piece(b"0123456789")], 1_000_000, first) == b"0123456789"

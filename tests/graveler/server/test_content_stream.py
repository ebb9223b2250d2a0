"""Streamed answers: the next chunk is read ahead, an error cuts the answer off, and a client that has gone ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from graveler.server import content_stream
from graveler.server.content_stream import ContentStream


def sent(chunks: Iterator[bytes], *, gone_after: int | None = None) -> list[dict[str, Any]]:
    """The messages of an answer."""
    messages: list[dict[str, Any]] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)
        if len(messages) == gone_after:
            gone.set()
        await asyncio.sleep(0.001)

    async def main() -> None:
        answer = ContentStream(chunks, 200, {"content-length": "30"})
        await answer({"type": "http"}, receive, send)  # type: ignore[arg-type]

    try:
        asyncio.run(main())
    except OSError:
        messages.append({"type": "error"})
    return messages


def test_an_answer_has_all_chunks() -> None:
    start, *bodies = sent(iter([b"a" * 10, b"b" * 10, b"c" * 10]))
    assert start["status"] == 200
    assert (b"content-length", b"30") in start["headers"]
    assert b"".join(body["body"] for body in bodies) == b"a" * 10 + b"b" * 10 + b"c" * 10
    assert [body["more_body"] for body in bodies] == [True, True, True, False]


@pytest.mark.parametrize("size", [9, 10, 11, 35])
def test_a_large_chunk_is_sent_in_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_stream, "SENT_BYTES", 10)
    chunk = bytes(range(size))
    _, *bodies, _ = sent(iter([chunk, b"z"]))
    assert b"".join(body["body"] for body in bodies) == chunk + b"z"
    assert max(len(body["body"]) for body in bodies) <= 10


def test_the_next_chunk_is_read_while_one_is_sent() -> None:
    read: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield b"x"

    async def first() -> list[int]:
        stop = asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.body":
                await asyncio.sleep(0.2)
                stop.set()
                await asyncio.Event().wait()

        answer = ContentStream(chunks(), 200, {"content-length": "3"})
        running = asyncio.create_task(answer({"type": "http"}, asyncio.Event().wait, send))  # type: ignore[arg-type]
        await stop.wait()
        found = list(read)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return found

    assert asyncio.run(first()) == [0, 1]


def test_an_error_ends_the_answer_without_its_last_message() -> None:
    def chunks() -> Iterator[bytes]:
        yield b"a"
        raise OSError("the disk is gone")

    messages = sent(chunks())
    assert [message["type"] for message in messages] == ["http.response.start", "http.response.body", "error"]


def test_nothing_is_read_for_a_client_that_has_gone() -> None:
    read: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number in range(100):
            read.append(number)
            yield b"x"

    sent(chunks(), gone_after=3)
    assert 2 <= len(read) < 10

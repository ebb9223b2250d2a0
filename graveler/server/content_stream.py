"""Streamed answer that reads the next chunk while it sends the previous one.

A chunk of a local file has about the size of the socket's buffer, which keeps reading and sending in step. Ranges of
remote stores are larger, and are sent in pieces of `SENT_BYTES`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from graveler.server.worker_threads import run_in_thread

SENT_BYTES: Final = 1 << 20
"""Bytes that are sent at once."""


class ContentStream(Response):
    """Answer with chunks that an iterator reads in worker threads, one after the other.

    It ends when the client has gone. After an error of the iterator, the client receives less than was announced.
    """

    def __init__(self, chunks: Iterable[bytes], status_code: int, headers: Mapping[str, str]) -> None:
        """Create the answer.

        Args:
            chunks: The content. It is read once.
            status_code: Status of HTTP.
            headers: Headers, with `content-length`.
        """
        self.status_code = status_code
        self.background = None
        self.body = b""
        self._chunks = iter(chunks)
        self.init_headers(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer."""
        gone = asyncio.ensure_future(_disconnected(receive))
        ahead = run_in_thread(_next, self._chunks)
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while (chunk := await ahead) is not None and not gone.done():
                ahead = run_in_thread(_next, self._chunks)
                for piece in _pieces(chunk):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            await asyncio.gather(gone, ahead, return_exceptions=True)


def _pieces(chunk: bytes) -> Iterable[bytes | memoryview]:
    """Return a chunk in pieces of at most `SENT_BYTES`. They share its memory."""
    if len(chunk) <= SENT_BYTES:
        return (chunk,)
    shared = memoryview(chunk)
    return (shared[start : start + SENT_BYTES] for start in range(0, len(chunk), SENT_BYTES))


def _next(chunks: Iterator[bytes]) -> bytes | None:
    return next(chunks, None)


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass

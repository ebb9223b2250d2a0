"""Protocol of the connections: uvicorn's protocol with the parser llhttp, with a size limit for the head and the
trailers of a request. Requests beyond the maximum number of connections are told when to try again.

A connection that waits for the head of a request is closed after `HEAD_SECONDS`, so that clients that send nothing, or
half of a head, do not hold all connections that the server may have. After an answer, uvicorn closes a connection on
which nothing arrives for some seconds. Bodies have time limits where they are received. A connection on which the
client does not read is ended, whether its answer is complete or not.

This parser is several times faster than the one in Python that uvicorn uses otherwise, and collects headers of any
size.
"""

from __future__ import annotations

import logging
from asyncio import TimerHandle, Transport
from typing import Any, Final

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graveler.server.observing import facts_of
from graveler.server.refusals import RETRY_AFTER_SECONDS, refusal
from graveler_core.errors import LimitExceeded
from graveler_core.telemetry.events import tell

MAX_HEAD_BYTES: Final = 64 << 10
"""Maximum size of the head of a request, and of its trailers."""
HEAD_SECONDS: Final = 60.0
"""Seconds within which the head of a request must be complete: after the connection was made, or, on a connection that
was used, after its first byte.
"""
READ_SECONDS: Final = 60.0
READ_BYTES: Final = 64 << 10
"""Bytes of an answer that a client must read within `READ_SECONDS`, unless it reads the rest of what was written."""
_BETWEEN_BYTES: Final = 4
"""Bytes of a line of a head beside its name and value: colon, space and line end."""
_TOO_LARGE: Final = f"the head and the trailers of a request must each have at most {MAX_HEAD_BYTES:,} bytes"


async def _too_many(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request beyond the maximum number of connections."""
    headers = {
        "retry-after": str(RETRY_AFTER_SECONDS),
        "connection": "close",
        "x-request-id": facts_of(scope).id,
    }
    await refusal(503, "the server has too many connections; try again", **headers)(scope, receive, send)


class HttpProtocol(HttpToolsProtocol):
    """A connection."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._in_message = False
        """True from the end of the head of a request to the end of the request."""
        self._advanced = False
        """True if the data that is read now had a part of a body, or the end of a head or of a request."""
        self._waiting_bytes = 0
        """Bytes that the client has sent since then: of a head, of trailers, or of extensions of chunks."""
        self._may_be_large = False
        self._waiting: TimerHandle | None = None
        """Closes the connection, if no head is complete before."""
        self._reading: TimerHandle | None = None
        """Ends the connection, if the client reads too little before."""
        self._unread = 0
        """Bytes in the buffer of the connection when this timer began."""
        self._application, self._max_connections = self.app, self.limit_concurrency
        self.limit_concurrency = None  # uvicorn's own answer does not say when to try again

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the head of the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # so `pause_writing` is called as soon as the client reads too slowly
        self._limit_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection has ended."""
        super().connection_lost(exc)
        self._end_waiting()
        self._end_reading()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._limit_reading()

    def resume_writing(self) -> None:
        """Note that the client has read everything."""
        super().resume_writing()
        self._end_reading()

    def data_received(self, data: bytes) -> None:
        """Read data that the client has sent. End the connection if a head or the trailers are too large."""
        self._advanced = False
        self._may_be_large = self._waiting_bytes + len(data) > MAX_HEAD_BYTES
        super().data_received(data)
        self._waiting_bytes = 0 if self._advanced else self._waiting_bytes + len(data)
        if self._waiting_bytes > MAX_HEAD_BYTES:
            self.send_400_response(_TOO_LARGE)
        if (self.cycle is None or self.cycle.response_complete) and self.timeout_keep_alive_task is None:
            self._limit_waiting()

    def send_400_response(self, msg: str) -> None:
        """Refuse a request and end the connection. The text is left out if it would stand for another answer."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if self._in_message:
            is_free = not cycle.response_started and not self.pipeline
        else:
            is_free = cycle is None or cycle.response_complete
        if is_free:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def on_headers_complete(self) -> None:
        """Note that the head of a request has ended, and choose the application that answers."""
        self._end_waiting()
        if self._may_be_large and self._size_of_head() > MAX_HEAD_BYTES:
            self.send_400_response(_TOO_LARGE)
            raise LimitExceeded(_TOO_LARGE, limit=MAX_HEAD_BYTES)  # ends the parser
        self._in_message = self._advanced = True
        count = max(len(self.connections), len(self.tasks))  # tasks of clients that have gone go on
        full = self._max_connections is not None and count >= self._max_connections
        if full:  # the access log and the metrics do not have such a request
            scope: Any = self.scope
            id = facts_of(scope).id
            tell("connections", logging.WARNING, "too many connections", connections=count, request_id=id)
        self.app = _too_many if full else self._application
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that a part of a body has arrived."""
        self._advanced = True
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that a request has ended."""
        self._in_message, self._advanced = False, True
        super().on_message_complete()

    def _size_of_head(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + _BETWEEN_BYTES for name, value in self.headers)

    def _limit_waiting(self) -> None:
        """Close the connection in `HEAD_SECONDS`, unless this was decided already. The end of a head cancels it."""
        if self._waiting is None and not self.transport.is_closing():
            self._waiting = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _end_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _limit_reading(self) -> None:
        """End the connection in `READ_SECONDS`, unless the client has read enough by then."""
        self._end_reading()
        self._unread = self.transport.get_write_buffer_size()
        self._reading = self.loop.call_later(READ_SECONDS, self._require_reading)

    def _require_reading(self) -> None:
        if self.transport.get_write_buffer_size() > self._unread - READ_BYTES:
            self.transport.abort()  # `close` would wait for the client
        else:
            self._limit_reading()

    def _end_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

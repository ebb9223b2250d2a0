"""Protocol of the connections: uvicorn's protocol with the parser llhttp, and a size limit for the head of a request.
Requests beyond the maximum number of connections are told when to try again.

This parser is several times faster than the one in Python that uvicorn uses otherwise, and collects headers of any
size.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from graveler.server.api.errors import RETRY_AFTER_SECONDS, refusal
from graveler.server.observing import facts_of
from graveler_core.telemetry.events import tell

MAX_HEAD_BYTES: Final = 64 << 10
"""Maximum size of the head of a request that arrives in several parts."""


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
        self._in_head = False
        self._head_bytes = 0
        self._application, self._max_connections = self.app, self.limit_concurrency
        self.limit_concurrency = None  # uvicorn's own answer does not say when to try again

    def data_received(self, data: bytes) -> None:
        """Read data that the client has sent. End the connection if the head of a request is too large."""
        super().data_received(data)
        self._head_bytes = self._head_bytes + len(data) if self._in_head else 0
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"the head of a request must have at most {MAX_HEAD_BYTES:,} bytes")

    def on_message_begin(self) -> None:
        """Note that the head of a request begins."""
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Note that the head of a request has ended, and choose the application that answers."""
        self._in_head = False
        count = max(len(self.connections), len(self.tasks))  # tasks of clients that have gone go on
        full = self._max_connections is not None and count >= self._max_connections
        if full:  # the access log and the metrics do not have such a request
            scope: Any = self.scope
            id = facts_of(scope).id
            tell("connections", logging.WARNING, "too many connections", connections=count, request_id=id)
        self.app = _too_many if full else self._application
        super().on_headers_complete()

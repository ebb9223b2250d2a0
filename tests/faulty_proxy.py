"""HTTP proxy between a client and a server on this machine, which mistreats some of the requests."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from http.client import HTTPConnection, HTTPException, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import urlsplit

DELAY = 0.2
_PER_CONNECTION = ("connection", "keep-alive", "transfer-encoding")


class RequestFate(Enum):
    """What befalls a request."""

    DROPPED = "dropped"
    """The server never receives it; the connection ends."""
    UNANSWERED = "unanswered"
    """The server answers, and the client does not receive that; the connection ends."""
    TWICE = "twice"
    """The server receives it twice; the client receives the second answer."""
    HALF = "half"
    """The client receives half of the answer; the connection ends."""
    DELAYED = "delayed"
    """The server receives it later."""


@dataclass
class FaultyProxy:
    """A running proxy."""

    endpoint: str
    rates: Mapping[RequestFate, float]
    """Share of the requests that meet each fate."""
    chance: random.Random
    fates: Counter[RequestFate | None] = field(default_factory=Counter)
    """Number of requests by fate."""
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of requests by method and path."""
    lock: Lock = field(default_factory=Lock)

    def drawn(self, method: str, path: str) -> RequestFate | None:
        """Draw the fate of a request, and count it."""
        with self.lock:
            fate = self._fate(self.chance.random())
            self.fates[fate] += 1
            self.requests[method, path] += 1
        return fate

    def _fate(self, drawn: float) -> RequestFate | None:
        for fate, rate in self.rates.items():
            if drawn < rate:
                return fate
            drawn -= rate
        return None


@contextmanager
def faulty_proxy(upstream: str, rates: Mapping[RequestFate, float], seed: int) -> Iterator[FaultyProxy]:
    """Run a proxy in front of a server.

    Args:
        upstream: Address of the server, `http://HOST:PORT`.
        rates: Share of the requests that meet each fate. The others are passed on.
        seed: Seed of the chance.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.handle_error = _ignored  # type: ignore[method-assign, assignment]
    server.upstream = urlsplit(upstream).netloc  # type: ignore[attr-defined]
    proxy = FaultyProxy(f"http://127.0.0.1:{server.server_port}", rates, random.Random(seed))
    server.proxy = proxy  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _ignored(*_: Any) -> None:
    """Say nothing about clients that were killed."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fate = self.server.proxy.drawn(self.command, urlsplit(self.path).path)  # type: ignore[attr-defined]
        if fate is RequestFate.DROPPED:
            self.close_connection = True
            return
        if fate is RequestFate.DELAYED:
            time.sleep(DELAY)
        if fate is RequestFate.TWICE:
            self._asked(body)
        response, content = self._asked(body)
        if fate is RequestFate.UNANSWERED:
            self.close_connection = True
            return
        self._answer(response, content, half=fate is RequestFate.HALF)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

    def _asked(self, body: bytes) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(self.server.upstream, timeout=30)  # type: ignore[attr-defined]
        try:
            connection.request(self.command, self.path, body, dict(self.headers.items()))
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def _answer(self, response: HTTPResponse, content: bytes, *, half: bool) -> None:
        self.send_response(response.status, response.reason)
        for name, value in response.getheaders():
            if name.lower() not in (*_PER_CONNECTION, "date", "server"):
                self.send_header(name, value)
        if response.getheader("Content-Length") is None:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if half:
            content, self.close_connection = content[: len(content) // 2], True
        with suppress(OSError, HTTPException):
            self.wfile.write(content)

"""Round trips to a server, counted by a proxy between the client and the server.

A round trip is a message of the client that follows a message of the server on the same connection. So a pipeline of
requests counts once, and a request that is sent in several packets counts once.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock, Thread
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

_MESSAGE: Final = 1 << 20
_LOOPBACK: Final = re.compile(r"127\.0\.0\.1:(\d+)")
_SOCKET: Final = ".s.PGSQL.5432"
"""Name of the socket of a PostgreSQL server in its directory."""
Address = tuple[str, int] | str
"""Host and port, or the path of a socket."""


@dataclass(slots=True)
class RoundTrips:
    """Number of round trips so far."""

    count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self) -> None:
        """Count one round trip."""
        with self._lock:
            self.count += 1


@contextmanager
def counted(url: str) -> Iterator[tuple[str, RoundTrips]]:
    """Run a proxy before the server that a URL names.

    Args:
        url: URL of a store on a server of the loopback interface, or of PostgreSQL on a socket.

    Yields:
        The URL of the same store through the proxy, and the counter.
    """
    trips = RoundTrips()
    directory = parse_qs(urlsplit(url).query).get("host", [""])[0]
    with TemporaryDirectory(prefix="graveler-wire-") as own:
        target: Address
        if directory.startswith("/"):
            target, listener = str(Path(directory, _SOCKET)), socket.socket(socket.AF_UNIX)
            listener.bind(str(Path(own, _SOCKET)))
            listener.listen()
            through = url.replace(directory, own).replace(quote(directory, safe=""), quote(own, safe=""))
        else:
            found = _LOOPBACK.search(url)
            assert found is not None, "the URL names no server of this machine"
            target, listener = ("127.0.0.1", int(found[1])), socket.create_server(("127.0.0.1", 0))
            through = url.replace(found[0], f"127.0.0.1:{listener.getsockname()[1]}")
        with listener:
            Thread(target=_serve, args=(listener, target, trips), daemon=True).start()
            yield through, trips
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def has_server(url: str) -> bool:
    """Return true if `counted` can count the round trips of a store."""
    return bool(_LOOPBACK.search(url)) or parse_qs(urlsplit(url).query).get("host", [""])[0].startswith("/")


def _serve(listener: socket.socket, target: Address, trips: RoundTrips) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        server = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
        server.connect(target)
        link = _Link(client, server, trips)
        for work in (link.pass_requests, link.pass_answers):
            Thread(target=work, daemon=True).start()


@dataclass(slots=True)
class _Link:
    client: socket.socket
    server: socket.socket
    trips: RoundTrips
    answered: bool = True
    """True if the last message was one of the server."""

    def pass_requests(self) -> None:
        with suppress(OSError):
            while message := self.client.recv(_MESSAGE):
                if self.answered:
                    self.answered = False
                    self.trips.add()
                self.server.sendall(message)
        self._close()

    def pass_answers(self) -> None:
        with suppress(OSError):
            while message := self.server.recv(_MESSAGE):
                self.answered = True
                self.client.sendall(message)
        self._close()

    def _close(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

"""Clients that begin a request on a socket, and then send nothing more."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

SECONDS = 15
"""Seconds for which a client waits for an answer."""


def head(method: str, path: str, headers: Mapping[str, str]) -> bytes:
    """Return the head of a request."""
    given = {"Host": "127.0.0.1", **headers}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return "\r\n".join([*lines, "", ""]).encode()


@contextmanager
def silent_clients(url: str, count: int, begun: bytes) -> Iterator[list[socket.socket]]:
    """Open connections that have each sent the beginning of a request."""
    address = urlsplit(url)
    with ExitStack() as closed:
        found = []
        for _ in range(count):
            client = socket.create_connection((address.hostname or "", address.port or 0), timeout=SECONDS)
            found.append(closed.enter_context(client))
            client.sendall(begun)
        yield found


def answer(client: socket.socket, end: bytes = b"\r\n\r\n") -> bytes:
    """Return what the server sends, up to some bytes or the end of the connection."""
    found = b""
    while end not in found:
        piece = client.recv(65_536)
        if not piece:
            break
        found += piece
    return found

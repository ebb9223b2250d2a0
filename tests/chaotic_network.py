"""Network between a client and a server on this machine that mistreats messages at random, as a proxy for TCP.

`LossyNetwork` loses one message that a test chooses. This network draws a fate for every message, as many tests of
distributed systems do; the comments name the faults as Toxiproxy does. A message is what arrives at once.
"""

from __future__ import annotations

import random
import socket
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from threading import Event, Lock, Thread
from typing import Final

from tests.servers.process import free_port

DELAY: Final = 0.2
"""Seconds by which a message is late."""
_MESSAGE: Final = 1024 * 1024
_LINGER_NOT: Final = struct.pack("ii", 1, 0)
"""Option of a socket whose end is a reset instead of a farewell."""


class MessageFate(Enum):
    """What befalls a message of a client."""

    LATE = "late"
    """The server receives it later (latency)."""
    LOST = "lost"
    """The server never receives it, and the connection ends (down)."""
    UNANSWERED = "unanswered"
    """The server receives it, and the connection ends instead of the answer."""
    HALF = "half"
    """The client receives a half of what the server answers, and the connection ends (limit_data)."""
    RESET = "reset"
    """The server receives it, and the connection of the client is reset instead of the answer (reset_peer)."""
    SWALLOWED = "swallowed"
    """The server never receives it, and nothing more passes; both connections stay open (timeout, upstream)."""
    SILENT = "silent"
    """The server receives it, and nothing more passes; both connections stay open (timeout, downstream)."""


_STALLED: Final = (MessageFate.SWALLOWED, MessageFate.SILENT)


@dataclass(eq=False)
class _Link:
    """Both connections of a client: to the proxy and, by it, to the server."""

    client: socket.socket
    server: socket.socket
    fate: MessageFate | None = None
    """Fate of the message whose answer is awaited, if it decides over the answer."""

    def close(self) -> None:
        """End both."""
        for end in (self.server, self.client):
            with suppress(OSError):
                if end is self.client and self.fate is MessageFate.RESET:
                    # No farewell. The reset follows when no thread waits for the client any more.
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
                    end.shutdown(socket.SHUT_RD)
                else:
                    end.shutdown(socket.SHUT_RDWR)
            end.close()


@dataclass(eq=False)
class ChaoticNetwork:
    """A running network. `chaotic_network` starts it."""

    server: int | str
    """Port of the server, or path of its socket."""
    rates: Mapping[MessageFate, float]
    """Share of the messages that meet each fate."""
    chance: random.Random
    half_open: float
    """Seconds for which the server keeps the connection of a client that has left a stalled one.

    The server of a client whose network is gone does not see that the client has left.
    """
    port: int = field(default_factory=free_port)
    fates: Counter[MessageFate | None] = field(default_factory=Counter)
    """Number of messages by fate."""
    refusals: int = 0
    """Number of times that connections were refused for a while (down)."""
    _links: set[_Link] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _up: Event = field(default_factory=Event)
    _over: Event = field(default_factory=Event)
    _listener: socket.socket = field(default_factory=socket.socket)

    def serve(self) -> None:
        """Accept connections until the network is closed. A listener that is down keeps its port."""
        while not self._over.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                self._up.wait(1)
                continue
            self._begin(client)

    def up(self) -> None:
        """Accept connections."""
        self._listener.listen(128)
        self._up.set()

    def refuse(self, seconds: float) -> None:
        """Cut all connections, and refuse new ones for a while."""
        self.refusals += 1
        self._up.clear()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self.cut()
        if not self._over.wait(seconds):
            self.up()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            links = list(self._links)
        for link in links:
            link.close()

    def close(self) -> None:
        """End all that goes on."""
        self._over.set()
        self._up.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def open(self) -> None:
        """Bind the port and accept connections."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self.up()

    def _begin(self, client: socket.socket) -> None:
        try:
            server = self._connected()
        except OSError:
            client.close()
            return
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = _Link(client, server)
        with self._lock:
            self._links.add(link)
        for work in (self._pass_requests, self._pass_answers):
            Thread(target=work, args=(link,), daemon=True).start()

    def _connected(self) -> socket.socket:
        if isinstance(self.server, int):
            server = socket.create_connection(("127.0.0.1", self.server))
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return server
        server = socket.socket(socket.AF_UNIX)
        server.connect(self.server)
        return server

    def _drawn(self) -> MessageFate | None:
        with self._lock:
            number = self.chance.random()
            found = None
            for fate, rate in self.rates.items():
                if number < rate:
                    found = fate
                    break
                number -= rate
            self.fates[found] += 1
            return found

    def _pass_requests(self, link: _Link) -> None:
        with suppress(OSError):
            while message := link.client.recv(_MESSAGE):
                if link.fate in _STALLED:
                    continue
                fate = self._drawn()
                if fate is MessageFate.LOST:
                    break
                if fate is MessageFate.LATE:
                    self._over.wait(DELAY)
                elif fate is not None:
                    link.fate = fate
                if fate is not MessageFate.SWALLOWED:
                    link.server.sendall(message)
        if link.fate in _STALLED:
            self._over.wait(self.half_open)
        self._drop(link)

    def _pass_answers(self, link: _Link) -> None:
        with suppress(OSError):
            while message := link.server.recv(_MESSAGE):
                if link.fate in _STALLED:
                    continue
                if link.fate is MessageFate.HALF:
                    link.client.sendall(message[: len(message) // 2])
                if link.fate is not None:
                    break
                link.client.sendall(message)
        if link.fate not in _STALLED:
            self._drop(link)

    def _drop(self, link: _Link) -> None:
        link.close()
        with self._lock:
            self._links.discard(link)


@contextmanager
def chaotic_network(
    server: int | str, rates: Mapping[MessageFate, float], seed: int, half_open: float = 20
) -> Iterator[ChaoticNetwork]:
    """Run a network before a server.

    Args:
        server: Port of the server on this machine, or path of its socket.
        rates: Share of the messages that meet each fate. The others are passed on.
        seed: Seed of the chance.
        half_open: Seconds for which the server keeps the connection of a client that has left a stalled one.
    """
    network = ChaoticNetwork(server, rates, random.Random(seed), half_open)
    network.open()
    serving = Thread(target=network.serve, daemon=True)
    serving.start()
    try:
        yield network
    finally:
        network.close()
        serving.join()

"""Network between a client and a server that tests can cut, as a proxy for TCP connections of the loopback interface.

A test arms one fault. It strikes at the next message of a client, or after some more messages:

    REQUEST   the connection is cut before the server gets the message
    ANSWER    the server gets the message, and the connection is cut when it answers
    PART      the server gets the message, and the connection is cut within its answer
    SILENCE   the server gets the message, and its answer is held back while the connection stays open

Nothing is changed, repeated or sent in another order. A message is what arrives at once: a request of a client that
waits for its answer is one message, unless it is larger than `_MESSAGE`.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import Lock, Thread
from typing import Final

_MESSAGE: Final = 16 * 1_024 * 1_024


class Cut(Enum):
    """The message that is lost, or held back."""

    REQUEST = auto()
    ANSWER = auto()
    PART = auto()
    SILENCE = auto()


@dataclass(slots=True)
class _Link:
    """Both connections of a client: to the proxy and, by it, to the server."""

    client: socket.socket
    server: socket.socket
    fault: Cut | None = None
    part: float = 0

    def close(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@dataclass(slots=True)
class _Plan:
    fault: Cut | None = None
    after: int = 0
    part: float = 0


@dataclass(slots=True, eq=False)
class LossyNetwork:
    """A proxy at a port of its own. Use `lossy_network` to start it."""

    server_port: int | str
    listener: socket.socket
    _plan: _Plan = field(default_factory=_Plan)
    _open: dict[int, _Link] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def port(self) -> int:
        """The port that clients connect to."""
        port: int = self.listener.getsockname()[1]
        return port

    def lose(self, fault: Cut, after: int = 0, part: float = 0.5) -> None:
        """Arm a fault: it strikes once, at the next message of any client after `after` others.

        Args:
            fault: The fault.
            after: Number of messages that pass before.
            part: Share of the answer that passes before the connection is cut within it.
        """
        with self._lock:
            self._plan = _Plan(fault, after, part)

    def heal(self) -> bool:
        """Disarm the fault, and cut the connections that are silent. Return true if it has struck.

        A fault that has struck a message without an answer, such as a control frame of HTTP/2, is over, too.
        """
        with self._lock:
            struck = self._plan.fault is None
            self._plan = _Plan()
            silent = [link for link in self._open.values() if link.fault is Cut.SILENCE]
            for link in self._open.values():
                link.fault = link.fault if link.fault is Cut.SILENCE else None
        for link in silent:
            link.close()
        return struck

    def cut(self) -> None:
        """Cut all connections. New ones can be made."""
        with self._lock:
            links = list(self._open.values())
        for link in links:
            link.close()

    def serve(self) -> None:
        """Accept connections until the listener is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = self._connected()
            except OSError:
                client.close()
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = _Link(client, server)
            with self._lock:
                self._open[id(link)] = link
            Thread(target=self._pass_requests, args=(link,), daemon=True).start()
            Thread(target=self._pass_answers, args=(link,), daemon=True).start()

    def _connected(self) -> socket.socket:
        if isinstance(self.server_port, int):
            server = socket.create_connection(("127.0.0.1", self.server_port))
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server_port)
        return server

    def _pass_requests(self, link: _Link) -> None:
        with suppress(OSError):
            while message := link.client.recv(_MESSAGE):
                struck = self._strikes()
                if struck is not None:
                    if struck.fault is Cut.REQUEST:
                        break
                    link.part = struck.part
                    link.fault = link.fault or struck.fault
                link.server.sendall(message)
        self._drop(link)

    def _pass_answers(self, link: _Link) -> None:
        with suppress(OSError):
            while message := link.server.recv(_MESSAGE):
                if link.fault is Cut.PART:
                    link.client.sendall(message[: int(link.part * len(message))])
                if link.fault in (Cut.ANSWER, Cut.PART):
                    break
                if link.fault is None:
                    link.client.sendall(message)
        self._drop(link)

    def _strikes(self) -> _Plan | None:
        """Return the fault if it strikes at this message, and disarm it."""
        with self._lock:
            plan = self._plan
            if plan.fault is None:
                return None
            if plan.after:
                plan.after -= 1
                return None
            self._plan = _Plan()
            return plan

    def _drop(self, link: _Link) -> None:
        link.close()
        with self._lock:
            self._open.pop(id(link), None)


@contextmanager
def lossy_network(server_port: int | str) -> Iterator[LossyNetwork]:
    """Run a proxy for the server at a port of the loopback interface.

    Args:
        server_port: Port of the server, or path of its socket. Clients connect to a port in any case.
    """
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        network = LossyNetwork(server_port, listener)
        serving = Thread(target=network.serve, daemon=True)
        serving.start()
        try:
            yield network
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            serving.join()
            network.cut()

"""Limits of the protocol: heads and trailers that are too large end the connection."""

from __future__ import annotations

import socket
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from graveler.server.http_protocol import HEAD_SECONDS, MAX_HEAD_BYTES, READ_BYTES, HttpProtocol
from tests.graveler.server.running import running_server
from tests.graveler.server.silent_clients import head, silent_clients

CHUNKED = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
BEGUN = head("POST", "/api/v1/auth/login", CHUNKED) + b"2\r\n{}\r\n"


class Timer:
    """Timer that runs out only when a test says so."""

    def __init__(self, seconds: float, run: Callable[[], object]) -> None:
        self.seconds = seconds
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Event loop without time, in which no request is answered."""

    def __init__(self) -> None:
        self.timers: list[Timer] = []

    def call_later(self, seconds: float, run: Callable[[], object]) -> Timer:
        self.timers.append(Timer(seconds, run))
        return self.timers[-1]

    def create_task(self, work: Coroutine[Any, Any, None], **_: object) -> Mock:
        work.close()
        return Mock()

    @property
    def running(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.cancelled]


class Connection:
    """A connection to a server."""

    def __init__(self) -> None:
        self.loop, self.transport = Loop(), Mock()
        self.transport.is_closing.return_value = False
        config = uvicorn.Config(Mock(), ws="none", log_config=None)
        self.protocol = HttpProtocol(config, ServerState(), {}, self.loop)
        self.protocol.connection_made(self.transport)

    def answer(self) -> None:
        self.protocol.cycle.response_complete = True
        self.protocol.on_response_complete()

    @property
    def head_timers(self) -> list[Timer]:
        return [timer for timer in self.loop.running if timer.seconds == HEAD_SECONDS]


@pytest.mark.parametrize("begun", [b"", b"\r\n", b"GET / HTTP/1.1\r\nHost:"])
def test_a_connection_without_a_whole_head_is_closed(begun: bytes) -> None:
    connection = Connection()
    for start in range(len(begun)):
        connection.protocol.data_received(begun[start : start + 1])
    (timer,) = connection.head_timers
    timer.run()
    connection.transport.close.assert_called_once_with()


@pytest.mark.parametrize("begun", [b"\r\n", b"GET / HTTP/1.1\r\nHost:"])
def test_a_used_connection_without_a_whole_head_is_closed(begun: bytes) -> None:
    connection = Connection()
    connection.protocol.data_received(head("GET", "/", {}))
    assert connection.loop.running == []
    connection.answer()
    (kept,) = connection.loop.running
    assert kept.seconds < HEAD_SECONDS
    connection.protocol.data_received(begun)
    assert connection.loop.running == connection.head_timers
    assert len(connection.head_timers) == 1


def test_the_rest_of_a_body_after_the_answer_does_not_hold_a_connection() -> None:
    connection = Connection()
    connection.protocol.data_received(head("POST", "/", {"Content-Length": "10"}) + b"a")
    assert connection.loop.running == []
    connection.answer()
    for _ in range(2):
        connection.protocol.data_received(b"b")
    (timer,) = connection.head_timers
    connection.protocol.data_received(b"c" * 7 + head("GET", "/", {}))
    assert (timer.cancelled, connection.loop.running) == (True, [])


def test_a_connection_that_has_ended_has_no_timer() -> None:
    connection = Connection()
    connection.protocol.connection_lost(None)
    assert connection.loop.running == []


def test_a_client_that_reads_too_little_is_given_up() -> None:
    connection, unread = Connection(), 10 * READ_BYTES
    connection.protocol.data_received(head("GET", "/", {}))
    connection.transport.get_write_buffer_size.return_value = unread
    connection.protocol.pause_writing()
    for read in (READ_BYTES, 2 * READ_BYTES, READ_BYTES - 1):
        connection.transport.abort.assert_not_called()
        unread -= read
        connection.transport.get_write_buffer_size.return_value = unread
        connection.loop.running[-1].run()
    connection.transport.abort.assert_called_once_with()
    connection.protocol.connection_lost(None)
    assert connection.protocol._reading is None


def test_a_client_that_reads_everything_is_not_given_up() -> None:
    connection = Connection()
    connection.protocol.data_received(head("GET", "/", {}))
    connection.transport.get_write_buffer_size.return_value = 1
    for _ in range(2):
        connection.protocol.pause_writing()
        assert len(connection.loop.running) == 1
        connection.protocol.resume_writing()
        assert connection.loop.running == []


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root: Path = tmp_path_factory.mktemp("protocol")
    with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri()) as running:
        yield running.url


def sent(client: socket.socket, data: bytes, size: int) -> bytes:
    """Send data in pieces, and return everything that the server answers until it ends the connection."""
    found = b""
    try:
        for start in range(0, len(data), size):
            client.sendall(data[start : start + size])
        while piece := client.recv(65_536):
            found += piece
    except ConnectionError:  # the server does not read the rest
        return found or b"HTTP/1.1 400"
    return found


@pytest.mark.parametrize(
    "trailers", [b"a:\r\n" * 262_144, b"a:" + b"x" * (1 << 20)], ids=["many lines", "one endless value"]
)
def test_trailers_without_end_are_refused(url: str, trailers: bytes) -> None:
    with silent_clients(url, 1, BEGUN + b"0\r\n") as (client,):
        assert sent(client, trailers, 10_000).split()[1] == b"400"


def test_extensions_of_chunks_without_end_are_refused(url: str) -> None:
    with silent_clients(url, 1, BEGUN + b"2;a=") as (client,):
        assert sent(client, b"x" * (1 << 20), 10_000).split()[1] == b"400"


def test_short_trailers_are_accepted(url: str) -> None:
    after = head("GET", "/_health", {"Connection": "close"})
    with silent_clients(url, 1, BEGUN + b"0\r\na: b\r\n\r\n" + after) as (client,):
        found = sent(client, b"", 1)
    assert found.split()[1] == b"400"  # the body is no login
    assert b"the head and the trailers" not in found
    assert found.endswith(b"alive!")


@pytest.mark.parametrize("size", [MAX_HEAD_BYTES - 200, 100 << 10])
def test_a_large_head_in_one_piece_is_refused(url: str, size: int) -> None:
    request = head("GET", "/_health", {"X-Long": "x" * size, "Connection": "close"})
    with silent_clients(url, 1, b"") as (client,):
        found = sent(client, request, len(request))
    assert found.split()[1] == (b"200" if size < MAX_HEAD_BYTES else b"400")


def test_a_large_body_in_small_pieces_is_no_head(url: str) -> None:
    chunks = b"1\r\n \r\n" * 30_000 + b"0\r\n\r\n"
    with silent_clients(url, 1, head("POST", "/api/v1/auth/login", {**CHUNKED, "Connection": "close"})) as (client,):
        assert b"the head and the trailers" not in sent(client, chunks, 10_000)


def test_a_login_is_small(url: str) -> None:
    begun = head("POST", "/api/v1/auth/login", CHUNKED | {"Connection": "close"})
    with silent_clients(url, 1, begun) as (client,):
        found = sent(client, b"4001\r\n" + b" " * 0x4001, 10_000)
    assert b"body: has more than 16,384 bytes, the maximum" in found

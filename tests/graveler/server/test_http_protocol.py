"""Limits of the protocol: heads and trailers that are too large end the connection."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from graveler.server.http_protocol import MAX_HEAD_BYTES
from tests.graveler.server.running import running_server
from tests.graveler.server.silent_clients import head, silent_clients

CHUNKED = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
BEGUN = head("POST", "/api/v1/auth/login", CHUNKED) + b"2\r\n{}\r\n"


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

"""Clients that stop in the middle of a request keep no thread that other requests need."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from graveler.server import http_protocol
from graveler.server.http_protocol import HttpProtocol
from graveler.server.limits import RequestLimits
from graveler.server.serving import ServerOptions
from graveler.server.worker_threads import MAX_THREADS
from tests.graveler.server.conftest import Place
from tests.graveler.server.plain_http import Http
from tests.graveler.server.running import running_server
from tests.graveler.server.s3.clients import boto_clients
from tests.graveler.server.silent_clients import SECONDS, answer, head, silent_clients

UNSIGNED = {"Authorization": "AWS4 x", "Content-Length": "1000000"}

LIMITS = RequestLimits(0, ServerOptions().max_uploads)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root: Path = tmp_path_factory.mktemp("silent")
    with running_server(f"sqlite:///{root / 'meta.db'}?durability=process", root.as_uri(), limits=LIMITS) as running:
        yield Place(running, lambda: "")


def status_of(url: str) -> int:
    with urllib.request.urlopen(url, timeout=SECONDS) as response:
        return int(response.status)


def test_a_refused_request_is_answered_although_its_body_never_comes(server: Place) -> None:
    with silent_clients(server.server.url, MAX_THREADS + 1, head("PUT", "/x/y", UNSIGNED)) as clients:
        assert status_of(server.server.url + "/_ready") == 200
        for found in map(answer, clients):
            assert found.split()[1].startswith(b"4")
            assert b"connection: close" in found.lower()


def test_a_refused_request_whose_body_comes_leaves_the_connection_usable(server: Place) -> None:
    begun = head("PUT", "/x/y", {**UNSIGNED, "Content-Length": "100000"})
    with silent_clients(server.server.url, 1, begun) as (client,):
        for _ in range(4):
            client.sendall(b"x" * 25_000)
        found = answer(client)
        assert found.split()[1].startswith(b"4")
        assert b"connection: close" not in found.lower()
        client.sendall(head("GET", "/_health", {}))
        assert b"alive!" in answer(client, b"alive!")


def test_a_client_that_does_not_read_keeps_no_connection(server: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    lost = HttpProtocol.connection_lost

    def noted(self: HttpProtocol, exc: Exception | None) -> None:
        if self.flow.write_paused:
            ended.set()
        lost(self, exc)

    monkeypatch.setattr(HttpProtocol, "connection_lost", noted)
    monkeypatch.setattr(http_protocol, "READ_SECONDS", 0.2)
    name, credentials = server.repository(), Http(server, SECONDS).credentials
    size = 32 << 20
    server.server.graveler.repository(name).branch("main").put("large", bytes(size))
    path = f"/api/v1/repositories/{name}/refs/main/objects?path=large"
    with silent_clients(server.server.url, 1, head("GET", path, {"Authorization": credentials})) as (client,):
        assert ended.wait(SECONDS)
        assert len(answer(client, b"no such bytes")) < size


def test_stalled_bodies_leave_other_requests_alone_and_those_beyond_the_limit_are_refused(server: Place) -> None:
    name, http, url = server.repository(), Http(server, SECONDS), server.server.url
    assert http.send("GET", "/user")[0] == 200  # its credentials are remembered
    length = {"Content-Length": "1000000"}
    path = f"/api/v1/repositories/{name}/branches/main/objects?path=a"
    upload = head("POST", path, {"Authorization": http.credentials, **length}) + b"begin"
    with boto_clients(server) as clients:
        names = {"Bucket": name, "Key": "main/b", "UploadId": "u"}
        signed = clients.open().generate_presigned_url("complete_multipart_upload", Params=names)
    document = head("POST", signed.removeprefix(url), {"Host": url.removeprefix("http://"), **length})
    with ExitStack() as opened:
        opened.enter_context(silent_clients(url, LIMITS._uploads - 5, upload))
        opened.enter_context(silent_clients(url, 5, document))
        end = time.monotonic() + SECONDS
        while LIMITS._uploading < LIMITS._uploads and time.monotonic() < end:
            time.sleep(0.05)
        assert http.send("GET", "/healthcheck")[0] == 204
        assert http.send("GET", f"/repositories/{name}")[0] == 200
        for begun in (upload, document):
            (client,) = opened.enter_context(silent_clients(url, 1, begun))
            assert answer(client).split()[1] == b"503"

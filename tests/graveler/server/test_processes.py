"""Tests of `graveler serve --processes`: several processes serve one address, and end together."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

import graveler
from graveler.server.serving import ServerOptions
from graveler_core.errors import InvalidInput

PATIENCE = 60
"""Seconds until a process that does not end is given up."""


def command(*options: str) -> list[str]:
    program = str(Path(sys.executable).parent / "graveler")
    return [program, "--json", "serve", "--port", "0", "--processes", "2", *options]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    store = f"sqlite:///{tmp_path}/meta.db"
    with graveler.connect(store) as g:
        g.create_repository("repo", (tmp_path / "objects").as_uri())
    return {**os.environ, "GRAVELER_STORE": store, "GRAVELER_DATA": tmp_path.as_uri(), "GRAVELER_CONFIG": ""}


@contextmanager
def serving(environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str, list[int]]]:
    """A server, its URL, and the ids of its processes."""
    server = subprocess.Popen(
        command("--open"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    url = json.loads(server.stdout.readline())["url"]
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    try:
        yield server, url, [int(child) for child in children]
    finally:
        server.kill()
        server.communicate()


def ended(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def branch_of(url: str) -> dict[str, str]:
    with urllib.request.urlopen(f"{url}/api/v1/repositories/repo/branches/main") as response:
        found: dict[str, str] = json.load(response)
    return found


def counted(url: str) -> int:
    """Requests for branches that the answers to requests for metrics show."""
    with urllib.request.urlopen(f"{url}/metrics") as response:
        lines = response.read().decode().splitlines()
    name = 'graveler_server_requests_total{operation="get_branch",status="200"} '
    return int(sum(float(line.removeprefix(name)) for line in lines if line.startswith(name)))


def sockets(process: int) -> set[str]:
    """Sockets that a process has open."""
    found = set()
    for each in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):  # it was closed meanwhile
            found.add(os.readlink(each))
    return {each for each in found if each.startswith("socket:")}


def signal_each(server: subprocess.Popen[str], processes: list[int]) -> None:
    """Signal each process, and wait until all have closed the listening socket, which is that of the server."""
    for process in processes:
        os.kill(process, signal.SIGTERM)
    eventually(lambda: all(ended(process) or not sockets(process) & sockets(server.pid) for process in processes))


def test_each_process_counts_in_the_metrics_of_the_others(environment: dict[str, str]) -> None:
    with serving(environment) as (_, url, processes):
        assert len(processes) == 2
        heads = {branch_of(url)["commit_id"] for _ in range(8)}
        assert len(heads) == 1
        for _ in range(8):  # whichever process answers
            eventually(lambda: counted(url) == 8)


@pytest.mark.parametrize("each_first", [False, True], ids=["the server", "each process and the server"])
@pytest.mark.parametrize("last", [signal.SIGTERM, signal.SIGKILL])
def test_a_stopping_server_finishes_the_request_under_way(
    environment: dict[str, str], last: signal.Signals, each_first: bool
) -> None:
    with serving(environment) as (server, url, processes):
        host, _, port = url.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            path = "/api/v1/repositories/repo/branches/main/objects?path=a"
            head = f"POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100")  # it reads the content now
            if each_first:
                signal_each(server, processes)
            server.send_signal(last)
            assert select.select([connection], [], [], 0.5)[0] == []  # the connection stays open
            connection.sendall(b"the rest")
            assert connection.recv(100).startswith(b"HTTP/1.1 201")
        code = server.wait(PATIENCE)
        assert each_first or code == (0 if last is signal.SIGTERM else -last)
        eventually(lambda: all(map(ended, processes)))
    with graveler.connect(environment["GRAVELER_STORE"]) as g:
        assert g.repository("repo").branch("main").read("a") == b"the rest"


def test_every_process_accepts_the_forms_of_every_other_one(environment: dict[str, str]) -> None:
    with serving(environment) as (_, url, _):
        compared = f"{url}/ui/repositories/repo/compare?source=main&into=main"
        pages = [httpx.get(compared).text for _ in range(16)]  # whichever process answers
        tokens = {token for page in pages for token in re.findall(r'name="token" value="([0-9a-f]+)"', page)}
        assert len(tokens) == 1
        answers = {httpx.post(f"{url}/ui/logout", data={"token": token}).status_code for token in tokens for _ in pages}
        assert answers == {303}


def test_all_end_if_one_ends(environment: dict[str, str]) -> None:
    with serving(environment) as (server, _, (first, second)):
        os.kill(first, signal.SIGKILL)
        _, errors = server.communicate(timeout=PATIENCE)
        assert server.returncode != 0
        assert "a process of the server has ended by itself" in errors
        assert ended(second)


def test_all_end_if_their_parent_is_killed(environment: dict[str, str]) -> None:
    with serving(environment) as (server, _, processes):
        server.kill()
        eventually(lambda: all(map(ended, processes)))


def test_an_error_of_a_process_that_starts_is_told(environment: dict[str, str]) -> None:
    ran = subprocess.run(command(), env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert ran.returncode != 0
    assert "the store has no access control" in ran.stderr


def test_bad_numbers_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="processes 0: must be at least 1"):
        ServerOptions(processes=0)
    ran = subprocess.run(
        command("--open"),
        env={**environment, "GRAVELER_STORE": "memory://one"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert "processes 2: a store in memory belongs to one process" in ran.stderr

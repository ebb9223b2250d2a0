"""The end of a server whose operations still run: it does not wait for them without limit."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

PATIENCE = 60
"""Seconds until a server that does not end is given up."""
PROGRAM = """
import logging, logging.handlers, sys, threading
from graveler.server import serving

def blocked(stores):
    late = logging.handlers.MemoryHandler(100, logging.CRITICAL, logging.StreamHandler(sys.stdout))
    logging.getLogger().addHandler(late)
    logging.warning("kept until the end")
    print("blocked", flush=True)
    threading.Event().wait()

def started(url):
    print(url, flush=True)

serving.STOP_SECONDS = {seconds}
serving._reach = blocked
serving.serve({store!r}, {{}}, started, port=0, open=True, processes={processes})
"""


@contextmanager
def blocked_server(store: str, seconds: int, processes: int = 1) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server, and its URL. One of its operations never ends."""
    program = PROGRAM.format(seconds=seconds, store=store, processes=processes)
    server = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    address = urlsplit(url)
    try:
        with socket.create_connection((str(address.hostname), address.port or 0)) as client:
            client.sendall(f"GET /_ready HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            assert server.stdout.readline() == "blocked\n"
            yield server, url
    finally:
        server.kill()
        server.communicate()


def wait_until_it_stops(url: str) -> None:
    address = urlsplit(url)
    while True:
        try:
            socket.create_connection((str(address.hostname), address.port or 0)).close()
        except OSError:
            return
        threading.Event().wait(0.01)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_server_ends_although_an_operation_goes_on(tmp_path: Path, processes: int) -> None:
    with blocked_server(f"sqlite:///{tmp_path / 'meta.db'}", 0, processes) as (server, _):
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0
        assert server.stdout is not None
        assert "kept until the end" in server.stdout.read()


def test_a_second_signal_ends_a_server_at_once(tmp_path: Path) -> None:
    with blocked_server("memory://", 100_000) as (server, url):
        server.send_signal(signal.SIGTERM)
        wait_until_it_stops(url)
        server.send_signal(signal.SIGTERM)
        assert server.wait(PATIENCE) == 0

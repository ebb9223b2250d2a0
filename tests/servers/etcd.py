"""A real etcd for tests: one member, without users. Tests use prefixes of their own."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.servers.packages import programs
from tests.servers.process import ServerProcess, free_port, running


@contextmanager
def etcd_server(options: Sequence[str] = ()) -> Iterator[ServerProcess]:
    """A running, empty server.

    Args:
        options: Further options of the server.
    """
    found = programs("etcd", "etcd-server")
    peer = f"http://127.0.0.1:{free_port()}"

    def command(port: int, directory: Path) -> list[str]:
        clients = f"http://127.0.0.1:{port}"
        return [
            found.path("etcd"),
            *("--data-dir", f"{directory}/data/etcd", "--logger", "zap", "--log-level", "error"),
            *("--listen-client-urls", clients, "--advertise-client-urls", clients),
            *("--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer),
            *("--initial-cluster", f"default={peer}"),
            *options,
        ]

    with running(command, _healthy, found.environment) as server:
        yield server


def _healthy(port: int) -> bool:
    """True if the member has a leader."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
        return b'"true"' in answer.read()

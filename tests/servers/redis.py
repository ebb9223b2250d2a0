"""A real Redis for tests: durable as the store needs it, without a password. Tests use namespaces of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.servers.packages import programs
from tests.servers.process import ServerProcess, running, says

DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")


@contextmanager
def redis_server(options: Sequence[str] = ()) -> Iterator[ServerProcess]:
    """A running, empty server.

    Args:
        options: Further options of the server.
    """
    found = programs("redis-server", "redis-server")

    def command(port: int, directory: Path) -> list[str]:
        address = ["--bind", "127.0.0.1", "--port", str(port), "--dir", f"{directory}/data"]
        return [found.path("redis-server"), *address, *DURABLE, *options]

    with running(command, partial(says, question=b"PING\r\n", answer=b"+PONG"), found.environment) as server:
        yield server

"""DynamoDB Local for tests, which is Amazon's own. Tests use tables of their own.

Maven fetches the server once into the cache of the checkout. It is an error if that fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.maven import SHORT_LIVED_JAVA, jars, java
from tests.servers.process import ServerProcess, running, says

VERSION = "3.1.0"
_MAIN = "software.amazon.dynamodb.services.local.main.ServerRunner"


@contextmanager
def dynamodb_server() -> Iterator[ServerProcess]:
    """A running server without tables. Its data are in memory."""
    library = jars(f"dynamodb-{VERSION}", f"software.amazon.dynamodb:DynamoDBLocal:{VERSION}")

    def command(port: int, directory: Path) -> list[str]:
        del directory
        options = ["-Xmx256m", *SHORT_LIVED_JAVA.split(), f"-Djava.library.path={library}", "-cp", f"{library}/*"]
        return [java(), *options, _MAIN, "-port", str(port), "-inMemory", "-sharedDb", "-disableTelemetry"]

    def ready(port: int) -> bool:
        return says(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"HTTP/1.1 ")

    with running(command, ready, dict(os.environ)) as server:
        yield server


def fresh_table(port: int, options: str = "") -> str:
    """The URL of a table that does not exist.

    Args:
        port: Port of the server, or of a network before it.
        options: Further options of the URL.
    """
    return f"dynamodb://key:secret@test_{uuid4().hex}?region=us-east-1&endpoint=http://127.0.0.1:{port}{options}"

"""moto's S3 for tests (`tests.servers.moto_in_turn`). Tests use buckets of their own. Its data are in memory."""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.servers.process import ServerProcess, running, says


@contextmanager
def s3_server() -> Iterator[ServerProcess]:
    """A running server without buckets."""

    def command(port: int, directory: Path) -> list[str]:
        del directory
        return [sys.executable, str(Path(__file__).with_name("moto_in_turn.py")), str(port)]

    def ready(port: int) -> bool:
        return says(port, b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", b"HTTP/1.1 ")

    with running(command, ready, dict(os.environ)) as server:
        yield server


def fresh_bucket(port: int, options: str = "") -> str:
    """The URL of a store in a bucket that is empty.

    Args:
        port: Port of the server.
        options: Further options of the URL.
    """
    return f"s3://{made_bucket(port, f'test-{uuid4().hex}')}/lake?{access(port)}{options}"


def made_bucket(port: int, name: str) -> str:
    """Create a bucket, and return its name."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{name}", method="PUT")
    urllib.request.urlopen(request).close()
    return name


def access(port: int) -> str:
    """The options of a URL that lead to the server, or to a network before it."""
    keys = "access_key_id=key&secret_access_key=secret&region=us-east-1"
    return f"endpoint=http://127.0.0.1:{port}&allow_http=true&{keys}"


def environment(port: int) -> dict[str, str]:
    """Environment variables that lead to the server."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }

"""An S3 server on this machine, and what it takes to reach it."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import quote

from tests.servers.process import ServerProcess
from tests.servers.s3 import s3_server


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    process: ServerProcess

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.process.port}"

    def make_bucket(self, name: str) -> str:
        self._put(name, b"")
        return name

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Write a new object, under whatever key."""
        self._put(f"{bucket}/{quote(key)}", data)

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "access_key_id": "canary-key-id",
            "secret_access_key": "canary-secret",
            "region": "us-east-1",
            "allow_http": "true",
            "timeout": "60s",
            "max_retries": "1",
        }

    def _put(self, path: str, data: bytes) -> None:
        plain = {"Content-Type": "application/octet-stream"}  # else moto takes the bytes for a form's
        request = urllib.request.Request(f"{self.endpoint}/{path}", data=data, headers=plain, method="PUT")
        urllib.request.urlopen(request).close()


@contextmanager
def own_s3() -> Iterator[S3Server]:
    """moto's S3, for one test or benchmark alone."""
    with s3_server() as process:
        yield S3Server(process)

"""An S3 server on this machine, and what it takes to reach it."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from moto.server import ThreadedMotoServer


@dataclass(frozen=True)
class S3Server:
    """A running server."""

    endpoint: str

    def make_bucket(self, name: str) -> str:
        urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")).close()
        return name

    @property
    def options(self) -> dict[str, str]:
        return {
            "endpoint": self.endpoint,
            "access_key_id": "canary-key-id",
            "secret_access_key": "canary-secret",
            "region": "us-east-1",
            "allow_http": "true",
            "timeout": "10s",
            "max_retries": "1",
        }


@pytest.fixture(autouse=True)
def _no_credentials_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore reads its stores' own variables."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """moto's S3, for the whole run."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield S3Server(f"http://{host}:{port}")
    server.stop()

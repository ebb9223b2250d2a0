"""An S3 server, and nothing of what the developer's environment says about stores."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.s3_server import S3Server, serving


@pytest.fixture(autouse=True)
def _no_credentials_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """obstore reads its stores' own variables."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """moto's S3, for the whole run."""
    yield from serving()

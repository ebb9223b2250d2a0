"""Clients of S3 for a running server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import boto3
from botocore.config import Config

from graveler_core.model.iam import NewCredential
from tests.graveler.server.conftest import Place


def keys_of(made: NewCredential) -> dict[str, str]:
    """Return the arguments that name an access key in boto3."""
    return {"aws_access_key_id": made.access_key_id, "aws_secret_access_key": made.secret.get_secret_value()}


class BotoClients:
    """Clients of boto3 for one server."""

    def __init__(self, place: Place, closed: ExitStack) -> None:
        self._place = place
        self._closed = closed

    def open(self, made: NewCredential | None = None, url: str = "", **config: Any) -> Any:
        """Return a client, which tries each request once.

        Args:
            made: Access key that signs. By default, that of the administrator.
            url: Address. By default, that of the server.
            config: Further configuration of botocore.
        """
        client = boto3.client(
            "s3",
            endpoint_url=url or self._place.server.url,
            region_name="us-east-1",
            config=Config(retries={"max_attempts": 0}, signature_version="s3v4", **config),
            **keys_of(made or self._place.server.admin),
        )
        return self._closed.enter_context(closing(client))


@contextmanager
def boto_clients(place: Place) -> Iterator[BotoClients]:
    """Close all clients at the end of the context."""
    with ExitStack() as closed:
        yield BotoClients(place, closed)

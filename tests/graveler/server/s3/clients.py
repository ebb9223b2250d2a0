"""Clients of S3 for a running server."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from graveler_core.model.iam import NewCredential
from tests.graveler.server.conftest import Place


def keys_of(made: NewCredential) -> dict[str, str]:
    """Return the arguments that name an access key in boto3."""
    return {"aws_access_key_id": made.access_key_id, "aws_secret_access_key": made.secret.get_secret_value()}


def boto_client(place: Place, made: NewCredential | None = None, url: str = "", **config: Any) -> Any:
    """Return boto3's client, which tries each request once."""
    return boto3.client(
        "s3",
        endpoint_url=url or place.server.url,
        region_name="us-east-1",
        config=Config(retries={"max_attempts": 0}, signature_version="s3v4", **config),
        **keys_of(made or place.server.admin),
    )

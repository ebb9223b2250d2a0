"""No password of a URL and no value named like a secret is left in a text."""

from __future__ import annotations

import pytest

from graveler_core.telemetry.secrets import without_password, without_passwords, without_secrets


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at postgresql://ada:s3cr@t@host/db?x=1.", "at postgresql://ada:***@host/db?x=1."),
        ("postgresql+psycopg://:secret@host and redis://a:b@c", "postgresql+psycopg://:***@host and redis://a:***@c"),
        ("graveler://flights/main@/a:b@c", "graveler://flights/main@/a:b@c"),
        ("s3://bucket/a sqlite:////x.db", "s3://bucket/a sqlite:////x.db"),
    ],
)
def test_stars_out_passwords(text: str, shown: str) -> None:
    assert without_passwords(text) == shown
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aws_secret_access_key=CANARY, region=eu", "aws_secret_access_key=***, region=eu"),
        ("host=db password='CAN ARY' user=ada", "host=db password=*** user=ada"),
        ("az://c?sas_token=CANARY&x=1", "az://c?sas_token=***&x=1"),
        ("the secret of password rules: none", "the secret of password rules: none"),
        ("token=flights/main:12", "token=flights/main:12"),
    ],
)
def test_stars_out_what_is_named_like_a_secret(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:pw@host:5432/db", "postgresql://u:***@host:5432/db"),
        ("postgresql://u:p@w/x?y@host/db", "postgresql://u:***@host/db"),
        ("postgresql://host/db?password=pw&sslmode=require", "postgresql://host/db?password=***&sslmode=***"),
        ("postgresql://u@host/db", "postgresql://u@host/db"),
        ("sqlite:///a/b.db?durability=power", "sqlite:///a/b.db?durability=***"),
        ("memory://", "memory://"),
        ("u:pw@host", "host"),
    ],
)
def test_without_password(url: str, shown: str) -> None:
    assert without_password(url) == shown

"""URLs as they are shown."""

from __future__ import annotations

import pytest

from graveler_core.kv.display import without_password


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

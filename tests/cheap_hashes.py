"""Hashes of secrets that take little time. The cost of the real ones is the business of argon2."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest
from argon2 import PasswordHasher

from graveler_core.iam import hashing


@pytest.fixture(autouse=True, scope="module")
def cheap_hashes() -> Iterator[None]:
    """For a whole module: stores that its tests share have administrators, too."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    with patch.object(hashing, "_hasher", lambda: hasher):
        yield

"""Hashes of secrets that take little time. The cost of the real ones is the business of argon2."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from graveler_core.iam import hashing


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(hashing, "_hasher", lambda: hasher)

"""Fixtures of the tests of permissions."""

from __future__ import annotations

from tests.cheap_hashes import cheap_hashes

__all__ = ["cheap_hashes"]

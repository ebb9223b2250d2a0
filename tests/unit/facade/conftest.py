"""Cheap hashes for the tests that create credentials."""

from __future__ import annotations

from tests.cheap_hashes import cheap_hashes

__all__ = ["cheap_hashes"]

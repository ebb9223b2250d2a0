"""The world of the engine's tests, for behaviours that are told on it."""

from __future__ import annotations

from tests.unit.engine.conftest import all_partitions, few_partitions, kv, world

__all__ = ["all_partitions", "few_partitions", "kv", "world"]

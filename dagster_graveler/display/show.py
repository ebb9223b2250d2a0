"""Metadata that a pipeline shows of a published state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graveler_core.facade.snapshot import Snapshot

Show = Callable[["Snapshot"], Mapping[str, Any]]
"""Function that returns metadata to show of a published state."""

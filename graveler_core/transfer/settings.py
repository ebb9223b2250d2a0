"""Settings of a repository that are part of a dump, by their names in the dump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData
from graveler_core.model.compaction import CompactionSettings
from graveler_core.model.entities import Record, RepositoryRecord
from graveler_core.model.migration import Migration
from graveler_core.model.repository_metadata import RepositoryMetadata
from graveler_core.model.retention import Retention
from graveler_core.records import layout as keys
from graveler_core.records.location import Location

SETTINGS: dict[bytes, tuple[type[Record], Callable[[RepositoryRecord], Location[Any]]]] = {
    b"compaction": (CompactionSettings, keys.compaction_settings),
    b"metadata": (RepositoryMetadata, keys.repository_metadata),
    b"migration": (Migration, keys.migration),
    b"retention": (Retention, keys.retention),
}
"""Type and location of each setting, in order of the names."""


def decoded_setting(name: bytes, data: bytes) -> Record:
    """Decode a setting of a dump. Raises `CorruptData` if its name is unknown."""
    if name not in SETTINGS:
        raise CorruptData(f"setting {name!r} is unknown")
    return decode(SETTINGS[name][0], data, f"setting {name.decode()}")

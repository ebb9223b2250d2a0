"""The settings of a repository that are dumped with it, by the names that they have in a dump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData
from graveler_core.model.compaction import CompactionSettings
from graveler_core.model.entities import Record, Repository
from graveler_core.records import layout as keys
from graveler_core.records.location import Location

SETTINGS: dict[bytes, tuple[type[Record], Callable[[Repository], Location[Any]]]] = {
    b"compaction": (CompactionSettings, keys.compaction_settings),
}
"""What each is and where it is kept, in the order of the names."""


def decoded_setting(name: bytes, data: bytes) -> Record:
    """A setting of a dump. Raises `CorruptData` where it is none that this library knows."""
    if name not in SETTINGS:
        raise CorruptData(f"setting {name!r} is not known here")
    return decode(SETTINGS[name][0], data, f"setting {name.decode()}")

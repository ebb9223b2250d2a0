"""Values of imports: treatment of existing entries, and refused keys."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ImportMode(StrEnum):
    """Treatment of entries that the destination already contains."""

    ADD = "add"
    """Keep them. If the import has an object with the same path, the imported one wins."""
    REPLACE = "replace"
    """Remove them. The destination then contains exactly what is imported."""


@dataclass(frozen=True, slots=True)
class InvalidKey:
    """Object that cannot be imported."""

    key: str
    """Key below the imported location. Bytes that are not UTF-8 are escaped."""
    rule: str
    """Rule that the key breaks."""

"""Words of imports: what is done with what a destination holds already, and what keys are refused."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ImportMode(StrEnum):
    """What becomes of what the destination holds already."""

    ADD = "add"
    """It stays; where the import has an object of the same path, that one wins."""
    REPLACE = "replace"
    """It goes: the destination becomes exactly what is imported."""


@dataclass(frozen=True, slots=True)
class InvalidKey:
    """An object that cannot be imported."""

    key: str
    """Below the place that is imported; what is no UTF-8 in it is shown escaped."""
    rule: str
    """The rule that it breaks."""

"""Damaged records that listings skip, so that one of them does not end each tick."""

from __future__ import annotations

from collections.abc import Callable
from logging import Logger
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core.errors import CorruptData


def skipped(log: Logger, names: set[str] | None = None) -> Callable[[CorruptData], None]:
    """Return a function that logs each damaged record that a listing skips.

    Args:
        log: Log of the tick.
        names: The names of the branches or repositories of these records are added to this set.
    """

    def skip(damage: CorruptData) -> None:
        log.warning(f"skipped: {damage}")
        if names is not None:
            names.add(str(damage.details["record"]))

    return skip

"""The error of a value that a source must not contain."""

from __future__ import annotations


class BrokenValueError(Exception):
    """Violated rule of a row or message of a source."""

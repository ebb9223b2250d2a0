"""Callbacks that a caller may configure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graveler_core.model.entities import Commit, Tag

TagVerifier = Callable[[Tag, Commit], object]
"""Function that receives a tag and its commit, and raises an error to refuse the tag."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of the flows."""

    verify_tag: TagVerifier | None = None

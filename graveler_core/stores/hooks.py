"""What a caller may have asked to be told of, or to decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graveler_core.model.entities import Commit, Tag

TagVerifier = Callable[[Tag, Commit], object]
"""Told of a tag, its message and signature among it, and of the commit that it names; refuses it by raising."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called where the flows say so."""

    verify_tag: TagVerifier | None = None

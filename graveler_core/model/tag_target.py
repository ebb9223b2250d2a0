"""Kinds of objects that a tag can name."""

from __future__ import annotations

from enum import StrEnum

from graveler_core.errors import InvalidInput


class TagTarget(StrEnum):
    """Kind of object that a tag names."""

    COMMIT = "commit"
    TAG = "tag"
    TREE = "tree"
    """Content of a commit, without its history."""


def tag_target(target: str) -> TagTarget:
    """Return what a tag is to name. Raises `InvalidInput` if the text is none of `commit`, `tag` and `tree`."""
    if target not in list(TagTarget):
        raise InvalidInput(f"target {target!r}: must be {', '.join(TagTarget)}")
    return TagTarget(target)

"""Keys of Nessie as paths. A key is a list of elements; a path has one segment for each element.

Characters that a path cannot have are percent-encoded in each element, and so is the percent sign, so no two keys have
the same path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote

from graveler_core.transfer.broken_values import BrokenValueError

_REFUSED = re.compile(r"[%/\\\x00-\x1f\x7f-\x9f]")
_UNIVERSE, _CONTENT = "M", "C"
_OUTER, _INNER = "\0", "\1"


def path_of(elements: Sequence[str]) -> str:
    """Return the path of a key.

    Raises:
        BrokenValueError: The key has no element, or an empty one.
    """
    if not elements or not all(elements):
        raise BrokenValueError(f"key {list(elements)!r} must have elements, and none may be empty")
    return "/".join(map(_segment, elements))


def elements_of(path: str) -> list[str]:
    """Return the elements of the key with a path. The inverse of `path_of` for all paths that it returns."""
    return [unquote(segment, errors="surrogateescape") for segment in path.split("/")]


def stored_key(elements: Sequence[str]) -> str:
    """Return the text by which Nessie stores a key, and which exports of version 2 and 3 contain."""
    return f"{_UNIVERSE}{_OUTER}{_INNER.join(elements)}{_OUTER}{_CONTENT}"


def parsed_key(text: str) -> list[str]:
    """Return the elements of a stored key.

    Raises:
        BrokenValueError: It is not the key of a content.
    """
    parts = text.split(_OUTER)
    if len(parts) != 3 or (parts[0], parts[2]) != (_UNIVERSE, _CONTENT):
        raise BrokenValueError(f"key {text!r} is not that of a content")
    return parts[1].split(_INNER)


def _segment(element: str) -> str:
    if element in (".", ".."):
        return element.replace(".", "%2E")
    return _REFUSED.sub(lambda found: quote(found.group(), safe=""), element)

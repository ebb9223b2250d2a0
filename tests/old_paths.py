"""Paths that earlier versions accepted, as repositories still hold them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from graveler_core.codec import entry_rules
from graveler_core.model import names

_NOTHING = r"^\b$"
"""Pattern without a match."""


@contextmanager
def any_path() -> Iterator[None]:
    """Write as versions before `new_path_key` did, inside the `with` statement."""
    with patch.object(names, "REFUSED_PATH", _NOTHING), patch.object(entry_rules, "REFUSED_PATH", _NOTHING):
        yield

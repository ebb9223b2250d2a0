"""Addresses of the pages. Names of refs and paths are in the query, so that every name can be addressed."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, urlencode

ROOT: Final = "/ui"
_LOCAL: Final = re.compile(rf"{ROOT}(/[\x21-\x5b\x5d-\x7e]*)?")


def link(*segments: str, **query: str) -> str:
    """Return the address of a page.

    Args:
        segments: Segments of the path below the root of the pages.
        query: Parameters of the query. Empty ones are left out. A name may end in `_`, if Python reserves it.
    """
    path = "/".join((ROOT, *(quote(segment, safe="") for segment in segments)))
    given = {name.rstrip("_"): value for name, value in query.items() if value}
    return f"{path}?{urlencode(given)}" if given else path


def local(address: str) -> str:
    """Return an address if it is one of the pages of this server, otherwise that of the first page."""
    return address if _LOCAL.fullmatch(address) else ROOT

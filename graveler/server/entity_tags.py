"""Conditions of requests that name a version of some content by its ETag."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_MEMBER: Final = re.compile(r'(W/)?(?:"([^"]*)"|([^\s,"]+))')
"""One tag of a list: perhaps weak, with or without quotes."""


def names_tag(header: str, tag: str, *, strong: bool = False) -> bool:
    """Return true if a header `If-Match` or `If-None-Match` names an ETag, in its list or by `*`.

    Tags without quotes count too.

    Args:
        header: Value of the header.
        tag: The ETag, in quotes.
        strong: Ignore weak tags, as `If-Match` demands.
    """
    for weak, quoted, bare in _MEMBER.findall(header):
        if bare == "*" or ((quoted or bare) == tag.strip('"') and not (weak and strong)):
            return True
    return False


def range_of(header: Callable[[str], str | None], tag: str) -> str | None:
    """Return the header `Range` of a request, or `None` if its condition `If-Range` names another version.

    A date in `If-Range` names no version, because several may have the same one. The client then receives the whole
    content, so that it never joins ranges of two versions.

    Args:
        header: Returns a header of the request by its name in lower case.
        tag: ETag of the content, in quotes.
    """
    return header("range") if header("if-range") in (None, tag) else None

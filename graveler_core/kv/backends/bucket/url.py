"""URL of a store in a bucket."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from graveler_core.errors import InvalidInput
from graveler_core.kv.backends.bucket.names import LONGEST_TAIL, MAX_NAME, RowNames
from graveler_core.kv.backends.url_options import invalid_url, query_options
from graveler_core.model.address import STORE_DIRECTORY, Namespace, namespace

SCHEMES: Final = ("s3", "gs", "az")
_PREFIX: Final = re.compile(r"[A-Za-z0-9._=+~/-]*")
_MAX_PREFIX: Final = MAX_NAME - LONGEST_TAIL - len(STORE_DIRECTORY) - 2


@dataclass(frozen=True, slots=True)
class BucketTarget:
    """Bucket and prefix to use, and how to reach them."""

    place: Namespace
    options: Mapping[str, str] = field(repr=False)
    """Options of obstore, with credentials."""
    names: RowNames
    shown: str
    """URL for messages."""


def parse_url(url: str, storage_options: Mapping[str, str] | None = None) -> BucketTarget:
    """Parse `s3://bucket/prefix?option=value`. The options have the names of obstore, as those of storage namespaces.

    Args:
        url: The URL.
        storage_options: Options of object stores. Those of the URL override them.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    given = url.partition("?")[0]
    try:
        place = namespace(given)
    except InvalidInput:
        raise invalid_url(url, "write scheme://bucket/prefix, without credentials, backslashes and '..'") from None
    if place.scheme not in SCHEMES:
        raise invalid_url(url, f"a bucket has one of the schemes {', '.join(SCHEMES)}")
    if not _PREFIX.fullmatch(place.path) or len(place.path) > _MAX_PREFIX:
        raise invalid_url(url, f"a prefix has at most {_MAX_PREFIX} letters, digits, slashes, and characters of ._=+~-")
    root = f"{place.path}/{STORE_DIRECTORY}" if place.path else STORE_DIRECTORY
    options = {**(storage_options or {}), **query_options(url)}
    return BucketTarget(place, options, RowNames(root), place.uri)

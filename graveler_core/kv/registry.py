"""Opens stores by URL. The scheme of the URL is the name of an entry point in the group `graveler.kv_stores`.

An entry point is a function `(url: str) -> Store`. The backends of this library are registered in the same way as
plug-ins, in the metadata of the distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from graveler_core.errors import InvalidInput, Kind
from graveler_core.extras import requires
from graveler_core.kv.store import Store
from graveler_core.telemetry.secrets import without_password

GROUP: Final = "graveler.kv_stores"
_EXTRAS: Final = {
    "bigtable": "bigtable",
    "cassandra": "cassandra",
    "dynamodb": "dynamodb",
    "etcd": "etcd",
    "mongodb": "mongodb",
    "mariadb": "mysql",
    "mysql": "mysql",
    "postgresql": "postgres",
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys"), "redis"),
}
"""Extras that install the dependencies of a backend, by scheme."""
_BUCKETS: Final = ("s3", "gs", "az")
"""Schemes of backends that use object stores, and therefore accept their options."""


def open_store(url: str, storage_options: Mapping[str, str] | None = None) -> Store:
    """Open the store at a URL, for example `memory://`, `sqlite:///meta.db` or `postgresql://host/database`.

    The backend interprets a driver suffix of the scheme (`postgresql+psycopg`).

    Args:
        url: The URL.
        storage_options: Options of object stores, for a store that is one (`s3://bucket/prefix`).

    Returns:
        The store. The caller closes it.

    Raises:
        InvalidInput: Kind InvalidUrl: the scheme is unknown, or the backend does not accept the rest of the URL.
        Unavailable: The store cannot be reached, is not a graveler store, or needs an extra that is not installed.
    """
    scheme = url.partition("://")[0].partition("+")[0] if "://" in url else ""
    try:
        entry_point = _backend(scheme)
    except LookupError:
        known = ", ".join(f"{name}://" for name in sorted(entry_points(group=GROUP).names))
        raise InvalidInput(
            f"no key-value store has the URL {without_password(url)!r}; known schemes are {known}",
            kind=Kind.InvalidUrl,
            url=without_password(url),
        ) from None
    with requires(_EXTRAS[scheme]) if scheme in _EXTRAS else nullcontext():
        opened = entry_point.load()
    store: Store = opened(url, storage_options) if scheme in _BUCKETS else opened(url)
    return store


@cache
def _backend(scheme: str) -> EntryPoint:
    """Return the entry point of a scheme.

    A search reads the metadata of every installed distribution, so its result is kept. A failed search is not kept,
    because the distribution may be installed later.

    Raises:
        LookupError: No distribution registers the scheme.
    """
    found = entry_points(group=GROUP, name=scheme)
    if not scheme or not found:
        raise LookupError(scheme)
    return next(iter(found))

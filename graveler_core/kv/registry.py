"""Opens a store by its URL: the scheme names an entry point of the group `graveler.kv_stores`.

An entry point is a function `(url: str) -> Store`. The three backends of this library are registered the same way as
those of plug-ins, in the distribution's metadata.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from graveler_core.errors import InvalidInput, Kind
from graveler_core.kv.store import Store

GROUP: Final = "graveler.kv_stores"


def open_store(url: str) -> Store:
    """Opens the store that a URL names, for instance `memory://`, `sqlite:///meta.db` or `postgresql://host/database`.

    A scheme's driver suffix (`postgresql+psycopg`) is left to the backend.

    Raises:
        InvalidInput: Kind InvalidUrl: no such scheme, or the backend does not understand the rest.
        Unavailable: The store cannot be reached, or is no graveler store.
    """
    scheme = url.partition("://")[0].partition("+")[0] if "://" in url else ""
    found = entry_points(group=GROUP, name=scheme)
    if not scheme or not found:
        known = ", ".join(f"{name}://" for name in sorted(entry_points(group=GROUP).names))
        raise InvalidInput(
            f"no key-value store has the URL {without_password(url)!r}; known are {known}",
            kind=Kind.InvalidUrl,
            url=without_password(url),
        )
    store: Store = next(iter(found)).load()(url)
    return store


def without_password(url: str) -> str:
    """The URL with its password, and every value of its query, replaced by `***`, for messages and logs."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    parts = urlsplit(f"store://{rest}")
    user, at, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0]
    shown = f"{name}:***{at}{host}" if ":" in user else parts.netloc
    query = "&".join(f"{item.partition('=')[0]}=***" for item in parts.query.split("&")) if parts.query else ""
    return f"{scheme}://" + urlunsplit(("", shown, parts.path, query, "")).removeprefix("//")

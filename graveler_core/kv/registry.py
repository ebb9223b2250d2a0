"""Opens a store by its URL: the scheme names an entry point of the group `graveler.kv_stores`.

An entry point is a function `(url: str) -> Store`. The three backends of this library are registered the same way as
those of plug-ins, in the distribution's metadata.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Final

from graveler_core.errors import InvalidInput, Kind
from graveler_core.kv.display import without_password
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

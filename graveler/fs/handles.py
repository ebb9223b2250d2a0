"""Handles on stores, shared by all file systems of a process with the same arguments.

fsspec keeps an instance for each thread and each set of arguments, and never closes it. Therefore this module keeps the
handles: one for each process and set of arguments, closed when the process ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from graveler_core.configuration import anchored
from graveler_core.facade.graveler import Graveler
from graveler_core.settings import Settings
from graveler_core.wiring.handles import connect
from graveler_core.wiring.shared_handles import SharedHandles

_opened = SharedHandles()


def handle(store: str | None, storage: Mapping[str, str] | None) -> Graveler:
    """Return the handle of this process on a store, opened at the first call.

    Args:
        store: URL of the key-value store. `None` means `GRAVELER_STORE`.
        storage: Options of the object stores, as for `connect`.
    """
    settings = Settings()
    url = settings.store.get_secret_value() if store is None else store
    key = anchored(url, Path.cwd()), tuple(sorted((storage or {}).items()))
    return _opened.get(key, partial(connect, url, credentials=settings.credentials, storage_options=storage))


def close_all() -> None:
    """Close the handles of this process. A later `handle` opens them again."""
    _opened.close()

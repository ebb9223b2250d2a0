"""Handles on stores, shared by all file systems of a process with the same arguments.

fsspec keeps an instance for each thread and each set of arguments, and never closes it. Therefore this module keeps the
handles: one for each process and set of arguments, closed when the process ends.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from graveler_core.configuration import anchored
from graveler_core.errors import GravelerError
from graveler_core.facade.graveler import Graveler
from graveler_core.settings import Settings
from graveler_core.wiring.handles import connect

_Key = tuple[int, str, tuple[tuple[str, str], ...]]
_opened: dict[_Key, Graveler] = {}
_lock = threading.Lock()


def handle(store: str | None, storage: Mapping[str, str] | None) -> Graveler:
    """Return the handle of this process on a store, opened at the first call.

    Args:
        store: URL of the key-value store. `None` means `GRAVELER_STORE`.
        storage: Options of the object stores, as for `connect`.
    """
    settings = Settings()
    url = settings.store.get_secret_value() if store is None else store
    key = (os.getpid(), anchored(url, Path.cwd()), tuple(sorted((storage or {}).items())))
    with _lock:
        if key not in _opened:
            _opened[key] = connect(url, credentials=settings.credentials, storage_options=storage)
        return _opened[key]


@atexit.register
def close_all() -> None:
    """Close the handles of this process. A later `handle` opens them again."""
    with _lock:
        own = [key for key in _opened if key[0] == os.getpid()]
        for key in own:
            with suppress(GravelerError):
                _opened.pop(key).close()

"""Decoded nodes and ranges in memory, bounded by bytes. They are immutable and known by their hash: nothing expires."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

DEFAULT_BYTES = 256 << 20
_REMEMBERED = 10_000
"""Ids of what was asked for once and not held."""


class TreeCache:
    """The least recently used goes first. May be shared by trees and threads.

    It is no evidence that an object still exists in a store: writers must not skip a write because of it.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._asked: OrderedDict[Hashable, None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, id: Hashable) -> Any | None:
        """What is held under an id, or None."""
        with self._lock:
            found = self._held.get(id)
            if found is None:
                return None
            self._held.move_to_end(id)
            return found[0]

    def put(self, id: Hashable, value: Any, size: int) -> None:
        """Hold a value of some bytes; one larger than half of the cache is not held."""
        if size > self._max_bytes // 2:
            return
        with self._lock:
            if id in self._held:
                return
            self._held[id] = (value, size)
            self._bytes += size
            while self._bytes > self._max_bytes:
                _, (_, released) = self._held.popitem(last=False)
                self._bytes -= released

    def asked_before(self, id: Hashable) -> bool:
        """Whether this was asked about an id before: what is wanted a second time is worth its memory."""
        with self._lock:
            if id in self._asked:
                return True
            self._asked[id] = None
            if len(self._asked) > _REMEMBERED:
                self._asked.popitem(last=False)
            return False

    @property
    def held_bytes(self) -> int:
        """Bytes held now."""
        return self._bytes

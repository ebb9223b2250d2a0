"""In-memory cache of decoded nodes and ranges, bounded by bytes.

Nodes and ranges are immutable and identified by their hash, so nothing expires.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from graveler_core.errors import InvalidInput
from graveler_core.model.forks import ForkSafe

DEFAULT_BYTES = 256 << 20
_REMEMBERED = 10_000
"""Maximum number of remembered ids that were requested once and were not in the cache."""


class TreeCache(ForkSafe):
    """Cache with LRU eviction. May be shared by trees and threads.

    A cached value does not prove that the object still exists in a store. Writers must not skip a write because of
    it.

    Args:
        max_bytes: Maximum number of bytes.

    Raises:
        InvalidInput: The number is negative.
    """

    def __init__(self, max_bytes: int = DEFAULT_BYTES) -> None:
        if max_bytes < 0:
            raise InvalidInput(f"memory_cache_bytes {max_bytes}: must be at least 0")
        self._max_bytes = max_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._asked: OrderedDict[Hashable, None] = OrderedDict()
        super().__init__()

    def after_fork(self) -> None:
        super().after_fork()
        self._bytes = sum(size for _, size in self._held.values())

    def get(self, id: Hashable) -> Any | None:
        """Return the value stored under an id, or `None`."""
        with self._lock:
            found = self._held.get(id)
            if found is None:
                return None
            self._held.move_to_end(id)
            return found[0]

    def has_room_for(self, size: int) -> bool:
        """Return `True` if a value of `size` bytes can be stored. It has at most three quarters of the cache.

        The rest is for the values that each commit needs beside the largest run of an index.
        """
        return size <= self._max_bytes // 4 * 3

    def put(self, id: Hashable, value: Any, size: int) -> None:
        """Store a value of `size` bytes if the cache has room for it."""
        if not self.has_room_for(size):
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
        """Return `True` if this was called with the id before. A value that is requested a second time is worth its
        memory.
        """
        with self._lock:
            if id in self._asked:
                return True
            self._asked[id] = None
            if len(self._asked) > _REMEMBERED:
                self._asked.popitem(last=False)
            return False

    @property
    def held_bytes(self) -> int:
        """Bytes in the cache now."""
        return self._bytes

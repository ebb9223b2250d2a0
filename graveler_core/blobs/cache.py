"""Objects that were read, kept by bytes. Needs no coherency: an object never changes."""

from __future__ import annotations

import threading
from collections import OrderedDict

from graveler_core.blobs.port import Blobs


class BlobCache:
    """Keeps the objects used last, at most `max_bytes` of them; one larger than an eighth of that is not kept.

    Thread-safe; two threads that miss the same object may both read it.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def size(self) -> int:
        """Bytes of content kept now."""
        return self._bytes

    def read_through(self, blobs: Blobs, address: str) -> bytes:
        """The object, from here or else from `blobs`, whose errors pass; what does not exist is not remembered."""
        uri = blobs.uri(address)
        with self._lock:
            found = self._kept.get(uri)
            if found is not None:
                self._kept.move_to_end(uri)
                return found
        content = blobs.read(address)
        self._keep(uri, content)
        return content

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0

    def _keep(self, uri: str, content: bytes) -> None:
        if len(content) > self._max_bytes // 8:
            return
        with self._lock:
            self._bytes += len(content) - len(self._kept.pop(uri, b""))
            self._kept[uri] = content
            while self._bytes > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped)

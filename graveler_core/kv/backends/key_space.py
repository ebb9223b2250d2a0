"""Names of rows in a database with one ordered key space.

The name of a row is a root, the length of the partition in two bytes (big-endian), the partition, and the key. So the
rows of a partition are adjacent, in the order of their keys, and no partition runs into another one.
"""

from __future__ import annotations

from graveler_core.kv.backends.schema_mark import MARK_KEY
from graveler_core.kv.paging import KeyBounds, successor


class KeySpace:
    """Names of the rows of one store.

    Args:
        root: Beginning of all names.
    """

    def __init__(self, root: bytes = b"") -> None:
        self._root = root

    @property
    def mark(self) -> bytes:
        """Name of the mark. No row has it, because the length of a partition does not begin with a letter."""
        return self._root + MARK_KEY

    @property
    def all(self) -> KeyBounds:
        """Names of all rows of the store. The lengths of partitions begin with 0, 1 or 2."""
        return KeyBounds(self._root, self._root + b"\x03")

    def name(self, partition: bytes, key: bytes) -> bytes:
        """Return the name of a row."""
        return self._start(partition) + key

    def key(self, partition: bytes, name: bytes) -> bytes:
        """Return the key of a row of a partition."""
        return name[len(self._start(partition)) :]

    def bounds(self, partition: bytes, keys: KeyBounds) -> KeyBounds:
        """Return the names for a key range of a partition."""
        start = self._start(partition)
        return KeyBounds(start + keys.lower, successor(start) if keys.upper is None else start + keys.upper)

    def _start(self, partition: bytes) -> bytes:
        return self._root + len(partition).to_bytes(2, "big") + partition

"""Names and contents of the objects of a store in a bucket.

An object holds one row. Its name is the root of the store, a digest of the partition, and the key as hexadecimal
digits, which have the order of the bytes:

    lake/graveler-kv/<digest of the partition>/62616e616e61!

After every 200 digits comes `-/`, because servers that keep objects in directories limit the parts of a name. A key of
more than 400 bytes is cut after them, and a digest of the key follows: `…-<digest>`. So names are shorter than 1,024
bytes. `!` and `-` are smaller than all digits, so a key comes before the keys that begin with it: in listings that
compare whole names, and in those that go from directory to directory. Only keys that agree in their first 400 bytes are
not in order.

The content of an object is a nonce, the length of the key in two bytes, the key, and the value. Because of the nonce,
two writes of the same value have two ETags. An empty object is a tombstone: the key is absent. A listing tells the size
of objects, so tombstones are recognised there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from graveler_core.errors import CorruptData

MAX_NAME: Final = 1_024
"""Maximum size of the name of an object in the services, in bytes."""
TOMBSTONE: Final = b""
"""Content of an object whose key is absent."""
_CUT: Final = 400
"""Number of bytes of a key that are in a name."""
_PART: Final = 200
"""Number of digits after which a name has a slash."""
_NONCE: Final = 16
_LENGTH: Final = 2
"""Size of the length of a key in a content."""
_DIGEST: Final = 16
_WHOLE: Final = "!"
_CONTINUED: Final = "-/"
_CUT_OFF: Final = "-"
LONGEST_TAIL: Final = 2 * _DIGEST + 1 + 2 * _CUT + len(_CONTINUED) * (2 * _CUT // _PART - 1) + 1 + 2 * _DIGEST
"""Maximum size of a name after the root and a slash: digest of the partition, digits, digest of the key."""


@dataclass(frozen=True, slots=True)
class RowName:
    """Key of a row, as far as the name of its object tells it."""

    stem: bytes
    """The first 400 bytes of the key."""
    is_whole: bool
    """True if the stem is the key."""


class RowNames:
    """Names of the objects of one store.

    Args:
        root: Beginning of all names, without a slash at the end.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self.mark = f"{root}/schema_version"
        """Name of the mark. No partition has it, because digests have 32 digits."""
        self.probes = f"{root}/probes"
        """Directory of the objects by which the service is probed."""

    def partition(self, partition: bytes) -> str:
        """Return the directory of a partition."""
        return f"{self.root}/{_digest(partition)}"

    def row(self, partition: bytes, key: bytes) -> str:
        """Return the name of a row."""
        end = _WHOLE if len(key) <= _CUT else _CUT_OFF + _digest(key)
        return f"{self.partition(partition)}/{_digits(key)}{end}"

    def before(self, partition: bytes, key: bytes) -> str:
        """Return a name that is smaller than those of the keys from `key` on, and greater than those of smaller keys
        that do not begin with the same 400 bytes.
        """
        return f"{self.partition(partition)}/{_digits(key)}"

    def parsed(self, name: str) -> RowName:
        """Return what the name of a row says about its key.

        Raises:
            CorruptData: It is not the name of a row.
        """
        tail = name[len(self.root) + 2 + 2 * _DIGEST :]
        end = tail[-1 - 2 * _DIGEST :]
        cut_off = end.startswith(_CUT_OFF) and len(end) == 1 + 2 * _DIGEST
        digits = tail[: -len(end)] if cut_off else tail.removesuffix(_WHOLE)
        try:
            stem = bytes.fromhex(digits.replace(_CONTINUED, ""))
        except ValueError:
            stem = b""
        if not stem or _digits(stem) != digits or digits == tail:
            raise CorruptData(f"the object {name} does not have the name of a row", object=name)
        return RowName(stem, is_whole=not cut_off)


def content_of(key: bytes, value: bytes) -> bytes:
    """Return the content of an object for a row. It differs with each call."""
    return os.urandom(_NONCE) + len(key).to_bytes(_LENGTH, "big") + key + value


def row_of(content: bytes, name: str) -> tuple[bytes, bytes]:
    """Return the key and the value of an object that is not a tombstone.

    Raises:
        CorruptData: The content is not that of a row.
    """
    start = _NONCE + _LENGTH
    end = start + int.from_bytes(content[_NONCE:start], "big")
    if not start < end <= len(content):
        raise CorruptData(f"the object {name} does not have the content of a row", object=name)
    return content[start:end], content[end:]


def wrong_row(name: str) -> CorruptData:
    """Return the error for an object whose content is that of another key than its name."""
    return CorruptData(f"the object {name} holds the row of another key", object=name)


def _digits(key: bytes) -> str:
    digits = key[:_CUT].hex()
    return _CONTINUED.join(digits[offset : offset + _PART] for offset in range(0, len(digits), _PART))


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=_DIGEST).hexdigest()

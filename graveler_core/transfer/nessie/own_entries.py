"""Entries of graveler as contents in an export. Nessie has no such type, so only graveler reads them."""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from graveler_core.model.entry import AddressType, Entry
from graveler_core.transfer.broken_values import BrokenValueError

TYPE = "GRAVELER_ENTRY"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def encode_own(entry: Entry, uri: Callable[[str], str]) -> bytes:
    """Return an entry as JSON.

    Args:
        entry: The entry.
        uri: Function that returns the URI of a relative address.
    """
    address = entry.address
    if address is not None and entry.address_type is AddressType.RELATIVE:
        address = uri(address)
    said = {
        "type": TYPE,
        "address": address,
        "data": None if entry.data is None else base64.b64encode(entry.data).decode(),
        "size": entry.size,
        "checksum": entry.checksum,
        "mtime": None if entry.mtime is None else (entry.mtime - _EPOCH) // timedelta(microseconds=1),
        "contentType": entry.content_type,
        "metadata": dict(sorted(entry.metadata.items())),
        "payload": entry.payload,
        "id": None if entry.content_id is None else str(entry.content_id),
    }
    # A size or payload of 0 is left out. A time of 0 is not: it is the beginning of 1970.
    kept = {name: value for name, value in said.items() if value not in (None, {}) and (value != 0 or name == "mtime")}
    return json.dumps(kept).encode()


def decode_own(value: bytes) -> Entry:
    """Return the entry in a content. Its address, if any, is a full one.

    Raises:
        BrokenValueError: The content is not an entry.
    """
    try:
        said: Any = json.loads(value)
        if said["type"] != TYPE:
            raise BrokenValueError(f"its type is {said['type']!r}, not {TYPE}")
        data, mtime, id = said.get("data"), said.get("mtime"), said.get("id")
        return Entry(
            address=said.get("address"),
            address_type=AddressType.INLINE if said.get("address") is None else AddressType.FULL,
            size=said.get("size", 0),
            checksum=said.get("checksum"),
            mtime=None if mtime is None else _EPOCH + timedelta(microseconds=mtime),
            content_type=said.get("contentType"),
            metadata=dict(said.get("metadata", {})),
            data=None if data is None else base64.b64decode(data, validate=True),
            payload=said.get("payload", 0),
            content_id=None if id is None else uuid.UUID(id),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as e:
        raise BrokenValueError(f"its content is not an entry of graveler ({e})") from e

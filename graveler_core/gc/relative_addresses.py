"""Addresses of entries, relative to a storage namespace."""

from __future__ import annotations

from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.model.entry import AddressType


def relative_addresses(objects: pa.Table, uri: str) -> pa.ChunkedArray:
    """Return the address of each object relative to a storage namespace, or null if it is outside.

    Args:
        objects: Table with the columns `address` and `address_type`. Relative addresses belong to the namespace.
        uri: Normalised URI of the namespace.
    """
    start = uri.rstrip("/") + "/"
    addresses, kinds = objects.column("address"), objects.column("address_type")
    own, full = pc.equal(kinds, AddressType.RELATIVE), pc.equal(kinds, AddressType.FULL)
    if pc.any(full, min_count=0).as_py():
        inside = pc.and_(full, pc.starts_with(addresses, start))
        addresses = pc.if_else(inside, unquoted(pc.utf8_slice_codeunits(addresses, len(start))), addresses)
        own = pc.or_(inside, own)
    return pc.if_else(own, addresses, None)


def unquoted(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts without percent-encoding."""
    escaped = pc.match_substring(texts, "%")
    if not pc.any(escaped, min_count=0).as_py():
        return texts
    plain = pa.array([unquote(text) for text in texts.filter(escaped).to_pylist()], texts.type)
    return pa.chunked_array([pc.replace_with_mask(texts.combine_chunks(), escaped.combine_chunks(), plain)])

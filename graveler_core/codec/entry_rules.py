"""Rules for the values of entries, for whole columns and for single entries. The rules for names are in `model`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.codec.columns import fixed_rows, row_lengths, spans, validity
from graveler_core.codec.metadata_map import first_invalid_text
from graveler_core.codec.record_format import ADDRESS_TYPES, MAX_MTIME, MIN_MTIME
from graveler_core.codec.row_name import entry_name
from graveler_core.codec.tail import TailValues, tail_values
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import full_address, relative_address
from graveler_core.model.entry import TOMBSTONE, AddressType, Entry
from graveler_core.model.names import MAX_PATH_BYTES, REFUSED_PATH, new_path_key, path_key

_NO_RELATIVE = r"\x00|\\|%[0-9A-Fa-f]{2}|(?:\A|/)\.{0,2}(?:/|\z)"
"""Pattern of the addresses that `relative_address` refuses. An escape with two hex digits would be changed by
unquoting.
"""
_ESCAPE = r"%(?:2[0-9A-C]|3[A-F]|40|5[BDE]|60|7[B-D])"
"""Escapes of printable ASCII characters that are always escaped, except the backslash, which is refused."""
_PLAIN_PATH = rf"(?:/(?:[A-Za-z0-9_~-]|{_ESCAPE})(?:[A-Za-z0-9._~-]|{_ESCAPE})*)+\z"
_PLAIN_FULL = r"\A(?:s3|gs|az|memory)://[A-Za-z0-9][A-Za-z0-9._-]*" + _PLAIN_PATH
_PLAIN_FILE = r"\Afile://" + _PLAIN_PATH
"""Full addresses that `full_address` returns unchanged. Other addresses are checked one by one."""


def checked_keys(keys: pa.BinaryArray) -> None:
    """Raise the error of `path_key` for the first key that is not a valid path."""
    lengths = row_lengths(keys)
    bounds, data = spans(keys)
    wrong = (lengths == 0) | (lengths > MAX_PATH_BYTES)
    nuls = np.flatnonzero(data == 0)
    if len(nuls):
        wrong[np.searchsorted(bounds, nuls, side="right") - 1] = True
    try:
        keys.cast(pa.string())
    except pa.ArrowInvalid as e:
        row = first_invalid_text(keys)
        raise InvalidInput(f"path {keys[row].as_py()!r}: must be valid UTF-8", kind=Kind.InvalidPath) from e
    if wrong.any():
        path_key(keys[int(np.argmax(wrong))].as_py().decode())


def require_new_keys(records: pa.Table) -> None:
    """Raise the error of `new_path_key` for the first entry of staged records with such a path. Tombstones may have
    any path.
    """
    for batch in records.select(["key", TOMBSTONE]).to_batches():
        paths = batch.column(0).cast(pa.string())
        refused = pc.match_substring_regex(paths, REFUSED_PATH)
        if pc.any(refused, min_count=0).as_py():
            refused = pc.and_(refused, pc.invert(batch.column(1)))
            if (row := pc.index(refused, True).as_py()) >= 0:
                new_path_key(paths[row].as_py())


def checked_numbers(batch: pa.RecordBatch) -> None:
    """Check sizes, address types and times, and that inline entries have data and all others have an address.

    Args:
        batch: Rows with the columns of the entry schema and with defaults filled in.

    Raises:
        InvalidInput: A value breaks a rule; the message names the entry and the rule.
    """
    sizes, kinds = fixed_rows(batch.column("size")), fixed_rows(batch.column("address_type"))
    mtimes = fixed_rows(batch.column("mtime"))
    inline = kinds == AddressType.INLINE
    has_address, has_data = validity(batch.column("address")), validity(batch.column("data"))
    _refuse(batch, sizes < 0, "size must not be negative")
    _refuse(batch, (kinds < 0) | (kinds >= len(ADDRESS_TYPES)), "address_type must be 0, 1 or 2")
    _refuse(batch, (mtimes < MIN_MTIME) | (mtimes > MAX_MTIME), "mtime must lie in the years 1 to 9999")
    _refuse(batch, inline & (has_address | ~has_data), "an inline entry must have data and no address")
    _refuse(batch, inline & (sizes != row_lengths(batch.column("data"))), "size must be that of the inline data")
    _refuse(batch, ~inline & ~has_address, "an entry must have an address or data")


def checked_addresses(batch: pa.RecordBatch) -> pa.StringArray:
    """Return the addresses in normal form.

    Raises:
        InvalidInput: An address is invalid.
    """
    addresses, kinds = batch.column("address"), fixed_rows(batch.column("address_type"))
    relative = kinds == AddressType.RELATIVE
    if relative.any():
        wrong = relative & _matches(addresses, _NO_RELATIVE)
        if wrong.any():
            relative_address(addresses[int(np.argmax(wrong))].as_py())
    odd = np.flatnonzero(
        (kinds == AddressType.FULL) & ~_matches(addresses, _PLAIN_FULL) & ~_matches(addresses, _PLAIN_FILE)
    )
    if not len(odd):
        return addresses
    mask = np.zeros(batch.num_rows, dtype=np.bool_)
    mask[odd] = True
    spelled = [full_address(address) for address in addresses.take(pa.array(odd)).to_pylist()]
    return pc.replace_with_mask(addresses, pa.array(mask), pa.array(spelled, pa.string()))


def checked_entry(path: str, entry: Entry) -> tuple[Entry, TailValues]:
    """Check one entry by the same rules. Return it with its path and defaults, without an identity, and its tail
    fields.
    """
    path_key(path)
    if not isinstance(entry, Entry):
        raise InvalidInput(f"entry {path!r}: {entry!r} is not an Entry", path=path)
    name, kind, address, size = f"entry {path!r}", entry.address_type, entry.address, entry.size
    values = tail_values(entry, name)
    if not isinstance(size, int) or size < 0:
        raise InvalidInput(f"{name}: size must not be negative")
    if address is None and entry.data is not None and kind == AddressType.RELATIVE:
        kind = AddressType.INLINE
    if kind not in ADDRESS_TYPES:
        raise InvalidInput(f"{name}: address_type must be 0, 1 or 2")
    if kind == AddressType.INLINE:
        if address is not None or entry.data is None:
            raise InvalidInput(f"{name}: an inline entry must have data and no address")
        size = size or len(entry.data)
        if size != len(entry.data):
            raise InvalidInput(f"{name}: size must be that of the inline data")
    elif address is None:
        raise InvalidInput(f"{name}: an entry must have an address or data")
    else:
        address = relative_address(address) if kind == AddressType.RELATIVE else full_address(address)
        values["address"] = address.encode()
    return _at(path, entry, address, AddressType(kind), size), values


def _at(path: str, entry: Entry, address: str | None, kind: AddressType, size: int) -> Entry:
    """Return the entry with new values of these fields. `dataclasses.replace` takes five times as long."""
    rest = entry.mtime, entry.content_type, entry.metadata, entry.data, entry.payload, entry.content_id
    return Entry(address, size, entry.checksum, *rest, kind, path)


def _matches(column: pa.StringArray, pattern: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.match_substring_regex(column, pattern).fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _refuse(batch: pa.RecordBatch, bad: NDArray[np.bool_], rule: str) -> None:
    if bad.any():
        raise InvalidInput(f"{entry_name(batch, int(np.argmax(bad)))}: {rule}")

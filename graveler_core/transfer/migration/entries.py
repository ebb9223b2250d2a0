"""Conversion of staged rows of the source: rows with the protobuf message `catalog.Entry`, and tombstones.

The message is described here in the same way as in the source, so that no code is generated:

    1 address · 2 last_modified (Timestamp) · 3 size · 4 e_tag · 5 metadata · 6 address_type · 7 content_type

Entries older than address types have address type 0. Their type is derived from the address, which is full if it has a
scheme. A full address inside the storage namespace of the repository becomes a relative one, so that one object has one
address. A garbage collector elsewhere once took two forms of an address for two objects, and deleted objects in use
(lakeFS 4658 and 4698). The identity is computed, not read from the row. Null identity and null data are a tombstone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from google.protobuf.message import DecodeError

from graveler_core.codec.entry import normalise
from graveler_core.errors import InvalidInput, LimitExceeded
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.entry import ENTRY_SCHEMA, REMOVED, AddressType
from graveler_core.transfer.migration.rows import BrokenValueError
from graveler_core.transfer.migration.source import PAGE_ROWS, Row

BY_PREFIX, RELATIVE, FULL = 0, 1, 2
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GIVEN: Final = ("key", "address", "address_type", "size", "checksum", "mtime", "content_type", "metadata")
_SCHEMA: Final = pa.schema(
    [*(pa.field(name, ENTRY_SCHEMA.field(name).type) for name in _GIVEN), pa.field(REMOVED, pa.bool_())]
)
_Value: TypeAlias = tuple[Any, ...]
"""Values of a row in the order of `_SCHEMA`."""
Broken = Callable[[object, str], object]
"""Called with the key of a broken row and the violated rule."""


def tables(rows: Iterable[Row], place: str, broken: Broken) -> Iterator[pa.Table]:
    """Yield staged records in `RECORD_SCHEMA`, in the order of the rows, one page at a time. Broken rows are skipped.

    Args:
        rows: Key, identity and data, in the order of the keys.
        place: Storage namespace of the repository.
        broken: Called for each broken row.
    """
    home, before = namespace(place), b""
    waiting = iter(rows)
    while page := list(islice(waiting, PAGE_ROWS)):
        values: list[_Value] = []
        for row in page:
            try:
                value = _value(row, home)
                if before and row[0] <= before:
                    raise BrokenValueError("the key is duplicated under its token")
            except BrokenValueError as e:
                broken(row[0], str(e))
            else:
                before = row[0]
                values.append(value)
        table = _normal(values, broken)
        if table is not None and table.num_rows:
            yield table


def _value(row: Row, home: Namespace) -> _Value:
    key, identity, data = row
    if not isinstance(key, bytes):
        raise BrokenValueError(f"key must be bytes, but is {'null' if key is None else type(key).__name__}")
    if identity is None and not data:
        return (key, *[None] * (len(_GIVEN) - 1), True)
    if not isinstance(identity, bytes) or not isinstance(data, bytes):
        raise BrokenValueError("identity and data must both be bytes, or both null for a tombstone")
    try:
        entry = EntryMessage.FromString(data)
    except DecodeError as e:
        raise BrokenValueError(f"data is not an entry ({e})") from e
    if not entry.address:
        raise BrokenValueError("its entry has no address")
    address, kind = _address(entry.address, entry.address_type, home)
    return (
        key,
        address,
        int(kind),
        entry.size,
        entry.e_tag or None,
        _time(entry) if entry.HasField("last_modified") else None,
        entry.content_type or None,
        sorted(entry.metadata.items()) or None,
        False,
    )


def _address(address: str, kind: int, home: Namespace) -> tuple[str, AddressType]:
    if kind not in (BY_PREFIX, RELATIVE, FULL):
        raise BrokenValueError(f"address type {kind} is unknown; only 0, 1 and 2 are allowed")
    if kind == RELATIVE or (kind == BY_PREFIX and "://" not in address):
        return address, AddressType.RELATIVE
    try:
        place = namespace(address)
    except InvalidInput as e:
        raise BrokenValueError(e.message) from e
    if home.contains(place) and place.path != home.path:
        return place.path[len(home.path) :].lstrip("/"), AddressType.RELATIVE
    return address, AddressType.FULL


def _time(entry: Any) -> datetime:
    seconds, nanos = entry.last_modified.seconds, entry.last_modified.nanos
    try:
        return _EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1_000)
    except OverflowError as e:
        raise BrokenValueError(f"last_modified {seconds} s is outside the years 1 to 9999") from e


def _normal(values: Sequence[_Value], broken: Broken) -> pa.Table | None:
    """Return the valid records of a page. If one is broken, split the page in halves to find the broken ones."""
    if not values:
        return None
    try:
        columns = zip(zip(*values, strict=True), _SCHEMA, strict=True)
        return normalise(pa.Table.from_arrays([pa.array(cells, of.type) for cells, of in columns], schema=_SCHEMA))
    except (InvalidInput, LimitExceeded) as e:
        if len(values) == 1:
            broken(values[0][0], e.message)
            return None
    half = len(values) // 2
    parts = [_normal(values[:half], broken), _normal(values[half:], broken)]
    whole = [part for part in parts if part is not None]
    return pa.concat_tables(whole) if whole else None


def _message() -> Any:
    """Return the class of `catalog.Entry`."""
    pool = descriptor_pool.DescriptorPool()
    stamps = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamps)
    pool.Add(stamps)
    pool.Add(_file(stamps.name))
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("catalog.Entry"))


def _file(stamps: str) -> descriptor_pb2.FileDescriptorProto:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="catalog.proto", package="catalog", syntax="proto3", dependency=[stamps]
    )
    entry = file.message_type.add(name="Entry")
    pairs = entry.nested_type.add(name="MetadataEntry", options=descriptor_pb2.MessageOptions(map_entry=True))
    for number, name in enumerate(("key", "value"), 1):
        pairs.field.add(name=name, number=number, type=field.TYPE_STRING, label=field.LABEL_OPTIONAL)
    kinds = entry.enum_type.add(name="AddressType")
    for number, name in enumerate(("BY_PREFIX_DEPRECATED", "RELATIVE", "FULL")):
        kinds.value.add(name=name, number=number)
    fields: list[tuple[str, Any, str]] = [
        ("address", field.TYPE_STRING, ""),
        ("last_modified", field.TYPE_MESSAGE, ".google.protobuf.Timestamp"),
        ("size", field.TYPE_INT64, ""),
        ("e_tag", field.TYPE_STRING, ""),
        ("metadata", field.TYPE_MESSAGE, ".catalog.Entry.MetadataEntry"),
        ("address_type", field.TYPE_ENUM, ".catalog.Entry.AddressType"),
        ("content_type", field.TYPE_STRING, ""),
    ]
    for number, (name, kind, of) in enumerate(fields, 1):
        label = field.LABEL_REPEATED if name == "metadata" else field.LABEL_OPTIONAL
        entry.field.add(name=name, number=number, type=kind, type_name=of or None, label=label)
    return file


EntryMessage: Final = _message()
"""The class of the message."""

"""Encoding of elements: keys and actions of commits, as stored in inline indexes and runs. Format version 1.

    version u8 · count varint · elements in key order · offset u32 of each restart point
    element    number of bytes to drop from the previous key, varint · bytes to append: count varint, bytes
               · head u8: action + 8 · form · data of the form
    form 0     a removal: nothing; any other action: length varint · record
    form 1     flags, address type, payload: 4 bytes · size u32 · identity 32 bytes · 5 lengths u8 · fields
    form 2     as form 1, with mtime i64 after the lengths

Every 16th element, starting with the first, is a restart point: its key is stored completely, without a number of bytes
to drop. Forms 1 and 2 contain a staged record without the zeros of its header. Form 2 is used if mtime is not 0. A
record that fits neither form is stored unchanged in form 0. Numbers are little-endian.

A list of elements has exactly one encoding, and the decoder accepts no other. The content of records is not checked.
This module is the path for few elements: it does not use Arrow and takes a few microseconds for each element. Source:
the storage model, "Commits and their index".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache, partial
from typing import NamedTuple

from graveler_core.codec.record_format import HEADER, TOMBSTONE_VALUE
from graveler_core.codec.record_format import VERSION as RECORD_VERSION
from graveler_core.codec.tail import CONTENT_ID_BYTES, present_bit
from graveler_core.codec.varint import decode_varint, encode_varint
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.counting import counted

VERSION = 1
RESTART_EVERY = 16


class ElementAction(IntEnum):
    """Change of a key, and the commit that made it."""

    NONE = 0
    """No change. The entry is in a lower layer."""
    ADD = 1
    """Written by this commit."""
    REMOVE = 2
    """Removed by this commit."""
    INCREMENTAL_ADD = 3
    """Written by an earlier commit."""
    INCREMENTAL_REMOVE = 4
    """Removed by an earlier commit."""


class Element(NamedTuple):
    """Key, action and record."""

    key: bytes
    action: ElementAction
    record: bytes
    """Staged record of the entry, or `TOMBSTONE_VALUE` for a removal."""


class _Frame(NamedTuple):
    """Encoded elements before decoding, with their bounds."""

    data: bytes
    name: str
    total: int
    start: int
    """Start of the elements."""
    end: int
    """End of the elements and start of the offsets of restart points."""

    def corrupt(self, why: str) -> CorruptData:
        return CorruptData(f"{self.name}: elements {why}", name=self.name)


_REMOVES = tuple(action in (ElementAction.REMOVE, ElementAction.INCREMENTAL_REMOVE) for action in ElementAction)
_OFFSET = struct.Struct("<I")
_FULL = struct.Struct("<B4sIIq32s5I")
"""Header of a record: version; flags, address type, payload; low and high half of size; mtime; identity; lengths."""
_SHORT, _TIMED = struct.Struct("<B4sI32s5B"), struct.Struct("<B4sI32s5Bq")
"""Head and numbers of forms 1 and 2."""
_FORM_1, _FORM_2 = 8, 16
_ACTIONS = {
    action + form: action
    for action in ElementAction
    for form in (0, _FORM_1, _FORM_2)
    if not (form and _REMOVES[action])
}
"""Action of each head."""
_CONTENT_ID = present_bit("content_id")
_RECENT_RECORDS = 4_096
"""Number of records whose short form is kept."""
_DAMAGE = (LookupError, ValueError, struct.error)
"""Errors that decoding damaged bytes may raise."""
_element = partial(tuple.__new__, Element)


def encode_elements(elements: Sequence[Element]) -> bytes:
    """Encode elements in key order.

    Raises:
        InvalidInput: A key is not greater than the previous one, a removal has a record other than `TOMBSTONE_VALUE`,
            or another action has that record.
    """
    blocks = [bytes((VERSION,)) + encode_varint(len(elements))]
    at, offsets = len(blocks[0]), []
    for start in range(0, len(elements), RESTART_EVERY):
        if start and elements[start].key <= elements[start - 1].key:
            raise InvalidInput(f"elements: key {elements[start].key!r} is not greater than the previous key")
        offsets.append(_OFFSET.pack(at))
        blocks.append(_block(elements[start : start + RESTART_EVERY]))
        at += len(blocks[-1])
    return b"".join(blocks + offsets)


def decode_elements(data: bytes, name: str) -> list[Element]:
    """Decode elements.

    Args:
        data: Result of `encode_elements`.
        name: Name of the elements in error messages.

    Raises:
        CorruptData: The bytes are not a result of `encode_elements`.
    """
    frame = _frame(data, name)
    try:
        return list(_elements(frame))
    except _DAMAGE as e:
        raise frame.corrupt("are cut off or malformed") from e


def _block(elements: Sequence[Element]) -> bytes:
    """Encode elements, of which the first is a restart point."""
    parts: list[bytes] = []
    append = parts.append
    previous = None
    for key, action, record in elements:
        if previous is None:
            append(encode_varint(len(key)))
            append(key)
        else:
            if key <= previous:
                raise InvalidInput(f"elements: key {key!r} is not greater than the previous key")
            shared = min(len(previous), len(key))
            differing = int.from_bytes(previous[:shared]) ^ int.from_bytes(key[:shared])
            shared -= (differing.bit_length() + 7) >> 3
            dropped, appended = len(previous) - shared, len(key) - shared
            small = (dropped | appended) < 128
            append(bytes((dropped, appended)) if small else encode_varint(dropped) + encode_varint(appended))
            append(key[shared:])
        previous = key
        if _REMOVES[action] is not (record == TOMBSTONE_VALUE):
            raise InvalidInput(f"elements: key {key!r}: {ElementAction(action).name} with the record of another action")
        if _REMOVES[action]:
            append(bytes((action,)))
        else:
            short = _short(record)
            if short is None:
                append(b"".join((bytes((action,)), encode_varint(len(record)), record)))
            else:
                append(bytes((action + short[0],)))
                append(short[1])
    return b"".join(parts)


@lru_cache(maxsize=_RECENT_RECORDS)
def _short(record: bytes) -> tuple[int, bytes] | None:
    """Return the form of a record, 1 or 2, and its bytes after the head. Return `None` if it fits neither.

    An inline index is encoded anew with each commit, and most of its records come from earlier commits.
    """
    try:
        version, first, size, high, mtime, identity, a, b, c, d, e = _FULL.unpack_from(record)
        fields = a + b + c + d + e + (CONTENT_ID_BYTES if first[0] & _CONTENT_ID else 0)
        if version != RECORD_VERSION or high or HEADER.size + fields != len(record):
            return None
        if mtime:
            form, data = _FORM_2, _TIMED.pack(0, first, size, identity, a, b, c, d, e, mtime)
        else:
            form, data = _FORM_1, _SHORT.pack(0, first, size, identity, a, b, c, d, e)
    except struct.error:
        return None
    return form, data[1:] + record[HEADER.size :]


def _frame(data: bytes, name: str) -> _Frame:
    if data[:1] != bytes((VERSION,)):
        raise CorruptData(f"{name}: elements have format version {data[:1].hex() or 'none'}, known is 1", name=name)
    whole = _Frame(data, name, 0, 1, len(data))
    try:
        count, start = decode_varint(data, 1)
    except _DAMAGE as e:
        raise whole.corrupt("are cut off or malformed") from e
    end = len(data) - _OFFSET.size * -(-count // RESTART_EVERY)
    if end < start:
        raise whole.corrupt(f"are {count}, too many for {counted(len(data), 'byte')}")
    return _Frame(data, name, count, start, end)


def _elements(frame: _Frame) -> Iterator[Element]:
    """Yield the elements. May also raise the errors in `_DAMAGE`."""
    data, at, end = frame.data, frame.start, frame.end
    key = b""
    for number in range(frame.total):
        if number % RESTART_EVERY:
            dropped = data[at]
            at += 1
            if dropped > 127:
                dropped, at = decode_varint(data, at - 1)
            appended = data[at]
            at += 1
            if appended > 127:
                appended, at = decode_varint(data, at - 1)
            shared = len(key) - dropped
            # The first appended byte must be greater, so that keys are ascending and no shared byte is stored twice.
            if shared < 0 or not appended or (dropped and data[at] <= key[shared]):
                raise frame.corrupt("have keys that are not ascending")
            key = key[:shared] + data[at : at + appended]
        else:
            if at != _restart(frame, number // RESTART_EVERY):
                raise frame.corrupt("do not begin at their restart points")
            appended, at = decode_varint(data, at)
            whole = data[at : at + appended]
            if number and whole <= key:
                raise frame.corrupt("have keys that are not ascending")
            key = whole
        at += appended
        action = _ACTIONS[data[at]]
        record, at = _record(frame, at)
        if at > end:
            raise frame.corrupt("are cut off")
        yield _element((key, action, record))
    if at != end:
        raise frame.corrupt("have extra bytes before their restart points")


def _record(frame: _Frame, at: int) -> tuple[bytes, int]:
    """Return the record of the element whose head is at `at`, and the end of the element."""
    data = frame.data
    form, mtime = data[at] & ~7, 0
    if form == _FORM_1:
        _, first, size, identity, a, b, c, d, e = _SHORT.unpack_from(data, at)
        at += _SHORT.size
    elif form == _FORM_2:
        _, first, size, identity, a, b, c, d, e, mtime = _TIMED.unpack_from(data, at)
        at += _TIMED.size
        if not mtime:
            raise frame.corrupt("have a record in the wrong form")
    else:
        return _plain(frame, at)
    end = at + a + b + c + d + e + (CONTENT_ID_BYTES if first[0] & _CONTENT_ID else 0)
    return _FULL.pack(RECORD_VERSION, first, size, 0, mtime, identity, a, b, c, d, e) + data[at:end], end


def _plain(frame: _Frame, at: int) -> tuple[bytes, int]:
    """Return the record of an element in form 0, and the end of the element."""
    data = frame.data
    if _REMOVES[data[at]]:
        return TOMBSTONE_VALUE, at + 1
    length, at = decode_varint(data, at + 1)
    record = data[at : at + length]
    if record == TOMBSTONE_VALUE or _short(record):
        raise frame.corrupt("have a record in the wrong form")
    return record, at + length


def _restart(frame: _Frame, block: int) -> int:
    """Return the start of a block."""
    offset: int = _OFFSET.unpack_from(frame.data, frame.end + block * _OFFSET.size)[0]
    return offset

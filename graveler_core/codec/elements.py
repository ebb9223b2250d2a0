"""Elements: keys with what commits did to them, as inline indexes and runs keep them. Format version 1.

    version u8 · count varint · elements in order of their keys · offset u32 of each restart point
    element    bytes to drop from the key before, varint · bytes to append: count varint, bytes
               · head u8: action + 8 · form · what the form says
    form 0     a removal: nothing; any other action: length varint · record
    form 1     flags, address type, payload: 4 bytes · size u32 · identity 32 bytes · 5 lengths u8 · fields
    form 2     as form 1, with mtime i64 after the lengths

Each 16th element from the first on is a restart point: its key stands whole, without a count of bytes to drop, so a
search reads one block alone. Forms 1 and 2 hold a staged record without the zeros of its header, form 2 where mtime is
not 0; a record that fits neither stands as it is. Numbers are little-endian, varints are those of `varint`.
There is one encoding of a list of elements, and the decoder accepts no other; what is in the records is not looked at.

This is the small path: no Arrow, some microseconds an element. Source: the storage model, "Commits and their index".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from graveler_core.codec.record_format import HEADER, TOMBSTONE_VALUE
from graveler_core.codec.record_format import VERSION as RECORD_VERSION
from graveler_core.codec.tail import CONTENT_ID_BYTES, present_bit
from graveler_core.codec.varint import decode_varint, encode_varint
from graveler_core.errors import CorruptData, InvalidInput

VERSION = 1
RESTART_EVERY = 16


class Action(IntEnum):
    """What was done to a key, and by which commit."""

    NONE = 0
    """Nothing: the entry lies below."""
    ADD = 1
    """Put, by this commit."""
    REMOVE = 2
    """Removed, by this commit."""
    INCREMENTAL_ADD = 3
    """Put, by an earlier commit."""
    INCREMENTAL_REMOVE = 4
    """Removed, by an earlier commit."""


class Element(NamedTuple):
    """A key and what was done to it."""

    key: bytes
    action: Action
    record: bytes
    """The staged record of the entry; `TOMBSTONE_VALUE` for a removal."""


class _Frame(NamedTuple):
    """What is known of encoded elements before any is read."""

    data: bytes
    name: str
    total: int
    start: int
    """Where the elements begin."""
    end: int
    """Where they end and the offsets of the restart points begin."""

    def corrupt(self, why: str) -> CorruptData:
        return CorruptData(f"{self.name}: elements {why}", name=self.name)


_REMOVES = tuple(action in (Action.REMOVE, Action.INCREMENTAL_REMOVE) for action in Action)
_OFFSET = struct.Struct("<I")
_FULL = struct.Struct("<B4sIIq32s5I")
"""A record's header: version; flags, address type, payload; low and high half of size; mtime; identity; lengths."""
_SHORT, _TIMED = struct.Struct("<B4sI32s5B"), struct.Struct("<B4sI32s5Bq")
"""The head and the numbers of form 1 and 2."""
_FORM_1, _FORM_2 = 8, 16
_ACTIONS = {
    action + form: action for action in Action for form in (0, _FORM_1, _FORM_2) if not (form and _REMOVES[action])
}
"""What each head says."""
_CONTENT_ID = present_bit("content_id")
_DAMAGE = (LookupError, ValueError, struct.error)
"""What reading damaged bytes raises on the way."""
_element = partial(tuple.__new__, Element)


def encode_elements(elements: Sequence[Element]) -> bytes:
    """The bytes of elements, whose keys must rise.

    Raises:
        InvalidInput: a key is not greater than the one before; a removal has another record than `TOMBSTONE_VALUE`, or
            another action has that one.
    """
    blocks = [bytes((VERSION,)) + encode_varint(len(elements))]
    at, offsets = len(blocks[0]), []
    for start in range(0, len(elements), RESTART_EVERY):
        if start and elements[start].key <= elements[start - 1].key:
            raise InvalidInput(f"elements: key {elements[start].key!r} does not rise")
        offsets.append(_OFFSET.pack(at))
        blocks.append(_block(elements[start : start + RESTART_EVERY]))
        at += len(blocks[-1])
    return b"".join(blocks + offsets)


def decode_elements(data: bytes, name: str) -> list[Element]:
    """Read elements back.

    Args:
        data: What `encode_elements` gave.
        name: What to call them in an error.

    Raises:
        CorruptData: `encode_elements` gives no such bytes.
    """
    frame = _frame(data, name)
    try:
        return list(_elements(frame, 0))
    except _DAMAGE as e:
        raise frame.corrupt("are cut off or malformed") from e


def find_element(data: bytes, key: bytes, name: str) -> Element | None:
    """The element of a key, or None where there is none. Reads one key a step of a binary search, then one block.

    Args:
        data: What `encode_elements` gave.
        key: The key.
        name: What to call the elements in an error.

    Raises:
        CorruptData: what was read of the bytes is not from `encode_elements`; the rest is not looked at.
    """
    frame = _frame(data, name)
    try:
        block = _block_of(frame, key)
        if block < 0:
            return None
        for element in _elements(frame, block * RESTART_EVERY):
            if element.key >= key:
                return element if element.key == key else None
    except _DAMAGE as e:
        raise frame.corrupt("are cut off or malformed") from e
    return None


def _block(elements: Sequence[Element]) -> bytes:
    """Encode elements of which the first is a restart point."""
    parts: list[bytes] = []
    append = parts.append
    previous = None
    for key, action, record in elements:
        if previous is None:
            append(encode_varint(len(key)))
            append(key)
        else:
            if key <= previous:
                raise InvalidInput(f"elements: key {key!r} does not rise")
            shared = min(len(previous), len(key))
            differing = int.from_bytes(previous[:shared]) ^ int.from_bytes(key[:shared])
            shared -= (differing.bit_length() + 7) >> 3
            dropped, appended = len(previous) - shared, len(key) - shared
            small = (dropped | appended) < 128
            append(bytes((dropped, appended)) if small else encode_varint(dropped) + encode_varint(appended))
            append(key[shared:])
        previous = key
        if _REMOVES[action] is not (record == TOMBSTONE_VALUE):
            raise InvalidInput(f"elements: key {key!r}: {Action(action).name} with the record of another action")
        if _REMOVES[action]:
            append(bytes((action,)))
        else:
            append(_short(action, record) or b"".join((bytes((action,)), encode_varint(len(record)), record)))
    return b"".join(parts)


def _short(action: int, record: bytes) -> bytes | None:
    """A record in form 1 or 2, or None where it fits neither."""
    try:
        version, first, size, high, mtime, identity, a, b, c, d, e = _FULL.unpack_from(record)
        fields = a + b + c + d + e + (CONTENT_ID_BYTES if first[0] & _CONTENT_ID else 0)
        if version != RECORD_VERSION or high or HEADER.size + fields != len(record):
            return None
        if mtime:
            head = _TIMED.pack(action + _FORM_2, first, size, identity, a, b, c, d, e, mtime)
        else:
            head = _SHORT.pack(action + _FORM_1, first, size, identity, a, b, c, d, e)
    except struct.error:
        return None
    return head + record[HEADER.size :]


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
        raise whole.corrupt(f"are {count}, too many for {len(data)} bytes")
    return _Frame(data, name, count, start, end)


def _elements(frame: _Frame, first: int) -> Iterator[Element]:
    """The elements from a restart point on; raises what `_DAMAGE` holds, too, where they are damaged."""
    data, end = frame.data, frame.end
    at = _restart(frame, first // RESTART_EVERY) if first else frame.start
    key = b""
    for number in range(first, frame.total):
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
            # What follows the shared bytes must be greater: so keys rise, and no byte is sent that could be shared.
            if shared < 0 or not appended or (dropped and data[at] <= key[shared]):
                raise frame.corrupt("have keys that do not rise")
            key = key[:shared] + data[at : at + appended]
        else:
            if at != _restart(frame, number // RESTART_EVERY):
                raise frame.corrupt("begin elsewhere than their restart points say")
            appended, at = decode_varint(data, at)
            whole = data[at : at + appended]
            if number and whole <= key:
                raise frame.corrupt("have keys that do not rise")
            key = whole
        at += appended
        action = _ACTIONS[data[at]]
        record, at = _record(frame, at)
        if at > end:
            raise frame.corrupt("are cut off")
        yield _element((key, action, record))
    if at != end:
        raise frame.corrupt("have bytes between them and their restart points")


def _record(frame: _Frame, at: int) -> tuple[bytes, int]:
    """The record of the element whose head is at `at`, and where it ends."""
    data = frame.data
    form, mtime = data[at] & ~7, 0
    if form == _FORM_1:
        _, first, size, identity, a, b, c, d, e = _SHORT.unpack_from(data, at)
        at += _SHORT.size
    elif form == _FORM_2:
        _, first, size, identity, a, b, c, d, e, mtime = _TIMED.unpack_from(data, at)
        at += _TIMED.size
        if not mtime:
            raise frame.corrupt("have a record in the form of another")
    else:
        return _plain(frame, at)
    end = at + a + b + c + d + e + (CONTENT_ID_BYTES if first[0] & _CONTENT_ID else 0)
    return _FULL.pack(RECORD_VERSION, first, size, 0, mtime, identity, a, b, c, d, e) + data[at:end], end


def _plain(frame: _Frame, at: int) -> tuple[bytes, int]:
    """As `_record`, of form 0."""
    data = frame.data
    if _REMOVES[data[at]]:
        return TOMBSTONE_VALUE, at + 1
    length, at = decode_varint(data, at + 1)
    record = data[at : at + length]
    if record == TOMBSTONE_VALUE or _short(0, record):
        raise frame.corrupt("have a record in the form of another")
    return record, at + length


def _restart(frame: _Frame, block: int) -> int:
    """Where a block begins."""
    offset: int = _OFFSET.unpack_from(frame.data, frame.end + block * _OFFSET.size)[0]
    return offset


def _block_of(frame: _Frame, key: bytes) -> int:
    """The last block whose first key is not greater than a key, -1 if there is none."""
    data, low, high = frame.data, 0, -(-frame.total // RESTART_EVERY)
    while low < high:
        middle = (low + high) // 2
        length, at = decode_varint(data, _restart(frame, middle))
        if data[at : at + length] <= key:
            low = middle + 1
        else:
            high = middle
    return low - 1

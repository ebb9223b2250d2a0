"""The small path's digests equal those of the columns, for arbitrary entries."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graveler_core.codec.content_hash import ContentHash
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.codec.small_hash import OPERATIONS_TAG, rows_digest
from graveler_core.codec.staged_record import encode_entry
from graveler_core.codec.staged_records import decode_records
from graveler_core.errors import CorruptData
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from tests.unit.codec.entry_examples import FULL, PLAIN, entries

changes = st.dictionaries(st.binary(max_size=6), st.none() | entries, max_size=8)


def staged(rows: dict[bytes, Entry | None]) -> list[tuple[bytes, bytes]]:
    return [(key, TOMBSTONE_VALUE if (row := rows[key]) is None else encode_entry(row)) for key in sorted(rows)]


@given(changes)
@example({})
@example({b"a": None})
@example({b"a": FULL})
@example({b"a": FULL, b"b": None, b"c": PLAIN})
def test_equals_the_hash_over_columns(rows: dict[bytes, Entry | None]) -> None:
    records = staged(rows)
    content = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    keys, values = ([record[n] for record in records] for n in (0, 1))
    content.update(decode_records(pa.array(keys, pa.binary()), pa.array(values, pa.binary())))
    assert rows_digest(records) == content.digest()


def test_golden() -> None:
    nothing = "f763d59c0f51ff38b4e403da33e044d9ee4f8933d9f7285ba1a0fff43134f03a"
    assert rows_digest([]).hex() == nothing
    some = "8661e8cf88fee2e713ad7528b68f585b70a0465c07a3a4bb8e50c550a228b735"
    assert rows_digest(staged({b"a": FULL, b"b": None, b"c": PLAIN})).hex() == some


@pytest.mark.parametrize(
    "record",
    [b"", b"\1", b"\2\1", encode_entry(PLAIN)[:-1], encode_entry(PLAIN) + b"x", b"\2" + encode_entry(PLAIN)[1:]],
)
def test_names_the_corrupt_key(record: bytes) -> None:
    with pytest.raises(CorruptData, match="'a/b'"):
        rows_digest([(b"a", TOMBSTONE_VALUE), (b"a/b", record)])

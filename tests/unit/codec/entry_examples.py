"""Entries for the codec's tests: two with golden bytes, and strategies for arbitrary ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import strategies as st

from graveler_core.codec.entry import record_table
from graveler_core.model.entry import AddressType, Entry

FULL = Entry(
    address="data/ab12",
    size=1234,
    checksum="d41d8cd9",
    mtime=datetime(2013, 1, 31, 12, 30, 1, 5, tzinfo=UTC),
    content_type="application/x-parquet",
    metadata={"owner": "ann", "colour": "räd"},
    data=b"\0x",
    payload=-7,
    content_id=uuid.UUID(int=5),
    path="flights/01.parquet",
)
PLAIN = Entry(address="data/ab12", path="flights/02.parquet")

texts = st.text(st.characters(codec="utf-8"), max_size=12)
maybe_texts = st.none() | texts
paths = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=12)
entries = st.builds(
    Entry,
    address=maybe_texts,
    size=st.integers(0, 2**63 - 1),
    checksum=maybe_texts,
    mtime=st.none() | st.datetimes(timezones=st.just(UTC)),
    content_type=maybe_texts,
    metadata=st.dictionaries(texts, texts, max_size=4),
    data=st.none() | st.binary(max_size=12),
    payload=st.integers(-(2**15), 2**15 - 1),
    content_id=st.none() | st.uuids(),
    address_type=st.sampled_from(AddressType),
    path=paths,
)
records = st.lists(st.none() | entries, max_size=6)
"""What staging holds: entries, and None for tombstones."""


def table_of(rows: list[Entry | None]) -> pa.Table:
    """Rows in `RECORD_SCHEMA`, tombstones at paths of their own."""
    return record_table(
        [(f"gone/{n}".encode() if row is None else row.path.encode(), row) for n, row in enumerate(rows)]
    )


def recut(table: pa.Table, cut: int) -> pa.Table:
    """The same rows in two chunks, each a slice of a larger array."""
    padded = pa.concat_tables([table.slice(0, 1), table, table.slice(0, 1)]).combine_chunks()
    cut = min(cut, table.num_rows)
    return pa.concat_tables([padded.slice(1, cut), padded.slice(1 + cut, table.num_rows - cut)])

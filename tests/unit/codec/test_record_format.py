"""Tests of the reads of a record without decoding it."""

from __future__ import annotations

from hypothesis import given

from graveler_core.codec.identity import identity
from graveler_core.codec.record_format import TOMBSTONE_VALUE, record_identity
from graveler_core.codec.staged_record import encode_entry
from graveler_core.model.entry import Entry
from tests.unit.codec.entry_examples import entries


@given(entries)
def test_the_identity_stands_in_the_record(entry: Entry) -> None:
    assert record_identity(encode_entry(entry)) == identity(entry)


def test_a_tombstone_has_none() -> None:
    assert record_identity(TOMBSTONE_VALUE) == b""

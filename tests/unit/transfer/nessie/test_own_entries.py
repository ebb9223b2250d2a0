"""Entries of graveler in an export are found again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from graveler_core.model.entry import AddressType, Entry
from graveler_core.transfer.nessie.own_entries import decode_own, encode_own

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("mtime", [None, EPOCH, EPOCH - timedelta(microseconds=1), EPOCH + timedelta(days=20_000)])
def test_an_entry_is_found_again(mtime: datetime | None, size: int) -> None:
    entry = Entry(address="s3://lake/a", address_type=AddressType.FULL, size=size, mtime=mtime)
    assert decode_own(encode_own(entry, "s3://lake/{}".format)) == entry

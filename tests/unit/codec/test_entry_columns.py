"""Sorting more data than one Arrow array holds takes another way: the result is the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from graveler_core.codec import entry_columns
from graveler_core.errors import LimitExceeded
from graveler_core.model.entry import MAX_RECORD_BYTES
from tests.unit.codec.entry_examples import FULL, PLAIN, table_of


@pytest.fixture
def _much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything counts as much data, and two rows as a slice."""
    monkeypatch.setattr(entry_columns, "_MUCH", 0)
    monkeypatch.setattr(entry_columns, "SLICE_ROWS", 2)


@pytest.mark.usefixtures("_much")
def test_much_data_is_sorted_alike() -> None:
    table = table_of([FULL, None, PLAIN, None])
    mixed = pa.concat_tables([table.slice(2), table.slice(0, 2)])
    in_order = entry_columns.sorted_by_key(mixed)
    assert in_order.equals(table.take(pa.array([0, 2, 1, 3])))
    in_order.validate(full=True)


@pytest.mark.usefixtures("_much")
def test_a_large_value_is_refused_before_it_is_moved() -> None:
    table = table_of([PLAIN, FULL])
    at = table.schema.get_field_index("data")
    large = pa.array([b"", b"x" * (MAX_RECORD_BYTES + 1)])
    with pytest.raises(LimitExceeded, match="flights/01"):
        entry_columns.sorted_by_key(table.set_column(at, table.schema.field(at), large))

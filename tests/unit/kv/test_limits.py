"""Limits, by row and by column."""

from __future__ import annotations

import pyarrow as pa
import pytest

from graveler_core.errors import InvalidInput, LimitExceeded
from graveler_core.kv.limits import MAX_KEY, MAX_PARTITION, MAX_VALUE, check_columns, check_key, check_value


def test_the_largest_passes() -> None:
    check_key(b"p" * MAX_PARTITION, b"k" * MAX_KEY)
    check_value(b"k", b"v" * MAX_VALUE)
    check_columns(b"p", pa.array([b"k" * MAX_KEY]), pa.array([b"v" * MAX_VALUE]))
    check_columns(b"p", pa.array([], pa.binary()), pa.array([], pa.binary()))


@pytest.mark.parametrize(
    ("partition", "key", "shown"),
    [(b"p" * 513, b"k", "partition b'ppp"), (b"p", b"k" * 1_025, "key b'kkk"), (b"p" * 513, b"", "partition")],
)
def test_the_message_names_what_is_too_large(partition: bytes, key: bytes, shown: str) -> None:
    with pytest.raises(LimitExceeded, match=shown):
        check_key(partition, key)


@pytest.mark.parametrize(("partition", "key"), [(b"", b"k"), (b"p", b"")])
def test_nothing_is_nameless(partition: bytes, key: bytes) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        check_key(partition, key)


@pytest.mark.parametrize(
    ("keys", "values", "error"),
    [
        ([b"a", b"b"], [b"1"], InvalidInput),
        ([b"a", None], [b"1", b"2"], InvalidInput),
        ([b"a"], [None], InvalidInput),
        ([b"a", b""], [b"1", b"2"], InvalidInput),
        ([b"a", b"b", b"a"], [b"1", b"2", b"3"], InvalidInput),
        ([b"a" * (MAX_KEY + 1)], [b"1"], LimitExceeded),
        ([b"a"], [b"1" * (MAX_VALUE + 1)], LimitExceeded),
    ],
)
def test_columns(keys: list[bytes | None], values: list[bytes | None], error: type[Exception]) -> None:
    with pytest.raises(error):
        check_columns(b"p", pa.array(keys, pa.binary()), pa.array(values, pa.binary()))

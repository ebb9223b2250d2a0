"""One staging token: rows in, tables out."""

from __future__ import annotations

import pytest

from graveler_core.errors import CorruptData
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import Store
from graveler_core.model.ids import StagingToken
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import area
from tests.unit.staging.test_stack import table

TOKEN = StagingToken("repo/main:t1")


@pytest.fixture
def kv() -> Store:
    return open_memory("memory://")


def keys(kv: Store, start: bytes = b"", end: bytes | None = None) -> list[bytes]:
    return [key for page in area.scan(kv, TOKEN, start=start, end=end) for key in page.column(KEY).to_pylist()]


def test_in_and_out(kv: Store) -> None:
    written = table({"a": 1, "b": None, "é": 3})
    area.put_table(kv, TOKEN, written)
    (found,) = area.scan(kv, TOKEN)
    assert found.equals(written)
    assert [row.key for row in kv.scan(b"repo/main:t1")] == [b"key/a", b"key/b", "key/é".encode()]


def test_parts(kv: Store) -> None:
    area.put_table(kv, TOKEN, table({"a": 1, "b": 2, "c": 3}))
    assert keys(kv, b"b") == [b"b", b"c"]
    assert keys(kv, b"a", b"c") == [b"a", b"b"]
    assert keys(kv, b"a\x00", b"b") == []


@pytest.mark.parametrize("few", [1, 2, 3, 4, 5, 6, 1_001])
@pytest.mark.parametrize(("start", "end"), [(b"", None), (b"b", None), (b"a", b"e"), (b"x", None)])
def test_small_pages_hold_the_same(kv: Store, few: int, start: bytes, end: bytes | None) -> None:
    area.put_table(kv, TOKEN, table(dict.fromkeys("abcdef", 1)))
    pages = list(area.scan(kv, TOKEN, start=start, end=end, few=few))
    assert [key for page in pages for key in page.column(KEY).to_pylist()] == keys(kv, start, end)
    assert all(page.num_rows <= few for page in pages[:2])


def test_other_tokens_are_strangers(kv: Store) -> None:
    area.put_table(kv, StagingToken("repo/main:t10"), table({"x": 1}))
    assert area.is_empty(kv, TOKEN)
    assert keys(kv) == []
    assert area.drop(kv, TOKEN) == 0
    assert not area.is_empty(kv, StagingToken("repo/main:t10"))


def test_dropped(kv: Store) -> None:
    area.put_table(kv, TOKEN, table({"a": 1, "b": 2}))
    assert area.drop(kv, TOKEN) == 2
    assert area.is_empty(kv, TOKEN)


@pytest.mark.parametrize("value", [b"", b"\x02", b"\x01", b"\x01\x00" + b"\xff" * 40], ids=repr)
def test_damage_names_the_path(kv: Store, value: bytes) -> None:
    kv.set(b"repo/main:t1", b"key/some/path", value)
    with pytest.raises(CorruptData, match="some/path"):
        keys(kv)

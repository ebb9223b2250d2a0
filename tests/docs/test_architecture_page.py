"""The worked example of `docs/architecture.md` writes the rows that the page shows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from graveler_core.kv import open_store
from graveler_core.kv.backends.sqlite.store import SQLiteStore

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
_PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^ *(graveler|flights\S+) +(\S+) +(\(binary[^\n]*|\{.*?…\})$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'"(\w+)":("[^"]*"|\[[^]]*\])')
Row = tuple[str, str, str]


def shown() -> list[Row]:
    """The rows on the page, in order; values of several lines are joined."""
    found = _ROW.findall(PAGE.read_text().partition("## Where a change goes")[0])
    return [(partition, key, re.sub(r"\n *", "", value)) for partition, key, value in found]


def as_pattern(text: str) -> str:
    """A pattern for shown text, in which an id is given by its first digits and three dots."""
    return re.sub(r"(?:[0-9a-f]{4})?…", ".*", re.escape(text))


def fits(row: Row, written: Iterable[Row]) -> bool:
    partition, key, value = row
    fields = [as_pattern(f'"{name}":{content}') for name, content in _FIELD.findall(value)]
    return any(
        re.fullmatch(as_pattern(partition), one[0])
        and re.fullmatch(as_pattern(key), one[1])
        and all(re.search(field, one[2]) for field in fields)
        for one in written
    )


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Row]:
    """Everything that the SQLite store is asked to write."""
    rows: list[Row] = []

    def note(partition: bytes, key: bytes, value: bytes) -> None:
        rows.append((partition.decode(), key.decode(), value.decode(errors="replace")))

    set_if, set_many, write_and_swap = SQLiteStore.set_if, SQLiteStore.set_many, SQLiteStore.write_and_swap

    def noting_set_if(self: SQLiteStore, partition: bytes, key: bytes, value: bytes, predicate: object) -> object:
        note(partition, key, value)
        return set_if(self, partition, key, value, predicate)

    def noting_set_many(self: SQLiteStore, writes: list[tuple[bytes, bytes, bytes]]) -> object:
        for write in writes:
            note(*write)
        return set_many(self, writes)

    def noting_write_and_swap(
        self: SQLiteStore, writes: list[tuple[bytes, bytes, bytes]], swapped: tuple[bytes, bytes, bytes], *rest: object
    ) -> object:
        for write in (*writes, swapped):
            note(*write)
        return write_and_swap(self, writes, swapped, *rest)

    monkeypatch.setattr(SQLiteStore, "write_and_swap", noting_write_and_swap)
    monkeypatch.setattr(SQLiteStore, "set_if", noting_set_if)
    monkeypatch.setattr(SQLiteStore, "set_many", noting_set_many)
    return rows


def test_the_page_shows_rows() -> None:
    assert len(shown()) == 11


def test_the_example_writes_what_the_page_shows(
    written: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put, commit = _PYTHON.findall(PAGE.read_text())
    names: dict[str, object] = {}
    exec(put.rpartition("main.put")[0], names)
    store = open_store("sqlite:///.graveler/architecture.db")
    partitions = {partition.encode() for partition, _, _ in written}
    rows = {(partition, row.key) for partition in partitions for row in store.scan(partition)}
    assert len(rows) == 5
    assert all(fits(row, written) for row in shown()[:5])
    exec("main.put" + put.rpartition("main.put")[2] + commit, names)
    missing = [row for row in shown() if not fits(row, written)]
    assert not missing

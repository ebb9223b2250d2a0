"""Datasets of Arrow: the files below a prefix, as they were at the call."""

from __future__ import annotations

from io import BytesIO, UnsupportedOperation

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from graveler_core.engine.reading.content import StoredContent
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from tests.unit.engine.world import World


def parquet(numbers: range, row_group_size: int = 1_000) -> bytes:
    file = BytesIO()
    columns = {"n": [*numbers], "text": [f"{number:0100}" for number in numbers]}
    pq.write_table(pa.table(columns), file, row_group_size=row_group_size, compression="none", use_dictionary=False)
    return file.getvalue()


@pytest.fixture
def main() -> Branch:
    main = World().repository().branch("main")
    for month in range(1, 4):
        main.put(f"sales/month={month}/part-0.parquet", parquet(range(100 * month)))
    main.put("sales/_SUCCESS", b"")
    main.put("sales/month=1/.crc", b"crc")
    main.put("sales2/part-0.parquet", parquet(range(1)))
    main.commit("sales")
    return main


def numbers(dataset: ds.Dataset) -> int:
    return dataset.count_rows()


def test_directories_are_partitions(main: Branch) -> None:
    dataset = main.dataset("sales/")
    assert dataset.schema.names == ["n", "text", "month"]
    assert [*dataset.files] == [f"sales/month={month}/part-0.parquet" for month in range(1, 4)]
    found = dataset.to_table(filter=(ds.field("month") == 2) & (ds.field("n") >= 150), columns=["n", "month"])
    assert found.to_pydict() == {"n": [*range(150, 200)], "month": [2] * 50}
    assert main.dataset("sales/", partitioning=None).schema.names == ["n", "text"]
    assert numbers(main.dataset("sales/month=3/")) == 300


def test_a_dataset_shows_one_state(main: Branch) -> None:
    dataset = main.dataset("sales/")
    main.put("sales/month=1/part-0.parquet", parquet(range(5)))
    main.remove("sales/month=3/part-0.parquet")
    assert (numbers(dataset), numbers(main.dataset("sales/"))) == (600, 205)
    main.commit("changed")
    assert dataset.to_table().num_rows == 600


def test_only_the_ranges_that_are_needed_are_read(main: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    main.put("large.parquet", parquet(range(200_000), 10_000))
    size, read = main.get("large.parquet").size, 0
    original = StoredContent.read_range

    def counted(self: StoredContent, start: int, length: int) -> bytes:
        nonlocal read
        content = original(self, start, length)
        read += len(content)
        return content

    monkeypatch.setattr(StoredContent, "read_range", counted)
    dataset = main.dataset("large.parquet")
    assert dataset.to_table(filter=ds.field("n") == 150_001).num_rows == 1
    assert 0 < read < size / 5


def test_other_formats_and_a_schema(main: Branch) -> None:
    main.put("table.csv", b"a,b\n1,2\n")
    assert main.dataset("table.csv", "csv").to_table().to_pydict() == {"a": [1], "b": [2]}
    schema = pa.schema([("a", pa.string())])
    assert main.dataset("table.csv", "csv", schema=schema).to_table().to_pydict() == {"a": ["1"]}


def test_what_is_refused(main: Branch) -> None:
    with pytest.raises(NotFound, match="'nothing/'"):
        main.dataset("nothing/")
    with pytest.raises(NotFound, match="'sales/_'"):
        main.dataset("sales/_")
    with pytest.raises(InvalidInput):
        main.dataset("\0")
    filesystem = main.dataset("sales/").filesystem
    with pytest.raises(UnsupportedOperation, match="read-only"):
        filesystem.delete_file("sales/month=1/part-0.parquet")
    with pytest.raises(FileNotFoundError):
        filesystem.open_input_file("sales2/part-0.parquet")

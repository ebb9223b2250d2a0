"""Partition columns out of paths."""

from __future__ import annotations

from datetime import date

import pytest

from graveler.spark.source.partitions import partition_table
from graveler_core.errors import InvalidInput


def test_directories_become_columns() -> None:
    paths = ["year=2013/month=01/a", "year=2013/month=12/b", "year=__HIVE_DEFAULT_PARTITION__/month=2/c"]
    table = partition_table(paths, inferred=True)
    assert table.to_pydict() == {"year": [2013, 2013, None], "month": [1, 12, 2]}
    assert partition_table(paths, inferred=False).to_pydict() == {
        "year": ["2013", "2013", None],
        "month": ["01", "12", "2"],
    }


@pytest.mark.parametrize(
    ("texts", "values", "kind"),
    [
        (["1", "-2"], [1, -2], "int32"),
        (["1", "3000000000"], [1, 3_000_000_000], "int64"),
        (["9" * 30], ["9" * 30], "string"),
        (["2013-01-31"], [date(2013, 1, 31)], "date32[day]"),
        (["2013-01-31", "2013-02-30"], ["2013-01-31", "2013-02-30"], "string"),
        (["1", "x"], ["1", "x"], "string"),
        (["²", ""], ["²", ""], "string"),
        (["a%20b%2Fc"], ["a b/c"], "string"),
    ],
)
def test_types(texts: list[str], values: list[object], kind: str) -> None:
    table = partition_table([f"x={text}/file" for text in texts], inferred=True)
    assert table["x"].to_pylist() == values
    assert str(table.schema.field("x").type) == kind


def test_other_directories_say_nothing() -> None:
    assert partition_table(["a/b", "c", "=1/d"], inferred=True).num_columns == 0
    assert partition_table(["part/x=1/deep/file"], inferred=True).to_pydict() == {"x": [1]}


def test_files_must_agree() -> None:
    with pytest.raises(InvalidInput, match="some have none, others year"):
        partition_table(["year=1/a", "b"], inferred=True)

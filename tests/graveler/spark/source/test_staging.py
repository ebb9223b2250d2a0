"""Writes that are staged, and writes by partition, without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from graveler.spark.source.publishing import MARKER
from graveler.spark.source.target import Target, target_of
from graveler.spark.source.upload import Uploaded, upload, uploads_of
from graveler.spark.source.writing import Writer
from graveler_core.errors import Conflict, DirtyBranch, InvalidInput, PermissionDenied
from graveler_core.model.entry import CommonPrefix
from tests.graveler.spark.source.lakes import Lake

PLAIN = StructType([StructField("n", LongType())])
SPLIT = StructType([StructField("letter", StringType()), StructField("n", LongType())])
LETTERS = {"partition_column": "letter", "partitions": json.dumps(["a", "b/c", "_d"])}
Rows = Sequence[tuple[str, int]]


def target(lake: Lake, schema: StructType = PLAIN, *, overwrite: bool = True, **options: str) -> Target:
    return target_of(lake.options(branch="main", path="t", **options), schema, overwrite=overwrite, stream=False)


def by_letter(rows: Rows) -> list[pa.RecordBatch]:
    letters, numbers = zip(*rows, strict=True)
    return [pa.record_batch({"letter": pa.array(letters), "n": pa.array(numbers, pa.int64())})]


def numbers_stored(at: Target, *numbers: int) -> Uploaded:
    return upload(at, [pa.record_batch({"n": pa.array(numbers, pa.int64())})])


def stage(lake: Lake, *tasks: Sequence[int], overwrite: bool = True) -> None:
    at = target(lake, overwrite=overwrite, stage="true")
    Writer(at).commit([numbers_stored(at, *task) for task in tasks])


def split(lake: Lake, *tasks: Rows, **options: str) -> None:
    at = target(lake, SPLIT, **{**LETTERS, **options})
    Writer(at).commit([upload(at, by_letter(task)) for task in tasks])


def found(lake: Lake, ref: str = "main") -> dict[str, list[int]]:
    """The numbers in each file."""
    snapshot = lake.repo.at(ref)
    paths = [each.path for each in snapshot.list("t/") if not isinstance(each, CommonPrefix)]
    return {
        path.removeprefix("t/"): pq.read_table(pa.BufferReader(snapshot.read(path))).column("n").to_pylist()
        for path in paths
        if not path.endswith(MARKER)
    }


def test_files_are_staged_and_not_committed(place: Lake) -> None:
    stage(place, [1, 2], [3])
    assert found(place) == {"part-00000.parquet": [1, 2], "part-00001.parquet": [3]}
    assert found(place, "main@") == {}
    assert len(list(place.repo.log("main"))) == 1


def test_an_overwrite_replaces_what_is_staged_and_what_is_committed(place: Lake) -> None:
    stage(place, [1], [2], [3])
    place.repo.branch("main").commit("three")
    place.repo.branch("main").put("t/mine", b"x")
    place.repo.branch("main").put("t2", b"x")
    stage(place, [4], [2])
    assert found(place) == {"part-00000.parquet": [4], "part-00001.parquet": [2]}
    changed = {change.path: str(change.kind) for change in place.repo.branch("main").uncommitted()}
    assert changed == {"t/part-00000.parquet": "changed", "t/part-00002.parquet": "removed", "t2": "added"}


def test_equal_rows_are_no_change(place: Lake) -> None:
    stage(place, [1, 2], [3])
    place.repo.branch("main").commit("rows")
    stage(place, [1, 2], [3])
    assert list(place.repo.branch("main").uncommitted()) == []


def test_what_is_appended_stands_beside_the_others(place: Lake) -> None:
    stage(place, [1])
    stage(place, [2], overwrite=False)
    stage(place, [3], overwrite=False)
    assert sorted(found(place).values()) == [[1], [2], [3]]


def test_no_rows_are_a_table_without_rows(place: Lake) -> None:
    stage(place, [1], [2])
    stage(place, [])
    assert found(place) == {"part-00000.parquet": []}
    stage(place, [], overwrite=False)
    assert len(found(place)) == 1


def test_rows_come_to_the_directory_of_their_partition(place: Lake) -> None:
    split(place, [("a", 1), ("a", 2), ("_d", 3)], [("_d", 4), ("b/c", 5), ("_d", 6)], stage="true")
    assert found(place) == {
        "%5Fd/part-00000.parquet": [3],
        "%5Fd/part-00001.parquet": [4],
        "%5Fd/part-00002.parquet": [6],
        "a/part-00000.parquet": [1, 2],
        "b%2Fc/part-00000.parquet": [5],
    }
    (table,) = {
        tuple(pq.read_table(pa.BufferReader(place.repo.at("main").read(e.path))).column_names)
        for e in place.repo.at("main").list("t/")
    }
    assert table == ("n",)


@pytest.mark.parametrize("staged", ["true", "false"])
def test_only_the_partitions_that_are_named_are_replaced(place: Lake, staged: str) -> None:
    def committed() -> dict[str, list[int]]:
        return {path.split("/")[0]: numbers for path, numbers in found(place).items()}

    split(place, [("a", 1), ("b/c", 2), ("_d", 3)], stage=staged)
    split(place, [("a", 4)], stage=staged, partitions='["a", "_d"]')
    assert committed() == {"a": [4], "b%2Fc": [2]}
    split(place, stage=staged, partitions='["a"]')
    assert committed() == {"b%2Fc": [2]}


def test_another_partition_that_is_staged_is_in_nobodys_way(place: Lake) -> None:
    split(place, [("a", 1)], stage="true")
    split(place, [("_d", 2)], partitions='["_d"]')
    assert found(place, "main@") == {name: [2] for name in found(place, "main@")}
    with pytest.raises(DirtyBranch, match=r"'t/a/part-00000\.parquet' is staged"):
        split(place, [("a", 2)])


def test_directories_can_be_chosen(place: Lake) -> None:
    directories = {"a": "x=1/letter=a/", "b/c": "x=1/letter=b/"}
    split(place, [("a", 1), ("b/c", 2)], stage="true", partitions=json.dumps(directories))
    assert found(place) == {"x=1/letter=a/part-00000.parquet": [1], "x=1/letter=b/part-00000.parquet": [2]}


@pytest.mark.parametrize("letter", ["z", None])
def test_a_row_of_no_partition_is_refused(place: Lake, letter: str) -> None:
    at = target(place, SPLIT, **LETTERS)
    with pytest.raises(
        InvalidInput,
        match=rf"path 't': a row belongs to the partition {letter!r}, but must belong to one of \['a', 'b/c', '_d'\]",
    ):
        upload(at, by_letter([("a", 1), (letter, 2)]))
    assert list(place.repo._stores.blobs.at(place.repo.storage_namespace).list("data/")) == []


def test_a_protected_branch_is_not_staged_to(place: Lake) -> None:
    at = target(place, stage="true")
    done = numbers_stored(at, 1)
    place.repo.set_read_only(True)
    with pytest.raises(PermissionDenied):
        Writer(at).commit([done])
    assert list(uploads_of(at).standing()) == []
    assert list(uploads_of(at).blobs.list("data/")) == []


def test_what_is_staged_is_not_swept(place: Lake) -> None:
    stage(place, [1], [2])
    assert place.repo.sweep(grace=timedelta(0), alone=True, uploads=True).uploads == 0
    assert sorted(found(place).values()) == [[1], [2]]


def test_what_was_swept_is_not_staged(place: Lake) -> None:
    stage(place, [1])
    at = target(place, stage="true")
    done = numbers_stored(at, 2)
    assert place.repo.sweep(grace=timedelta(0), alone=True, uploads=True).uploads == 1
    with pytest.raises(Conflict, match="took longer than the grace"):
        Writer(at).commit([done])
    assert list(found(place).values()) == [[1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage": "yes"}, "option 'stage': must be true or false"),
        ({"stage": "true", "message": "x"}, "option 'message': unknown for writes that are staged"),
        ({"stage": "true", "idempotency_key": "x"}, "option 'idempotency_key': unknown for writes that are staged"),
        ({"partition_column": "letter"}, "option 'partitions': must be a JSON array of strings"),
        ({"partition_column": "letter", "partitions": "[]"}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": '[""]'}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": "a"}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": '{"a": "a"}'}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": '{"a": "x/_y/"}'}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": '{"a": "/"}'}, "option 'partitions': must be"),
        ({"partition_column": "letter", "partitions": '{"a": "x/", "b": "x/"}'}, "but 'x/' is the directory 'x/' or"),
        ({"partition_column": "letter", "partitions": '{"a": "x/y/", "b": "x/"}'}, "but 'x/y/' is the directory 'x/'"),
        ({"partitions": '["a"]'}, "option 'partition_column': must name a string column, but is ''"),
        (
            {"partition_column": "n", "partitions": '["a"]'},
            "option 'partition_column': must name a string column, but is 'n'; string columns are 'letter'",
        ),
    ],
)
def test_wrong_options(place: Lake, options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        target(place, SPLIT, **options)


def test_files_need_another_column_than_that_of_the_partitions(place: Lake) -> None:
    alone = StructType([StructField("letter", StringType())])
    with pytest.raises(InvalidInput, match="option 'partition_column': 'letter' is the only column, and the files do"):
        target(place, alone, partition_column="letter", partitions='["a"]')


def test_a_stream_is_not_staged(place: Lake) -> None:
    given = place.options(branch="main", path="t", stage="true")
    with pytest.raises(InvalidInput, match="option 'stage': unknown for streams that are written"):
        target_of(given, PLAIN, overwrite=False, stream=True)

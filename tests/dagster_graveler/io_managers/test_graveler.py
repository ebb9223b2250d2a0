"""Assets of each type to and from tables: branch, replacement, columns, metadata, and values that are refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dagster_graveler.io_managers import parquet_files
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.resources import graveler_branch
from dagster_graveler.testing import EphemeralLake, assert_content
from graveler_core.errors import Unavailable
from graveler_core.facade.branch import Branch
from tests.dagster_graveler.io_managers.letters import DEV, Seen, loaded, metadata_of, paths, stored
from tests.dagster_graveler.io_managers.values import KINDS, Kind, letters


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_value_is_loaded_as_it_was_stored(graveler_lake: EphemeralLake, kind: Kind) -> None:
    seen: Seen = []
    rows = letters(("a", 1), ("b", 2), ("c", 3))
    graveler_lake.materialize([stored(lambda: kind.make(rows)), loaded(seen, kind.type)], tags=DEV)
    assert isinstance(seen[0], kind.type)
    assert kind.rows(seen[0]) == [("a", 1), ("b", 2), ("c", 3)]
    assert paths(graveler_lake) == ["area/letters/part-00000.parquet"]
    assert paths(graveler_lake, "main") == []


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_only_the_requested_columns_are_loaded(graveler_lake: EphemeralLake, kind: Kind) -> None:
    seen: Seen = []
    assets = [stored(letters(("a", 1), ("b", 2))), loaded(seen, kind.type, {"columns": ["n"]})]
    graveler_lake.materialize(assets, tags=DEV)
    assert kind.table(seen[0]).to_pydict() == {"n": [1, 2]}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_table_without_rows_keeps_its_columns(graveler_lake: EphemeralLake, kind: Kind) -> None:
    seen: Seen = []
    graveler_lake.materialize([stored(lambda: kind.make(letters())), loaded(seen, kind.type)], tags=DEV)
    assert kind.table(seen[0]).to_pydict() == {"letter": [], "n": []}


@pytest.mark.parametrize(("value", "type_"), [(b"\x00\xff", bytes), ("läuft", str)])
def test_bytes_and_text_are_one_file(graveler_lake: EphemeralLake, value: Any, type_: Any) -> None:
    seen: Seen = []
    result = graveler_lake.materialize([stored(value), loaded(seen, type_)], tags=DEV)
    assert seen == [value]
    assert paths(graveler_lake) == ["area/letters/content"]
    assert metadata_of(result)["bytes"] == len(value if isinstance(value, bytes) else value.encode())
    graveler_lake.materialize([stored(value, metadata={"graveler/file": "day.html"}), loaded(seen, type_)], tags=DEV)
    assert seen == [value, value]
    assert paths(graveler_lake) == ["area/letters/day.html"]


def test_the_annotation_of_the_input_chooses_the_library(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    graveler_lake.materialize([stored(pl.DataFrame({"n": [1]})), loaded(seen, pd.DataFrame)], tags=DEV)
    assert seen[0].equals(pd.DataFrame({"n": [1]}))


def test_a_subclass_is_stored_as_its_base(graveler_lake: EphemeralLake) -> None:
    class Frame(pd.DataFrame):
        """As libraries on top of pandas define."""

    graveler_lake.materialize([stored(lambda: Frame({"n": [1]}))], tags=DEV)
    assert_content(graveler_lake, "dev", "area/letters", [{"n": 1}])


def test_an_index_of_pandas_is_restored(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    frame = pd.DataFrame({"n": [1, 2]}, index=pd.Index(["x", "y"], name="key"))
    graveler_lake.materialize([stored(frame), loaded(seen, pd.DataFrame)], tags=DEV)
    pd.testing.assert_frame_equal(seen[0], frame)


def test_a_write_replaces_all_files_of_the_table_and_no_others(graveler_lake: EphemeralLake) -> None:
    branch = graveler_lake.repository.create_branch("dev", source="main")
    for path in ("area/letters/old.parquet", "area/letters/_SUCCESS", "area/letters/n=1/x.parquet", "area/letters2/x"):
        branch.put(path, b"x")
    graveler_lake.materialize([stored(letters(("a", 1)))], tags=DEV)
    assert paths(graveler_lake) == ["area/letters/part-00000.parquet", "area/letters2/x"]


def test_a_failed_write_leaves_the_table_as_it_was(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    graveler_lake.materialize([stored(letters(("a", 1)))], tags=DEV)

    def broken(*args: Any, **kwargs: Any) -> None:
        raise Unavailable("the store cannot be reached")

    monkeypatch.setattr(Branch, "put_many", broken)
    assert not graveler_lake.materialize([stored(letters(("b", 2)))], tags=DEV, raise_on_error=False).success
    assert_content(graveler_lake, "dev", "area/letters", [{"letter": "a", "n": 1}])


def test_appended_rows_stand_beside_the_others(graveler_lake: EphemeralLake) -> None:
    append = {"metadata": {"mode": "append"}}
    graveler_lake.materialize([stored(letters(("a", 1)), **append)], tags=DEV)
    result = graveler_lake.materialize([stored(letters(("b", 2)), **append)], tags=DEV)
    assert_content(graveler_lake, "dev", "area/letters", [{"letter": "a", "n": 1}, {"letter": "b", "n": 2}])
    assert metadata_of(result)["dagster/row_count"] == 2
    assert metadata_of(result)["graveler/replaced"] == []


def test_a_repeated_step_appends_once(graveler_lake: EphemeralLake) -> None:
    attempts = []

    @dg.asset(key=["area", "letters"], metadata={"mode": "append"}, retry_policy=dg.RetryPolicy(max_retries=1))
    def made() -> Any:
        return letters(("a", 1))

    class Failing(GravelerIOManager):
        def handle_output(self, context: dg.OutputContext, obj: Any) -> None:
            super().handle_output(context, obj)
            attempts.append(obj)
            if len(attempts) == 1:
                raise dg.RetryRequested(max_retries=1)

    graveler_lake.materialize([made], resources={"io_manager": Failing(branch=graveler_lake.branch)}, tags=DEV)
    assert len(attempts) == 2
    assert_content(graveler_lake, "dev", "area/letters", [{"letter": "a", "n": 1}])


def test_a_run_that_continues_another_one_replaces_what_that_one_appended(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "FILE_BYTES", 1)
    monkeypatch.setattr(parquet_files, "_GROUP_BYTES", 1)
    batches = [letters((letter, 1)) for letter in "abc"]

    def append(rows: list[pa.Table]) -> str:
        asset = stored(pa.concat_tables(rows), metadata={"mode": "append"})
        return graveler_lake.materialize([asset], tags=DEV).run_id

    append(batches[:1])
    failed = append(batches)
    assert len(paths(graveler_lake)) == 4
    monkeypatch.setattr(graveler_branch, "origin_run_id", lambda _instance, _run: failed)
    append(batches[:2])
    expected = [{"letter": letter, "n": 1} for letter in ("a", "a", "b")]
    assert_content(graveler_lake, "dev", "area/letters", expected)


def test_the_path_can_be_chosen(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    assets = [stored(letters(("a", 1)), metadata={"graveler/path": "raw/v1/"}), loaded(seen, pa.Table)]
    graveler_lake.materialize(assets, tags=DEV)
    assert paths(graveler_lake) == ["raw/v1/part-00000.parquet"]
    assert seen[0].num_rows == 1


def test_the_metadata_describe_the_table(graveler_lake: EphemeralLake) -> None:
    result = graveler_lake.materialize([stored(letters(("a", 1), ("b", 2)))], tags=DEV)
    (entry,) = graveler_lake.repository.at("dev").list()
    found = metadata_of(result)
    schema = found.pop("dagster/column_schema")
    assert [(column.name, column.type) for column in schema.columns] == [("letter", "string"), ("n", "int64")]
    assert len(found.pop("graveler/content")) == 64
    assert found == {
        "dagster/row_count": 2,
        "dagster/table_name": "lake.area.letters",
        "dagster/storage_kind": "graveler",
        "dagster/uri": "graveler://lake/dev/area/letters",
        "graveler/branch": "dev",
        "graveler/state": "unpublished",
        "graveler/replaced": ["area/letters/"],
        "files": 1,
        "bytes": entry.size,
    }


def test_metadata_of_the_author_win(graveler_lake: EphemeralLake) -> None:
    @dg.asset(key=["area", "letters"])
    def made() -> dg.Output[pa.Table]:
        return dg.Output(letters(("a", 1)), metadata={"dagster/table_name": "warehouse.letters"})

    found = metadata_of(graveler_lake.materialize([made], tags=DEV))
    assert found["dagster/table_name"] == "warehouse.letters"


def test_an_input_without_annotation_has_the_default_type(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    assets = [stored(letters(("a", 1))), loaded(seen, Any)]
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="area/letters: the input has no type; annotate it"):
        graveler_lake.materialize(assets, tags=DEV)
    manager = GravelerIOManager(branch=graveler_lake.branch, default_load_type="polars.DataFrame")
    graveler_lake.materialize(assets, resources={"io_manager": manager}, tags=DEV)
    assert isinstance(seen[0], pl.DataFrame)


def test_files_with_more_columns_and_wider_types_are_read_together(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    append: dict[str, Any] = {"metadata": {"mode": "append"}}
    graveler_lake.materialize([stored(pa.table({"n": pa.array([1], pa.int32())}), **append)], tags=DEV)
    wide = stored(pa.table({"n": [1 << 40], "m": ["x"]}), **append)
    graveler_lake.materialize([wide, loaded(seen, pa.Table)], tags=DEV)
    assert sorted(seen[0].to_pylist(), key=lambda row: row["n"]) == [{"n": 1, "m": None}, {"n": 1 << 40, "m": "x"}]
    other = stored(pa.table({"n": ["text"]}), **append)
    with pytest.raises(
        dg.DagsterInvariantViolationError, match=r"area/letters: files have .*types; 'area/letters/run-.*' differs"
    ):
        graveler_lake.materialize([other, loaded(seen, pa.Table)], tags=DEV)


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "none": (lambda: None, {}, "asset area/letters: the value is None"),
    "type": (lambda: {1}, {}, "asset area/letters: type builtins.set is not supported; supported are builtins.bytes"),
    "no columns": (lambda: pa.table({}), {}, "asset area/letters: a table must have at least one column"),
    "same names": (
        lambda: pa.table([[1], [2]], names=["n", "n"]),
        {},
        "asset area/letters: 2 columns are named 'n'",
    ),
    "mode": (letters, {"mode": "merge"}, "metadata 'mode' must be 'replace' or 'append', but is 'merge'"),
    "append": (lambda: b"", {"mode": "append"}, "rows can be appended to tables only, not to bytes"),
    "path": (letters, {"graveler/path": "/"}, "metadata 'graveler/path' must be a path, but is '/'"),
    "file": (lambda: b"", {"graveler/file": "a/b"}, "metadata 'graveler/file' must be the name of a file"),
}


@pytest.mark.parametrize(("value", "metadata", "message"), REFUSED.values(), ids=REFUSED)
def test_a_value_is_refused(
    graveler_lake: EphemeralLake, value: Callable[[], Any], metadata: dict[str, Any], message: str
) -> None:
    with pytest.raises((dg.DagsterInvariantViolationError, dg.DagsterInvalidDefinitionError), match=message):
        graveler_lake.materialize([stored(value, metadata=metadata)], tags=DEV)
    assert "dev" not in {b.id for b in graveler_lake.repository.branches()} or paths(graveler_lake) == []


def test_a_table_inside_of_another_is_not_destroyed(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    graveler_lake.repository.create_branch("dev", source="main").put("area/letters/other/part-0.parquet", b"x")
    with pytest.raises(
        dg.DagsterInvariantViolationError, match=r"contains the file 'area/letters/other/part-0\.parquet'"
    ):
        graveler_lake.materialize([stored(letters(("a", 1)))], tags=DEV)
    assert paths(graveler_lake) == ["area/letters/other/part-0.parquet"]
    with pytest.raises(dg.DagsterInvariantViolationError, match="path 'area/letters' is not stored at 'dev'"):
        graveler_lake.materialize([dg.AssetSpec(["area", "letters"]), loaded(seen, pa.Table)], tags=DEV)


@pytest.mark.parametrize(
    ("type_", "metadata", "message"),
    [
        (pa.Table, {"columns": ["m"]}, "area/letters: has no column 'm'; columns are 'letter', 'n'"),
        (pa.Table, {"columns": "n"}, "metadata 'columns' must be a list of columns, but is 'n'"),
        (pa.Table, {"columns": []}, "metadata 'columns' must be a list of columns"),
        (pa.Table, {"ref": 7}, "metadata 'ref' must be a ref, but is 7"),
        (dict[str, pa.Table], {}, "Dict\\[str, pyarrow.lib.Table\\] is not supported"),
        (bytes, {"columns": ["n"]}, "bytes and text have no columns"),
        (complex, {}, "type builtins.complex is not supported"),
    ],
)
def test_an_input_is_refused(graveler_lake: EphemeralLake, type_: Any, metadata: Any, message: str) -> None:
    with pytest.raises((dg.DagsterInvariantViolationError, dg.DagsterInvalidDefinitionError), match=message):
        graveler_lake.materialize([stored(letters(("a", 1))), loaded([], type_, metadata)], tags=DEV)


@pytest.mark.parametrize(
    ("value", "type_", "message"),
    [
        (lambda: letters(("a", 1)), str, "file 'area/letters/part-00000.parquet' is not text in UTF-8; annotate"),
        (lambda: b"\xff", str, "file 'area/letters/content' is not text in UTF-8; annotate the input as bytes"),
        (lambda: "text", pa.Table, "file 'area/letters/content' is not a Parquet file; annotate the input as bytes"),
    ],
)
def test_a_value_that_was_stored_as_another_type_is_refused(
    graveler_lake: EphemeralLake, value: Callable[[], Any], type_: Any, message: str
) -> None:
    with pytest.raises(dg.DagsterInvariantViolationError, match=f"asset area/letters: {message}"):
        graveler_lake.materialize([stored(value), loaded([], type_)], tags=DEV)


def test_values_between_ops_need_another_io_manager(graveler_lake: EphemeralLake) -> None:
    @dg.op
    def nothing():  # type: ignore[no-untyped-def]  # returns None, and has no annotation that says so
        pass

    @dg.op
    def number() -> int:
        return 1

    @dg.op(ins={"n": dg.In(input_manager_key="io_manager")})
    def read(n: int) -> None:
        assert n

    @dg.op(out=dg.Out(io_manager_key="op_io_manager"))
    def kept() -> int:
        return 2

    files = {**graveler_lake.resources, "op_io_manager": dg.mem_io_manager}

    def run(*ops: Callable[..., Any]) -> dg.ExecuteInProcessResult:
        @dg.job(resource_defs=files)
        def chained() -> None:
            found: list[Any] = []
            for op in ops:
                found = [op(*found)]

        return chained.execute_in_process(instance=graveler_lake.instance)

    assert run(nothing).success
    with pytest.raises(
        dg.DagsterInvalidDefinitionError, match=r"output 'result' of step 'number' is no asset, .*dg\.Out"
    ):
        run(number)
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=r"input 'n' is no asset, .*dg\.In\(input_manager_key="):
        run(kept, read)


def test_libraries_are_imported_when_they_are_used() -> None:
    code = (
        "import sys, dagster_graveler.io_managers.graveler\n"
        "found = {'duckdb', 'pandas', 'polars', 'pyarrow.dataset', 'pyspark'} & set(sys.modules)\n"
        "assert not found, found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_check_loads_the_table_that_the_run_wrote(graveler_lake: EphemeralLake) -> None:
    @dg.asset_check(asset=dg.AssetKey(["area", "letters"]))
    def two_rows(io_manager: dg.ResourceParam[GravelerIOManager]) -> dg.AssetCheckResult:
        found = io_manager.load_table("area/letters", pl.DataFrame, columns=["n"])
        with pytest.raises(dg.DagsterInvariantViolationError, match="table 'area/numbers': is not stored at 'dev'"):
            io_manager.load_table("area/numbers", pl.DataFrame)
        return dg.AssetCheckResult(passed=found.rows() == [(1,), (2,)])

    result = graveler_lake.materialize([stored(letters(("a", 1), ("b", 2))), two_rows], tags=DEV)
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.passed

"""Partitions of every kind: directories, the division of rows, what is loaded, and rows that are refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from io import BytesIO
from typing import Any, Optional

import dagster as dg
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_graveler.beta import beta_accepted
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.io_managers.splitting import Splitter
from dagster_graveler.io_managers.table_path import Dimension, TablePath
from dagster_graveler.runs import RANGE_END_TAG, RANGE_START_TAG
from dagster_graveler.testing import EphemeralLake, assert_content
from tests.dagster_graveler.io_managers.letters import DEV, Seen, loaded, metadata_of, paths, stored
from tests.dagster_graveler.io_managers.values import KINDS, Kind, letters

LETTERS = dg.StaticPartitionsDefinition(["a", "b", "_c/ü"])
DAYS = dg.DailyPartitionsDefinition(start_date="2013-01-01", end_date="2013-01-05")
BOTH = dg.MultiPartitionsDefinition({"letter": LETTERS, "day": DAYS})
BY_LETTER = {"partition_expr": "letter"}
INVALID = (dg.DagsterInvariantViolationError, dg.DagsterInvalidDefinitionError)


def single_run(value: Any, partitions_def: Any, metadata: dict[str, Any] | None = None) -> dg.AssetsDefinition:
    """The asset with a backfill policy, so that one run writes several partitions."""
    with beta_accepted():
        return stored(
            value, partitions_def=partitions_def, metadata=metadata, backfill_policy=dg.BackfillPolicy.single_run()
        )


def span(first: str, last: str) -> dict[str, str]:
    return {**DEV, RANGE_START_TAG: first, RANGE_END_TAG: last}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_rows_of_several_partitions_are_divided(graveler_lake: EphemeralLake, kind: Kind) -> None:
    seen: Seen = []
    rows = letters(("b", 1), ("a", 2), ("b", 3))
    assets = [
        single_run(lambda: kind.make(rows), LETTERS, BY_LETTER),
        loaded(seen, kind.type, {"columns": ["n"]}, partitions_def=LETTERS),
    ]
    result = graveler_lake.materialize(assets, tags=span("a", "_c/ü"), selection=[assets[0]])
    assert paths(graveler_lake) == [
        "area/letters/letter=_c%2F%C3%BC/part-00000.parquet",
        "area/letters/letter=a/part-00000.parquet",
        "area/letters/letter=b/part-00000.parquet",
    ]
    graveler_lake.materialize(assets, tags=DEV, selection=[assets[1]], partition_key="b")
    graveler_lake.materialize(assets, tags=DEV, selection=[assets[1]], partition_key="_c/ü")
    assert [kind.rows(value) for value in seen] == [[(1,), (3,)], []]
    for materialization in result.asset_materializations_for_node("area__letters"):
        assert "dagster/partition_row_count" not in materialization.metadata
        assert materialization.metadata["rows"].value == 3
        assert materialization.metadata["dagster/row_count"].value == 3


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_partition_is_replaced_alone(graveler_lake: EphemeralLake, kind: Kind) -> None:
    def write(letter: str, n: int) -> dict[str, Any]:
        asset = stored(lambda: kind.make(letters((letter, n))), partitions_def=LETTERS, metadata=BY_LETTER)
        return metadata_of(graveler_lake.materialize([asset], tags=DEV, partition_key=letter))

    write("a", 1)
    write("b", 2)
    found = write("a", 3)
    assert found["dagster/partition_row_count"] == 1
    assert found["dagster/row_count"] == 2
    assert found["graveler/replaced"] == ["area/letters/letter=a/"]
    assert_content(graveler_lake, "dev", "area/letters", [{"letter": "a", "n": 3}, {"letter": "b", "n": 2}])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_several_partitions_are_loaded_as_one_value_or_one_by_one(graveler_lake: EphemeralLake, kind: Kind) -> None:
    whole: Seen = []
    parts: Seen = []
    letters_asset = single_run(letters(("a", 1), ("b", 2)), LETTERS, BY_LETTER)
    graveler_lake.materialize([letters_asset], tags=span("a", "b"))
    for seen, type_ in ((whole, kind.type), (parts, dict[str, kind.type])):
        down = loaded(seen, type_, {"allow_missing_partitions": True})
        graveler_lake.materialize([letters_asset, down], selection=[down], tags=DEV)
    assert kind.rows(whole[0]) == [("a", 1), ("b", 2)]
    assert {key: kind.rows(value) for key, value in parts[0].items()} == {"a": [("a", 1)], "b": [("b", 2)]}


@pytest.mark.parametrize("value", [b"1", "1"], ids=["bytes", "text"])
def test_bytes_and_text_cannot_be_divided(graveler_lake: EphemeralLake, value: bytes | str) -> None:
    asset = single_run(value, LETTERS, BY_LETTER)
    with pytest.raises(INVALID, match="a run that writes 2 partitions needs a table"):
        graveler_lake.materialize([asset], tags=span("a", "b"))


@pytest.mark.parametrize(("value", "type_"), [(b"1", bytes), ("1", str)])
def test_bytes_and_text_have_one_file_for_each_partition(graveler_lake: EphemeralLake, value: Any, type_: Any) -> None:
    seen: Seen = []
    asset = stored(value, partitions_def=LETTERS)
    for letter in ("a", "b"):
        graveler_lake.materialize([asset], tags=DEV, partition_key=letter)
    assert paths(graveler_lake) == ["area/letters/partition=a/content", "area/letters/partition=b/content"]
    options = {"metadata": {"allow_missing_partitions": True}}
    down = loaded(seen, dict[str, type_], **options)
    graveler_lake.materialize([asset, down], selection=[down], tags=DEV)
    assert seen == [{"a": value, "b": value}]
    down = loaded(seen, type_, **options)
    with pytest.raises(INVALID, match="2 files cannot be loaded as one value of bytes or text"):
        graveler_lake.materialize([asset, down], selection=[down], tags=DEV)


def test_without_a_partition_column_the_value_is_the_partition(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    asset = single_run(pa.table({"n": [1]}), LETTERS)
    for letter in ("a", "b"):
        graveler_lake.materialize([asset], tags=DEV, partition_key=letter)
    with pytest.raises(INVALID, match="a run that writes 2 partitions needs the metadata 'partition_expr'"):
        graveler_lake.materialize([asset], tags=span("a", "b"))
    down = loaded(seen, Any, {"allow_missing_partitions": True})
    default = GravelerIOManager(branch=graveler_lake.branch, default_load_type="pyarrow.Table")
    graveler_lake.materialize([asset, down], selection=[down], tags=DEV, resources={"io_manager": default})
    assert {key: value.num_rows for key, value in seen[0].items()} == {"a": 1, "b": 1}


def test_dynamic_partitions(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    customers = dg.DynamicPartitionsDefinition(name="customers")
    graveler_lake.instance.add_dynamic_partitions("customers", ["x/1", "y"])
    asset = single_run(
        pl.DataFrame({"customer": ["y", "x/1", "y"], "n": [1, 2, 3]}), customers, {"partition_expr": "customer"}
    )
    down = loaded(seen, pl.DataFrame, partitions_def=customers)
    graveler_lake.materialize([asset], tags=span("x/1", "y"))
    assert paths(graveler_lake) == [
        "area/letters/customer=x%2F1/part-00000.parquet",
        "area/letters/customer=y/part-00000.parquet",
    ]
    graveler_lake.materialize([asset, down], selection=[down], tags=DEV, partition_key="y")
    assert seen[0]["n"].to_list() == [1, 3]


def test_dimensions_are_nested_directories(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    rows = [(letter, date(2013, 1, day), day) for letter in "ab" for day in (1, 2)]
    table = pa.table(dict(zip(("letter", "at", "n"), map(list, zip(*rows, strict=True)), strict=True)))
    asset = single_run(table, BOTH, {"partition_expr": {"letter": "letter", "day": "at"}})
    down = loaded(seen, pa.Table, partitions_def=BOTH)
    keys = [
        dg.MultiPartitionKey({"letter": letter, "day": day})
        for letter, day in (("a", "2013-01-01"), ("b", "2013-01-02"))
    ]
    graveler_lake.materialize([asset], tags=span(*keys))
    assert paths(graveler_lake) == [
        f"area/letters/day=2013-01-0{day}/letter={letter}/part-00000.parquet" for day in (1, 2) for letter in "ab"
    ]
    graveler_lake.materialize([asset, down], selection=[down], tags=DEV, partition_key=keys[1])
    assert seen[0].to_pylist() == [{"letter": "b", "at": date(2013, 1, 2), "n": 2}]


TIMES: dict[str, list[Any]] = {
    "dates": [date(2013, 1, 1), date(2013, 1, 2)],
    "local times": [datetime(2013, 1, 1, 23, 59, 59, 999999), datetime(2013, 1, 2)],
    "instants": [datetime(2013, 1, 1, 23, tzinfo=UTC), datetime(2013, 1, 2, tzinfo=UTC)],
    "text": ["2013-01-01", "2013-01-02"],
}


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
def test_time_windows(graveler_lake: EphemeralLake, times: list[Any]) -> None:
    table = pa.table({"at": times, "n": [1, 2]})
    asset = single_run(table, DAYS, {"partition_expr": "at"})
    graveler_lake.materialize([asset], tags=span("2013-01-01", "2013-01-02"))
    for number in (1, 2):
        path = f"area/letters/day=2013-01-0{number}"
        assert_content(graveler_lake, "dev", path, [{"at": times[number - 1], "n": number}])


def test_instants_follow_the_time_zone_of_the_partitions(graveler_lake: EphemeralLake) -> None:
    new_york = dg.DailyPartitionsDefinition(start_date="2013-01-01", timezone="America/New_York")
    table = pa.table({"at": [datetime(2013, 1, 2, 4, 59, tzinfo=UTC), datetime(2013, 1, 2, 5, tzinfo=UTC)]})
    graveler_lake.materialize(
        [single_run(table, new_york, {"partition_expr": "at"})], tags=span("2013-01-01", "2013-01-02")
    )
    for day, hour in (("01", 4), ("02", 5)):
        at = graveler_lake.repository.at("dev")
        (path,) = [entry.path for entry in at.list(f"area/letters/day=2013-01-{day}/")]
        assert pl.read_parquet(at.read(path))["at"][0].hour == hour


OUTSIDE: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "static": (LETTERS, letters(("a", 1), ("z", 2)), BY_LETTER, "a row with letter = 'z' belongs to none .*: 'a', 'b'"),
    "null": (LETTERS, letters(("a", 1), (None, 2)), BY_LETTER, "a row with letter = null belongs to none"),
    "before": (DAYS, pa.table({"at": [date(2012, 12, 31)]}), {"partition_expr": "at"}, "at = '2012-12-31'"),
    "after": (DAYS, pa.table({"at": [date(2013, 1, 3)]}), {"partition_expr": "at"}, "at = '2013-01-03'"),
    "no time": (DAYS, pa.table({"at": pa.array([None], pa.timestamp("us"))}), {"partition_expr": "at"}, "at = null"),
}


@pytest.mark.parametrize(("definition", "table", "metadata", "message"), OUTSIDE.values(), ids=OUTSIDE)
def test_a_row_outside_of_the_run_is_refused(
    graveler_lake: EphemeralLake, definition: Any, table: Any, metadata: Any, message: str
) -> None:
    first, last = ("a", "b") if definition is LETTERS else ("2013-01-01", "2013-01-02")
    with pytest.raises(INVALID, match=message):
        graveler_lake.materialize([single_run(table, definition, metadata)], tags=span(first, last))
    assert paths(graveler_lake) == []


METADATA: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no column": (LETTERS, {"partition_expr": "x"}, "'partition_expr' must name a column, but is 'x'; columns are"),
    "no text": (LETTERS, {"partition_expr": 1}, "metadata 'partition_expr' must be text, not 1"),
    "mapping": (LETTERS, {"partition_expr": {"a": "b"}}, "metadata 'partition_expr' must be text"),
    "text for two": (
        BOTH,
        BY_LETTER,
        "must be a mapping of the dimensions \\['day', 'letter'\\] to text, not 'letter'",
    ),
    "one of two": (BOTH, {"partition_expr": {"day": "n"}}, "must be a mapping of the dimensions"),
    "hidden column": (
        LETTERS,
        {"graveler/partition_names": "N"},
        "column 'n' has the name of the partition directories; .* or name the column with metadata 'partition_expr'",
    ),
    "no column, but one with the name of directories": (
        LETTERS,
        {"graveler/partition_names": "n", "partition_expr": "nn"},
        "'partition_expr' must name a column, but is 'nn'; columns are 'letter', 'n'",
    ),
}


@pytest.mark.parametrize(("definition", "metadata", "message"), METADATA.values(), ids=METADATA)
def test_wrong_metadata_are_refused(
    graveler_lake: EphemeralLake, definition: Any, metadata: dict[str, Any], message: str
) -> None:
    key = dg.MultiPartitionKey({"letter": "a", "day": "2013-01-01"}) if definition is BOTH else "a"
    asset = stored(letters(("a", 1)), partitions_def=definition, metadata=metadata)
    with pytest.raises(INVALID, match=message):
        graveler_lake.materialize([asset], tags=DEV, partition_key=key)


def test_a_missing_partition_is_named(graveler_lake: EphemeralLake) -> None:
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    graveler_lake.materialize([asset], tags=DEV, partition_key="a")
    down = loaded([], pa.Table, partitions_def=LETTERS)
    with pytest.raises(INVALID, match="partition 'b' of 'area/letters' is not stored at 'dev'"):
        graveler_lake.materialize([asset, down], selection=[down], tags=DEV, partition_key="b")


def test_missing_partitions_may_be_left_out(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    graveler_lake.materialize([asset], tags=DEV, partition_key="a")

    def load(type_: Any, partition: str) -> None:
        down = loaded(seen, type_, {"allow_missing_partitions": True}, partitions_def=LETTERS)
        graveler_lake.materialize([asset, down], selection=[down], tags=DEV, partition_key=partition)

    load(dict[str, pa.Table], "a")
    load(dict[str, pa.Table], "b")
    assert [list(each) for each in seen] == [["a"], []]
    with pytest.raises(INVALID, match="partition 'b' of 'area/letters' is not stored at 'dev'"):
        load(pa.Table, "b")
    every = loaded(seen, pa.Table, {"allow_missing_partitions": True, "ref": "main"})
    with pytest.raises(INVALID, match="none of the partitions '_c/ü', 'a', 'b' of 'area/letters' is stored at 'main'"):
        graveler_lake.materialize([asset, every], selection=[every], tags=DEV)


def test_a_check_measures_the_partitions_that_are_stored(graveler_lake: EphemeralLake) -> None:
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)

    @dg.asset_check(asset=asset)
    def whole(letters: pa.Table) -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True, metadata={"rows": letters.num_rows})

    result = graveler_lake.materialize([asset, whole], tags=DEV, partition_key="a")
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.metadata["rows"].value == 1

    @dg.asset(ins={"letters": dg.AssetIn(asset.key)}, check_specs=[dg.AssetCheckSpec("inside", asset="down")])
    def down(letters: pa.Table) -> dg.MaterializeResult:  # type: ignore[type-arg]
        raise AssertionError(letters)

    with pytest.raises(INVALID, match="partition '_c/ü' of 'area/letters' is not stored at 'dev'"):
        graveler_lake.materialize([asset, down], selection=[down], tags=DEV)


def test_the_error_about_a_missing_partition_names_the_branch_that_has_it(graveler_lake: EphemeralLake) -> None:
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    graveler_lake.materialize([asset], tags=DEV, partition_key="a")
    down = loaded([], pa.Table, partitions_def=LETTERS)
    message = (
        r"is not stored at '[0-9a-f]+'\. The newest materialization is on the branch 'dev', which is not published"
    )
    with pytest.raises(INVALID, match=message):
        graveler_lake.materialize([asset, down], selection=[down], partition_key="a")
    graveler_lake.repository.delete_branch("dev")
    with pytest.raises(INVALID, match=r"partition 'a' of 'area/letters' is not stored at '[0-9a-f]+'$"):
        graveler_lake.materialize([asset, down], selection=[down], partition_key="a")


def test_pandas_reads_the_columns_from_the_files(graveler_lake: EphemeralLake) -> None:
    asset = single_run(letters(("a", 1), ("b", 2)), LETTERS, BY_LETTER)
    graveler_lake.materialize([asset], tags=span("a", "b"))
    uri, options = "graveler://lake/dev/area/letters", {"store": graveler_lake.graveler.url}
    found = pd.read_parquet(uri, partitioning=None, storage_options=options)
    assert sorted(found.itertuples(index=False, name=None)) == [("a", 1), ("b", 2)]


def test_the_names_of_directories_do_not_change(graveler_lake: EphemeralLake) -> None:
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    graveler_lake.materialize([asset], tags=DEV, partition_key="a")
    other = stored(letters(("a", 1)), partitions_def=LETTERS, metadata={**BY_LETTER, "graveler/partition_names": "key"})
    with pytest.raises(
        INVALID, match=r"has partition directories named \['letter'\], but this write names them \['key'\]"
    ):
        graveler_lake.materialize([other], tags=DEV, partition_key="a")


def test_a_table_that_becomes_partitioned_is_removed_first(graveler_lake: EphemeralLake) -> None:
    graveler_lake.materialize([stored(letters(("a", 1)))], tags=DEV)
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    with pytest.raises(INVALID, match="contains files that belong to no partition"):
        graveler_lake.materialize([asset], tags=DEV, partition_key="a")


def _as_graph() -> dg.AssetsDefinition:
    @dg.op
    def made() -> pa.Table:
        return letters(("a", 9))

    @dg.graph
    def graph() -> pa.Table:
        return made()

    key = dg.AssetKey(["area", "letters"])
    return dg.AssetsDefinition.from_graph(graph, keys_by_output_name={"result": key}, partitions_def=LETTERS)


def _as_multi_asset() -> dg.AssetsDefinition:
    @dg.multi_asset(outs={"out": dg.AssetOut(key=["area", "letters"])}, partitions_def=LETTERS)
    def several() -> pa.Table:
        return letters(("a", 9))

    return several


@pytest.mark.parametrize("mode", ["replace", "append"])
@pytest.mark.parametrize("other", [None, _as_graph, _as_multi_asset], ids=["asset", "graph", "multi-asset"])
def test_a_run_without_a_partition_leaves_the_partitions_as_they_are(
    graveler_lake: EphemeralLake, mode: str, other: Any
) -> None:
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata={"mode": mode})
    for letter in ("a", "b"):
        graveler_lake.materialize([asset], tags=DEV, partition_key=letter)
    before = [(entry.path, entry.identity) for entry in graveler_lake.repository.at("dev").list()]
    with pytest.raises(INVALID, match=r"area/letters: has partitions, but the run names none; .* Nothing is written"):
        graveler_lake.materialize([asset if other is None else other()], tags=DEV)
    assert [(entry.path, entry.identity) for entry in graveler_lake.repository.at("dev").list()] == before


def test_a_reader_needs_no_metadata_of_the_writer(graveler_lake: EphemeralLake) -> None:
    seen: Seen = []
    asset = stored(letters(("a", 1)), partitions_def=LETTERS, metadata=BY_LETTER)
    graveler_lake.materialize([asset], tags=DEV, partition_key="a")
    spec = dg.AssetSpec(["area", "letters"], partitions_def=LETTERS)
    down = loaded(seen, pa.Table, partitions_def=LETTERS)
    graveler_lake.materialize([spec, down], selection=[down], tags=DEV, partition_key="a")
    assert seen[0].to_pylist() == [{"letter": "a", "n": 1}]


@pytest.mark.parametrize(
    ("annotation", "first"),
    [(dict[str, pa.Table], {}), (Optional[pa.Table], None), (Any, None), (pa.Table, "yields no partition")],  # noqa: UP045
    ids=["dict", "optional", "any", "table"],
)
def test_an_input_without_a_partition(graveler_lake: EphemeralLake, annotation: Any, first: Any) -> None:
    seen: Seen = []
    with beta_accepted():
        before = dg.TimeWindowPartitionMapping(
            start_offset=-1, end_offset=-1, allow_nonexistent_upstream_partitions=True
        )

    def made(before: Any) -> pa.Table:
        seen.append(before)
        return pa.table({"n": [len(seen)]})

    key = dg.AssetKey(["area", "letters"])
    made.__annotations__["before"] = annotation
    asset = dg.asset(key=key, partitions_def=DAYS, ins={"before": dg.AssetIn(key, partition_mapping=before)})(made)
    manager = {"io_manager": GravelerIOManager(branch=graveler_lake.branch, default_load_type="pyarrow.Table")}
    other = BytesIO()
    pl.DataFrame({"n": [9]}).write_parquet(other)
    branch = graveler_lake.repository.create_branch("dev", source="main")
    branch.put("area/letters/day=2013-01-04/part-00000.parquet", other.getvalue())
    if annotation is pa.Table:
        with pytest.raises(INVALID, match=first):
            graveler_lake.materialize([asset], tags=DEV, partition_key="2013-01-01", resources=manager)
        return
    for day in (1, 2):
        graveler_lake.materialize([asset], tags=DEV, partition_key=f"2013-01-0{day}", resources=manager)
    assert seen[0] == first
    second = seen[1]["2013-01-01"] if isinstance(seen[1], dict) else seen[1]
    assert second.to_pydict() == {"n": [1]}


HOURS = dg.HourlyPartitionsDefinition(start_date="2020-01-01-00:00")
FIRST = datetime(2020, 1, 1, tzinfo=UTC)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True),
    st.lists(st.integers(0, 30 * 3600 - 1), min_size=1, max_size=40),
    st.booleans(),
)
def test_each_row_has_the_partition_that_dagster_gives_it(hours: list[int], seconds: list[int], aware: bool) -> None:
    """As `get_partition_key_for_timestamp`, for any hours of a run and any times, with or without time zone."""
    keys = sorted((FIRST + timedelta(hours=hour)).strftime("%Y-%m-%d-%H:%M") for hour in hours)
    times = [FIRST + timedelta(seconds=second) for second in seconds]
    column = pa.array([time if aware else time.replace(tzinfo=None) for time in times])
    batch = pa.record_batch({"at": column})
    splitter = Splitter(TablePath("a", "a", (Dimension(HOURS, "hour", "at"),), tuple(keys)), batch.schema)
    expected = [HOURS.get_partition_key_for_timestamp(time.timestamp()) for time in times]
    if set(expected) <= set(keys):
        assert [keys[position] for position in splitter.positions(batch)] == expected
    else:
        with pytest.raises(dg.DagsterInvariantViolationError, match="belongs to none"):
            splitter.positions(batch)

"""Tables that change while they are read: the value is the old table or the new one, and never a part of both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.publishing.written import content_digest
from dagster_graveler.resources.spark import local_pyspark
from dagster_graveler.testing import EphemeralLake
from graveler.spark.source import content
from graveler_core.engine.reading import branch as branch_reads
from graveler_core.facade import readable_ref, snapshot
from graveler_core.facade.snapshot import Snapshot
from tests.dagster_graveler.io_managers.letters import Seen, loaded

KEY = dg.AssetKey(["area", "letters"])
LETTERS = dg.StaticPartitionsDefinition(["a", "b"])
SPEC = dg.AssetSpec(KEY)
CHANGED = "file 'area/letters/part-0000.*' has changed since the table was listed"


def replace(lake: EphemeralLake, number: int) -> None:
    """Replace the two files of the table on the published branch."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [number]}), sink)
    files = {f"area/letters/part-0000{each}.parquet": sink.getvalue().to_pybytes() for each in range(2)}
    lake.repository.branch("main").put_many(files)


def after_first(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, change: Callable[[int], None]) -> list[int]:
    """Change something after the first call of a function. Return the numbers of the calls."""
    plain, calls = getattr(owner, name), list[int]()

    def made(*args: Any, **options: Any) -> Any:
        result = plain(*args, **options)
        calls.append(len(calls) + 1)
        change(calls[-1])
        return result

    monkeypatch.setattr(owner, name, made)
    return calls


def once(lake: EphemeralLake) -> Callable[[int], None]:
    return lambda call: replace(lake, 2) if call == 1 else None


def test_an_input_at_a_branch_is_not_torn(graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Seen = []
    replace(graveler_lake, 1)
    calls = after_first(monkeypatch, Snapshot, "open", once(graveler_lake))
    down = loaded(seen, pa.Table, {"ref": "main"})
    result = graveler_lake.materialize([SPEC, down], selection=[down])
    assert seen[0]["n"].to_pylist() == [2, 2]
    assert calls == [1, 2, 3, 4]
    assert len(result.get_asset_observation_events()) == 1


def test_a_table_that_is_loaded_outside_of_a_run_is_not_torn(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(graveler_lake, 1)
    after_first(monkeypatch, Snapshot, "open", once(graveler_lake))
    table = GravelerIOManager(branch=graveler_lake.branch).load_table("area/letters", pa.Table)
    assert table["n"].to_pylist() == [2, 2]


def test_a_dictionary_of_partitions_is_not_torn(graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Seen = []
    branch = graveler_lake.repository.branch("main")
    paths = [f"area/letters/partition={letter}/content" for letter in "ab"]
    branch.put_many(dict.fromkeys(paths, b"1"))

    def change(call: int) -> None:
        if call == 1:
            branch.put_many(dict.fromkeys(paths, b"2"))

    after_first(monkeypatch, Snapshot, "open", change)
    down = loaded(seen, dict[str, str], {"ref": "main"})
    spec = dg.AssetSpec(KEY, partitions_def=LETTERS)
    graveler_lake.materialize([spec, down], selection=[down])
    assert seen == [{"a": "2", "b": "2"}]


def test_a_removed_file_is_a_change(graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch) -> None:
    replace(graveler_lake, 1)
    branch = graveler_lake.repository.branch("main")

    def change(call: int) -> None:
        if call == 1:
            branch.remove("area/letters/part-00001.parquet")

    after_first(monkeypatch, Snapshot, "open", change)
    table = GravelerIOManager(branch=graveler_lake.branch).load_table("area/letters", pa.Table)
    assert table["n"].to_pylist() == [1]


def test_a_table_that_changes_all_the_time_is_refused(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace(graveler_lake, 0)
    calls = after_first(monkeypatch, Snapshot, "open", lambda call: replace(graveler_lake, call))
    with pytest.raises(dg.DagsterInvariantViolationError, match=CHANGED):
        GravelerIOManager(branch=graveler_lake.branch).load_table("area/letters", pa.Table)
    assert len(calls) == 2 * 5


def test_a_table_of_spark_is_not_torn(
    spark: SparkSession, graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: Seen = []
    replace(graveler_lake, 1)
    after_first(monkeypatch, content, "_files", once(graveler_lake))
    resources = {"io_manager": GravelerIOManager(branch=graveler_lake.branch, pyspark=local_pyspark())}
    down = loaded(seen, DataFrame, {"ref": "main"})
    graveler_lake.materialize([SPEC, down], selection=[down], resources=resources)
    assert [row.n for row in seen[0].collect()] == [2, 2]


@pytest.fixture
def appended(graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Append two files after the first page of a listing of the branch. Return the numbers of the read pages.

    In order of the paths, one of the new files belongs to the first page, which is read, and the other to the last one.
    """
    for module in (readable_ref, snapshot):
        monkeypatch.setattr(module, "ARROW_PAGE_ROWS", 2)
    replace(graveler_lake, 1)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [2]}), sink)
    new = {f"area/letters/{name}.parquet": sink.getvalue().to_pybytes() for name in ("new", "still-new")}

    def append(call: int) -> None:
        if call == 1:
            graveler_lake.repository.branch("main").put_many(new)

    return after_first(monkeypatch, branch_reads, "entries_page", append)


def test_an_append_between_two_pages_of_a_listing_is_read_as_a_whole(
    graveler_lake: EphemeralLake, appended: list[int]
) -> None:
    table = GravelerIOManager(branch=graveler_lake.branch).load_table("area/letters", pa.Table)
    assert sorted(table["n"].to_pylist()) == [1, 1, 2, 2]
    assert appended == [1]  # the rest is read from the state that is fixed


def test_the_digest_of_a_table_of_several_pages_is_that_of_one_state(
    graveler_lake: EphemeralLake, appended: list[int]
) -> None:
    digest = content_digest(graveler_lake.repository.at("main"), "area/letters")
    pages = list(appended)
    made = graveler_lake.repository.branch("main").commit("after the append")
    assert digest == content_digest(graveler_lake.repository.at(made.id), "area/letters")
    assert pages == [1]

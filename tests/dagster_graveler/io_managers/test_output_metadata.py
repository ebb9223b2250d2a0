"""Metadata of a write to a branch that others change at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_graveler.io_managers import output_metadata
from dagster_graveler.testing import EphemeralLake
from tests.dagster_graveler.io_managers.letters import DEV, metadata_of, stored
from tests.dagster_graveler.io_managers.values import letters

LETTERS = dg.StaticPartitionsDefinition(["a", "b", "c"])
OTHERS = [f"area/letters/partition={letter}/part-00000.parquet" for letter in "bc"]


def write(lake: EphemeralLake, letter: str, *numbers: int) -> dict[str, Any]:
    """Write a partition, and return the metadata of its materialization."""
    asset = stored(letters(*((letter, number) for number in numbers)), partitions_def=LETTERS)
    return metadata_of(lake.materialize([asset], tags=DEV, partition_key=letter))


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Callable[[int], None]) -> list[int]:
    """Change the branch after each listing from which rows are counted. Return the numbers of the listings."""
    plain, calls = output_metadata.table_files, list[int]()

    def listed(*args: Any) -> Any:
        found = plain(*args)
        calls.append(len(calls) + 1)
        change(calls[-1])
        return found

    monkeypatch.setattr(output_metadata, "table_files", listed)
    return calls


def replace_others(lake: EphemeralLake, rows: int) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(letters(*[("x", number) for number in range(rows)]), sink)
    lake.repository.branch("dev").put_many(dict.fromkeys(OTHERS, sink.getvalue().to_pybytes()))


def test_rows_are_counted_in_one_state(graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch) -> None:
    for letter in "bc":
        write(graveler_lake, letter, 1)

    def change(call: int) -> None:
        if call == 1:
            graveler_lake.repository.branch("dev").remove(OTHERS[1])

    calls = meanwhile(monkeypatch, change)
    found = write(graveler_lake, "a", 1, 2)
    assert (found["dagster/partition_row_count"], found["dagster/row_count"]) == (2, 3)
    assert calls == [1, 2]


def test_rows_of_a_table_that_changes_all_the_time_are_not_counted(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for letter in "bc":
        write(graveler_lake, letter, 1)
    calls = meanwhile(monkeypatch, lambda call: replace_others(graveler_lake, call))
    found = write(graveler_lake, "a", 1, 2)
    assert found["dagster/partition_row_count"] == 2
    assert "dagster/row_count" not in found
    assert len(calls) == 5

"""Inputs that read published data: the reported commit, kept for all steps of a run, and never unchecked tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from dagster_graveler import write_audit_publish
from dagster_graveler.resources import read_commits
from dagster_graveler.testing import EphemeralLake
from tests.dagster_graveler.io_managers.letters import Seen, loaded, stored
from tests.dagster_graveler.io_managers.test_states import KEY, SPEC, TAG, publish, read, report
from tests.dagster_graveler.io_managers.values import letters

MAIN = dg.AssetKey(["lake", "main"])
PATH = {"graveler/path": "area/letters"}


@pytest.fixture
def seen() -> Iterator[Seen]:
    return []


def reader(name: str, seen: Seen, key: dg.AssetKey = MAIN, **options: Any) -> dg.AssetsDefinition:
    """An asset that notes the numbers of the table on a published branch."""

    @dg.asset(name=name, ins={"letters": dg.AssetIn(key, metadata=PATH)}, **options)
    def made(letters: pa.Table) -> None:
        seen.append(letters["n"].to_pylist())

    return made


def test_a_given_commit_comes_before_the_reported_one(graveler_lake: EphemeralLake) -> None:
    first = publish(graveler_lake, 1)
    report(graveler_lake, publish(graveler_lake, 2))
    assert read(graveler_lake, tags={TAG: first}) == (1, {"commit": first, "ref": first})


def test_all_steps_of_a_run_read_one_reported_commit(graveler_lake: EphemeralLake, seen: Seen) -> None:
    report(graveler_lake, publish(graveler_lake, 1))

    @dg.asset(deps=["first"])
    def between() -> None:
        report(graveler_lake, publish(graveler_lake, 2))

    readers = [reader("first", seen, KEY), between, reader("second", seen, KEY, deps=[between])]
    assert graveler_lake.materialize([SPEC, *readers], selection=readers).success
    assert seen == [[1], [1]]


@pytest.mark.parametrize(("steps", "expected"), [("all", 2), ("one", 1)])
def test_a_run_that_continues_another_reads_its_commit(
    graveler_lake: EphemeralLake, monkeypatch: pytest.MonkeyPatch, steps: str, expected: int
) -> None:
    report(graveler_lake, publish(graveler_lake, 1))
    down = loaded([], pa.Table)
    first = graveler_lake.materialize([SPEC, down], selection=[down]).run_id
    report(graveler_lake, publish(graveler_lake, 2))
    run = graveler_lake.instance.get_run_by_id(first)
    assert run is not None
    monkeypatch.setattr(read_commits, "is_resumption", lambda _instance, _run: steps == "one")
    assert read(graveler_lake, tags=dict(run.tags))[0] == expected


def test_each_published_branch_has_a_commit_of_its_own(graveler_lake: EphemeralLake, seen: Seen) -> None:
    """The reported commit of another branch is read through the same IO manager."""
    old = dg.AssetKey(["lake", "old"])
    for key, number in {old: 1, MAIN: 2}.items():
        report(graveler_lake, publish(graveler_lake, number), key)
    readers = [reader("of_old", seen, old), reader("of_main", seen, MAIN, deps=["of_old"])]
    specs = [dg.AssetSpec(old), dg.AssetSpec(MAIN)]
    assert graveler_lake.materialize([*specs, *readers], selection=readers).success
    assert seen == [[1], [2]]


@pytest.mark.parametrize("is_known", [True, False], ids=["own", "of another code location"])
def test_a_run_that_writes_the_tables_too_reads_what_was_published_before(
    graveler_lake: EphemeralLake, seen: Seen, is_known: bool
) -> None:
    report(graveler_lake, publish(graveler_lake, 1), MAIN)
    table = stored(letters(("a", 2)), group_name="letters")
    made: list[Any] = [table, dg.AssetSpec(MAIN)]
    if is_known:
        defs = write_audit_publish(tables=[table], key=MAIN)
        made = list(defs.assets or ())
    down = reader("down", seen, deps=[table])
    assert graveler_lake.materialize([*made, down], selection=[table, down]).success
    assert graveler_lake.materialize([*made, down], selection=[table, down], tags={"graveler/branch": "dev"}).success
    assert seen == [[1], [2]]


def test_before_the_first_publication_unchecked_tables_are_not_read(graveler_lake: EphemeralLake, seen: Seen) -> None:
    table = stored(letters(("a", 2)), group_name="letters")
    defs = write_audit_publish(tables=[table], key=MAIN)
    down = reader("down", seen, deps=[table])
    with pytest.raises(dg.DagsterInvariantViolationError, match="'area/letters' is not stored at"):
        graveler_lake.materialize([*(defs.assets or ()), down], selection=[table, down])
    assert seen == []

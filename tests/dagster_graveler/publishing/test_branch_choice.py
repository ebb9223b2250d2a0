"""The search for the branch that an earlier run kept: which runs it reads, and how many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test
from dagster._core.utils import make_new_run_id

from dagster_graveler.publishing import branch_choice
from dagster_graveler.publishing.branch_choice import BranchChoice, Chosen
from dagster_graveler.publishing.groups import Publication, TableGroup
from dagster_graveler.run_tags import MARKED_TAG, MarkedBranch, branch_mark, created_mark, publish_tag
from dagster_graveler.runs import PARTITION_TAG, RANGE_END_TAG, RANGE_START_TAG

PUBLICATION = Publication(dg.AssetKey("group"), (TableGroup(dg.AssetKey("group"), ()),))
JANUARY, FEBRUARY = {PARTITION_TAG: "2013-01"}, {PARTITION_TAG: "2013-02"}
RANGE_OF_JANUARY = {RANGE_START_TAG: "2013-01", RANGE_END_TAG: "2013-01"}
BOTH = {RANGE_START_TAG: "2013-01", RANGE_END_TAG: "2013-02"}


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def read(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of how many runs each page of a search had that was not empty."""
    real, found = instance.get_run_records, []

    def noted(*args: Any, **options: Any) -> Any:
        records = real(*args, **options)
        if records:
            found.append(len(records))
        return records

    monkeypatch.setattr(instance, "get_run_records", noted)
    return found


def ended(instance: dg.DagsterInstance, branch: str, partitions: Mapping[str, str]) -> None:
    """Add a run of the group that worked on a branch."""
    run_id = make_new_run_id()
    marks = {**branch_mark("lake", MarkedBranch(branch, "u")), **created_mark("lake", "u")}
    tags = {publish_tag("lake"): "group", MARKED_TAG: run_id, **marks}
    instance.report_run_failed(create_run_for_test(instance, run_id=run_id, tags={**tags, **partitions}))


def kept(instance: dg.DagsterInstance, partitions: Mapping[str, str]) -> str | None:
    """Return the branch on which a run over a part of the group works."""
    run = create_run_for_test(instance, tags=dict(partitions))
    found = branch_choice._kept(instance, run, "lake", [PUBLICATION], lambda *_: True)
    assert found is None or found == BranchChoice(found.name, "u", Chosen.KEPT)
    return None if found is None else found.name


def test_the_newest_run_for_the_same_partitions_is_found(instance: dg.DagsterInstance) -> None:
    for branch, partitions in {"a": {}, "b": JANUARY, "c": RANGE_OF_JANUARY, "d": BOTH, "e": FEBRUARY}.items():
        ended(instance, branch, partitions)
    assert kept(instance, {}) == "a"
    assert kept(instance, JANUARY) == kept(instance, RANGE_OF_JANUARY) == "c"
    assert kept(instance, BOTH) == "d"
    assert kept(instance, FEBRUARY) == "e"
    assert kept(instance, {PARTITION_TAG: "2013-03"}) is None
    ended(instance, "f", JANUARY)
    assert kept(instance, JANUARY) == "f"


def test_the_search_ends_with_the_first_run(
    instance: dg.DagsterInstance, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_choice, "_PAGE", 2)
    for number in range(5):
        ended(instance, f"b{number}", {})
    assert kept(instance, {}) == "b4"
    assert read == [2]


def test_the_search_reads_on_until_a_run_is_found(
    instance: dg.DagsterInstance, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branch_choice, "_PAGE", 2)
    ended(instance, "first", {})
    for number in range(4):
        ended(instance, f"b{number}", JANUARY)
    assert kept(instance, {}) == "first"
    assert read == [2, 2, 1]


def test_runs_for_other_partitions_are_not_read(instance: dg.DagsterInstance, read: list[int]) -> None:
    for number in range(5):
        ended(instance, f"b{number}", FEBRUARY)
    assert kept(instance, JANUARY) is None
    assert sum(read) == 0

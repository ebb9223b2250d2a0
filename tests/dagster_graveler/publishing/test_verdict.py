"""Words of a verdict, and the changes that it is about."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.publishing.groups import GroupTable, TableGroup
from dagster_graveler.publishing.verdict import Changes, CheckFinding, Outcome, Verdict, committed_changes, kept_changes
from graveler_core import connect

ORDERS = GroupTable(dg.AssetKey("orders"), "orders")


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "There are no blocking checks."),
        (1, "The blocking check was accepted."),
        (2, "All 2 blocking checks were accepted."),
    ],
)
def test_a_good_verdict_counts_the_checks(count: int, words: str) -> None:
    findings = tuple(CheckFinding(ORDERS, f"check {n}", Outcome.PASSED) for n in range(count))
    assert Verdict(Changes((ORDERS,), ()), findings, ()).markdown() == f"{words} Changed tables: orders."


def test_the_changes_of_a_table_are_found_by_one_query() -> None:
    group = TableGroup(dg.AssetKey("lake"), (ORDERS, GroupTable(dg.AssetKey("weather"), "weather")))
    with connect("memory://") as graveler:
        repository = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
        branch = repository.create_branch("dev", source="main")
        branch.put_many(dict.fromkeys(("orders/1", "orders/\U0010ffffx", "orders0", "weather/1"), b"1"))
        assert kept_changes(repository, group, "dev", "main") == Changes(group.tables, ("orders0",))
        commit = branch.commit("change")
        assert committed_changes(repository, group, commit.id, "main") == Changes(group.tables, ("orders0",))


@pytest.mark.parametrize("commits", [False, True])
def test_a_change_below_no_written_prefix_is_told_once_for_each_table(commits: bool) -> None:
    group = TableGroup(dg.AssetKey("lake"), (ORDERS, GroupTable(dg.AssetKey("weather"), "weather")))
    paths = ["orders/k=1-2/a", "orders/k=1/a", "orders/k=1/b/c", "orders/k=10/a", "orders/k=2/a", "weather/k=1/a"]
    cases: list[tuple[list[str], tuple[str, ...]]] = [
        ([], ()),
        (["orders/"], ()),
        (["orders/", "orders/k=1/"], ()),
        (["orders/k=1-2/", "orders/k=1/", "orders/k=10/", "orders/k=2/", "orders/k=3/"], ()),
        (["orders/k=1-2/", "orders/k=1/", "orders/k=10/"], ("orders/k=2/a",)),
        (["orders/k=1/"], ("orders/k=1-2/a",)),
        (["orders/k=1-2/", "orders/k=1/b/", "orders/k=10/"], ("orders/k=1/a",)),
        (["orders/k=1-2/", "orders/k=1/", "orders/k=2/"], ("orders/k=10/a",)),
    ]
    with connect("memory://") as graveler:
        repository = graveler.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
        branch = repository.create_branch("dev", source="main")
        branch.put_many(dict.fromkeys(paths, b"1"))
        if commits:
            branch.commit("change")
        for prefixes, unrecorded in cases:
            found = kept_changes(repository, group, "dev", "main", {ORDERS.key: prefixes})
            assert found == Changes(group.tables, (), unrecorded)

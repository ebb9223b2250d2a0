"""Words of a verdict."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.publishing.groups import GroupTable
from dagster_graveler.publishing.verdict import Changes, CheckFinding, Outcome, Verdict

ORDERS = GroupTable(dg.AssetKey("orders"), "orders")


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "There are no blocking checks."), (1, "The blocking check passed."), (2, "All 2 blocking checks passed.")],
)
def test_a_good_verdict_counts_the_checks(count: int, words: str) -> None:
    findings = tuple(CheckFinding(ORDERS, f"check {n}", Outcome.PASSED) for n in range(count))
    assert Verdict(Changes((ORDERS,), ()), findings, ()).markdown() == f"{words} Changed tables: orders."

"""The checker allows listings what sealed tokens held before late writes, and nothing else that was not shown."""

from __future__ import annotations

import pytest

from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.ids import BranchId
from tests.proofs.simulation.checker import Judge
from tests.proofs.simulation.history import REPO, History, Operation, Outcome, Value
from tests.proofs.simulation.observe import Observer, State
from tests.proofs.simulation.run import simulate

LATE = 106
WITH_A_LATE_WRITE = 10_668_733
"""Seed of a history in which a listing shows a kept page of a sealed token, to which a write came late."""


@pytest.mark.parametrize(
    ("kind", "listed", "allowed"),
    [("list", {"a": {None}}, True), ("list", {"a": {7}}, False), ("list", {}, False), ("get", {"a": {None}}, False)],
)
def test_a_listing_need_not_show_what_came_late(kind: str, listed: dict[str, set[Value]], allowed: bool) -> None:
    observer = Observer(open_memory("memory://"), {}, ("a",), REPO, BranchId("work"))
    observer.states.append(State(0, "writer", None, None, {"a": LATE}, {"a": None}, listed))
    write = Operation("put", "writer", 0, 9, outcome=Outcome.DONE, sets={"a": LATE})
    read = Operation(kind, "reader", 5, 6, outcome=Outcome.DONE, answer={"a": None})
    found = list(Judge(History(lambda: 9, [write, read]), observer).violations())
    assert (not found) is allowed


def test_a_history_with_a_late_write_keeps_the_promises() -> None:
    assert not simulate(WITH_A_LATE_WRITE).violations

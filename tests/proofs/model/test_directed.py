"""Histories written out step by step: those that chance finds once in a million, and those that taught a rule."""

from __future__ import annotations

from collections.abc import Callable

from tests.proofs.model.flows import branching, committing, moving, reading, writing
from tests.proofs.model.former import Former
from tests.proofs.model.operation import Operation, Outcome
from tests.proofs.model.schedule import directed
from tests.proofs.model.state import Steps
from tests.proofs.model.world import World

Calls = Callable[[World], list[tuple[Operation, Steps]]]


def _calls(*begun: tuple[str, Callable[[World, Operation], Steps]]) -> Calls:
    def begin(w: World) -> list[tuple[Operation, Steps]]:
        return [(op := Operation(kind), flow(w, op)) for kind, flow in begun]

    return begin


def test_a_cheap_delete_is_not_safe_on_the_entry_alone() -> None:
    """A transact has checked its key; something is staged, and the removal has read it and the record; the transact
    swaps; the same is staged again and acknowledged; the removal deletes that, and the transact's value shows.
    """
    same = ("write", lambda w, op: writing.write(w, op, "b1", w.again["b1"]))
    calls = _calls(
        ("transact", lambda w, op: moving.transact(w, op, {"b1": w.fresh()})),
        ("remove", lambda w, op: writing.remove_cheaply(w, op, "b1")),
        ("read", lambda w, op: reading.read(w, op, "b1")),
        same,
        same,
    )
    order = [1] * 3 + [4] * 3 + [2] * 3 + [1] + [5] * 3 + [2] + [3] * 3
    broken, ops, _ = directed(calls, order, Former(cheap_delete_entry_alone=True))
    assert ops[0].outcome is ops[2].outcome is Outcome.DONE
    assert broken is not None
    assert broken.startswith("read b1")
    # As it is, the removal reads the entry and needs no look at the record: two steps less.
    order = [1] * 3 + [4] * 3 + [2] + [1] + [5] * 3 + [2] + [3] * 3
    broken, ops, _ = directed(calls, order)
    assert broken is None
    assert [op.outcome for op in ops] == [Outcome.DONE] * 5


def _losing(flow: Callable[[World, Operation], Steps]) -> Callable[[World, Operation], Steps]:
    def begin(w: World, op: Operation) -> Steps:
        op.lost_at = 1
        return flow(w, op)

    return begin


def test_a_lost_deletion_of_a_branch_is_no_deletion_because_the_record_changed() -> None:
    """A write; a deletion about to be sent; a commit seals; the deletion is lost, and fails; what is sealed stays."""
    calls = _calls(
        ("write", lambda w, op: writing.write(w, op, "a1", w.fresh())),
        ("delete branch", _losing(branching.delete_branch)),
        ("commit", committing.commit),
    )
    order = [1] * 3 + [2] * 3 + [3] * 6 + [2] * 4
    assert directed(calls, order)[0] is None
    broken = directed(calls, order, Former(record_changed_means_deleted=True))[0]
    assert broken is not None
    assert "was dropped and is listed" in broken


def test_a_lost_removal_of_layers_is_not_proved_by_their_absence() -> None:
    """Another commit takes the layers and empties them; a slow one then builds from nothing, and loses its reply."""

    def slow(w: World, op: Operation) -> Steps:
        op.lost_at = 2
        return committing.commit(w, op)

    calls = _calls(
        ("write", lambda w, op: writing.write(w, op, "a1", w.fresh())),
        ("commit", slow),
        ("commit", committing.commit),
    )
    order = [1] * 3 + [2] * 6 + [3] * 20 + [2] * 20
    assert directed(calls, order)[0] is None
    broken = directed(calls, order, Former(lost_removal_by_absence=True))[0]
    assert broken is not None
    assert broken.startswith("tree of commit")

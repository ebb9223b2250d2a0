"""A commit expires while a branch is created at it, beside two collectors and a changing rule: every order there is.

The state is what the stores hold (the object, the collection record with its announced and expired commit, the rule,
the branch), and where everyone stands. Only the commit names the object. A grace period is over when all calls have
ended that were running when it began. A rule that is left out must break what it is there for: a branch shows content
that is gone, or content is gone from a commit that is not marked as expired.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.proofs.model.reachable import reachable

SHOWN = "a branch shows content that is gone"
UNMARKED = "content is gone from a commit that has not expired"
RULES = {
    "a flow reads the record": SHOWN,
    "a flow revives an announced commit": SHOWN,
    "a revival is a swap": SHOWN,
    "a flow refuses an expired commit": SHOWN,
    "verify by a swap": SHOWN,
    "read references again": SHOWN,
    "a revived commit does not expire": SHOWN,
    "wait for the grace period": SHOWN,
    "the flag is set first": SHOWN,
    "a commit expires with its objects": UNMARKED,
}
RECORDS = 4
"""Number of changes of the record after which a history ends."""


class Record(NamedTuple):
    """The collection record."""

    version: int = 0
    state: str = ""
    """State of the set: `condemned`, `deleting` or `deleted`, or nothing."""
    announced: bool = False
    revived: bool = False
    expired: bool = False
    """Whether the commit is entered as expired."""
    waits: frozenset[str] = frozenset()
    """Calls that were running when the grace period began, and still are."""


class Collector(NamedTuple):
    step: str = "begin"
    saw: Record = Record()
    kept: bool = False
    """Whether it has found a reference to the commit, or a rule that keeps it."""


class State(NamedTuple):
    """The registers, and where everyone stands."""

    exists: bool = True
    record: Record = Record()
    flag: bool = False
    keeps: bool = False
    """Whether the retention rule keeps the commit."""
    branch: bool = False
    """Whether a branch is at the commit."""
    flow: str = "begin"
    saw: Record = Record()
    """Record that the flow has read."""
    collectors: tuple[Collector, ...] = (Collector(), Collector())
    changes: int = 0
    """Number of changes of the rule."""

    @property
    def running(self) -> frozenset[str]:
        return frozenset() if self.flow == "begin" else frozenset({"flow"})

    def over(self) -> State:
        """The state after the end of the flow."""
        return self._replace(flow="begin", saw=Record(), record=self.record._replace(waits=frozenset()))


def flow(s: State, without: str) -> Iterator[State]:
    """`create_branch` at the commit, again and again: read the flag, the record, revive, create the branch."""
    match s.flow:
        case "begin" if not s.branch:
            asks = s.flag and without != "a flow reads the record"
            yield s._replace(flow="ask" if asks else "create")
        case "ask":
            yield s._replace(flow="decide", saw=s.record)
        case "decide" if s.saw.expired and without != "a flow refuses an expired commit":
            yield s.over()
        case "decide" if s.saw.announced and not s.saw.revived and not s.saw.expired:
            skips = without == "a flow revives an announced commit"
            yield s._replace(flow="create" if skips else "revive")
        case "decide":
            yield s._replace(flow="create")
        case "revive" if s.saw.version == s.record.version:
            revived = s.record._replace(version=s.record.version + 1, revived=True)
            yield s._replace(flow="create", record=revived)
        case "revive" if without == "a revival is a swap":
            yield s._replace(flow="create")
        case "revive":
            yield s._replace(flow="ask")
        case "create":
            yield s._replace(branch=True).over()
    if s.flow != "begin":
        yield s.over()  # it dies


def collector(s: State, number: int, without: str) -> Iterator[State]:
    """`gc.collection`, again and again. After a crash, the next one begins from the record."""
    me = s.collectors[number]
    match me.step:
        case "begin":
            yield from _begins(s, number, without)
        case "references":
            yield _at(s, number, me._replace(step="rules", kept=me.kept or s.branch))
        case "rules":
            yield _at(s, number, me._replace(step="decide", kept=me.kept or s.keeps))
        case "decide" if me.saw.state == "condemned":
            yield from _verifies(s, number, without)
        case "decide" if me.kept:
            yield _at(s, number, Collector())
        case "decide":
            yield _at(s, number, me._replace(step="announce" if without == "the flag is set first" else "flag"))
        case "flag":
            yield _at(s._replace(flag=True), number, me._replace(step="announce"))
        case "announce":
            new = Record(me.saw.version + 1, "condemned", announced=True, expired=me.saw.expired, waits=s.running)
            late = "late" if without == "the flag is set first" else "begin"
            won = me.saw.version == s.record.version
            mine = Collector()._replace(step=late) if won else Collector()
            yield _at(s._replace(record=new) if won else s, number, mine)
        case "late":
            yield _at(s._replace(flag=True), number, Collector())
        case "delete":
            yield _at(s._replace(exists=False), number, me._replace(step="done"))
        case "done" if me.saw.version == s.record.version:
            done = s.record._replace(version=s.record.version + 1, state="deleted")
            yield _at(s._replace(record=done), number, Collector())
    if me.step != "begin":
        yield _at(s, number, Collector())


def _begins(s: State, number: int, without: str) -> Iterator[State]:
    me, record = Collector(saw=s.record), s.record
    due = not record.waits or without == "wait for the grace period"
    if record.state == "deleting":
        yield _at(s, number, me._replace(step="delete"))
    elif record.state == "condemned" and due:
        unread = without == "read references again"
        yield _at(s, number, me._replace(step="decide" if unread else "references"))
    elif record.state == "" and s.exists:
        yield _at(s, number, me._replace(step="references"))


def _verifies(s: State, number: int, without: str) -> Iterator[State]:
    """Enter the commit as expired and the object as deleting with one swap, or leave both."""
    me = s.collectors[number]
    revived = me.saw.revived and without != "a revived commit does not expire"
    expires = not (me.kept or revived)
    state = Record(me.saw.version + 1, "deleting" if expires else "", expired=expires or me.saw.expired)
    if without == "a commit expires with its objects":
        state = state._replace(expired=me.saw.expired)
    won = me.saw.version == s.record.version or without == "verify by a swap"
    mine = Collector()._replace(step="delete", saw=state) if won and expires else Collector()
    yield _at(s._replace(record=state) if won else s, number, mine)


def _at(s: State, number: int, me: Collector) -> State:
    return s._replace(collectors=(*s.collectors[:number], me, *s.collectors[number + 1 :]))


def steps(s: State, without: str) -> Iterator[State]:
    """All next states: of the flow, of a collector, of a user who deletes the branch or changes the rule."""
    yield from flow(s, without)
    for number in range(len(s.collectors)):
        yield from collector(s, number, without)
    if s.branch:
        yield s._replace(branch=False)
    if not s.changes:
        yield s._replace(keeps=not s.keeps, changes=1)


def found(without: str = "") -> tuple[str, int]:
    """What is first found wrong, and how many states were seen."""
    beginnings = [State(), State(branch=True), State(keeps=True)]
    states = 0
    for state in reachable(beginnings, lambda s: (n for n in steps(s, without) if n.record.version <= RECORDS)):
        states += 1
        if not state.exists and not state.record.expired:
            return UNMARKED, states
        if not state.exists and state.branch:
            return SHOWN, states
    return "", states


def test_no_order_breaks_a_promise() -> None:
    broken, states = found()
    assert not broken
    assert states > 1_000


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(rule)[0] == RULES[rule]

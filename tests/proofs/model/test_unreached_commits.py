"""Two commits are written and perhaps never reached, beside collectors, a user, and moves of references: every order.

A writer stores the commit `low` and its child `high`, and then swaps the head of the branch to `high`. It may die, and
it may be slower than the grace period. A user who knows the id of `high` creates a tag at it, also when no reference
leads to it yet. References are reset and deleted, by flows that record the former head first, and in old repositories
by flows that do not. The state is what the store holds, and where everyone stands. A grace period is over when all
calls of users and of old flows have ended that were running when it began. A rule that is left out must break the
promise: a header is gone that a reference leads to, or once led to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest

from tests.proofs.model.reachable import reachable

LOW, HIGH = "low", "high"
BOTH, NONE = frozenset({LOW, HIGH}), frozenset[str]()
RULES = {
    "record a former head first": "moves",
    "read former heads after references": "writer",
    "adopt what is unreachable before the first announcement": "old",
    "adopt after a grace period": "old",
    "users ask": "user",
    "a revival is a swap": "user",
    "users are refused": "user",
    "a revived commit keeps its ancestors": "user",
    "a commit that was not announced keeps its ancestors": "user",
    "wait for the grace period": "user",
    "the grace period begins after the swap": "user",
    "read references again": "user",
    "change the branch records": "writer",
    "read references after that": "writer",
    "late writers stop": "writer",
    "enter commits before they are deleted": "user",
    "remember what was deleted": "user",
}
"""Rules, and the calls beside the collector that need each."""
CHANGES, SWAPS = 5, 3
"""Numbers of changes of the record, and of the branch, after which a history ends."""


@dataclass(frozen=True)
class Record:
    """The collection record."""

    version: int = 0
    state: str = ""
    """`flagged`, `adopted` or nothing before the first announcement, then `announced`, `removing` or `adopted`."""
    ids: frozenset[str] = NONE
    revived: frozenset[str] = NONE
    removed: frozenset[str] = NONE
    waits: frozenset[str] = NONE
    confirmed: bool = False


@dataclass(frozen=True)
class Collector:
    step: str = "begin"
    saw: Record = Record()
    found: frozenset[str] = NONE
    """Headers that it has found."""
    roots: frozenset[str] = NONE
    again: bool = False
    """Whether it has changed the branch record, and reads references again."""
    due: frozenset[str] = NONE
    waits: frozenset[str] = NONE


@dataclass(frozen=True)
class State:
    headers: frozenset[str] = NONE
    branch: int = 0
    """Version of the branch record."""
    at: bool = False
    """Whether the branch is at `high`. Otherwise it is at the parent of `low`."""
    tag: bool = False
    former: bool = False
    """Whether `high` is recorded as a former head."""
    reached: bool = False
    """Whether a reference has led to `high`."""
    record: Record = Record(state="adopted")
    writer: str = ""
    writer_saw: int = 0
    wrote: bool = False
    """Whether the writer has stored a header."""
    before: bool = False
    """Whether that was before the announcement."""
    late: bool = False
    """Whether a grace period has passed since then."""
    told: bool = False
    """Whether somebody else knows the id of `high`."""
    user: str = ""
    user_saw: Record = Record()
    mover: str = ""
    mover_saw: int = 0
    old: str = ""
    old_saw: int = 0
    collectors: tuple[Collector, ...] = (Collector(),)

    @property
    def running(self) -> frozenset[str]:
        calls = {"user": self.user, "old": self.old}
        return frozenset(name for name, step in calls.items() if step not in ("", "begin", "end"))

    def over(self, call: str) -> State:
        """The state after the end of a call."""
        record = replace(self.record, waits=self.record.waits - {call})
        collectors = tuple(
            replace(one, waits=one.waits - {call}, saw=replace(one.saw, waits=one.saw.waits - {call}))
            for one in self.collectors
        )
        saw = replace(self.user_saw, waits=self.user_saw.waits - {call})
        return replace(self, record=record, collectors=collectors, user_saw=saw)


def family(ids: frozenset[str]) -> frozenset[str]:
    """Some commits and their ancestors."""
    return BOTH if HIGH in ids else ids


def writer(s: State, without: str) -> Iterator[State]:
    """`engine.committing.head.advance`, with links as in a replay. The records are stored before the swap."""
    stored = replace(s, wrote=True)
    match s.writer:
        case "begin" if not s.at:
            yield replace(s, writer="low", writer_saw=s.branch)
        case "low":
            yield replace(stored, writer="high", headers=s.headers | {LOW})
        case "high":
            yield replace(stored, writer="tell", headers=s.headers | {HIGH})
        case "tell" if s.late and without != "late writers stop":
            yield replace(s, writer="end")
        case "tell":
            yield replace(s, writer="swap", told=True)
        case "swap" if s.branch == s.writer_saw:
            yield replace(s, writer="end", at=True, branch=s.branch + 1, reached=True)
        case "swap":
            yield replace(s, writer="begin")
    if s.writer not in ("", "end"):
        yield replace(s, writer="end")


def user(s: State, without: str) -> Iterator[State]:
    """`create_tag` at an id that a hook or an error has told."""
    ended = replace(s, user="end", user_saw=Record()).over("user")
    match s.user:
        case "begin" if s.told:
            yield replace(s, user="create" if without == "users ask" else "ask")
        case "ask":
            record = s.record
            gone = record.removed | (record.ids if record.state == "removing" else NONE)
            if HIGH in gone and without != "users are refused":
                yield ended
            elif record.state == "announced" and HIGH in record.ids - record.revived:
                yield replace(s, user="revive", user_saw=record)
            else:
                yield replace(s, user="create")
        case "revive":
            same = s.record.version == s.user_saw.version
            record = replace(s.record, version=s.record.version + 1, revived=s.record.revived | {HIGH})
            if same:
                yield replace(s, user="create", record=record, user_saw=Record())
            elif without == "a revival is a swap":
                yield replace(s, user="create", user_saw=Record())
            else:
                yield replace(s, user="ask", user_saw=Record())
        case "create":
            yield replace(ended, tag=True, reached=True)
    if s.user not in ("", "begin", "end"):
        yield ended


def moves(s: State, without: str) -> Iterator[State]:
    """A hard reset of the branch, or a deletion of the tag. It may be as slow as it likes."""
    first = without != "record a former head first"
    match s.mover:
        case "begin" if s.at:
            yield replace(s, mover="reset", mover_saw=s.branch, former=s.former or first)
        case "begin" if s.tag:
            yield replace(s, mover="delete", former=s.former or first)
        case "reset":
            moved = replace(s, mover="record", at=False, branch=s.branch + 1)
            yield moved if s.branch == s.mover_saw else replace(s, mover="begin")
        case "delete":
            yield replace(s, mover="record", tag=False)
        case "record":
            yield replace(s, mover="end", former=True)
    if s.mover not in ("", "begin", "end"):
        yield replace(s, mover="end")


def old(s: State) -> Iterator[State]:
    """A hard reset by a process that does not record former heads. It cannot read a repository record with the flag."""
    ended = replace(s, old="end").over("old")
    match s.old:
        case "begin" if s.at and not s.record.state:
            yield replace(s, old="reset", old_saw=s.branch)
        case "reset":
            yield replace(ended, at=False, branch=s.branch + 1) if s.branch == s.old_saw else ended


def _at(s: State, number: int, me: Collector) -> State:
    return replace(s, collectors=(*s.collectors[:number], me, *s.collectors[number + 1 :]))


def collector(s: State, number: int, without: str) -> Iterator[State]:
    """`gc.unreached`, again and again. After a crash, the next one begins from the record."""
    me = s.collectors[number]
    match me.step:
        case "begin":
            yield from _begins(s, number, without)
        case "headers":
            yield _at(s, number, replace(me, step="tag", found=s.headers))
        case "tag" | "branch" | "former":
            yield _at(s, number, _read(s, me, without))
        case _:
            yield from _decides(s, number, without)
    if me.step != "begin":
        yield _at(s, number, Collector())


def _begins(s: State, number: int, without: str) -> Iterator[State]:
    record, me = s.record, Collector(saw=s.record)
    over = not record.waits or without == "wait for the grace period"
    match record.state:
        case "":
            yield _at(s, number, replace(me, step="flag"))
        case "flagged" if not record.waits or without == "adopt after a grace period":
            yield _at(s, number, replace(me, step="headers"))
        case "adopted" if s.headers:
            yield _at(s, number, replace(me, step="headers"))
        case "announced" if not record.confirmed:
            yield _at(s, number, replace(me, step="confirm"))
        case "announced" if over:
            late = s.late or (s.before and s.writer != "end")
            yield _at(replace(s, late=late), number, replace(me, step="headers"))
        case "removing":
            yield _at(s, number, replace(me, step="delete", due=record.ids))


def _read(s: State, me: Collector, without: str) -> Collector:
    """Read the references one by one, and the former heads after them."""
    order = ["tag", "branch", "former"]
    if without == "read former heads after references":
        order = ["tag", "former", "branch"]  # the walk begins with the tag in any case
    here = {"tag": s.tag, "branch": s.at, "former": s.former}[me.step]
    at = order.index(me.step) + 1
    roots = me.roots | (frozenset({HIGH}) if here else NONE)
    return replace(me, roots=roots, step=order[at] if at < len(order) else "decide")


def _swapped(s: State, number: int, step: str = "begin", **update: object) -> State:
    """The state after a collector has swapped the record, or lost."""
    me = s.collectors[number]
    if s.record.version != me.saw.version:
        return _at(s, number, Collector())
    new = replace(me.saw, waits=s.record.waits, version=me.saw.version + 1)
    new = replace(new, **update)  # type: ignore[arg-type]
    mine = Collector() if step == "begin" else replace(me, step=step, saw=new)
    return _at(replace(s, record=new), number, mine)


def _decides(s: State, number: int, without: str) -> Iterator[State]:
    me = s.collectors[number]
    if me.step in ("flag", "announce", "confirm") or (me.step == "decide" and me.saw.state != "announced"):
        yield from _announces(s, number, without)
    else:
        yield from _verifies(s, number, without)


def _announces(s: State, number: int, without: str) -> Iterator[State]:
    me, record, won = (
        s.collectors[number],
        s.collectors[number].saw,
        s.record.version == s.collectors[number].saw.version,
    )
    swapped = partial(_swapped, s, number)
    match me.step:
        case "flag":
            skip = without == "adopt what is unreachable before the first announcement"
            yield swapped(state="adopted" if skip else "flagged", waits=s.running)
        case "decide" if record.state == "flagged":
            adopted = replace(s, former=s.former or bool(me.found - family(me.roots)))
            won_state = replace(record, state="adopted", waits=NONE, version=record.version + 1)
            yield _at(replace(adopted, record=won_state) if won else adopted, number, Collector())
        case "decide" if record.state == "adopted":
            ids = me.found - family(me.roots)
            yield _at(s, number, replace(me, step="announce", due=ids, waits=s.running) if ids else Collector())
        case "announce":
            early = without == "the grace period begins after the swap"
            new = swapped(
                "begin" if early else "confirm",
                state="announced",
                ids=me.due,
                revived=NONE,
                waits=me.waits if early else NONE,
                confirmed=early,
            )
            yield replace(new, before=new.before or s.wrote) if won else new
        case "confirm":
            yield swapped(confirmed=True, waits=s.running)


def _verifies(s: State, number: int, without: str) -> Iterator[State]:
    me, record = s.collectors[number], s.collectors[number].saw
    swapped = partial(_swapped, s, number)
    match me.step:
        case "decide":
            roots = me.roots | (record.revived if without != "a revived commit keeps its ancestors" else NONE)
            if without != "a commit that was not announced keeps its ancestors":
                roots |= me.found - record.ids
            due = record.ids - family(roots) - record.revived
            if without == "read references again":
                due = record.ids - record.revived
            if not due:
                yield swapped(state="adopted", ids=NONE, revived=NONE, confirmed=False)
            elif me.again or without == "change the branch records":
                yield _at(s, number, replace(me, step="enter", due=due))
            else:
                yield _at(s, number, replace(me, step="renew", due=due))
        case "renew":
            renewed = s if s.at else replace(s, branch=s.branch + 1)
            after = "enter" if without in ("read references after that", "read references again") else "tag"
            yield _at(renewed, number, replace(me, step=after, again=True))
        case "enter" if without == "enter commits before they are deleted":
            yield _at(s, number, replace(me, step="delete"))
        case "enter":
            yield swapped("delete", state="removing", ids=me.due, revived=NONE)
        case "delete":
            here = me.due & s.headers
            one = frozenset({HIGH}) & here or here
            if one:
                yield _at(replace(s, headers=s.headers - one), number, me)
            else:
                yield _at(s, number, replace(me, step="done"))
        case "done":
            removed = NONE if without == "remember what was deleted" else record.removed | me.due
            yield swapped(state="adopted", ids=NONE, revived=NONE, removed=removed, confirmed=False)


def steps(s: State, without: str) -> Iterator[State]:
    """All next states."""
    yield from writer(s, without)
    yield from user(s, without)
    yield from moves(s, without)
    yield from old(s)
    for number in range(len(s.collectors)):
        yield from collector(s, number, without)


LOST = State(headers=BOTH, told=True, user="begin")
SLOW = State(headers=frozenset({LOW}), writer="high", wrote=True, user="begin")
HEAD = State(headers=BOTH, told=True, at=True, reached=True, mover="begin")
TWO = (Collector(), Collector())
BEGINNINGS = {
    "writer": [State(writer="begin", mover="begin"), State(writer="begin", collectors=TWO)],
    "user": [replace(LOST, mover="begin"), replace(LOST, collectors=TWO), SLOW],
    "moves": [HEAD, replace(HEAD, user="begin")],
    "old": [replace(HEAD, record=Record(), mover="", old="begin")],
}


def found(beside: str, without: str = "") -> tuple[State | None, int, bool]:
    """The first state with a broken promise, the number of states, and whether headers were removed."""

    def bounded(state: State) -> Iterator[State]:
        return (s for s in steps(state, without) if s.record.version <= CHANGES and s.branch <= SWAPS)

    states, removed = 0, False
    for state in reachable(BEGINNINGS[beside], bounded):
        states += 1
        removed |= bool(state.record.removed)
        if state.reached and state.headers != BOTH:
            return state, states, removed
    return None, states, removed


@pytest.mark.parametrize("beside", BEGINNINGS)
def test_no_order_breaks_the_promise(beside: str) -> None:
    broken, states, removed = found(beside)
    assert broken is None
    assert states > 30
    assert removed == (beside in ("writer", "user"))


@pytest.mark.ci
@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(RULES[rule], without=rule)[0] is not None

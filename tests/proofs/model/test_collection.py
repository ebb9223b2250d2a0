"""A collection of one object beside stagers, an uploader, commits, resets and a second collector: every order there is.

The state is what the stores hold (the object, the collection record, the flag in the repository record, a branch and
the commits), and where everyone stands. A grace period is over when all calls have ended that were running when it
began. A rule that is left out must break what it is there for.

The engine notes the beginning of the grace period shortly before the swap, not after it. A grace period must therefore
be longer than any call by the time that this swap takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.proofs.model.reachable import reachable

GONE = "something names content that is gone"
RULES = {
    "stagers ask": "stager",
    "the flag is set first": "stager",
    "wait for the grace period": "stager",
    "the grace period begins after the swap": "stager",
    "read names again after the grace period": "stager",
    "replace the record by a swap": "stager",
    "delete only what the swap has entered": "stager",
    "remember what was deleted": "stager",
    "read branches before commits": "commit",
    "read a branch again": "commit",
}
"""Rules, and the call beside the collectors that needs each."""
MORE = {"stagers read the flag again": "stager", "leave the young alone": "uploader"}
"""Rules that keep calls from being refused or told too little. The others keep the content without them."""
RECORDS, BRANCHES = 3, 1
"""Numbers of changes of the records after which a history ends."""


class Record(NamedTuple):
    """The collection record."""

    version: int = 0
    state: str = ""
    """`condemned`, `deleting`, `deleted`, or nothing."""
    waits: frozenset[str] = frozenset()
    """Calls that were running when the grace period began, and still are."""


class Collector(NamedTuple):
    step: str = "begin"
    saw: int = 0
    """Version of the record that it has read."""
    verifies: bool = False
    branch: int = 0
    found: bool = False
    waits: frozenset[str] = frozenset()


class State(NamedTuple):
    """The registers, and where everyone stands."""

    exists: bool = True
    young: frozenset[str] = frozenset()
    """Calls that were running when the object was stored, and still are."""
    record: Record = Record()
    flag: bool = False
    copy: bool = True
    """Whether the stager may use a copy of the repository record, from before the flag was set."""
    staged: str = ""
    """Where the branch names the object: in its `token`, or in its compacted `tree`."""
    branch: int = 0
    """Version of the branch record."""
    stored: bool = False
    """Whether the layout of a commit names the object."""
    committed: bool = False
    """Whether the branch reaches this commit."""
    stager: str = "begin"
    saw_flag: bool = False
    uploader: str = ""
    commit: str = "begin"
    commit_saw: int = 0
    collectors: tuple[Collector, ...] = (Collector(), Collector())

    @property
    def running(self) -> frozenset[str]:
        calls = {"stager": self.stager, "uploader": self.uploader, "copy": "kept" if self.copy else ""}
        return frozenset(name for name, step in calls.items() if step not in ("", "begin", "end"))

    def over(self, call: str) -> State:
        """The state after the end of a call."""
        record = self.record._replace(waits=self.record.waits - {call})
        collectors = tuple(one._replace(waits=one.waits - {call}) for one in self.collectors)
        return self._replace(record=record, young=self.young - {call}, collectors=collectors)


def stager(s: State, without: str) -> Iterator[State]:
    """`engine.staging.write.stage`, again and again: read the flag, ask, write, read the flag again."""
    ended = s._replace(stager="begin").over("stager")
    match s.stager:
        case "begin":
            for saw in {s.flag, not s.copy and s.flag}:
                asks = saw and without != "stagers ask"
                yield s._replace(stager="ask" if asks else "write", saw_flag=saw)
        case "ask":
            yield ended if s.record.state else s._replace(stager="write")
        case "write":
            yield s._replace(stager="flag", staged="token")
        case "flag" if s.flag == s.saw_flag or without == "stagers read the flag again":
            yield ended
        case "flag":
            yield s._replace(stager="ask", saw_flag=s.flag)
    if s.stager != "begin":
        yield ended  # it dies, or its request is lost
    elif s.copy:
        yield s._replace(copy=False).over("copy")


def uploader(s: State) -> Iterator[State]:
    """`engine.staging.write.put`: store the object, write. It asks nobody."""
    match s.uploader:
        case "begin":
            yield s._replace(uploader="store")
        case "store":
            yield s._replace(uploader="write", exists=True, young=s.running)
        case "write":
            yield s._replace(uploader="end", staged="token").over("uploader")
    if s.uploader in ("store", "write"):
        yield s._replace(uploader="end").over("uploader")


def moves(s: State) -> Iterator[State]:
    """A commit reads the branch, writes the layout, and swaps the branch record. A compaction moves rows to a tree."""
    match s.commit:
        case "begin" if s.staged:
            yield s._replace(commit="layout", commit_saw=s.branch)
        case "layout":
            yield s._replace(commit="swap", stored=True)
        case "swap":
            moved = s._replace(staged="", branch=s.branch + 1, committed=True)
            yield (moved if s.branch == s.commit_saw else s)._replace(commit="begin")
    if s.staged == "token":
        yield s._replace(staged="tree", branch=s.branch + 1)


def collector(s: State, number: int, without: str) -> Iterator[State]:
    """`gc.collection`, again and again. After a crash, the next one begins from the record."""
    yield from _reads(s, number, without)
    yield from _writes(s, number, without)
    if s.collectors[number].step != "begin":
        yield _at(s, number, Collector())


def _at(s: State, number: int, me: Collector) -> State:
    return s._replace(collectors=(*s.collectors[:number], me, *s.collectors[number + 1 :]))


def _reads(s: State, number: int, without: str) -> Iterator[State]:
    """Read the record, the branch, its rows, the branch again, and the commits."""
    me, record = s.collectors[number], s.record
    first, second = ("commits", "branch") if without == "read branches before commits" else ("branch", "commits")
    following = {first: second, second: "decide"}
    match me.step:
        case "begin":
            me = Collector(saw=record.version, verifies=record.state == "condemned")
            due = not record.waits or without == "wait for the grace period"
            if record.state == "deleting":
                yield _at(s, number, me._replace(step="delete"))
            elif record.state == "condemned" and due:
                unread = without == "read names again after the grace period"
                yield _at(s, number, me._replace(step="swap" if unread else first))
            elif not record.state and s.exists and (not s.young or without == "leave the young alone"):
                yield _at(s, number, me._replace(step=first))
        case "branch":
            yield _at(s, number, me._replace(step="rows", found=me.found or s.staged == "tree", branch=s.branch))
        case "rows":
            again = following["branch"] if without == "read a branch again" else "again"
            yield _at(s, number, me._replace(step=again, found=me.found or s.staged == "token"))
        case "again":
            yield _at(s, number, me._replace(step=following["branch"] if s.branch == me.branch else "branch"))
        case "commits":
            yield _at(s, number, me._replace(step=following["commits"], found=me.found or s.stored))


def _writes(s: State, number: int, without: str) -> Iterator[State]:
    """Set the flag, swap the record, delete."""
    me, won = s.collectors[number], s.record.version == s.collectors[number].saw

    def swapped(state: str, step: str, waits: frozenset[str] = frozenset()) -> State:
        if not won and without != "replace the record by a swap":
            goes_on = without == "delete only what the swap has entered" and step == "delete"
            return _at(s, number, me._replace(step=step) if goes_on else Collector())
        new = Record(s.record.version + 1, state, waits)
        mine = Collector() if step == "begin" else me._replace(step=step, saw=new.version)
        return _at(s._replace(record=new), number, mine)

    match me.step:
        case "decide" if me.verifies:
            yield swapped("", "begin") if me.found else swapped("deleting", "delete")
        case "decide":
            unset = me._replace(step="swap" if without == "the flag is set first" else "flag", waits=s.running)
            yield _at(s, number, Collector() if me.found else unset)
        case "flag":
            yield _at(s._replace(flag=True), number, me._replace(step="swap"))
        case "swap" if me.verifies:
            yield swapped("deleting", "delete")
        case "swap":
            early = without == "the grace period begins after the swap"
            late = without == "the flag is set first" and won
            yield swapped("condemned", "late" if late else "begin", me.waits if early else s.running)
        case "late":
            yield _at(s._replace(flag=True), number, Collector())
        case "delete":
            yield _at(s._replace(exists=False), number, me._replace(step="done"))
        case "done":
            yield swapped("" if without == "remember what was deleted" else "deleted", "begin")


def steps(s: State, beside: str, without: str) -> Iterator[State]:
    """All next states: of a call, of the moves of names or of a second collector, and of a reset of the branch."""
    yield from uploader(s) if beside == "uploader" else stager(s, without)
    if beside == "commit":
        yield from moves(s)
    for number in range(len(s.collectors)):
        yield from collector(s, number, without)
    if s.staged:
        yield s._replace(staged="", branch=s.branch + 1)


BEGINNINGS = {
    "stager": [State(), State(staged="token")],
    "commit": [State(collectors=(Collector(),)), State(staged="token", collectors=(Collector(),))],
    "uploader": [State(exists=False, copy=False, uploader="begin")],
}


def found(beside: str, without: str = "") -> tuple[str, int]:
    """What is first found wrong, and how many states were seen."""

    def bounded(state: State) -> Iterator[State]:
        return (s for s in steps(state, beside, without) if s.record.version <= RECORDS and s.branch <= BRANCHES)

    states = 0
    for state in reachable(BEGINNINGS[beside], bounded):
        states += 1
        if not state.exists and state.uploader in ("", "end") and (state.staged or state.committed):
            return GONE, states
    return "", states


@pytest.mark.parametrize("beside", [pytest.param("stager", marks=pytest.mark.ci), "commit", "uploader"])
def test_no_order_breaks_a_promise(beside: str) -> None:
    broken, states = found(beside)
    assert not broken
    assert states > 1_000


@pytest.mark.ci
@pytest.mark.parametrize("rule", MORE)
def test_some_rules_do_not_keep_content(rule: str) -> None:
    assert not found(MORE[rule], without=rule)[0]


@pytest.mark.ci
@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_one_does(rule: str) -> None:
    assert found(RULES[rule], without=rule)[0] == GONE

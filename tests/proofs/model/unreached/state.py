"""State of the model: what the store holds, and where everyone stands."""

from __future__ import annotations

from typing import NamedTuple

LOW, HIGH = "low", "high"
BOTH, NONE = frozenset({LOW, HIGH}), frozenset[str]()


class Record(NamedTuple):
    """The collection record."""

    version: int = 0
    state: str = ""
    """`flagged`, `adopted` or nothing before the first announcement, then `announced`, `removing` or `adopted`."""
    ids: frozenset[str] = NONE
    revived: frozenset[str] = NONE
    removed: frozenset[str] = NONE
    waits: frozenset[str] = NONE
    confirmed: bool = False


class Collector(NamedTuple):
    step: str = "begin"
    saw: Record = Record()
    found: frozenset[str] = NONE
    """Headers that it has found."""
    roots: frozenset[str] = NONE
    again: bool = False
    """Whether it has changed the branch record, and reads references again."""
    due: frozenset[str] = NONE
    waits: frozenset[str] = NONE


class State(NamedTuple):
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
    resetter: str = ""
    resetter_branch: int = 0
    resetter_saw: Record = Record()
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
        record = self.record._replace(waits=self.record.waits - {call})
        collectors = tuple(
            one._replace(waits=one.waits - {call}, saw=one.saw._replace(waits=one.saw.waits - {call}))
            for one in self.collectors
        )
        saw = self.user_saw._replace(waits=self.user_saw.waits - {call})
        other = self.resetter_saw._replace(waits=self.resetter_saw.waits - {call})
        return self._replace(record=record, collectors=collectors, user_saw=saw, resetter_saw=other)


def family(ids: frozenset[str]) -> frozenset[str]:
    """Some commits and their ancestors."""
    return BOTH if HIGH in ids else ids

"""Judging values: does each path show what the promises allow? Source: `docs/guarantees.md`; seed 003, guarantees.

The staging area is not linearizable, and must not be judged as if it were: two writers who never waited for each other
may be seen in either order, and in both. What is judged is what time orders. A value may be shown at a moment if some
operation that gives it began by then, and no operation that surely replaces it came wholly after that one and was
acknowledged by then. Resets give back what the head held.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.proofs.simulation.history import NEVER, History, Operation, Outcome, Value
from tests.proofs.simulation.observe import Observer, State

BEGINNING = Operation("beginning", "-", start=-1, end=-1, outcome=Outcome.DONE)


@dataclass(frozen=True, slots=True)
class Moment:
    """When a value is judged: what began later cannot have given it; what was acknowledged by the deadline counts."""

    step: int
    deadline: int


@dataclass(frozen=True, slots=True)
class Judge:
    """A history and what was observed of it."""

    history: History
    observer: Observer

    def violations(self) -> Iterator[str]:
        """What breaks promises 1 to 3, in words."""
        yield from self._shown()
        yield from self._reads()
        yield from self._heads()
        yield from self._conditions()
        yield from self._conditional_writes()

    def _shown(self) -> Iterator[str]:
        """Promises 1 and 3: what is acknowledged is shown, until something replaces it."""
        states = self.observer.states
        for state, following in zip(states, [*states[1:], None], strict=True):
            until = NEVER - 1 if following is None else following.step - 1
            for path, value in (state.shown or {}).items():
                if not self._legal(path, value, Moment(state.step, until)):
                    yield f"from step {state.step} on, {path} shows {value}"

    def _reads(self) -> Iterator[str]:
        """Promise 2: an answer is what was shown at some moment of the call.

        Listings keep pages of sealed tokens, and need not show what comes there late. Lookups may show it although a
        newer layer hides it since they have read that layer.
        """
        for read in self.history.operations:
            if read.kind not in ("get", "list") or read.outcome is not Outcome.DONE:
                continue
            assert isinstance(read.answer, dict)
            stood = [state for state in self.observer.between(read.start, read.end) if state.shown is not None]
            for path, value in read.answer.items():
                shown = {state.shown[path] for state in stood if state.shown is not None}
                others = [state.listed if read.kind == "list" else state.late for state in stood]
                shown.update(*(values.get(path, set()) for values in others))
                if value not in shown:
                    yield f"{read}: {path} never showed {value} during the call"

    def _heads(self) -> Iterator[str]:
        """Promise 3 for commits; and that merges and hard resets hide nothing that was acknowledged before."""
        for operation in self.history.operations:
            after = self._moved_by(operation)
            for state, what in after:
                for path, value in (state.head or {}).items():
                    if not self._legal(path, value, Moment(state.step, self._begun(operation) - 1)):
                        yield f"{operation}: {what} holds {value} at {path}"

    def _begun(self, operation: Operation) -> int:
        """When the first call under the same idempotency key began, whose commit the answer may be."""
        alike = [o.start for o in self.history.operations if operation.key and o.key == operation.key]
        return min([operation.start, *alike])

    def _moved_by(self, operation: Operation) -> list[tuple[State, str]]:
        """The heads that must hold all that was acknowledged before an operation began."""
        if operation.kind == "commit" and operation.outcome is Outcome.DONE:
            return [(state, "the commit") for state in self._states_of(operation)]
        if operation.kind == "commit" and operation.outcome is Outcome.NOTHING and operation.answer == "no changes":
            *_, last = self.observer.between(operation.start, operation.end)
            return [(last, "the head that took the changes")]
        if operation.kind in ("merge", "replay", "hard reset") and operation.outcome is Outcome.DONE:
            return [(before, "the head it replaced") for before in self._states_before(operation)]
        return []

    def _states_of(self, operation: Operation) -> list[State]:
        found = [s for s in self.observer.states if s.record is not None and s.record.commit_id == operation.answer]
        return found[:1]

    def _states_before(self, operation: Operation) -> list[State]:
        during = list(self.observer.between(operation.start, operation.end))
        for before, state in pairwise(during):
            ids = [None if s.record is None else s.record.commit_id for s in (before, state)]
            if ids[0] is not None and ids[1] == operation.answer != ids[0]:
                return [before]
        return []

    def _conditions(self) -> Iterator[str]:
        """A transaction or merge found at the head exactly what it insisted on."""
        for operation in self.history.operations:
            if operation.kind not in ("transact", "merge") or operation.outcome is not Outcome.DONE:
                continue
            for before in self._states_before(operation):
                assert before.head is not None
                for path, value in operation.expected.items():
                    if before.head[path] != value:
                        yield f"{operation}: {path} held {before.head[path]} at the head, {value} was insisted on"

    def _conditional_writes(self) -> Iterator[str]:
        """The path showed the expected entry until the row of an acknowledged conditional write was set."""
        for operation in self.history.operations:
            if operation.kind == "put if" and operation.outcome is Outcome.DONE:
                for path, value in operation.expected.items():
                    if not self._held(operation, path, value):
                        yield f"{operation}: {path} did not show {value} when the row was set"

    def _held(self, write: Operation, path: str, value: Value) -> bool:
        """Whether the condition of a conditional write held.

        A write that comes late to a sealed token does not count, as for listings. A removal may find nothing to remove.
        A reset may put its layer below the row, so that the head is what the row has replaced.
        """
        during = list(self.observer.between(write.start, write.end))
        set_at = [a for a, b in pairwise(during) if b.shown and b.shown[path] == write.sets[path]]
        return (
            any(s.shown and value in {s.shown[path], *s.listed.get(path, ())} for s in set_at)
            or (write.sets[path] is None and any(s.shown and s.shown[path] is None for s in during))
            or any(
                reset.throws_away(path)
                and reset.may_have_happened
                and reset.start <= write.end
                and reset.end >= write.start
                and self._in_head(path, value, max(reset.start, write.start), write.end)
                for reset in self.history.operations
            )
        )

    def _legal(self, path: str, value: Value, moment: Moment) -> bool:
        givers = [o for o in self.history.operations if o.may_have_happened and o.start <= moment.step]
        candidates = [o for o in givers if o.gives(path, value)] + ([BEGINNING] if value is None else [])
        return any(self._stands(giver, path, value, moment) for giver in candidates)

    def _stands(self, giver: Operation, path: str, value: Value, moment: Moment) -> bool:
        """Whether what one operation gave may still be shown: nothing acknowledged since has surely replaced it."""
        for later in self.history.operations:
            if later.outcome is not Outcome.DONE or later.start <= giver.end or later.end > moment.deadline:
                continue
            if path in later.sets and later.sets[path] != value and not self._given_back(later, path, value, moment):
                return False
            if later.throws_away(path) and not self._in_head(path, value, giver.start, later.end):
                return False
        return True

    def _given_back(self, replaced_by: Operation, path: str, value: Value, moment: Moment) -> bool:
        """Whether a reset may have thrown the replacement away and given back the head."""
        return any(
            reset.throws_away(path)
            and reset.may_have_happened
            and reset.start <= moment.step
            and reset.end >= replaced_by.start
            and self._in_head(path, value, reset.start, moment.step)
            for reset in self.history.operations
        )

    def _in_head(self, path: str, value: Value, start: int, end: int) -> bool:
        return any(s.head is not None and s.head[path] == value for s in self.observer.between(start, end))

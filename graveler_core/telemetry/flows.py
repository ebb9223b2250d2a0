"""Telemetry of one flow: name, repository, branch, number of attempts, duration and outcome.

`traced` wraps every flow. If neither logs nor spans are enabled, it does two checks and calls the function; only
failures and long durations are logged. `flow` is a context manager for code that is not a single call. Its context is
valid for one thread and its asynchronous tasks. Work that a flow gives to other threads is not reported separately.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from graveler_core.errors import GravelerError
from graveler_core.telemetry import events, spans
from graveler_core.telemetry.outcomes import LONG, OK, FlowOutcome, outcome_of

P = ParamSpec("P")
T = TypeVar("T")
FlowTarget = tuple[str, str]
"""Repository and branch of a flow in logs and spans; empty if it has none."""
QUIET = frozenset(
    (
        *("check", "count", "diff", "fsck", "get", "list", "log", "look", "open", "pressure", "read", "reflog"),
        *("put", "remove", "resolve", "show", "stage", "tree", "verify"),
    )
)
"""First words of flows that only read or stage. They are logged at level DEBUG."""
OFTEN = 3
"""Number of the first attempt that is logged at level INFO."""


class Flow:
    """Flow in progress."""

    __slots__ = ("attempts", "branch", "changes", "fields", "name", "repository")

    def __init__(self, name: str, repository: str, branch: str, changes: bool, fields: dict[str, Any]) -> None:
        self.name = name
        self.repository = repository
        self.branch = branch
        self.changes = changes
        self.fields = fields
        self.attempts = 1
        """Number of attempts: one, plus one for each lost race."""


_present: ContextVar[Flow | None] = ContextVar("graveler_flow", default=None)


def changes_history(name: str) -> bool:
    """Return true if a flow of this name does more than read and stage (a commit, a merge, a creation, a sweep)."""
    return name != "merge base" and name.split(maxsplit=1)[0] not in QUIET


def traced(
    name: str, where: Callable[P, FlowTarget], *, changes: bool | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function so that each call of it is reported as a flow.

    Everything that does not depend on the call is looked up once, when the function is decorated: most calls are not
    logged, and some take only a few dozen microseconds.

    Args:
        name: Name of the flow.
        where: Returns the repository and the branch of a call from its arguments. Called only if the call is logged.
        changes: True to log at level INFO, false for DEBUG. Default: by the name (`changes_history`).
    """
    changing = changes_history(name) if changes is None else changes
    level = logging.INFO if changing else logging.DEBUG
    listens = events.logger_of(name).isEnabledFor
    spans_wanted, clock = spans.wanted, time.monotonic

    def made(work: Callable[P, T]) -> Callable[P, T]:
        @wraps(work)
        def called(*args: P.args, **kwargs: P.kwargs) -> T:
            began = clock()
            if spans_wanted(began) or listens(level):
                repository, branch = where(*args, **kwargs)
                with flow(name, repository=repository, branch=branch, changes=changing):
                    return work(*args, **kwargs)
            try:
                answer = work(*args, **kwargs)
            except BaseException as e:
                ended = Flow(name, *where(*args, **kwargs), changing, {})
                _end(ended, _attempts(e), outcome_of(e), clock() - began)
                raise
            took = clock() - began
            if took >= LONG:
                _end(Flow(name, *where(*args, **kwargs), changing, {}), None, OK, took)
            return answer

        return called

    return made


@contextmanager
def flow(
    name: str, *, repository: str = "", branch: str = "", changes: bool | None = None, **fields: Any
) -> Iterator[Flow]:
    """Report the flow inside the `with` statement: one event at its end, and one span around it.

    Args:
        name: Name of the operation: `commit`, `create branch`.
        repository: Name of the repository, if there is one.
        branch: Name of the branch, if there is one.
        changes: As for `traced`.
        fields: Additional numbers and short texts; never content, paths or secrets.
    """
    under_way = Flow(name, repository, branch, changes_history(name) if changes is None else changes, fields)
    said = {"flow": name, "repository": repository, "branch": branch, **fields}
    before = _present.set(under_way)
    began = time.monotonic()
    outcome = OK
    try:
        with events.context(**{key: value for key, value in said.items() if value != ""}), spans.span(name, said) as of:
            try:
                yield under_way
            except BaseException as e:
                outcome = outcome_of(e)
                raise
            finally:
                spans.close(of, outcome, under_way.attempts)
                _end(under_way, under_way.attempts, outcome, time.monotonic() - began)
    finally:
        _present.reset(before)


def retried(what: str, attempt: int, pause: float) -> None:
    """Report that a flow has lost a race and tries again after a pause.

    Args:
        what: Name of the flow, used if no flow is in progress.
        attempt: Number of the next attempt, from 2.
        pause: Pause in seconds.
    """
    under_way = _present.get()
    if under_way is not None:
        under_way.attempts += 1
    told = {} if under_way is not None else {"flow": what}
    level = logging.INFO if attempt >= OFTEN else logging.DEBUG
    events.tell("retry", level, "retry", attempt=attempt, pause=round(pause, 6), **told)


def _end(ended: Flow, attempts: int | None, outcome: FlowOutcome, took: float) -> None:
    level = outcome.level
    if outcome is OK and (ended.changes or took >= LONG):
        level = logging.INFO
    said = {
        "flow": ended.name,
        "repository": ended.repository,
        "branch": ended.branch,
        "outcome": outcome.kind,
        "duration": round(took, 6),
        "attempts": attempts,
        **ended.fields,
    }
    known = {name: value for name, value in said.items() if value not in ("", None)}
    events.tell(ended.name, level, f"{ended.name} {outcome.kind}", **known)


def _attempts(error: BaseException) -> int | None:
    """Return the number of attempts stored in an error, for flows that were not counted."""
    found = error.details.get("attempts") if isinstance(error, GravelerError) else None
    return found if isinstance(found, int) else None

"""One flow, as logs and spans see it: its name, repository and branch, how often it tried, how long it took, its end.

`traced` is what stands around every flow. Where nobody listens it looks twice and calls: no context is bound, no span
opened, and nothing but a failure or a long wait is told. `flow` is the same for whoever has no single call to make.

What is bound stands for one thread and its asynchronous tasks; work that a flow hands to other threads is not told by
itself.
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
from graveler_core.telemetry.outcomes import LONG, OK, Outcome, outcome_of

P = ParamSpec("P")
T = TypeVar("T")
Said = tuple[str, str]
"""The repository and the branch of a flow, as logs and spans say them; empty where it has none."""
QUIET = frozenset(
    (
        *("check", "count", "diff", "fsck", "get", "list", "log", "look", "open", "pressure", "read", "reflog"),
        *("put", "remove", "resolve", "show", "stage", "tree", "verify"),
    )
)
"""First words of flows that read, or only stage: those that are told at DEBUG."""
OFTEN = 3
"""From this attempt on a retry is told at INFO."""


class Flow:
    """A flow that is under way."""

    __slots__ = ("attempts", "branch", "changes", "fields", "name", "repository")

    def __init__(self, name: str, repository: str, branch: str, changes: bool, fields: dict[str, Any]) -> None:
        self.name = name
        self.repository = repository
        self.branch = branch
        self.changes = changes
        self.fields = fields
        self.attempts = 1
        """How often it tried: once, and once for each race that it lost."""


_present: ContextVar[Flow | None] = ContextVar("graveler_flow", default=None)


def changes_history(name: str) -> bool:
    """Whether a flow of this name does more than read and stage (a commit, a merge, a creation, a collection)."""
    return name != "merge base" and name.split(maxsplit=1)[0] not in QUIET


def traced(
    name: str, where: Callable[P, Said], *, changes: bool | None = None
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a flow: each call of it is told.

    What can be known before is looked up here, once: most calls are told to nobody, and some take a few dozen
    microseconds.

    Args:
        name: Of the flow.
        where: The repository and the branch of a call, from its arguments; only asked when the call is told.
        changes: Whether it is told at INFO, rather than at DEBUG; by its name where not given (`changes_history`).
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
    """Tell of the flow inside the `with` statement: one event at its end, one span around it.

    Args:
        name: As of the façade's operation: `commit`, `create branch`.
        changes: As of `traced`.
        fields: What else is to be said: numbers and short texts, never content, paths or secrets.
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
    """A flow has lost a race, and tries again after a pause.

    Args:
        what: The flow, where none is under way.
        attempt: Which one this will be, from 2.
        pause: Seconds.
    """
    under_way = _present.get()
    if under_way is not None:
        under_way.attempts += 1
    told = {} if under_way is not None else {"flow": what}
    level = logging.INFO if attempt >= OFTEN else logging.DEBUG
    events.tell("retry", level, "retry", attempt=attempt, pause=round(pause, 6), **told)


def _end(ended: Flow, attempts: int | None, outcome: Outcome, took: float) -> None:
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
    """How often a flow tried that nobody counted, where its error says so."""
    found = error.details.get("attempts") if isinstance(error, GravelerError) else None
    return found if isinstance(found, int) else None

"""One part of an archive: what was found, what could not be read, and whether that is all.

A failure is noted where it arose, and the rest goes on: damage of one branch must not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, TypeVar

from graveler_core.diagnostics.budget import Budget, SpentError
from graveler_core.errors import GravelerError
from graveler_core.telemetry.secrets import without_secrets

T = TypeVar("T")
MOST_ERRORS = 100


@dataclass(slots=True)
class Section:
    """A part of an archive, as it is filled."""

    name: str
    """The file's name in the archive, without `.json`."""
    content: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    """False where a limit, the time or a failure ended something early."""
    errors: list[dict[str, str]] = field(default_factory=list)
    """What could not be read: what, kind, why; the first hundred."""
    seconds: float = 0.0

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Note a failure of this part, and go on behind it; so too where the time is over."""
        try:
            yield
        except SpentError:
            self.complete = False
        except GravelerError as e:
            self.failed(what, str(e.kind), e.message)
        except Exception as e:  # whatever it is, the other parts are worth having; its text may hold anything
            self.failed(what, type(e).__name__, "unexpected")

    def failed(self, what: str, kind: str, why: str) -> None:
        """Note what could not be read."""
        self.complete = False
        if len(self.errors) < MOST_ERRORS:
            self.errors.append({"what": what, "kind": kind, "why": why})

    def first(self, items: Iterable[T], most: int, budget: Budget) -> Iterator[T]:
        """The first items, so many at most and as long as there is time; says of itself where there are more."""
        try:
            for number, item in enumerate(budget.over(items)):
                if number == most:
                    self.complete = False
                    return
                yield item
        except SpentError:
            self.complete = False

    def count(self, what: str, items: Iterable[object], most: int, budget: Budget) -> dict[str, Any]:
        """How many there are, as far as they were counted: `at_least` says that there may be more."""
        number, part = 0, Section(what)
        with part.trying(what):
            for _ in part.first(items, most, budget):
                number += 1
        self.complete &= part.complete
        for error in part.errors:
            self.failed(error["what"], error["kind"], error["why"])
        return {"count": number, "at_least": not part.complete}

    def document(self) -> dict[str, Any]:
        """What is written: plain values, and no secret in any text."""
        return {
            "section": self.name,
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "errors": plain(self.errors),
            **{name: plain(value) for name, value in self.content.items()},
        }


def plain(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601, spans in seconds."""
    found: Any = value
    match value:
        case Enum():
            found = plain(value.value)
        case Mapping():
            found = {str(name): plain(each) for name, each in value.items()}
        case list() | tuple() | set() | frozenset():
            found = [plain(each) for each in value]
        case datetime():
            found = value.isoformat()
        case timedelta():
            found = value.total_seconds()
        case None | bool() | int() | float():
            found = value
        case _:
            found = without_secrets(str(value))
    return found

"""Document of an archive: its content, its failures, and if it is complete.

A failure is noted where it happens, and collection continues: damage of one branch must not hide the others.
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
    """Document while it is being filled."""

    name: str
    """File name in the archive, without `.json`."""
    content: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    """False if a limit, the time budget or a failure has cut something off."""
    errors: list[dict[str, str]] = field(default_factory=list)
    """The first hundred failures: subject, kind, reason."""
    seconds: float = 0.0

    @contextmanager
    def trying(self, what: str) -> Iterator[None]:
        """Note a failure inside the `with` statement, or the end of the time budget, and continue after it."""
        try:
            yield
        except SpentError:
            self.complete = False
        except GravelerError as e:
            self.failed(what, str(e.kind), e.message)
        except (
            Exception
        ) as e:  # Any exception is noted, because the other documents are still useful. Its text may contain user data.
            self.failed(what, type(e).__name__, "unexpected")

    def failed(self, what: str, kind: str, why: str) -> None:
        """Note a failure."""
        self.complete = False
        if len(self.errors) < MOST_ERRORS:
            self.errors.append({"what": what, "kind": kind, "why": why})

    def first(self, items: Iterable[T], most: int, budget: Budget) -> Iterator[T]:
        """Yield the first `most` items while the time budget lasts. Mark the document as incomplete if there are
        more.
        """
        try:
            for number, item in enumerate(budget.over(items)):
                if number == most:
                    self.complete = False
                    return
                yield item
        except SpentError:
            self.complete = False

    def count(self, what: str, items: Iterable[object], most: int, budget: Budget) -> dict[str, Any]:
        """Count items up to a maximum. `at_least` in the result is true if there may be more."""
        number, part = 0, Section(what)
        with part.trying(what):
            for _ in part.first(items, most, budget):
                number += 1
        self.complete &= part.complete
        for error in part.errors:
            self.failed(error["what"], error["kind"], error["why"])
        return {"count": number, "at_least": not part.complete}

    def document(self) -> dict[str, Any]:
        """Return the JSON content: plain values, and no secret in any text."""
        return {
            "section": self.name,
            "complete": self.complete,
            "seconds": round(self.seconds, 3),
            "errors": plain(self.errors),
            **{name: plain(value) for name, value in self.content.items()},
        }


def plain(value: Any) -> Any:
    """Return a value as JSON: times in ISO 8601, durations in seconds."""
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

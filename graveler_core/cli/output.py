"""Results on stdout in one of three formats: a table on a terminal, tab-separated lines in a pipe, JSON on request.

Rows are written as they arrive: in pages on a terminal, one by one elsewhere. A listing of any length therefore needs
little memory and can be interrupted. A `View` says how a row is shown; the views are in `views.py` and
`staged_views.py`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any, Generic, TextIO, TypeVar

from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.documents.text import visible
from graveler_core.documents.values import Document

T = TypeVar("T")
PAGE_ROWS = 200


class Shape(Enum):
    """Output format of results."""

    TABLE = "table"
    PLAIN = "plain"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, and the format of its values for people and, in a pipe, for programs."""

    title: str
    people: Callable[[Any], str] = str
    machines: Callable[[Any], str] = str
    style: Callable[[Any], str] | str = ""
    right: bool = False
    folds: bool = False
    """True if values may be long and are wrapped; other columns are short."""


@dataclass(frozen=True, slots=True)
class View(Generic[T]):
    """View of values of one kind: as cells of a table, and as a JSON document with stable field names."""

    columns: tuple[Column, ...]
    cells: Callable[[T], tuple[Any, ...]]
    document: Callable[[T], Document]
    empty: str
    """Text that is printed instead of an empty table."""


class Output:
    """Destination of results."""

    def __init__(self, *, as_json: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stdout
        plain = Shape.TABLE if self._stream.isatty() else Shape.PLAIN
        self.shape = Shape.JSON if as_json else plain

    def rows(self, items: Iterable[T], view: View[T]) -> int:
        """Write rows as they arrive. Return the number of rows."""
        if self.shape is Shape.TABLE:
            return self._table(iter(items), view)
        line = self._json_line if self.shape is Shape.JSON else self._plain_line
        with Progress(ProgressWork("reading")) as progress:
            for item in items:
                self._stream.write(line(item, view) + "\n")
                progress.advance()
        return progress.done

    def result(self, document: Document, text: str) -> None:
        """Write the result of a command: the document as JSON, or the text as a line."""
        self.document(document)
        self.say(text)

    def document(self, document: Document) -> None:
        """Write a line of JSON if JSON output is on."""
        if self.shape is Shape.JSON:
            self._stream.write(_dump(document) + "\n")

    def say(self, text: str) -> None:
        """Write a line of text unless JSON output is on."""
        if self.shape is not Shape.JSON:
            self._stream.write(visible(text) + "\n")

    def flush(self) -> None:
        """Flush the output stream."""
        self._stream.flush()

    def _plain_line(self, item: T, view: View[T]) -> str:
        cells = zip(view.columns, view.cells(item), strict=True)
        return "\t".join("" if value is None else visible(column.machines(value)) for column, value in cells)

    def _json_line(self, item: T, view: View[T]) -> str:
        return _dump(view.document(item))

    def _table(self, items: Iterator[T], view: View[T]) -> int:
        from graveler_core.cli.table import Table

        table = Table(view.columns, self._stream)
        total = 0
        while page := self._page(items, view):
            table.page(page)
            total += len(page)
        if not total:
            table.note(view.empty)
        return total

    def _page(self, items: Iterator[T], view: View[T]) -> list[tuple[Any, ...]]:
        with Progress(ProgressWork("reading")):
            return [view.cells(item) for item in islice(items, PAGE_ROWS)]


def note(text: str) -> None:
    """Write a line to the standard error stream, about something that the result does not contain."""
    print(visible(text), file=sys.stderr)


def _dump(document: Document) -> str:
    return json.dumps(document, separators=(",", ":"))

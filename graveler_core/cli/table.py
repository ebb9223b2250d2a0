"""A table on a terminal, written page by page with aligned columns.

Short columns (ids, dates, sizes) keep their width. The other columns share the remaining width and wrap text that does
not fit. Nothing is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TextIO

from graveler_core.documents.text import visible

if TYPE_CHECKING:
    from rich.text import Text

    from graveler_core.cli.output import Column

GAP = 2
NARROWEST = 8


def fit(natural: Sequence[int], folds: Sequence[bool], room: int) -> list[int]:
    """Return the widths of the columns, in characters, that fit into `room` characters.

    Short columns keep their natural width. Columns that fold also keep it if all fit; otherwise the widest become
    narrower, down to `NARROWEST`. If that is still too wide, the terminal library wraps the short columns too.
    """
    room -= GAP * (len(natural) - 1) + sum(width for width, fold in zip(natural, folds, strict=True) if not fold)
    widths = list(natural)
    left = sum(folds)
    for width, at in sorted((natural[at], at) for at, fold in enumerate(folds) if fold):
        widths[at] = min(width, max(NARROWEST, room // left))
        room -= widths[at]
        left -= 1
    return widths


class Table:
    """A table that is written page by page. The first page determines the widths of the columns that fold."""

    def __init__(self, columns: Sequence[Column], stream: TextIO) -> None:
        from rich.console import Console

        self._columns = columns
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._widths: list[int] = []

    def page(self, rows: Sequence[Sequence[Any]]) -> None:
        """Write rows with one value per column; `None` is an empty cell. The first page begins with the titles."""
        cells = [[_text(column, value) for column, value in zip(self._columns, row, strict=True)] for row in rows]
        first = not self._widths
        self._widths = self._fit(cells)
        self._write(cells, titles=first)

    def note(self, text: str) -> None:
        """Write a note below or instead of the rows."""
        self._console.print(text, style="dim")

    def _fit(self, cells: list[list[Text]]) -> list[int]:
        natural = [max(row[at].cell_len for row in cells) for at in range(len(self._columns))]
        natural = [max(width, len(column.title)) for width, column in zip(natural, self._columns, strict=True)]
        if not self._widths:
            return fit(natural, [column.folds for column in self._columns], self._console.width)
        earlier = zip(self._widths, natural, self._columns, strict=True)
        return [old if column.folds else max(old, new) for old, new, column in earlier]

    def _write(self, cells: list[list[Text]], *, titles: bool) -> None:
        from rich.table import Table as RichTable

        table = RichTable(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=titles)
        for column, width in zip(self._columns, self._widths, strict=True):
            justify: Literal["left", "right"] = "right" if column.right else "left"
            table.add_column(column.title, justify=justify, width=width, overflow="fold")
        for row in cells:
            table.add_row(*row)
        self._console.print(table)


def _text(column: Column, value: Any) -> Text:
    from rich.text import Text

    if value is None:
        return Text("")
    style = column.style if isinstance(column.style, str) else column.style(value)
    return Text(visible(column.people(value)), style=style)

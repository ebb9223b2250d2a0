"""Values as HTML tables, for notebooks. All text is escaped: paths and messages come from anybody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from html import escape
from typing import Protocol, runtime_checkable


@runtime_checkable
class HasRow(Protocol):
    """A value that chooses its columns."""

    def _html_row(self) -> Mapping[str, object]:
        """Return the cells of its row in a listing, by column."""


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """Return a table with one row for each name and value.

    Args:
        title: Caption of the table.
        rows: Values by name. Rows without a value (`None`, or an empty text or mapping) are left out.

    Returns:
        HTML without styles.
    """
    body = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_text(value))}</td></tr>"
        for name, value in rows.items()
        if _is_shown(value)
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


def html_list(title: str, items: Sequence[object]) -> str:
    """Return a table with one row for each item.

    The columns are those of `item._html_row()`, or else the fields of a dataclass or of a stored record. Columns
    without any value are left out.

    Args:
        title: Caption of the table.
        items: The items.

    Returns:
        HTML without styles.
    """
    rows = [_row(item) for item in items]
    columns = list(dict.fromkeys(name for row in rows for name, value in row.items() if _is_shown(value)))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, map(row.get, columns)))}</tr>" for row in rows)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


def _row(item: object) -> Mapping[str, object]:
    if isinstance(item, HasRow):
        return item._html_row()
    if is_dataclass(item):
        return {each.name.replace("_", " "): getattr(item, each.name) for each in fields(item) if each.repr}
    names = getattr(type(item), "model_fields", None)
    return {"item": item} if names is None else {name.replace("_", " "): getattr(item, name) for name in names}


def _cell(value: object) -> str:
    return f"<td>{escape(_text(value)) if _is_shown(value) else ''}</td>"


def _is_shown(value: object) -> bool:
    return value is not None and value not in ("", {}, ())


def _text(value: object) -> str:
    """Return a value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={text}" for name, text in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value)

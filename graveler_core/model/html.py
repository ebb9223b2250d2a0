"""Values as HTML tables, for notebooks. All text is escaped: paths and messages come from anybody."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from html import escape


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
        if value is not None and value not in ("", {}, ())
    )
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


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

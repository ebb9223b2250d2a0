"""Safe display of untrusted text, and formats of numbers and times for people.

Commit messages, paths and error messages are untrusted. Control characters, and characters that reorder text, could
repaint a terminal or hide a part of a name, so they are shown as escapes. Text is never interpreted as markup.
"""

from __future__ import annotations

from datetime import datetime

from graveler_core.documents.text import visible

SHORT_ID = 12


def first_line(text: str) -> str:
    """Return the first line of a message, with an ellipsis if there is more."""
    head, _, more = text.strip().partition("\n")
    return visible(head.rstrip()) + (" …" if more.strip() else "")


def bytes_for_people(size: int) -> str:
    """Format a number of bytes with a decimal unit and at most one digit after the point."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} PB"


def time_for_people(moment: datetime) -> str:
    """Format a time as local time, to the second."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")

"""What may be shown of text that others wrote, and numbers and times as people read them.

Commit messages, paths and error messages come from anywhere. Control characters and those that reorder text (which
could repaint a terminal or hide part of a name) are shown as escapes; nothing is ever read as markup.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

# C0 and C1 controls, line and paragraph separators, bidirectional and zero-width formatting, surrogates.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
SHORT_ID = 12


def visible(text: str) -> str:
    """The text on one line, with what a terminal would act upon made visible."""
    return _UNSAFE.sub(_escape, text)


def first_line(text: str) -> str:
    """The first line of a message, with an ellipsis if there is more."""
    head, _, more = text.strip().partition("\n")
    return visible(head.rstrip()) + (" …" if more.strip() else "")


def bytes_for_people(size: int) -> str:
    """A number of bytes with a decimal unit and at most one digit after the point."""
    amount = float(size)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} PB"


def time_for_people(moment: datetime) -> str:
    """The moment in local time, to the second."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def time_for_machines(moment: datetime) -> str:
    """The moment in UTC, ISO 8601 with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")

"""Reports of checks: the stored results of checks on the content of a commit or a tree."""

from __future__ import annotations

import operator
from datetime import datetime

from pydantic import Field

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entities import Record
from graveler_core.model.limit import require_limit

MAX_TEXT = 2_000
"""Maximum number of characters of the URL and of the message of a report."""


class CheckReport(Record):
    """The newest result of one check on one commit or tree."""

    name: str
    passed: bool
    since: datetime
    """Time of the report, by the clock of the process that made it. A report on a commit has at least the time of the
    report on its tree.
    """
    url: str = Field(default="", exclude_if=operator.not_)
    """Page with the details."""
    message: str = Field(default="", exclude_if=operator.not_)
    by: str = Field(default="", exclude_if=operator.not_)
    """User who made the report. Empty in stores without access control."""


def checked_text(name: str, text: str) -> str:
    """Return the URL or the message of a report.

    Raises:
        InvalidInput: It is not a text.
        LimitExceeded: (`TextTooLong`) It is too long.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{name} {str(text)[:80]!r} of a check: must be a text")
    require_limit(f"{name} of a check", len(text), MAX_TEXT, "characters", Kind.TextTooLong)
    return text

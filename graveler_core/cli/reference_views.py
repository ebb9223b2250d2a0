"""Views of events of branches and tags. The rules of `views.py` apply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, View
from graveler_core.cli.terminal import SHORT_ID, first_line, time_for_people
from graveler_core.documents.reference_log import reflog_document
from graveler_core.documents.values import time_for_machines

if TYPE_CHECKING:
    from graveler_core.facade.reflog import ReflogEntry

_STYLES = {"created": "green", "deleted": "red", "assigned": "yellow", "moved": ""}


def _short(commit: str | None) -> str:
    return (commit or "")[:SHORT_ID]


REFLOG: View[ReflogEntry] = View(
    columns=(
        Column("date", people=time_for_people, machines=time_for_machines),
        Column("event", style=_STYLES.__getitem__),
        Column("type"),
        Column("name", style="bold", folds=True),
        Column("before", people=_short, style="yellow"),
        Column("after", people=_short, style="yellow"),
        Column("by", folds=True),
        Column("message", people=first_line, folds=True),
    ),
    cells=lambda e: (e.time, e.kind.value, e.type.value, e.name, e.before, e.after, e.by, e.message),
    document=reflog_document,
    empty="no events",
)

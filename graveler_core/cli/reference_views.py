"""How what happened to branches and tags is shown. The rules of `views.py` hold here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.terminal import SHORT_ID, first_line, time_for_machines, time_for_people

if TYPE_CHECKING:
    from graveler_core.facade.references import ReflogEntry

_STYLES = {"created": "green", "deleted": "red", "assigned": "yellow", "moved": ""}


def reflog_document(event: ReflogEntry) -> Document:
    """`type` ("event"), `time`, `kind` ("created", "deleted", "assigned", "moved"), `ref_type` ("branch" or "tag"),
    `ref` (the name), `before` and `after` (commits or null), `by`, `message`, `token`."""
    return {
        "type": "event",
        "time": time_for_machines(event.time),
        "kind": event.kind.value,
        "ref_type": event.type.value,
        "ref": event.name,
        "before": event.before,
        "after": event.after,
        "by": event.by,
        "message": event.message,
        "token": event.token,
    }


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

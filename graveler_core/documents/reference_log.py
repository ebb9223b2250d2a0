"""Entries of the log of references as JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from graveler_core.facade.reflog import ReflogEntry


def reflog_document(event: ReflogEntry) -> Document:
    """Return the document of an event: `type` ("event"), `time`, `kind` ("created", "deleted", "assigned", "moved"),
    `ref_type` ("branch" or "tag"),
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

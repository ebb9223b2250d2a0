"""Errors as JSON documents."""

from __future__ import annotations

from typing import Final

from graveler_core.documents.values import Document
from graveler_core.errors import GravelerError

_SHOWN: Final = 100
"""Maximum number of conflicts in a document. `graveler merge --dry-run` lists all."""


def error_document(error: GravelerError) -> Document:
    """Return the document of an error: `error` (its class), `kind`, `message`, and for a merge `conflicts`, the first
    100, each with `path` and `kind`.
    """
    conflicts = [
        {"path": c.path, "kind": str(c.kind)} for c in error.details.get("conflicts", ()) if hasattr(c, "kind")
    ]
    shown = {"conflicts": conflicts[:_SHOWN]} if conflicts else {}
    return {"error": type(error).__name__, "kind": str(error.kind), "message": error.message, **shown}

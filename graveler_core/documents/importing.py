"""Imports as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from graveler_core.documents.values import Document

if TYPE_CHECKING:
    from graveler_core.facade.importing import Imported


def imported_document(imported: Imported) -> Document:
    """Return the document of an import's result."""
    counts = {} if imported.changes is None else asdict(imported.changes)
    invalid = [asdict(example) for example in imported.examples]
    return {
        "id": None if imported.commit is None else imported.commit.id,
        "repeated": imported.changes is None,
        **{kind: counts.get(kind) for kind in ("added", "changed", "removed")},
        "objects": imported.objects,
        "size": imported.size,
        "markers": imported.markers,
        "unmatched": imported.unmatched,
        "invalid": imported.invalid,
        "examples": invalid,
    }

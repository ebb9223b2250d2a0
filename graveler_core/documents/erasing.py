"""Erasures and their reports as JSON documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from graveler_core.erasure.report import Erased
    from graveler_core.model.erasure import Erasure


def erased_document(erased: Erased) -> Document:
    """Return the document of the report of an erasure: `dry_run`, `erasure` (its id), `prefix`, `paths`, `objects`,
    `size` in bytes, `commits` (documents with `branch` and `commit`), `naming`, `entries`, `shared`, `inline`,
    `outside`.
    """
    return {
        "dry_run": erased.dry_run,
        "erasure": erased.erasure,
        "prefix": erased.rule.prefix,
        "paths": list(erased.rule.paths),
        "objects": erased.objects,
        "size": erased.size,
        "commits": [{"branch": branch, "commit": commit} for branch, commit in erased.commits],
        "naming": erased.naming,
        "entries": erased.entries,
        "shared": erased.shared,
        "inline": erased.inline,
        "outside": erased.outside,
    }


def erasure_document(erasure: Erasure) -> Document:
    """Return the document of an erasure: `id`, `state` ("erasing", "deleting", "done" or "withdrawn"), `prefix`,
    `paths`, `why`, `by`, `shared`, `since`, `ended` (`None` while it is under way), `objects`, `size` in bytes.
    """
    return {
        "id": erasure.id,
        "state": erasure.state.value,
        "prefix": erasure.prefix,
        "paths": list(erasure.paths),
        "why": erasure.why,
        "by": erasure.by,
        "shared": erasure.shared,
        "since": time_for_machines(erasure.since),
        "ended": None if erasure.ended is None else time_for_machines(erasure.ended),
        "objects": erasure.objects,
        "size": erasure.size,
    }

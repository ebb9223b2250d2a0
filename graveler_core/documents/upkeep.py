"""Findings, sweeps, dumps and restorations as JSON documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from graveler_core.diagnostics.doctor.diagnosis import DataChecked
    from graveler_core.gc.collected import Collected
    from graveler_core.gc.findings import Finding
    from graveler_core.gc.namespaces import EmptiedNamespace
    from graveler_core.gc.sweep import Swept
    from graveler_core.model.data_check import CompleteCheck
    from graveler_core.model.retention import RetentionRules
    from graveler_core.transfer.dump import Dumped
    from graveler_core.transfer.restore import Restored


def data_checked_document(checked: DataChecked) -> Document:
    """`type` ("data check"), `repository`, `sizes` and `checksums` (each an object with `began` and `problems`, or
    null), `unfinished` (time, or null).
    """
    return {
        "type": "data check",
        "repository": checked.repository,
        "sizes": _complete(checked.sizes),
        "checksums": _complete(checked.checksums),
        "unfinished": None if checked.unfinished is None else time_for_machines(checked.unfinished),
    }


def _complete(last: CompleteCheck | None) -> Document | None:
    return None if last is None else {"began": time_for_machines(last.began), "problems": last.problems}


def finding_document(finding: Finding) -> Document:
    """Return the document of a finding: `type` ("finding"), `trouble` ("missing", "corrupt", "inconsistent",
    "unreachable" or "unverified"), `thing`, `id`, `why`, `named_by` (empty if nothing refers to it), `size`, and for
    content `path`, the path of an entry that refers to it.
    """
    document: Document = {
        "type": "finding",
        "trouble": finding.trouble.value,
        "thing": finding.thing.value,
        "id": finding.id,
        "why": finding.why,
        "named_by": finding.named_by,
        "size": finding.size,
    }
    if finding.path:
        document["path"] = finding.path
    return document


def retention_document(rules: RetentionRules) -> Document:
    """Return the document of retention rules: `type` ("retention"), `days` (null for ever), `branches` (days by
    pattern), `version`, `since`, `by` (user).
    """
    since = None if rules.since is None else time_for_machines(rules.since)
    return {"type": "retention", **rules.model_dump(), "since": since}


def collected_document(collected: Collected) -> Document:
    """Return the document of a collection: the fields of `Collected`. `due` is a time as text, or `None` if no object
    waits. `files` and `waiting_files` are lists.
    """
    due = None if collected.due is None else time_for_machines(collected.due)
    files = {"files": list(collected.files), "waiting_files": list(collected.waiting_files)}
    return {**asdict(collected), "due": due, **files}


def stored_states(collected: Collected) -> list[Document]:
    """Return the content of a namespace by state, from a dry run of a collection.

    Args:
        collected: Result of the dry run.

    Returns:
        Documents with `type`, `state`, `size`, `objects`. First those of the states, with the type "state": "live"
        (a branch or tag shows them), "history" (only older commits refer to them), "young", "uploading", "waiting",
        "expired" and "unnamed" (a collection would condemn them, because only expired commits or nothing refers to
        them) and "due" (it would delete them). Then those of the sums, with the type "sum": "reclaimable" for the last
        four states, and "total".
    """
    kept = {
        "live": (collected.named_size - collected.history_size, collected.named - collected.history),
        "history": (collected.history_size, collected.history),
        "young": (collected.young_size, collected.young),
        "uploading": (collected.uploading_size, collected.uploading),
    }
    reclaimable = {
        "waiting": (collected.waiting_size, collected.waiting),
        "expired": (collected.condemned_expired_size, collected.condemned_expired),
        "unnamed": (
            collected.condemned_size - collected.condemned_expired_size,
            collected.condemned - collected.condemned_expired,
        ),
        "due": (collected.deleted_size, collected.deleted),
    }
    states = {**kept, **reclaimable}
    sums = {"reclaimable": _summed(reclaimable), "total": _summed(states)}
    return [
        {"type": kind, "state": state, "size": size, "objects": objects}
        for kind, rows in (("state", states), ("sum", sums))
        for state, (size, objects) in rows.items()
    ]


def _summed(states: dict[str, tuple[int, int]]) -> tuple[int, int]:
    return sum(size for size, _ in states.values()), sum(objects for _, objects in states.values())


def emptied_document(emptied: EmptiedNamespace) -> Document:
    """Return the document of an abandoned namespace: `type` ("namespace"), and the fields of `EmptiedNamespace`."""
    due = None if emptied.due is None else time_for_machines(emptied.due)
    return {"type": "namespace", **asdict(emptied), "state": emptied.state.value, "due": due}


def swept_document(swept: Swept) -> Document:
    """Return the document of a sweep: `dry_run`; the numbers of deleted `objects` and `blobs`, and their `size` in
    bytes; the numbers of kept items: `young`, `renewed`, `rest`, `unreadable`; the number of deleted `uploads` of
    failed jobs.
    """
    return asdict(swept)


def dumped_document(dumped: Dumped) -> Document:
    """Return the document of a dump: `uri`, `digest`, `branches`, `dirty`, `tags`, `commits`, `objects`, `size`."""
    return asdict(dumped)


def restored_document(restored: Restored) -> Document:
    """Return the document of a restoration: `id`, `digest`, `branches`, `tags`, `commits`, `objects`, `renamed`."""
    counts = {name: getattr(restored, name) for name in ("digest", "branches", "tags", "commits", "objects", "renamed")}
    return {"id": restored.repository.id, **counts}

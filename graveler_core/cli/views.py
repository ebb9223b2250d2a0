"""How each kind of value is shown: the columns of its table and the fields of its JSON document.

What is staged stands in `staged_views.py`.

The JSON field names are stable: fields may be added, none is renamed or removed. Times are ISO 8601 in UTC, sizes
bytes, ids and identities hex digits; what is unknown is null.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from graveler_core.cli.output import Column, Document, View
from graveler_core.cli.terminal import SHORT_ID, bytes_for_people, first_line, time_for_machines, time_for_people

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord, LogEntry
    from graveler_core.facade.repository import Repository
    from graveler_core.gc.findings import Finding
    from graveler_core.gc.sweep import Swept
    from graveler_core.model.changes import Change, ChangeSummary, MergeConflict
    from graveler_core.model.entities import Branch, Tag
    from graveler_core.model.entry import CommonPrefix, Entry
    from graveler_core.transfer.dump import Dumped
    from graveler_core.transfer.restore import Restored

_KIND_STYLES = {"added": "green", "removed": "red", "changed": "yellow"}


def _short(identifier: str) -> str:
    return identifier[:SHORT_ID]


def _kind_style(kind: str) -> str:
    return _KIND_STYLES[kind]


def _trouble_style(trouble: str) -> str:
    return "yellow" if trouble == "unreachable" else "red"


def _id_or_kind_style(value: str) -> str:
    return _KIND_STYLES.get(value, "bold")


_ID = Column("commit", people=_short, style="yellow")
_DATE = Column("date", people=time_for_people, machines=time_for_machines)
_KIND = Column("change", style=_kind_style)
_COMMITTER = Column("committer", folds=True)
_MESSAGE = Column("message", people=first_line, folds=True)


def _stat(summary: ChangeSummary) -> str:
    return f"+{summary.added} ~{summary.changed} -{summary.removed}"


def _size(title: str) -> Column:
    return Column(title, people=bytes_for_people, right=True)


def entry_document(entry: Entry, path: str = "") -> Document:
    """`type` ("object"), `path`, `size`, `checksum`, `mtime`, `content_type`, `metadata`, `address`,
    `address_type` ("inline", "relative" or "full"), `identity`."""
    return {
        "type": "object",
        "path": path or entry.path,
        "size": entry.size,
        "checksum": entry.checksum,
        "mtime": time_for_machines(entry.mtime) if entry.mtime else None,
        "content_type": entry.content_type,
        "metadata": dict(entry.metadata),
        "address": entry.address,
        "address_type": entry.address_type.name.lower(),
        "identity": entry.identity.hex(),
    }


def listed_document(item: Entry | CommonPrefix) -> Document:
    """An entry's document, or `type` ("prefix") and `path`."""
    from graveler_core.model.entry import CommonPrefix

    return {"type": "prefix", "path": item.path} if isinstance(item, CommonPrefix) else entry_document(item)


def change_document(change: Change) -> Document:
    """`type` ("change"), `path`, `kind` ("added", "changed" or "removed"), `before` and `after`: entries or null."""
    return {
        "type": "change",
        "path": change.path,
        "kind": change.kind.value,
        "before": entry_document(change.before, change.path) if change.before else None,
        "after": entry_document(change.after, change.path) if change.after else None,
    }


def conflict_document(conflict: MergeConflict) -> Document:
    """`type` ("conflict"), `path`, `kind` ("added in both", "changed in both", "removed in source", "removed in
    destination"), `base`, `source` and `destination`: entries or null."""
    sides = {"base": conflict.base, "source": conflict.source, "destination": conflict.destination}
    documents = {side: entry_document(entry, conflict.path) if entry else None for side, entry in sides.items()}
    return {"type": "conflict", "path": conflict.path, "kind": conflict.kind.value, **documents}


def commit_document(commit: CommitRecord) -> Document:
    """`id`, `message`, `committer`, `creation_date`, `parents` (ids), `metadata`, `generation`."""
    return {
        "id": commit.id,
        "message": commit.message,
        "committer": commit.committer,
        "creation_date": time_for_machines(commit.creation_date),
        "parents": list(commit.parents),
        "metadata": dict(commit.metadata),
        "generation": commit.generation,
    }


def summary_document(summary: ChangeSummary) -> Document:
    """`added`, `changed`, `removed`: numbers of paths."""
    return {"added": summary.added, "changed": summary.changed, "removed": summary.removed}


def log_document(entry: LogEntry) -> Document:
    """`type` ("commit"), a commit's document, and `token`."""
    return {"type": "commit", **commit_document(entry), "token": entry.token}


def logged_change_document(entry: LogEntry, change: Change | None) -> Document:
    """A log entry's document, or that of one of its changes with `commit`, the entry's id."""
    return log_document(entry) if change is None else {**change_document(change), "commit": entry.id}


def branch_document(branch: Branch) -> Document:
    """`id`, `commit_id`."""
    return {"id": branch.id, "commit_id": branch.commit_id}


def tag_document(tag: Tag) -> Document:
    """`id`, `commit_id`, `message`, `signature`."""
    return {"id": tag.id, "commit_id": tag.commit_id, "message": tag.message, "signature": tag.signature}


def repository_document(repository: Repository) -> Document:
    """`id`, `storage_namespace`, `default_branch`, `creation_date`."""
    return {
        "id": repository.id,
        "storage_namespace": repository.storage_namespace,
        "default_branch": repository.default_branch,
        "creation_date": time_for_machines(repository.creation_date),
    }


def finding_document(finding: Finding) -> Document:
    """`type` ("finding"), `trouble` ("missing", "corrupt", "inconsistent" or "unreachable"), `thing`, `id`, `why`,
    `named_by` ("" where nothing does), `size`."""
    return {
        "type": "finding",
        "trouble": finding.trouble.value,
        "thing": finding.thing.value,
        "id": finding.id,
        "why": finding.why,
        "named_by": finding.named_by,
        "size": finding.size,
    }


def swept_document(swept: Swept) -> Document:
    """`dry_run`, `objects` and `blobs` deleted, `size` in bytes of both; left: `young`, `renewed`, `rest`,
    `unreadable`; `uploads` of dead jobs among them."""
    return asdict(swept)


def dumped_document(dumped: Dumped) -> Document:
    """`uri`, `digest`, `branches`, `dirty`, `tags`, `commits`, `objects`, `size`."""
    return asdict(dumped)


def restored_document(restored: Restored) -> Document:
    """`id`, `digest`, `branches`, `tags`, `commits`, `objects`, `renamed`."""
    counts = {name: getattr(restored, name) for name in ("digest", "branches", "tags", "commits", "objects", "renamed")}
    return {"id": restored.repository.id, **counts}


def _listed_cells(item: Entry | CommonPrefix) -> tuple[Any, ...]:
    from graveler_core.model.entry import CommonPrefix

    return (None, None, item.path) if isinstance(item, CommonPrefix) else (item.size, item.mtime, item.path)


def _told_to_people(what: LogEntry | Change) -> str:
    """When, who and why of a commit, for there are no columns of their own: paths need the room."""
    from graveler_core.model.changes import Change

    if isinstance(what, Change):
        return what.path
    return f"{time_for_people(what.creation_date)}  {what.committer}  {first_line(what.message)}"


def _told_to_machines(what: LogEntry | Change) -> str:
    from graveler_core.model.changes import Change

    if isinstance(what, Change):
        return what.path
    return f"{time_for_machines(what.creation_date)} {what.committer}: {what.message}"


REPOSITORIES: View[Repository] = View(
    columns=(
        Column("repository", style="bold", folds=True),
        Column("default branch", folds=True),
        _DATE,
        Column("storage namespace", folds=True),
    ),
    cells=lambda r: (r.id, r.default_branch, r.creation_date, r.storage_namespace),
    document=repository_document,
    empty="no repositories",
)
BRANCHES: View[Branch] = View(
    columns=(_ID, Column("branch", style="bold", folds=True)),
    cells=lambda b: (b.commit_id, b.id),
    document=branch_document,
    empty="no branches",
)
TAGS: View[Tag] = View(
    columns=(_ID, Column("tag", style="bold", folds=True), Column("message", people=first_line, folds=True)),
    cells=lambda t: (t.commit_id, t.id, t.message),
    document=tag_document,
    empty="no tags",
)
LOG: View[LogEntry] = View(
    columns=(_ID, _DATE, _COMMITTER, _MESSAGE),
    cells=lambda e: (e.id, e.creation_date, e.committer, e.message),
    document=log_document,
    empty="no commits",
)
COMMITS: View[CommitRecord] = View(
    columns=LOG.columns,
    cells=lambda c: (c.id, c.creation_date, c.committer, c.message),
    document=lambda c: {"type": "commit", **commit_document(c)},
    empty="no commits",
)
LOG_WITH_COUNTS: View[LogEntry] = View(
    columns=(_ID, _DATE, _COMMITTER, Column("changes", people=_stat, machines=_stat), _MESSAGE),
    cells=lambda e: (e.id, e.creation_date, e.committer, e.summary(), e.message),
    document=lambda e: {**log_document(e), "changes": summary_document(e.summary())},
    empty="no commits",
)
LOG_WITH_CHANGES: View[tuple[LogEntry, Change | None]] = View(
    columns=(
        Column("commit, change", people=_short, style=_id_or_kind_style),
        Column("message, path", people=_told_to_people, machines=_told_to_machines, folds=True),
    ),
    cells=lambda row: (row[0].id, row[0]) if row[1] is None else (row[1].kind.value, row[1]),
    document=lambda row: logged_change_document(*row),
    empty="no commits",
)
LISTED: View[Entry | CommonPrefix] = View(
    columns=(
        _size("size"),
        Column("modified", people=time_for_people, machines=time_for_machines),
        Column("path", folds=True),
    ),
    cells=_listed_cells,
    document=listed_document,
    empty="no objects",
)
CHANGES: View[Change] = View(
    columns=(_KIND, _size("before"), _size("after"), Column("path", folds=True)),
    cells=lambda c: (c.kind.value, c.before and c.before.size, c.after and c.after.size, c.path),
    document=change_document,
    empty="no changes",
)
CONFLICTS: View[MergeConflict] = View(
    columns=(
        Column("conflict", style="red"),
        _size("base"),
        _size("source"),
        _size("destination"),
        Column("path", folds=True),
    ),
    cells=lambda c: (c.kind.value, *(side and side.size for side in (c.base, c.source, c.destination)), c.path),
    document=conflict_document,
    empty="no conflicts",
)
FINDINGS: View[Finding] = View(
    columns=(
        Column("trouble", style=_trouble_style),
        Column("thing"),
        _size("size"),
        Column("id", folds=True),
        Column("named by", folds=True),
        Column("why", folds=True),
    ),
    cells=lambda f: (f.trouble.value, f.thing.value, f.size, f.id, f.named_by, f.why),
    document=finding_document,
    empty="nothing is wrong",
)

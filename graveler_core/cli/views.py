"""Views of values: the columns of their tables and the fields of their JSON documents.

Views of staged changes are in `staged_views.py`.

The JSON field names are stable: fields may be added, but not renamed or removed. Times are ISO 8601 in UTC, sizes are
in bytes, ids and identities are hexadecimal digits; unknown values are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graveler_core.cli.output import Column, View
from graveler_core.cli.terminal import SHORT_ID, bytes_for_people, first_line, time_for_people
from graveler_core.documents.upkeep import finding_document
from graveler_core.documents.values import time_for_machines
from graveler_core.documents.versions import (
    branch_document,
    change_document,
    commit_document,
    conflict_document,
    listed_document,
    log_document,
    logged_change_document,
    repository_document,
    stored_object_document,
    summary_document,
    tag_document,
)

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord, LogEntry
    from graveler_core.facade.repository import Repository
    from graveler_core.gc.findings import Finding
    from graveler_core.local.status import FileChange
    from graveler_core.model.changes import Change, ChangeSummary, MergeConflict
    from graveler_core.model.collection import Expiry
    from graveler_core.model.entities import BranchRecord, Tag
    from graveler_core.model.entry import CommonPrefix, Entry
    from graveler_core.model.stored_objects import StoredObject

_KIND_STYLES = {"added": "green", "removed": "red", "changed": "yellow"}


def _short(identifier: str) -> str:
    return identifier[:SHORT_ID]


def _kind_style(kind: str) -> str:
    return _KIND_STYLES[kind]


def _trouble_style(trouble: str) -> str:
    return "yellow" if trouble in ("unreachable", "unverified") else "red"


def _id_or_kind_style(value: str) -> str:
    return _KIND_STYLES.get(value, "bold")


FILE_CHANGES: View[FileChange] = View(
    (Column("side"), Column("change", style=_kind_style), Column("file", folds=True)),
    lambda each: (each.where.value, each.kind.value, each.path),
    lambda each: {"type": "change", "path": each.path, "where": each.where.value, "change": each.kind.value},
    "no changes",
)
CONFLICTING_FILES: View[str] = View(
    (Column("changed on both sides", folds=True),),
    lambda path: (path,),
    lambda path: {"type": "conflict", "path": path},
    "no files",
)
SETTINGS: View[tuple[str, str | None, str]] = View(
    (Column("setting", style="bold"), Column("value", folds=True), Column("from", folds=True)),
    lambda row: row,
    lambda row: {"name": row[0], "value": row[1], "source": row[2]},
    "no settings",
)
_ID = Column("commit", people=_short, style="yellow")
_DATE = Column("date", people=time_for_people, machines=time_for_machines)
_KIND = Column("change", style=_kind_style)
_COMMITTER = Column("committer", folds=True)
_MESSAGE = Column("message", people=first_line, folds=True)


def expiry_for_people(expiry: Expiry) -> str:
    """Return a line about the expiry or the removal of a commit."""
    if expiry.removes:
        return f"{'removed' if expiry.final else 'about to be removed'}: {expiry.rule}"
    if expiry.final:
        return f"content expired {time_for_people(expiry.since)} ({expiry.rule})"
    return f"content about to expire ({expiry.rule})"


def _message(commit: CommitRecord) -> str:
    """Return the message of a commit, after a mark if its content expires or it is removed."""
    return commit.message if commit.expired is None else f"[{expiry_for_people(commit.expired)}] {commit.message}"


def _stat(summary: ChangeSummary) -> str:
    return f"+{summary.added} ~{summary.changed} -{summary.removed}"


def _size(title: str) -> Column:
    return Column(title, people=bytes_for_people, right=True)


def _listed_cells(item: Entry | CommonPrefix) -> tuple[Any, ...]:
    from graveler_core.model.entry import CommonPrefix

    return (None, None, item.path) if isinstance(item, CommonPrefix) else (item.size, item.mtime, item.path)


def _told_to_people(what: LogEntry | Change) -> str:
    """Return date, committer and message of a commit in one cell, because paths need the space of further columns."""
    from graveler_core.model.changes import Change

    if isinstance(what, Change):
        return what.path
    return f"{time_for_people(what.creation_date)}  {what.committer}  {first_line(_message(what))}"


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
        Column("state"),
    ),
    cells=lambda r: (r.id, r.default_branch, r.creation_date, r.storage_namespace, r.state.value),
    document=repository_document,
    empty="no repositories",
)
BRANCHES: View[BranchRecord] = View(
    columns=(_ID, Column("branch", style="bold", folds=True)),
    cells=lambda b: (b.commit_id, b.id),
    document=branch_document,
    empty="no branches",
)


def target_of_tag(tag: Tag) -> str:
    """Return the target of a tag, in a few words."""
    if tag.tagged is not None:
        return f"tag {tag.tagged.id}"
    return f"tree {tag.tree[:SHORT_ID]}" if tag.tree else f"commit {tag.commit_id[:SHORT_ID]}"


TAGS: View[Tag] = View(
    columns=(
        _ID,
        Column("tag", style="bold", folds=True),
        Column("message", people=first_line, folds=True),
        Column("tagger", folds=True),
        Column("names", folds=True),
    ),
    cells=lambda t: (t.commit_id, t.id, t.message, t.tagger, target_of_tag(t)),
    document=tag_document,
    empty="no tags",
)
STORED_OBJECTS: View[StoredObject] = View(
    columns=(Column("object", style="bold", folds=True), Column("size", people=bytes_for_people, right=True)),
    cells=lambda o: (o.key, o.size),
    document=stored_object_document,
    empty="no objects",
)
LOG: View[LogEntry] = View(
    columns=(_ID, _DATE, _COMMITTER, _MESSAGE),
    cells=lambda e: (e.id, e.creation_date, e.committer, _message(e)),
    document=log_document,
    empty="no commits",
)
COMMITS: View[CommitRecord] = View(
    columns=LOG.columns,
    cells=lambda c: (c.id, c.creation_date, c.committer, _message(c)),
    document=lambda c: {"type": "commit", **commit_document(c)},
    empty="no commits",
)
LOG_WITH_COUNTS: View[LogEntry] = View(
    columns=(_ID, _DATE, _COMMITTER, Column("changes", people=_stat, machines=_stat), _MESSAGE),
    cells=lambda e: (e.id, e.creation_date, e.committer, e.summary(), _message(e)),
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
    cells=lambda f: (
        f.trouble.value,
        f.thing.value,
        f.size,
        f.id,
        ": ".join(filter(None, (f.named_by, f.path))),
        f.why,
    ),
    document=finding_document,
    empty="no problems found",
)

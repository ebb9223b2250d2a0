"""Entries, changes, commits, branches, tags and repositories as JSON documents.

Field names are stable: fields may be added, but not renamed or removed. Times are ISO 8601 in UTC, sizes are in bytes,
ids and identities are hexadecimal digits. An unknown value is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler_core.documents.values import Document, time_for_machines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graveler_core.facade.history import CommitRecord, LogEntry
    from graveler_core.facade.repository import Repository
    from graveler_core.model.changes import Change, ChangeSummary, MergeConflict
    from graveler_core.model.checks import CheckReport
    from graveler_core.model.collection import Expiry
    from graveler_core.model.entities import BranchRecord, Tag
    from graveler_core.model.entry import CommonPrefix, Entry
    from graveler_core.model.repository_settings import RepositorySettings
    from graveler_core.model.stored_objects import StoredObject
    from graveler_core.model.usage import Usage


def entry_document(entry: Entry, path: str = "") -> Document:
    """Return the document of an entry: `type` ("object"), `path`, `size`, `checksum`, `mtime`, `content_type`,
    `metadata`, `address`,
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
    """Return the document of an entry, or `type` ("prefix") and `path`."""
    from graveler_core.model.entry import CommonPrefix

    return {"type": "prefix", "path": item.path} if isinstance(item, CommonPrefix) else entry_document(item)


def branch_usage(branch: str, found: Iterable[Usage]) -> Document:
    """Return the document of the entries of a branch: `type`, `branch`, `size`, `entries`.

    Args:
        branch: Name of the branch.
        found: Its usage, of which the last item is the total.
    """
    *_, total = found
    return {"type": "branch", "branch": branch, "size": total.size, "entries": total.entries}


def usage_document(usage: Usage, *, total: bool) -> Document:
    """Return the document of a directory: `type` ("directory", or "total" for the sum of all), `path`, `size`,
    `entries`.
    """
    kind = "total" if total else "directory"
    return {"type": kind, "path": usage.path, "size": usage.size, "entries": usage.entries}


def change_document(change: Change) -> Document:
    """Return the document of a change: `type` ("change"), `path`, `kind` ("added", "changed" or "removed"), `before`
    and `after` (entries or null).
    """
    return {
        "type": "change",
        "path": change.path,
        "kind": change.kind.value,
        "before": entry_document(change.before, change.path) if change.before else None,
        "after": entry_document(change.after, change.path) if change.after else None,
    }


def conflict_document(conflict: MergeConflict) -> Document:
    """Return the document of a conflict: `type` ("conflict"), `path`, `kind` ("added in both", "changed in both",
    "removed in source", "removed in destination"), `base`, `source` and `destination`: entries or null.
    """
    sides = {"base": conflict.base, "source": conflict.source, "destination": conflict.destination}
    documents = {side: entry_document(entry, conflict.path) if entry else None for side, entry in sides.items()}
    return {"type": "conflict", "path": conflict.path, "kind": conflict.kind.value, **documents}


def commit_document(commit: CommitRecord) -> Document:
    """Return the document of a commit: `id`, `message`, `committer`, `creation_date`, `parents` (ids), `metadata`,
    `generation`, `expired` (see `expiry_document`, or null).
    """
    return {
        "id": commit.id,
        "message": commit.message,
        "committer": commit.committer,
        "creation_date": time_for_machines(commit.creation_date),
        "parents": list(commit.parents),
        "metadata": dict(commit.metadata),
        "generation": commit.generation,
        "expired": None if commit.expired is None else expiry_document(commit.expired),
    }


def expiry_document(expiry: Expiry) -> Document:
    """Return the document of an expiry: `since`, `rule`, `final` (false if the content is about to expire), `removes`
    (true if the whole commit is about to be removed).
    """
    since = time_for_machines(expiry.since)
    return {"since": since, "rule": expiry.rule, "final": expiry.final, "removes": expiry.removes}


def summary_document(summary: ChangeSummary) -> Document:
    """Return the numbers of `added`, `changed` and `removed` paths."""
    return {"added": summary.added, "changed": summary.changed, "removed": summary.removed}


def log_document(entry: LogEntry) -> Document:
    """Return the document of a commit with `type` ("commit") and `token`."""
    return {"type": "commit", **commit_document(entry), "token": entry.token}


def logged_change_document(entry: LogEntry, change: Change | None) -> Document:
    """Return the document of a log entry, or of one of its changes with `commit`, the id of the entry."""
    return log_document(entry) if change is None else {**change_document(change), "commit": entry.id}


def branch_document(branch: BranchRecord) -> Document:
    """Return the document of a branch: `id`, `commit_id`."""
    return {"id": branch.id, "commit_id": branch.commit_id}


def check_document(report: CheckReport) -> Document:
    """Return the document of a report: `name`, `passed`, `since`, `url`, `message`, `by` (user)."""
    return {
        "name": report.name,
        "passed": report.passed,
        "since": time_for_machines(report.since),
        "url": report.url,
        "message": report.message,
        "by": report.by,
    }


def tag_document(tag: Tag) -> Document:
    """Return the document of a tag: `id`, `commit_id`, `message`, `signature`, `tagger`, `metadata`, `creation_date`
    (null for tags whose records do not contain it), `target` (commit, tag or tree), `tree` (its id, or null), `tagged`
    (document of the tag that it names, or null).
    """
    created = tag.creation_date
    return {
        "id": tag.id,
        "commit_id": tag.commit_id,
        "message": tag.message,
        "signature": tag.signature,
        "tagger": tag.tagger,
        "metadata": dict(tag.metadata),
        "creation_date": None if created is None else time_for_machines(created),
        "target": tag.target.value,
        "tree": tag.tree or None,
        "tagged": None if tag.tagged is None else tag_document(tag.tagged),
    }


def stored_object_document(stored: StoredObject) -> Document:
    """Return the document of a stored object: `type`, `id`, `size`, `referenced` (null unless it is a run)."""
    return {
        "type": stored.type.value,
        "id": stored.id,
        "size": stored.size,
        "referenced": None if stored.referenced is None else time_for_machines(stored.referenced),
    }


def repository_settings_document(settings: RepositorySettings) -> Document:
    """Return the document of settings: `default_branch`, `description`, `index_sizes` (those that are set, by name),
    `version`.
    """
    return {
        "default_branch": settings.default_branch,
        "description": settings.description,
        "index_sizes": settings.index_sizes.chosen(),
        "version": settings.version,
    }


def repository_document(repository: Repository) -> Document:
    """Return the document of a repository: `id`, `storage_namespace`, `default_branch`, `creation_date`, `state`."""
    return {
        "id": repository.id,
        "storage_namespace": repository.storage_namespace,
        "default_branch": repository.default_branch,
        "creation_date": time_for_machines(repository.creation_date),
        "state": repository.state.value,
    }

"""Differences as records of the API, optionally grouped by directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from graveler.server.api.call import Query
from graveler.server.api.objects import content_type_of, seconds_of
from graveler.server.api.records import DiffRecord, RightStats
from graveler.server.kept_md5 import shown_checksum, shown_metadata
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.changes import Change
from graveler_core.model.key_intervals import prefix_end_text


def between_refs(
    repo: Repository, left: str, right: str, query: Query, *, since_merge_base: bool
) -> Iterator[DiffRecord]:
    """Yield the differences between two refs.

    With `since_merge_base`, these are the changes of the right side that the left side does not have yet: what a merge
    would bring. Paths that both sides changed are conflicts.
    """
    prefix, after = query.text("prefix"), query.text("after")
    with_stats = query.flag("include_right_stats")

    def changes(start: str = "") -> Iterable[Change]:
        found = repo.diff(left, right, prefix, after, start=start, since_merge_base=since_merge_base)
        return _missing(found, repo.diff(left, right, prefix, after, start=start)) if since_merge_base else found

    def conflicts() -> Iterator[str]:
        if since_merge_base:
            for conflict in repo.conflicts(right, left, prefix, after):
                yield conflict.path

    if query.text("delimiter"):
        return _grouped(changes, query)
    return _with_conflicts((_record(change, with_right=with_stats) for change in changes()), conflicts())


def uncommitted(branch: Branch, query: Query) -> Iterator[DiffRecord]:
    """Yield the staged changes of a branch."""

    def changes(start: str = "") -> Iterable[Change]:
        return branch.uncommitted(query.text("prefix"), query.text("after"), start=start)

    return _grouped(changes, query) if query.text("delimiter") else map(_record, changes())


def _grouped(changes: Callable[[str], Iterable[Change]], query: Query) -> Iterator[DiffRecord]:
    """Yield the changes directly below the prefix, and one record for each directory with changes.

    As in listings, a directory to which `after` belongs is not shown again.
    """
    directory = _directory(query.text("after"), query)
    start = prefix_end_text(directory) if directory else ""
    while start is not None:
        for change in changes(start):
            directory = _directory(change.path, query)
            if directory:
                yield DiffRecord(type="prefix_changed", path=directory, path_type="common_prefix")
                start = prefix_end_text(directory)
                break
            yield _record(change)
        else:
            return


def _directory(path: str, query: Query) -> str:
    """Return the directory that stands for a path in a grouped listing, or "" for a path that stands for itself."""
    prefix, delimiter = query.text("prefix"), query.text("delimiter")
    head, found, _ = path.removeprefix(prefix).partition(delimiter)
    return prefix + head + delimiter if found and path.startswith(prefix) else ""


def _missing(changes: Iterable[Change], differences: Iterable[Change]) -> Iterator[Change]:
    """Yield the changes at paths that differ between both sides. Both are sorted by path."""
    different = iter(differences)
    path = next(different, None)
    for change in changes:
        while path is not None and path.path.encode() < change.path.encode():
            path = next(different, None)
        if path is None:
            return
        if path.path == change.path:
            yield change


def _with_conflicts(records: Iterable[DiffRecord], conflicts: Iterator[str]) -> Iterator[DiffRecord]:
    """Mark the records whose paths are conflicts. Both are sorted by path."""
    conflict = next(conflicts, None)
    for record in records:
        while conflict is not None and conflict.encode() < record.path.encode():
            conflict = next(conflicts, None)
        yield record.model_copy(update={"type": "conflict"}) if record.path == conflict else record


def _record(change: Change, *, with_right: bool = False) -> DiffRecord:
    entry = change.after or change.before
    right = None
    if with_right and change.after is not None:
        right = RightStats(
            checksum=shown_checksum(change.after),
            mtime=seconds_of(change.after.mtime),
            content_type=content_type_of(change.after),
            metadata=shown_metadata(change.after) or None,
        )
    return DiffRecord(
        type=change.kind.value,
        path=change.path,
        path_type="object",
        size_bytes=None if entry is None else entry.size,
        right=right,
    )

"""Removal of damaged layouts whose commits do not exist.

A layout without a header remains if the header is lost, or if a late request stores the layout after a collection has
removed the commit. If it is intact, it is only unreachable, and nothing removes it. If it is damaged, it is unknown
which files it names: `fsck` reports damage, and a sweep deletes nothing.

1. Read all layouts. Candidates are those that cannot be decoded and that have no header.
2. Wait. Headers are written before layouts or together with them, but some stores write the rows of one call in
any order.
3. Read all headers, then branches, tags and former heads. If a header is damaged, stop: it is unknown which parents it
names.
4. Delete each candidate that still has no header, that nothing names, and whose value is still the one of step 1 ✓.

The key of a layout is the id of its commit, so the value is not needed to decide. The deletion requires the damaged
value: a layout that a writer or a restoration stores in the meantime is kept. So no commit loses a layout that can be
read, not even one whose writer stands still for longer than step 2.

Before that, half-written commits that a collection has adopted are released (`gc.half_written`).

The files that only the layout named are deleted by a later sweep. If the header was lost by damage, and a copy of the
store has it, the header and the layout must therefore be restored from the copy, instead of being removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData, InvalidInput, Kind, PredicateFailed
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.half_written import release_half_written
from graveler_core.gc.retention import read_references
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.layout import CommitFolders
from graveler_core.stores import Stores

PAUSE = 60.0
"""Seconds between the two reads of a header. No store takes so long for the rows of one call."""


@dataclass(frozen=True, slots=True)
class LayoutRemovals:
    """Result of a removal."""

    removed: tuple[CommitId, ...]
    """Ids of the commits whose layouts were deleted."""
    named: tuple[CommitId, ...]
    """Ids of the commits whose layouts were kept, because something names the commits, or has written them since."""
    released: tuple[CommitId, ...] = ()
    """Ids of commits that lack a part and to which no branch, tag or commit leads. The next collections remove them."""


def remove_damaged_layouts(
    stores: Stores, repo: RepositoryRecord, progress: Progress = lambda more: None
) -> LayoutRemovals:
    """Delete the damaged layouts whose commits do not exist, of users' commits and of the log of references. Let
    collections remove the half-written commits that one of them has adopted.

    Takes a minute if there are damaged layouts.

    Args:
        stores: The stores of the repository.
        repo: The repository.
        progress: Called with the number of records read since the last call.

    Raises:
        InvalidInput: The repository is bare: a restoration may be writing its commits.
        CorruptData: A header, branch or tag is damaged, so it is unknown which commits it names. No layout was deleted.
        Unavailable, SlowDown: The store cannot be reached.
        OutcomeUnknown: The response to a deletion was lost. Repeat the removal.
    """
    if repo.bare:
        raise InvalidInput(f"repository {repo.id!r} is bare, so its commits may not be complete yet")
    released = release_half_written(stores, repo, progress)
    histories = (keys.history(repo), keys.internal_history(repo))
    found = [dict(_candidates(stores, folders, progress)) for folders in histories]
    if not any(found):
        return LayoutRemovals((), (), released)
    stores.clock.sleep(PAUSE)
    wanted = [
        _needed(stores, folders, progress, names)
        for folders, names in zip(histories, (_names(stores, repo), _names_of_log(stores, repo)), strict=True)
    ]
    removed, named = list[CommitId](), list[CommitId]()
    for folders, candidates, needed in zip(histories, found, wanted, strict=True):
        named += candidates.keys() & needed
        for id in sorted(candidates.keys() - needed):
            if _delete(stores, folders, id, candidates[id]):
                removed.append(id)
    return LayoutRemovals(tuple(removed), tuple(sorted(named)), released)


def _candidates(stores: Stores, folders: CommitFolders, progress: Progress) -> Iterator[tuple[CommitId, bytes]]:
    folder = folders.layouts
    for row in stores.kv.scan(folder.partition, prefix=folder.prefix):
        progress(1)
        id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
        try:
            decode(folder.model, row.value, f"layout of commit {id}")
        except CorruptData:
            if folder.at(id).key == row.key and not _has_header(stores, folders, id):
                yield id, row.value


def _needed(stores: Stores, folders: CommitFolders, progress: Progress, names: Iterable[CommitId]) -> set[CommitId]:
    """Return the commits that have a header, that headers name as parents, and other names. Headers are read first."""
    graph = HistoryGraph(stores.kv, folders, progress)
    for finding in graph.read_all():
        raise CorruptData(
            f"commit {finding.id}: {finding.why}; no layout was removed, because it is unknown which commits it names",
            kind=Kind.CorruptCommit,
            commit=finding.id,
        )
    parents = {parent for header in graph.headers.values() if header is not None for parent in header.parents}
    return {*graph.headers, *parents, *names}


def _names(stores: Stores, repo: RepositoryRecord) -> Iterator[CommitId]:
    yield from read_references(stores.kv, repo).commits
    folder = keys.former_heads(repo)
    for row in stores.kv.scan(folder.partition, prefix=folder.prefix):
        yield CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))


def _names_of_log(stores: Stores, repo: RepositoryRecord) -> Iterator[CommitId]:
    held = access.read(stores.kv, keys.reference_log(repo))
    if held is not None:
        yield held.value.commit_id


def _has_header(stores: Stores, folders: CommitFolders, id: CommitId) -> bool:
    where = folders.headers.at(id)
    return stores.kv.get(where.partition, where.key) is not None


def _delete(stores: Stores, folders: CommitFolders, id: CommitId, value: bytes) -> bool:
    """Delete a layout with this value. Return `False` if another process has changed it, or written its header."""
    where = folders.layouts.at(id)
    held = stores.kv.get(where.partition, where.key)
    if held is None or held.value != value or _has_header(stores, folders, id):
        return False
    with suppress(PredicateFailed):
        stores.kv.delete_if(where.partition, where.key, held.predicate)
        return True
    return False

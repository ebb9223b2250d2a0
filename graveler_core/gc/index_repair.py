"""Repair of inline indexes that do not mark what their commits changed.

Each element of an inline index says by its action whether its commit made the change or an earlier commit did. A faulty
version marked all elements as changes of earlier commits when there were more than 2,000. Such a commit is read
correctly, but its index says that it changed nothing.

1. Read all headers and all layouts of the users' history, including unreachable ones. (An inline index of the log of
references never contains so many elements: its keys are too long.) A commit needs repair if the elements marked as its
own do not give the operations digest of its header.
2. Compare the content of the commit with that of its first parent. If the differences do not give the operations digest
of the header, the content itself is damaged: change nothing, and report the commit as not repaired.
3. Mark the elements at the keys that differ as the commit's own, and all others as those of earlier commits. If the
elements marked now do not give the operations digest of the header, change nothing and report the commit.
4. ✓ Swap the layout if it is still the one that was read in step 2; otherwise read it again and repeat from step 1.

The new layout has the same metarange, the same runs and the same keys and records; it differs only in actions.
Therefore other processes may work concurrently:

- Readers see the same entries in both layouts. Commit ids and tree ids do not depend on actions.
- Committers: the index of a child takes all elements of its parent's inline index as those of earlier commits, so it
  does not depend on the layout of the parent from which it was built. No child needs repair because of its parent. The
  layout of a new commit is written without a condition, but only before a branch refers to the commit. If it is written
  after the repair, the next repair examines it.
- Index maintenance swaps the same record with the same condition. If its swap comes first, the repair reads the new
  layout and marks its elements. If the repair comes first, the maintenance stops, and a later commit starts it again.
- Sweeps: the new layout refers to the same blobs and objects as the old one, and has the same `superseded`. The swap
  makes nothing unreferenced, so nothing is added to `superseded`.
- Another repair, or a repetition, finds that the digest matches in step 1, and changes nothing. After a crash, the next
  run repairs the remaining commits.

Processes that have a commit in their cache use its old layout until it expires, after at most an hour.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graveler_core.codec.records import decode
from graveler_core.committed.diff import CHANGES
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import Layer, aged, combined, owned
from graveler_core.committed.index.layers import inline_layer, inline_of
from graveler_core.committed.index.operations import operations_between, own_operations
from graveler_core.errors import CorruptData, Kind, PredicateFailed
from graveler_core.gc.commits import Header, HistoryGraph
from graveler_core.gc.stock import Progress
from graveler_core.model.clock import Instant
from graveler_core.model.entities import Layout, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index
from graveler_core.objects.build_time import require_in_time
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

_TRIES = 5
"""Maximum number of attempts to swap a layout that others replace concurrently, which happens once or twice in its
life.
"""


@dataclass(frozen=True, slots=True)
class Unrepaired:
    """A commit whose inline index is wrong and could not be repaired."""

    commit: CommitId
    why: str


@dataclass(frozen=True, slots=True)
class IndexRepairs:
    """Result of a repair."""

    examined: int
    """Number of commits examined."""
    repaired: tuple[CommitId, ...]
    """Commits whose layouts were replaced."""
    unrepaired: tuple[Unrepaired, ...]
    """Commits that were left as they are."""


def repair_indexes(stores: Stores, repo: RepositoryRecord, progress: Progress = lambda more: None) -> IndexRepairs:
    """Mark the changes of each commit in inline indexes that lack these marks.

    Commits whose header or layout cannot be read are skipped; `fsck` reports them.

    Args:
        stores: The stores of the repository.
        repo: The repository.
        progress: Called with the number of records read since the last call.

    Returns:
        The commits that were repaired, and those that could not be.

    Raises:
        Unavailable, SlowDown: A store cannot be reached.
        OutcomeUnknown: The response to a swap was lost. Repeat the repair.
    """
    commits = HistoryGraph(stores.kv, keys.history(repo), progress)
    deque(commits.read_all(), maxlen=0)
    repaired, unrepaired, examined = list[CommitId](), list[Unrepaired](), 0
    for id, header, index in _indexes_of(commits):
        examined += 1
        try:
            if _is_wrong(stores.indexes(repo), header, index) and _replace(stores, repo, id, header):
                repaired.append(id)
        except CorruptData as e:
            unrepaired.append(Unrepaired(id, e.message))
        progress(1)
    return IndexRepairs(examined, tuple(repaired), tuple(unrepaired))


def marked(indexes: Indexes, header: Header, before: Index, index: Index) -> Index:
    """Return the index in which the elements that differ from the content of the first parent are marked.

    Args:
        indexes: The repository's indexes.
        header: The commit's header.
        before: The index of the commit's first parent.
        index: The index of the commit.

    Raises:
        CorruptData: The content of the commit or the marked elements do not give the operations digest of the header;
            or a part of an index is missing or damaged.
    """
    if operations_between(indexes, before, index, header.rule) != header.operations:
        raise CorruptData("its content does not give the operations digest of its header", kind=Kind.CorruptCommit)
    changed = {key for page in diff(indexes, before, index, wanted=CHANGES) for key in page.keys.to_pylist()}
    elements = inline_layer(indexes, index).elements
    own = owned([element for element in elements if element.key in changed])
    both = combined([Layer(elements=own), Layer(elements=aged(elements))])
    found = replace(index, inline=inline_of(indexes, both))
    if own_operations(indexes, found, header.rule) != header.operations:
        raise CorruptData("its inline index does not contain all of its changes", kind=Kind.CorruptCommit)
    return found


def _indexes_of(commits: HistoryGraph) -> Iterator[tuple[CommitId, Header, Index]]:
    """Read the layouts of the commits whose headers were read."""
    folder = commits.folders.layouts
    for row in commits.kv.scan(folder.partition, prefix=folder.prefix):
        id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
        header = commits.headers.get(id)
        if header is None:
            continue
        try:
            layout = decode(Layout, row.value, f"layout of commit {id}")
        except CorruptData:
            continue
        yield id, header, layout.index


def _is_wrong(indexes: Indexes, header: Header, index: Index) -> bool:
    """Return `True` if the elements marked as the commit's own contradict the header. A root has no earlier commits."""
    if not header.parents or not index.inline or index.own_run:
        return False
    return own_operations(indexes, index, header.rule) != header.operations


def _replace(stores: Stores, repo: RepositoryRecord, id: CommitId, header: Header) -> bool:
    """Replace the layout of a commit by a repaired one. Return `False` if another process repaired or deleted it."""
    indexes, where = stores.indexes(repo), keys.commit_layout(repo, id)
    begun = Instant.of(stores.clock)
    for _ in range(_TRIES):
        held = access.read(stores.kv, where)
        if held is None or not _is_wrong(indexes, header, held.value.index):
            return False
        parent = access.read(stores.kv, keys.commit_layout(repo, header.parents[0]))
        if parent is None:
            raise CorruptData("the layout of its first parent is missing", kind=Kind.CorruptCommit)
        index = marked(indexes, header, parent.value.index, held.value.index)
        layout = Layout(index=index, superseded=held.value.superseded)
        require_in_time(stores.clock, begun, f"repair of commit {id}")
        try:
            access.replace(stores.kv, where, held, layout)
        except PredicateFailed:
            continue
        commit = read_commit(stores.kv, stores.commits, repo, id).header
        stores.commits.keep(keys.partition(repo), StoredCommit(id, commit, layout))
        return True
    raise CorruptData(
        "its layout was replaced too often by other processes; repeat the repair", kind=Kind.CorruptCommit
    )

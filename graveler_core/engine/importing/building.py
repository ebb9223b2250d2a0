"""Index of a branch with an import applied: a function of the head and of the gathered entries.

If there is a cluster, it builds partitions of the tree (`engine.building.trees`), because the changes of an import
are two trees (`changes`). Equal content gives equal trees, however they were built. A first import usually finds few
entries on the branch and none that it affects. Then the head is applied to the gathered tree and not the reverse,
and no range is written twice.

Building takes time in proportion to the size of the import, and a busy branch moves in the meantime. The result for
one head is therefore carried over to a later head, by applying the changes of the commits in between. This is done
if these commits changed nothing that the import affects. It gives the same entries and the same changes against the
parent, at the cost of the others' commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from graveler_core.committed.diff import EXACT, Differences, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.scan import scan
from graveler_core.committed.index.successor import Successor, on_metarange, successor
from graveler_core.committed.trees import count_entries
from graveler_core.engine.building.trees import build_index
from graveler_core.engine.importing.gathering import Gathered
from graveler_core.engine.reading.view import commit_of
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records
from graveler_core.segments.sorted_keys import between
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Built:
    """Import applied to a head."""

    head: CommitId
    made: Successor


def build_on(stores: Stores, repo: RepositoryRecord, head: CommitId, gathered: Gathered) -> Built:
    """Apply the import to a head. If it is less work and gives the same result, apply the head to the import's tree."""
    indexes, base = stores.indexes(repo), commit_of(stores, repo, head).layout.index
    if _is_most(indexes, base, gathered):
        held = map(as_records, scan(indexes, base))
        whole = Index(metarange_id=gathered.tree)
        made = on_metarange(indexes, whole, held, mapper=stores.executor.map, verbatim=True)
        # Everything in the import is new, so its changes are those that built its tree from nothing.
        new = gathered.made
        return Built(head, replace(made, operations=new.operations, added=new.added, changed=0, removed=0))
    source = gathered.changes(repo, base)

    def here() -> Successor:
        changes = stores.executor.ahead(source.changes(stores))
        return successor(indexes, base, changes, mapper=stores.executor.map)

    return Built(head, build_index(stores, source, base, here))


def carried(stores: Stores, repo: RepositoryRecord, last: Built, head: CommitId, gathered: Gathered) -> Built:
    """Return the import on another head: carried over if that is correct and cheaper, otherwise built again."""
    if last.head == head:
        return last
    index = last.made.index
    if index.runs or index.inline:  # these are small, and the import's own layer would include the changes of others
        return build_on(stores, repo, head, gathered)
    if any(_touched(gathered, found) for found in _between(stores, repo, last.head, head)):
        return build_on(stores, repo, head, gathered)
    others = map(as_changes, _between(stores, repo, last.head, head))
    moved = on_metarange(stores.indexes(repo), index, others, mapper=stores.executor.map, verbatim=True)
    return Built(head, replace(last.made, index=moved.index))


def on_compacted(stores: Stores, repo: RepositoryRecord, compacted: MetarangeId, gathered: Gathered) -> MetarangeId:
    """Apply the import to the compacted tree. Otherwise the next commit would revert the import."""
    base = Index(metarange_id=compacted)
    source = gathered.changes(repo, base)

    def here() -> Successor:
        changes = stores.executor.ahead(source.changes(stores))
        return on_metarange(stores.indexes(repo), base, changes, mapper=stores.executor.map)

    return build_index(stores, source, base, here).index.metarange_id


def _is_most(indexes: Indexes, base: Index, gathered: Gathered) -> bool:
    """Return `True` if a base contains nothing that the import affects, and less than the import adds."""
    entries = count_entries(indexes.trees, base.metarange_id) + sum(run.elements for run in base.runs)
    if gathered.made.added <= max(entries, indexes.sizes.direct_beyond(entries)):
        return False
    start, end = gathered.span()
    return next(scan(indexes, base, start=start, end=end), None) is None


def _between(stores: Stores, repo: RepositoryRecord, before: CommitId, after: CommitId) -> Iterator[Differences]:
    """Yield the changes of the commits between two heads, including times and addresses."""
    left, right = (commit_of(stores, repo, commit).layout.index for commit in (before, after))
    return diff(stores.indexes(repo), left, right, wanted=EXACT)


def _touched(gathered: Gathered, found: Differences) -> bool:
    """Return `True` if the import affects any of the keys."""
    start, end = gathered.span()
    keys = between(pa.table({"key": found.keys}), start, end).column("key").to_pylist()
    return bool(gathered.among(keys))

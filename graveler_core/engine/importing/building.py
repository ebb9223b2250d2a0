"""What a branch holds once an import is in it, as an index: a function of the head and of what was gathered.

Where there is a cluster, it builds in parts (`engine.building`), for what an import changes is two trees (`changes`).
Trees are equal whatever they were made from, so a first import, which finds little on the branch and nothing in its
way, is not put on the head: the head is put on the tree that was gathered, and no range is written twice.

Building takes as long as the import is large, and a branch that others commit to moves meanwhile. So what was built on
one head is carried over to a later one by what the commits in between changed, where they changed nothing that the
import has a say in: the same entries, and the same changes against the parent, at the cost of the others' commits.
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
from graveler_core.engine.building import built
from graveler_core.engine.importing.gathered import Gathered
from graveler_core.engine.view import commit_of
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records
from graveler_core.segments.sorted_keys import between
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class Built:
    """An import on a head."""

    head: CommitId
    made: Successor


def build_on(stores: Stores, repo: Repository, head: CommitId, gathered: Gathered) -> Built:
    """Put what was gathered on a head; or the head on it, where that is less, and gives the same."""
    indexes, base = stores.indexes(repo), commit_of(stores, repo, head).layout.index
    if _is_most(indexes, base, gathered):
        held = map(as_records, scan(indexes, base))
        whole = Index(metarange_id=gathered.tree)
        made = on_metarange(indexes, whole, held, mapper=stores.executor.map, verbatim=True)
        # All that was gathered is new, so the changes are those that made its tree of nothing.
        new = gathered.made
        return Built(head, replace(made, operations=new.operations, added=new.added, changed=0, removed=0))
    source = gathered.changes(repo, base)

    def here() -> Successor:
        changes = stores.executor.ahead(source.changes(stores))
        return successor(indexes, base, changes, mapper=stores.executor.map)

    return Built(head, built(stores, source, base, here))


def carried(stores: Stores, repo: Repository, last: Built, head: CommitId, gathered: Gathered) -> Built:
    """The import on another head: carried over where that is right and cheaper, else built anew."""
    if last.head == head:
        return last
    index = last.made.index
    if index.runs or index.inline:  # small; and its own layer would take up the others' changes
        return build_on(stores, repo, head, gathered)
    if any(_touched(gathered, found) for found in _between(stores, repo, last.head, head)):
        return build_on(stores, repo, head, gathered)
    others = map(as_changes, _between(stores, repo, last.head, head))
    moved = on_metarange(stores.indexes(repo), index, others, mapper=stores.executor.map, verbatim=True)
    return Built(head, replace(last.made, index=moved.index))


def on_compacted(stores: Stores, repo: Repository, compacted: MetarangeId, gathered: Gathered) -> MetarangeId:
    """The compacted tree with the import in it: else the next commit would take the import back."""
    base = Index(metarange_id=compacted)
    source = gathered.changes(repo, base)

    def here() -> Successor:
        changes = stores.executor.ahead(source.changes(stores))
        return on_metarange(stores.indexes(repo), base, changes, mapper=stores.executor.map)

    return built(stores, source, base, here).index.metarange_id


def _is_most(indexes: Indexes, base: Index, gathered: Gathered) -> bool:
    """Whether a base holds nothing where the import has a say, and less than the import brings."""
    entries = count_entries(indexes.trees, base.metarange_id) + sum(run.elements for run in base.runs)
    if gathered.made.added <= max(entries, indexes.sizes.direct_beyond(entries)):
        return False
    start, end = gathered.span()
    return next(scan(indexes, base, start=start, end=end), None) is None


def _between(stores: Stores, repo: Repository, before: CommitId, after: CommitId) -> Iterator[Differences]:
    """What the commits between two heads changed, times and addresses too."""
    left, right = (commit_of(stores, repo, commit).layout.index for commit in (before, after))
    return diff(stores.indexes(repo), left, right, wanted=EXACT)


def _touched(gathered: Gathered, found: Differences) -> bool:
    """Whether the import has a say in any of the keys."""
    start, end = gathered.span()
    keys = between(pa.table({"key": found.keys}), start, end).column("key").to_pylist()
    return bool(gathered.among(keys))

"""Index maintenance: merge the runs of a head's index into its metarange, in the background and without delaying
commits.

Runs and metaranges are named by their content. Some runs over a metarange can therefore be replaced by the metarange
that results from merging them, in every layout that contains them. Readers of either see the same entries.

1. If the head's index contains many changes above its metarange, its runs, except the commit's own run, are merged
   into new ranges and nodes. These are blobs to which nothing refers; a crash leaves garbage.
2. ✓ The head's layout is swapped for one that names the new metarange. The parts that it named before stay in
   `superseded`, because commits may be under construction on them. No branch record changes, and no flow waits. A
   crash before the swap leaves the work to the next commit.
3. A commit that was built on the old layout in the meantime contains the old parts again. Step 2 is then repeated
   for the new head, a few times.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile

from graveler_core.committed.index.fold import fold
from graveler_core.committed.trees import count_entries
from graveler_core.engine.protocol.registers import fresh
from graveler_core.errors import GravelerError
from graveler_core.model.clock import Instant
from graveler_core.model.entities import Layout, RepositoryRecord, Superseded
from graveler_core.model.ids import BranchId, CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.objects.build_time import require_in_time
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

_SMALL_SHARE = 16
"""Divisor for small runs: a run is small if its size is less than the total size of the runs divided by this number."""
_TRIES = 20
"""Maximum number of heads that are tried when new commits repeat the old layout. Other processes' commits race with
each try.
"""


def start_maintenance(stores: Stores, repo: RepositoryRecord, branch: BranchId, head: StoredCommit) -> None:
    """Start index maintenance of a new head in the background, if it is due and this process is not running it
    already.
    """
    below = _foldable(stores, repo, head.layout.index)
    if below is None or not stores.folding.begin(below.metarange_id):
        return
    stores.background.start(partial(_fold, stores, repo, branch, below))


def _foldable(stores: Stores, repo: RepositoryRecord, index: Index) -> Index | None:
    """Return the runs to merge with the metarange below them, or `None` if they contain too few changes.

    The newest small runs are left out: later commits would combine them before the maintenance ends, which would
    then be useless. If all runs are small, none is left out.
    """
    runs = index.runs[1:] if index.own_run else index.runs
    elements = sum(run.elements for run in runs)
    sizes = stores.sizes_of(repo)
    if elements <= sizes.fold_elements:
        return None
    if elements <= sizes.fold_beyond(count_entries(stores.trees(repo), index.metarange_id)):
        return None
    large = sum(run.size for run in runs) // _SMALL_SHARE
    chosen = tuple(dropwhile(lambda run: run.size < large, runs)) or runs
    return Index(metarange_id=index.metarange_id, runs=chosen)


@dataclass(frozen=True, slots=True)
class _Fold:
    """Merged parts of an index."""

    below: Index
    """The parts."""
    metarange: MetarangeId
    """Metarange with the same entries."""
    begun: Instant
    """Moment before the metarange was written."""

    def replaced(self, index: Index) -> Index | None:
        """Return an index with the metarange in place of the parts, or `None` if it does not contain them."""
        newer = len(index.runs) - len(self.below.runs)
        if index.metarange_id != self.below.metarange_id or newer < index.own_run:
            return None
        if index.runs[newer:] != self.below.runs:
            return None
        return replace(index, metarange_id=self.metarange, runs=index.runs[:newer])


def _fold(stores: Stores, repo: RepositoryRecord, branch: BranchId, below: Index) -> None:
    begun = Instant.of(stores.clock)
    try:
        with suppress(GravelerError):  # nothing depends on it, and the next commit starts again
            folded = fold(stores.indexes(repo), below, mapper=stores.executor.map)
            _put_in_place(stores, repo, branch, _Fold(below, folded, begun))
    finally:
        stores.folding.end(below.metarange_id)


def _put_in_place(stores: Stores, repo: RepositoryRecord, branch: BranchId, folded: _Fold) -> None:
    done: CommitId | None = None
    for _ in range(_TRIES):
        now = fresh(stores, repo.id, branch)
        head = now.branch.commit_id
        if now.repository.uid != repo.uid or head == done:
            return
        where = keys.commit_layout(repo, head)
        held = access.read(stores.kv, where)
        index = None if held is None else folded.replaced(held.value.index)
        if held is None or index is None:
            return
        kept = (*held.value.superseded, Superseded(index=folded.below, since=stores.clock.now()))
        layout = Layout(index=index, superseded=kept)
        require_in_time(stores.clock, folded.begun, f"index maintenance of branch {branch!r}")
        access.replace(stores.kv, where, held, layout)
        header = read_commit(stores.kv, stores.commits, repo, head).header
        stores.commits.keep(keys.partition(repo), StoredCommit(head, header, layout))
        done = head

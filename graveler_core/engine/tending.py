"""Folding the layers of a head's index into its metarange, off the way of any commit.

Runs and metaranges are known by ids of their content, so what some runs hold over a metarange may stand as the
metarange that they fold into, in whatever layout it occurs: readers of either see the same entries.

1. The head's index holds much above its metarange: its runs, but for the commit's own, are folded into ranges and
   nodes. Blobs, unreachable; a crash leaves garbage.
2. ✓ The head's layout is swapped for one that names the folded metarange; what it named before stays in `superseded`,
   since commits may be under construction on it. No branch record changes, and nothing waits: a crash before the swap
   leaves the next commit to begin again.
3. A commit that was built on the old layout meanwhile repeats it: step 2 for the new head, a few times.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import dropwhile

from graveler_core.committed.index.fold import fold
from graveler_core.committed.trees import count_entries
from graveler_core.engine.registers import fresh
from graveler_core.errors import GravelerError
from graveler_core.model.entities import Layout, Repository, Superseded
from graveler_core.model.ids import BranchId, CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.objects.commits import StoredCommit, read_commit
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

_SMALL_SHARE = 16
"""Runs of less than so small a part of all bytes are small."""
_TRIES = 20
"""How often a head is found that repeats the old layout: commits of others race with every one."""


def tend(stores: Stores, repo: Repository, branch: BranchId, head: StoredCommit) -> None:
    """Have the index of a new head folded in the background, if that is due and nobody in this process is at it."""
    below = _foldable(stores, repo, head.layout.index)
    if below is None or not stores.folding.begin(below.metarange_id):
        return
    stores.background.start(partial(_fold, stores, repo, branch, below))


def _foldable(stores: Stores, repo: Repository, index: Index) -> Index | None:
    """The runs to fold, and the metarange below them; None where they hold too little to be worth it.

    The newest, small ones stay: commits to come would merge them before the fold is done, and it would be in vain.
    """
    runs = index.runs[1:] if index.own_run else index.runs
    elements = sum(run.elements for run in runs)
    if elements <= stores.sizes.fold_elements:
        return None
    if elements <= stores.sizes.fold_beyond(count_entries(stores.trees(repo), index.metarange_id)):
        return None
    large = sum(run.size for run in runs) // _SMALL_SHARE
    return Index(metarange_id=index.metarange_id, runs=tuple(dropwhile(lambda run: run.size < large, runs)))


def _fold(stores: Stores, repo: Repository, branch: BranchId, below: Index) -> None:
    try:
        with suppress(GravelerError):  # nothing depends on it, and the next commit begins again
            folded = fold(stores.indexes(repo), below, mapper=stores.executor.map)
            _put_in_place(stores, repo, branch, below, folded)
    finally:
        stores.folding.end(below.metarange_id)


def _put_in_place(stores: Stores, repo: Repository, branch: BranchId, below: Index, folded: MetarangeId) -> None:
    done: CommitId | None = None
    for _ in range(_TRIES):
        now = fresh(stores, repo.id, branch)
        head = now.branch.commit_id
        if now.repository.uid != repo.uid or head == done:
            return
        where = keys.commit_layout(repo, head)
        held = access.read(stores.kv, where)
        index = None if held is None else _folded(held.value.index, below, folded)
        if held is None or index is None:
            return
        kept = (*held.value.superseded, Superseded(index=below, since=stores.clock.now()))
        layout = Layout(index=index, superseded=kept)
        access.replace(stores.kv, where, held, layout)
        header = read_commit(stores.kv, stores.commits, repo, head).header
        stores.commits.keep(keys.partition(repo), StoredCommit(head, header, layout))
        done = head


def _folded(index: Index, below: Index, metarange: MetarangeId) -> Index | None:
    """The index with the folded metarange in the place of what was folded; None where it does not stand on that."""
    newer = len(index.runs) - len(below.runs)
    if index.metarange_id != below.metarange_id or newer < index.own_run or index.runs[newer:] != below.runs:
        return None
    return replace(index, metarange_id=metarange, runs=index.runs[:newer])

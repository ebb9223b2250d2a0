"""Removal of commits that no branch or tag has ever reached: their writer was killed or refused, or lost its swap.

Commits that a reference has reached stay for ever. Branches, tags, former heads (`engine.references.former_heads`) and
migrated commits, whose ids in the source other systems know, lead to all of them. The others are removed in the states
of a collection (`gc.collection`), with its record and its grace period:

0. Prepare. Once, a collection sets `former_heads` in the repository record ✓, so that processes of earlier versions,
   which do not record former heads, can change nothing any more. Then it notes the time ✓. A collection that runs a
   grace period later *adopts* the commits that nothing reaches: it records them as former heads, and notes that ✓. A
   reference may have reached them before former heads were recorded, so they stay for ever. If another collection has
   completed the adoption meanwhile, the one that comes late may record commits that were never reached. They stay, too,
   except for those that were removed since: the next collection deletes their records, because a reference has never
   reached a removed commit.
1. Announce. Read all headers, then branches and tags, then former heads. The commits to which none of these leads are
   announced with the condemned set, except for those with a date within the grace period.
2. Wait for the grace period. A flow in which a caller names an announced commit revives it
   (`engine.reading.expired`).
3. Verify. Read everything again, as in step 1. Announced commits are spared if a reference, a former head, a revived
   commit or a commit that was not announced leads to them. If some are left, give a fresh nonce to each branch. ✓ Then
   read branches, tags and former heads again. The swap of the verification records the rest as removed. ✓
4. Delete their headers and layouts, and note that. ✓ Before each batch of deletions, read the record again. Their ids
   are remembered for 90 days. Their trees and ranges belong to the next sweep, and their content to the next
   collection.

Proof that no commit is deleted to which a reference leads or has led. Consider an announced commit.

* A reference reached it before step 1. It still leads there, or left it in a flow that recorded a former head before.
  Former heads are read after references, so one of the two is found. Flows of earlier versions recorded nothing. They
  ended before the adoption in step 0.
* Its writer makes it a head later. The swap succeeds only if the branch record is the one that the writer has read. A
  swap that comes before the new nonce of step 3 is found by the reading after it. A later swap fails. The writer then
  tries again only within the time limit of builds (`objects.build_time`), which is less than a grace period. An id is
  never computed by two calls, because each call draws a nonce. Only migrations compute the same ids again, and
  migrated commits are not announced.
* Somebody knows its id, from a hook or from an error, and makes a reference or a commit that leads to it. The flow
  reads the record first. If it reads it between steps 1 and 3, it swaps the record: either this swap comes first, and
  the verification fails or finds the commit revived; or that of step 3 comes first, and the flow is refused. Afterwards
  it is refused for 90 days, longer than any process keeps the commit in a cache. If it reads the record before step 1
  and swaps a branch, the new nonce of step 3 decides as for the writer, however slow the flow is. If it creates a
  branch, or creates or assigns a tag, it ends within the grace period, because it checks again after its hooks, and
  step 3 finds the reference.
* Somebody knows a descendant that was not announced. If the descendant was stored before step 3 read the headers, step
  3 finds it and spares the commit. If it was stored later, its writer had paused for days, and stores no further
  commit on top of it (`objects.build_time`). The removed commit is then a parent of the descendant. Flows that name a
  descendant therefore check its parents, too. A merge repeats this check before it calls hooks
  (`engine.committing.head`).

If a header is missing or damaged that something leads to, it is unknown what it leads to, and nothing is removed. The
conditions are those of the collection: the grace period is longer than any flow in which callers name commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.records import encode
from graveler_core.errors import PredicateFailed, SlowDown
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import CollectionRecord, EnteredCommits, ListedFiles
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.retention import read_references
from graveler_core.gc.stock import Progress
from graveler_core.kv.bulk import set_many
from graveler_core.model.clock import is_far_ahead
from graveler_core.model.collection import NEVER_REACHED, REMEMBERED, Expiry
from graveler_core.model.entities import BranchRecord, RepositoryRecord, RepositoryState
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.references import FormerHead
from graveler_core.objects import expired_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

_BATCH = 1_000
"""Number of former heads that are written at once, and of commits that are deleted between two reads of the record."""
_ATTEMPTS = 1_000
"""Maximum number of swaps of a branch that changes all the time."""


@dataclass(slots=True)
class UnreachedCommits:
    """Commits that no branch or tag has reached, for one collection."""

    stores: Stores
    repository: RepositoryRecord
    plan: CollectionPlan
    record: CollectionRecord
    progress: Progress
    assumed: set[CommitId] = field(default_factory=set)
    """Commits that a dry run would have removed."""

    def prepare(self) -> None:
        """Have all processes record former heads, and later record the commits that nothing reached until then."""
        value = self.record.value
        if self.plan.dry_run or value.adopted or self.repository.state is not RepositoryState.ACTIVE:
            return
        if value.recording is None or is_far_ahead(value.recording, self.stores.clock.now()):
            self.repository = repositories.require_former_heads(self.stores.kv, self.stores.ids, self.repository)
            self.stores.registers.forget_all(self.repository.id)
            self.record.note_recording()
        since = self.record.value.recording
        if since is not None and self.stores.clock.now() - since >= self.plan.grace and self._adopt():
            self.record.note_adoption()

    def reached(self) -> Set[CommitId] | None:
        """Return the commits to which something leads or has led. Return `None` if it is not known of all of them."""
        graph = self._graph() if self.record.value.adopted else None
        return None if graph is None else graph.reachable

    def new(self, listed: ListedFiles, expiring: Set[CommitId], before: datetime) -> pa.Table:
        """Return the commits to announce, as a table in `expired_commits.COMMITS`.

        Args:
            listed: Content of the files that the collection record lists.
            expiring: Commits that are about to expire. They can be removed after that.
            before: Commits with a later date are left out.
        """
        graph = self._graph(_ids(listed.removed)) if self.record.value.adopted else None
        if graph is None:
            return expired_commits.COMMITS.empty_table()
        old = [id for id, header in graph.unreachable() if header.made < before]
        known = self.assumed | expiring | _ids(self._remembered(listed))
        known |= set() if self.assumed else _ids(listed.unreached)
        return self._entered(id for id in old if id not in known)

    def due(self, listed: ListedFiles, revived: Iterable[CommitId]) -> pa.Table:
        """Return the announced commits that can be removed, as a table in `expired_commits.COMMITS`."""
        announced, removed = _ids(listed.unreached), _ids(listed.removed)
        graph = self._graph(removed, revived) if announced else None
        due = set[CommitId]() if graph is None else self._due(graph, announced, removed)
        if self.plan.dry_run:
            self.assumed = due
        return self._entered(due)

    def remembered(self, due: pa.Table, listed: ListedFiles) -> EnteredCommits | None:
        """Return the removed commits to remember. `None` leaves those of the record."""
        if not due.num_rows:
            return None
        commits = expired_commits.merged([self._remembered(listed), due])
        return EnteredCommits(commits, due.column("since")[0].as_py())

    def remove(self) -> None:
        """Delete the commits that the record lists as removed, if that has not been done."""
        removed = self.record.value.removed
        if removed is None or removed.done or self.plan.dry_run:
            return
        known = self.record.read_files().removed
        due = known.filter(pc.equal(known.column("since"), removed.since)).column("commit").to_pylist()
        for start in range(0, len(due), _BATCH):
            if not self.record.is_removing(removed):
                return
            for id in due[start : start + _BATCH]:
                self._delete(CommitId(id))
        self.record.note_removal()

    def _remembered(self, listed: ListedFiles) -> pa.Table:
        """Return the commits that were removed within `REMEMBERED`. A late request may have stored them again."""
        now = self.stores.clock.now()
        young = [now - since < REMEMBERED for since in listed.removed.column("since").to_pylist()]
        return listed.removed.filter(pa.array(young, pa.bool_()))

    def _delete(self, id: CommitId) -> None:
        repo = self.repository
        for where in (keys.commit(repo, id), keys.commit_layout(repo, id)):
            self.stores.kv.delete(where.partition, where.key)
        self.stores.commits.forget(keys.partition(repo), id)

    def _entered(self, ids: Iterable[CommitId]) -> pa.Table:
        entered = Expiry(since=self.stores.clock.now(), rule=NEVER_REACHED)
        return expired_commits.table(dict.fromkeys(ids, entered))

    def _due(self, graph: HistoryGraph, announced: set[CommitId], removed: Set[CommitId]) -> set[CommitId]:
        unreached = {id for id, _ in graph.unreachable()}
        due = (announced & unreached) - _with_ancestors(graph, unreached - announced)
        if not due or self.plan.dry_run:
            return due
        self._renew_branches()
        return due - graph.reachable if self._reach(graph, removed) else set()

    def _renew_branches(self) -> None:
        """Make the swaps of all flows fail that have read a branch before."""
        for name, found in access.scan(self.stores.kv, keys.branches(self.repository)):
            held: Held[BranchRecord] | None = found
            for _ in range(_ATTEMPTS):
                if held is None:
                    break
                record = held.value.model_copy(update={"nonce": Nonce(self.stores.ids.fresh())})
                with suppress(PredicateFailed):
                    access.replace(self.stores.kv, keys.branches(self.repository).at(name), held, record)
                    break
                held = access.read(self.stores.kv, keys.branches(self.repository).at(name))
            else:
                raise SlowDown(f"branch {name!r}: changed {_ATTEMPTS} times; collect again later")
        self.stores.registers.forget_all(self.repository.id)

    def _graph(self, removed: Set[CommitId] = frozenset(), more: Iterable[CommitId] = ()) -> HistoryGraph | None:
        """Read all headers, and mark those that something leads to. Return `None` if some cannot be read.

        Args:
            removed: Commits that collections have removed.
            more: Commits that are kept, with their ancestors.
        """
        graph = HistoryGraph(self.stores.kv, keys.history(self.repository), self.progress)
        damaged = list(graph.read_all())
        migrated = [id for id, header in graph.headers.items() if header is not None and header.migrated]
        return graph if not damaged and self._reach(graph, removed, [*migrated, *more]) else None

    def _reach(self, graph: HistoryGraph, removed: Set[CommitId], more: Iterable[CommitId] = ()) -> bool:
        """Mark what branches and tags lead to, and after that what former heads lead to. Return `False` if a header is
        missing or damaged.
        """
        references = read_references(self.stores.kv, self.repository)
        starts = [*references.commits, *self._former_heads(removed), *more]
        return not any(True for start in starts for _ in graph.reach(start, "a former head"))

    def _former_heads(self, removed: Set[CommitId]) -> Iterator[CommitId]:
        """Yield the former heads. Delete the records of removed commits instead: a late adoption has written them."""
        folder = keys.former_heads(self.repository)
        for row in self.stores.kv.scan(folder.partition, prefix=folder.prefix):
            id = CommitId(row.key.removeprefix(folder.prefix).decode())
            if id not in removed:
                yield id
            elif not self.plan.dry_run:
                self.stores.kv.delete(folder.partition, row.key)

    def _adopt(self) -> bool:
        """Record the commits that nothing reaches as former heads. Return `False` if it is unknown which these are."""
        graph = self._graph()
        if graph is None:
            return False
        unreached = graph.unreachable()
        parents = {parent for _, header in unreached for parent in header.parents}
        record = encode(FormerHead(since=self.stores.clock.now()))
        folder = keys.former_heads(self.repository)
        rows = [(folder.partition, folder.at(id).key, record) for id, _ in unreached if id not in parents]
        for start in range(0, len(rows), _BATCH):
            set_many(self.stores.kv, rows[start : start + _BATCH])
        return True


def _with_ancestors(graph: HistoryGraph, ids: Iterable[CommitId]) -> set[CommitId]:
    """Return commits and those of their ancestors that exist."""
    found, ahead = set[CommitId](), list(ids)
    while ahead:
        id = ahead.pop()
        header = graph.headers.get(id)
        if id not in found and header is not None:
            found.add(id)
            ahead += header.parents
    return found


def _ids(commits: pa.Table) -> set[CommitId]:
    return set(commits.column("commit").to_pylist())

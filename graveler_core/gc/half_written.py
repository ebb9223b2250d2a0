"""Commits that are written only in part, so that a run to which the layout refers does not exist.

Such a run names nothing that can be read, so the walk over names (`gc.named_addresses`) goes on without it if nothing
leads, or has ever led, to the commit. Otherwise the run was lost, and the walk ends with an error.

Proof that no name is lost. No flow can read the run, so its names exist elsewhere or nowhere. A reference can lead to
the complete commit only after somebody has written the run, and this is after the walk has looked for it:

* Its writer does that, if it has only paused. It has taken the names from layers that its branch lists until the swap,
  from commits, or from its caller. For the walk, the commit is like one of which nothing is stored yet: the proofs of
  `gc.collection`, `gc.namespaces` and `erasure.flow` cover flows that make a name visible later.
* A flow writes a run of the same content for another commit. The same holds for that flow.

Processes that were killed leave such commits, and a restoration of a dump that is not complete. It writes layouts
before runs, into a bare repository. A reference is created after all runs have been written, and before that nobody can
read the names. At its end, a restoration finds out which content was deleted meanwhile (`transfer.collections`).

That nothing has ever led to a commit is known after a collection has recorded as former heads what nothing led to when
the repository began to record them (`gc.unreached`). Before that, no commit is left out. A collection removes these
commits later, as all that no reference has reached.

A half-written commit from before that is recorded as a former head, too. Nobody can prove that it was never complete: a
reference may have reached and left it before former heads were recorded, and its run may be lost since and exist in a
copy of the store. The walk then ends with an error until a person decides (`release_half_written`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass

from graveler_core.errors import CorruptData, Kind, PredicateFailed
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.collection_record import CollectionRecord
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.retention import read_references
from graveler_core.gc.stock import Progress
from graveler_core.gc.unreached import UnreachedCommits
from graveler_core.model.entities import Layout, RepositoryRecord
from graveler_core.model.ids import CommitId, ObjectId
from graveler_core.model.index import RunLocation
from graveler_core.model.references import FormerHead
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


@dataclass(slots=True)
class HalfWrittenCommits:
    """Commits of one repository that lack runs, for one walk. History is read when the first missing run is found."""

    stores: Stores
    repository: RepositoryRecord
    progress: Progress
    _reached: Set[CommitId] | None = None
    """Commits that something leads to. `None` if this is unknown."""
    _read: bool = False

    def lacks(self, commit: str, run: ObjectId) -> bool:
        """Return true if a run does not exist, and nothing has ever led to the commit that refers to it."""
        if self.stores.kv.get(*keys.stored_object(self.repository, run)) is not None:
            return False
        if self.repository.bare:
            return True
        if not self._read:
            record = CollectionRecord(self.stores, self.repository)
            plan = CollectionPlan(dry_run=True)
            self._reached = UnreachedCommits(self.stores, self.repository, plan, record, self.progress).reached()
            self._read = True
        return self._reached is not None and commit not in self._reached


def release_half_written(stores: Stores, repo: RepositoryRecord, progress: Progress) -> tuple[CommitId, ...]:
    """Delete the records of former heads with which a collection has adopted half-written commits, so that collections
    go on, and remove the commits. Return the commits.

    A commit is released if it lacks a run to which its parents do not refer, and if no branch, tag or commit leads to
    it. Its parents become former heads ✓ first, because they may have been reached. A flow that makes something lead to
    the commit meanwhile makes a reference, or a new record of a former head, which is not deleted ✓.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        progress: Called with the number of records read since the last call.

    Raises:
        CorruptData: A header, branch or tag is damaged, so it is unknown to which commits it leads.
    """
    if not CollectionRecord(stores, repo).value.adopted:
        return ()
    folder = keys.former_heads(repo)
    rows = stores.kv.scan(folder.partition, prefix=folder.prefix)
    heads = {CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace")): row for row in rows}
    lost, released = _lost_runs(stores, repo, heads.keys()), list[CommitId]()
    for id, parents in _without_descendants(stores, repo, lost, progress) if lost else ():
        layouts = {parent: keys.commit_layout(repo, parent) for parent in parents}
        found = access.read_undamaged(stores.kv, layouts, _left_to_fsck)
        whole = [held.value for held in found.values() if held is not None]
        if len(whole) < len(parents) or lost[id] <= set[ObjectId]().union(*map(_runs, whole)):
            continue
        for parent in parents:
            access.write_if_absent(stores.kv, folder.at(parent), FormerHead(since=stores.moment()))
        with suppress(PredicateFailed):
            stores.kv.delete_if(folder.partition, heads[id].key, heads[id].predicate)
            released.append(id)
    return tuple(sorted(released))


def _lost_runs(stores: Stores, repo: RepositoryRecord, commits: Set[CommitId]) -> dict[CommitId, set[ObjectId]]:
    """Return those of some commits that lack runs in the key-value store, each with these runs."""
    layouts = access.scan(stores.kv, keys.commit_layouts(repo), damaged=_left_to_fsck)
    runs = {CommitId(id): _runs(held.value) for id, held in layouts if id in commits}
    named = set[ObjectId]().union(*runs.values())
    missing = {run for run in named if stores.kv.get(*keys.stored_object(repo, run)) is None}
    return {id: found & missing for id, found in runs.items() if found & missing}


def _left_to_fsck(damage: CorruptData) -> None:
    """Ignore a damaged layout. A check reports it, and its commit is not released."""


def _runs(layout: Layout) -> set[ObjectId]:
    return {run.id for run in layout.index.runs if run.place is RunLocation.OBJECT}


def _without_descendants(
    stores: Stores, repo: RepositoryRecord, commits: Iterable[CommitId], progress: Progress
) -> Iterator[tuple[CommitId, tuple[CommitId, ...]]]:
    """Yield those of some commits to which no branch, tag or commit leads, each with its parents."""
    graph = HistoryGraph(stores.kv, keys.history(repo), progress)
    damaged = list(graph.read_all())
    for start in read_references(stores.kv, repo).commits:
        damaged += graph.reach(start, "a branch or tag")
    for finding in damaged:
        raise CorruptData(f"commit {finding.id}: {finding.why}", kind=Kind.CorruptCommit, commit=finding.id)
    found = {id: header for id, header in graph.headers.items() if header is not None}
    parents = {parent for header in found.values() for parent in header.parents}
    for id in commits:
        if id in found and id not in parents and id not in graph.reachable and not found[id].migrated:
            yield id, found[id].parents

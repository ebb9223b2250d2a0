"""Completion of a repository that was imported without indexes: it gets indexes, ids and references.

1. Commits ✓, each when its record `migrated` is written: compute index and id from its record without index and the
index of its first parent, and write header and layout before that record. A commit whose record exists is not computed
again. Each line of history is the work of one thread, and several processes may work on different lines.
2. References ✓, each by a swap from the record that names the commit by its id in the source.
3. Remove the records without index. 4. The repository becomes active ✓.

All values depend only on the records, so a repetition, or another process at the same time, writes the same bytes.
A process that dies leaves the repository incomplete, and the next call continues. A process that is late finds another
state of the repository before its next batch, and ends. Its swaps of references fail, because they expect the records
of an incomplete repository. Only step 3 removes records, after all commits are complete. A process that misses a record
therefore finds the commit among the complete ones.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from graveler_core.codec.elements import decode_elements
from graveler_core.committed.index.layer import Layer
from graveler_core.errors import CorruptData, GravelerError, InvalidInput, Kind, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import BranchRecord, RepositoryRecord, RepositoryState, Tag
from graveler_core.model.ids import CommitId, Nonce, RepositoryId, RepositoryUid
from graveler_core.objects.incomplete_commits import read_incomplete, remove_incomplete
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.transfer.history_lines import HistoryLines
from graveler_core.transfer.indexing import CommitIndexer
from graveler_core.transfer.migrated import CommitBatches, migrated_commits

WORKERS = 4
"""Number of lines of history that are completed at the same time, by default."""
R = TypeVar("R", BranchRecord, Tag)


@dataclass(frozen=True, slots=True)
class MigrationCompleted:
    """Result of a completion."""

    repository: str
    commits: int
    """Number of commits that this call completed."""
    earlier_commits: int
    """Number of commits that were complete before."""


def complete_migration(
    stores: Stores,
    name: RepositoryId,
    leave: Callable[[RepositoryRecord], None],
    *,
    workers: int = WORKERS,
    progress: Callable[[int], object] = lambda more: None,
) -> MigrationCompleted:
    """Compute the indexes of an incomplete repository, and make it active.

    Memory holds about 1,500 bytes for each commit, and the changes of one commit for each worker.

    Args:
        stores: The stores.
        name: Name of the repository. Nothing is done if it is active.
        leave: Called with a repository that may have been deleted in the meantime.
        workers: Number of lines of history to complete at the same time.
        progress: Called with the number of commits completed since the last call.

    Raises:
        InvalidInput: `workers` is less than 1.
        NotFound: The repository does not exist, or was deleted in the meantime.
        CorruptData: A record is damaged or missing.
    """
    if workers < 1:
        raise InvalidInput(f"workers: is {workers}, must be at least 1")
    repo = repositories.opened(stores.kv, stores.clock, stores.ids, name)
    made = migrated_commits(stores, repo)
    earlier = len(made)
    if repo.state is RepositoryState.ACTIVE:
        remove_incomplete(stores.kv, repo)  # a late process may have written one
        return MigrationCompleted(name, 0, earlier)
    work = _Completion(stores, repo, made, progress)
    try:
        work.run(workers)
    except GravelerError:
        leave(repo)
        raise
    return MigrationCompleted(name, work.done, earlier)


class _CompletedError(Exception):
    """The repository is active: this process, or another one, has completed it."""


@dataclass(slots=True)
class _Completion:
    stores: Stores
    repository: RepositoryRecord
    made: dict[str, CommitId]
    progress: Callable[[int], object]
    done: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, workers: int) -> None:
        """Complete commits and references, and make the repository active."""
        with suppress(_CompletedError):
            self._commits(workers)
            self._references(keys.branches(self.repository))
            self._references(keys.tags(self.repository))
            remove_incomplete(self.stores.kv, self.repository)
            self._activate()

    def _commits(self, workers: int) -> None:
        rows = access.scan(self.stores.kv, keys.incomplete_commits(self.repository))
        waiting = {id: held.value.commit.parents for id, held in rows if id not in self.made}
        lines = HistoryLines(waiting, self.stores.ids.uniform)
        if workers == 1 or len(waiting) < 2:
            self._work(lines)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="graveler-complete") as pool:
            for ended in [pool.submit(self._work, lines) for _ in range(workers)]:
                ended.result()

    def _work(self, lines: HistoryLines) -> None:
        """Complete lines of history until none is left."""
        try:
            while (first := lines.take()) is not None:
                self._line(lines, first)
        except BaseException:
            lines.stop()
            raise

    def _line(self, lines: HistoryLines, first: str) -> None:
        batches = CommitBatches(self.stores, self.repository, self._require, self._written)
        indexer = CommitIndexer(self.stores, self.repository, self.made, batches)
        line: list[str] = []
        ahead: str | None = first
        while ahead is not None:
            self._commit(indexer, ahead)
            line.append(ahead)
            ahead = lines.following(ahead)
        if not batches.empty:
            batches.flush()
        lines.finish(line)

    def _commit(self, indexer: CommitIndexer, id: str) -> None:
        if indexer.batches.empty:
            self._look_for(id)
        if id in self.made:
            return
        said = read_incomplete(self.stores.kv, self.repository, id)
        if said is None:
            self._look_for(id)
            if id not in self.made:
                self._require()  # the records of a deleted repository are removed, too
                why = f"commit {id}: its record without index is missing"
                raise CorruptData(why, kind=Kind.CorruptCommit, commit=id)
            return
        elements = decode_elements(said.changes, f"changes of commit {id}")
        indexer.write(said.commit, Layer(elements=elements).table)

    def _look_for(self, id: str) -> None:
        """Learn which commits other processes have completed, if this is one of them."""
        where = keys.migrated_commits(self.repository).at(id)
        if id not in self.made and access.read(self.stores.kv, where) is not None:
            self.made.update(migrated_commits(self.stores, self.repository))

    def _require(self) -> None:
        """Check that the repository is still incomplete."""
        held = repositories.find(self.stores.kv, self.repository.id)
        current = held if held is not None and held.value.uid == self.repository.uid else None
        if repositories.existing(self.repository.id, current).state is RepositoryState.ACTIVE:
            raise _CompletedError

    def _written(self, more: int) -> None:
        with self.lock:
            self.done += more
            self.progress(more)

    def _references(self, folder: Folder[R]) -> None:
        """Let references name commits by their new ids."""
        for name, held in access.scan(self.stores.kv, folder):
            commit = self.made.get(held.value.commit_id)
            if commit is None:
                continue
            said: dict[str, object] = {"commit_id": commit, "past": past.begun(commit, self.stores.moment())}
            if isinstance(held.value, BranchRecord):
                said["nonce"] = Nonce(self.stores.ids.fresh())
            with suppress(PredicateFailed):  # another process has done it
                named = held.value.model_copy(update=said)
                access.replace(self.stores.kv, folder.at(name), held, named, mine=partial(_leads_to, commit))

    def _activate(self) -> None:
        kv, uid = self.stores.kv, self.repository.uid
        held = repositories.find(kv, self.repository.id)
        while held is not None and held.value.uid == uid and held.value.state is RepositoryState.INCOMPLETE:
            active = repositories.enter(held.value, RepositoryState.ACTIVE, self.stores.clock, self.stores.ids)
            with suppress(PredicateFailed):
                access.replace(kv, keys.repository(active.id), held, active, mine=lambda now: _is_active(now, uid))
            held = repositories.find(kv, self.repository.id)
        self.stores.registers.forget_all(self.repository.id)
        self._require()


def _leads_to(commit: CommitId, reference: BranchRecord | Tag) -> bool:
    return reference.commit_id == commit


def _is_active(repo: RepositoryRecord, uid: RepositoryUid) -> bool:
    return repo.uid == uid and repo.state is RepositoryState.ACTIVE

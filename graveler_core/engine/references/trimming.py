"""Rewrite of the log of references: keep its newest commits, and combine all earlier ones with the oldest that is kept.

1. Read the newest commits, along first parents. If there are fewer than should be kept, do nothing. If an ancestor is
   missing or damaged, the log ends before it: no event is lost, because each commit contains all earlier ones.
2. Write them again, with their own changes and dates, and with the time of the rewrite. The oldest gets no parent, and
   its content is one tree with everything that was logged up to it. Each other commit follows the previous one. Nothing
   refers to them: a crash leaves garbage.
3. ✓ Swap `refs/int/refs` once, to the newest commit. If a fold came first, the swap fails, and everything is
   repeated.

The logged events are the same before and after. Commits that are no longer reachable are deleted by a later call, a
day after the rewrite that removed them, when all readers of the former head have ended. The same applies to commits
of folds that lost their swap. Commit ids are never reused, so the deletion cannot delete another commit. Until that
day is over, the log is not rewritten again: only the time of the last rewrite is known, so a later one would postpone
the deletion.

While a call looks for such commits, folds and other rewrites may write commits that cannot be reached from the head
that it has read, and swap the reference to them. The call recognizes them by their date, and rewritten ones by the time
of their rewrite, because they keep the dates of the commits that they replace. This requires that no flow takes a day
from writing a commit to its swap (`objects.build_time`), and that the clocks differ by less than that: the call first
compares the clock of its machine with that of the object store.

A commit is deleted after its descendants, and its layout before its header. So after a crash at any point, all
ancestors of each stored commit are stored, and the header of each stored layout is stored, by which the next call finds
it. For the same reason, commits with younger descendants are kept. If ancestors are missing nevertheless, nothing is
deleted until a day after the log was rewritten without them, because it is unknown when it was rewritten before. If a
clock far ahead has written the time of the last rewrite, the log is rewritten again, and the day begins again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from graveler_core.codec.records import commit_id, decode
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.references.log import ReferenceLog, point, read_internal, read_log
from graveler_core.engine.references.rewriting import rewritten_at, write_child, write_root
from graveler_core.errors import CorruptData, InvalidInput
from graveler_core.model.clock import is_far_ahead
from graveler_core.model.entities import Commit, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.objects.store_clock import require_right_clock
from graveler_core.records import layout as keys
from graveler_core.stores import Stores

KEPT_FOR = timedelta(days=1)
"""Time for which commits stay readable after the log no longer contains them."""


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Result of a rewrite."""

    folded: int
    """Number of commits that were combined with the oldest one that was kept."""
    deleted: int
    """Number of deleted commits that had been unreachable for a day."""


def trim(stores: Stores, repo: RepositoryRecord, keep: int) -> Trimmed:
    """Keep the newest commits of the log, at least one, and combine the oldest of them with all earlier ones. Within a
    day after the last rewrite, do nothing.

    If an ancestor of the newest commit is missing or damaged, keep at most the commits after it, which have all events.

    Raises:
        InvalidInput: The number of commits to keep is less than one, or the clock of this machine is wrong.
        CorruptData: The newest commit of the log, or the content of the oldest one to keep, is missing or damaged.
    """
    if keep < 1:
        raise InvalidInput(f"keep {keep}: at least one commit of the log of references must be kept")

    def attempt() -> Trimmed | None:
        # Before the log is read, so that everything that others add to it afterwards is younger.
        now = stores.clock.now()
        log = read_log(stores, repo)
        if log.head is None:
            return Trimmed(0, 0)
        line = _read_line(log, log.head)
        rewritten = rewritten_at(line.oldest)
        is_known = not line.broken and (rewritten is None or not is_far_ahead(rewritten, now))
        if is_known and rewritten is not None and now - rewritten <= KEPT_FOR:
            return Trimmed(0, 0)
        require_right_clock(stores.blobs.at(repo.storage_namespace), repo.uid, stores.clock)
        deleted = _forget(log, line, now - KEPT_FOR) if is_known else 0
        if is_known and log.head.header.generation <= keep:
            return Trimmed(0, deleted)
        kept = _newest(log, log.head, min(keep, len(line.reached)))
        folded = log.head.header.generation - len(kept)
        return Trimmed(folded, deleted) if point(log, _rewritten(log, kept)) else None

    return retry(stores, f"log of references of {repo.id}", attempt)


@dataclass(frozen=True, slots=True)
class _Line:
    """Commits of the log, and all others of its history."""

    reached: dict[CommitId, Commit]
    """Headers from the newest commit along first parents."""
    others: dict[CommitId, Commit]
    """Headers of the other commits that can be read."""
    broken: bool
    """True if the parent of the last reached commit is missing or damaged."""

    @property
    def oldest(self) -> Commit:
        """Header of the last reached commit."""
        return next(reversed(self.reached.values()))


def _read_line(log: ReferenceLog, head: StoredCommit) -> _Line:
    folder = keys.internal_history(log.repository).headers
    found: dict[CommitId, Commit] = {}
    for row in log.stores.kv.scan(folder.partition, prefix=folder.prefix):
        id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="replace"))
        with suppress(CorruptData):
            if commit_id(row.value) == id:
                found[id] = decode(folder.model, row.value, f"commit {id} of the log of references")
    found.pop(head.id, None)
    reached, at = {head.id: head.header}, head.header
    while at.parents:
        parent = at.parents[0]
        try:
            at = found.pop(parent) if parent in found else read_internal(log.stores, log.repository, parent).header
        except CorruptData:
            return _Line(reached, found, broken=True)
        reached[parent] = at
    return _Line(reached, found, broken=False)


def _newest(log: ReferenceLog, head: StoredCommit, most: int) -> list[StoredCommit]:
    """Return the newest commits, newest first: fewer if the layout of one is missing or damaged."""
    kept = [head]
    with suppress(CorruptData):
        while len(kept) < most:
            kept.append(read_internal(log.stores, log.repository, kept[-1].header.parents[0]))
    return kept


def _rewritten(log: ReferenceLog, kept: list[StoredCommit]) -> CommitId:
    """Write commits again, given newest first. Return the id of the newest."""
    made = write_root(log, kept[-1])
    for commit in reversed(kept[:-1]):
        made = write_child(log, made, commit)
    return made.id


def _forget(log: ReferenceLog, line: _Line, before: datetime) -> int:
    """Delete the unreachable commits that were created and rewritten before a time, so that no reader uses them.

    Commits with younger descendants are kept.
    """
    others = line.others
    young = [
        id for id, one in others.items() if max(one.creation_date, rewritten_at(one) or one.creation_date) >= before
    ]
    gone = others.keys() - _with_ancestors(others, young)
    folders = keys.internal_history(log.repository)
    for id in sorted(gone, key=lambda id: others[id].generation, reverse=True):
        for folder in (folders.layouts, folders.headers):
            where = folder.at(id)
            log.stores.kv.delete(where.partition, where.key)
    return len(gone)


def _with_ancestors(commits: Mapping[CommitId, Commit], ids: Iterable[CommitId]) -> set[CommitId]:
    found, ahead = set[CommitId](), list(ids)
    while ahead:
        id = ahead.pop()
        if id in commits and id not in found:
            found.add(id)
            ahead += commits[id].parents
    return found

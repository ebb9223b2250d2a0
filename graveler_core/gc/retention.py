"""Commits that the retention rules of a repository do not keep.

A commit is kept if one of these is true:

1. It is the head of a branch, or a tag names it.
2. A branch reaches it, over first and further parents, and it is not older than the branch's rule allows.
3. It is the first commit on a branch's chain of first parents that is older than that. It has the content that the
   branch had at the beginning of the time.
4. No branch reaches it, and it is not older than the default rule allows.

The age of a commit is the time since its creation date, or since the latest creation date of an ancestor if that is
later. A commit is never older than its parents, but the clock of its machine may have been behind. A date that is later
than now is that of a wrong clock. Its commit is not old, but its descendants have their own dates. If a date is too
early and no ancestor has a later one, nothing shows it.

A rule allows its days, but at least the grace period of the collection, so that new commits of flows that have not
ended are not announced. Branches are examined in order of their days, the longest time first. A commit that a branch
does not keep is not kept by a branch with a shorter time either, so each commit is visited once. Memory holds some 400
bytes for each commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from graveler_core.errors import CorruptData, Kind
from graveler_core.gc.commits import HistoryGraph
from graveler_core.gc.stock import Progress
from graveler_core.kv.store import Store
from graveler_core.model.clock import CLOCKS_DIFFER
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId
from graveler_core.model.retention import Days, RetentionRules
from graveler_core.records import access
from graveler_core.records import layout as keys

_UNKNOWN = datetime.min.replace(tzinfo=UTC)
"""Stands for the date of a commit if a wrong clock made it, or if the commit is missing."""


@dataclass(frozen=True, slots=True)
class ReferencedCommits:
    """Heads of the branches, and commits of the tags."""

    branches: dict[BranchId, CommitId]
    tags: frozenset[CommitId]

    @property
    def commits(self) -> frozenset[CommitId]:
        """All commits that a branch or a tag names."""
        return self.tags.union(self.branches.values())


@dataclass(frozen=True, slots=True)
class DatedHistory:
    """References of a repository, and the dates and parents of all its commits. The commits were read last."""

    references: ReferencedCommits
    made: dict[CommitId, datetime]
    """Creation dates, those of ancestors before those of descendants."""
    parents: dict[CommitId, tuple[CommitId, ...]]


@dataclass(frozen=True, slots=True)
class _Line:
    """Branch with the rule that keeps its history."""

    head: CommitId
    days: Days
    rule: str
    """Description of the rule."""


def rules_of(kv: Store, repo: RepositoryRecord) -> RetentionRules:
    """Return the current retention rules of a repository."""
    held = access.read(kv, keys.retention(repo))
    return RetentionRules() if held is None else held.value.rules


def read_references(kv: Store, repo: RepositoryRecord) -> ReferencedCommits:
    """Read the branches and tags of a repository."""
    branches = {held.value.id: held.value.commit_id for _, held in access.scan(kv, keys.branches(repo))}
    return ReferencedCommits(branches, frozenset(held.value.commit_id for _, held in access.scan(kv, keys.tags(repo))))


def read_history(kv: Store, repo: RepositoryRecord, references: ReferencedCommits, progress: Progress) -> DatedHistory:
    """Read the headers of all commits, also of those that no reference reaches.

    Args:
        kv: Key-value store.
        repo: The repository.
        references: Branches and tags, read before.
        progress: Called with the number of commits read since the last call.

    Raises:
        CorruptData: A header is missing or damaged, so it is unknown which commits to keep.
    """
    graph = HistoryGraph(kv, keys.history(repo), progress)
    for finding in graph.read_all():
        raise CorruptData(f"commit {finding.id}: {finding.why}", kind=Kind.CorruptCommit, commit=finding.id)
    for start in references.commits:
        for finding in graph.reach(start, "a branch or tag"):
            raise CorruptData(f"commit {finding.id}: {finding.why}", kind=Kind.CorruptCommit, commit=finding.id)
    found = {id: header for id, header in graph.headers.items() if header is not None}
    made = {id: found[id].made for id in sorted(found, key=lambda id: found[id].generation)}
    return DatedHistory(references, made, {id: header.parents for id, header in found.items()})


def not_kept(history: DatedHistory, rules: RetentionRules, now: datetime, grace: timedelta) -> dict[CommitId, str]:
    """Return the commits that are not kept, each with a description of the rule that kept it longest.

    Args:
        history: References and commits of the repository.
        rules: Retention rules of the repository.
        now: Current time.
        grace: Grace period of the collection.
    """
    if not rules.expires:
        return {}
    references = history.references
    lines = [_Line(head, *rules.of(name)) for name, head in sorted(references.branches.items())]
    lines.sort(key=lambda line: float("inf") if line.days is None else line.days, reverse=True)
    ages = _Ages(history.made, _latest_dates(history, now), now, grace)
    expired, reached = dict[CommitId, str](), set[CommitId]()
    for line in lines:
        for id in _reach(history, line.head, reached):
            if ages.is_older(id, line.days):
                expired[id] = line.rule
    for id in history.made.keys() - reached:
        if ages.is_older(id, rules.days):
            expired[id] = rules.default_rule
    walked = set[tuple[Days, CommitId]]()
    for line in lines:
        expired.pop(_first_content(history, ages, line, walked), None)
    for id in references.commits:
        expired.pop(id, None)
    return expired


@dataclass(frozen=True, slots=True)
class _Ages:
    made: dict[CommitId, datetime]
    latest: dict[CommitId, datetime]
    """Latest dates of the commits and their ancestors."""
    now: datetime
    grace: timedelta

    def is_older(self, id: CommitId, days: Days) -> bool:
        """Return `True` if a commit is older than a rule with some days allows."""
        if days is None:
            return False
        return max(self.made[id], self.latest[id]) < self.now - max(timedelta(days=days), self.grace)


def _latest_dates(history: DatedHistory, now: datetime) -> dict[CommitId, datetime]:
    """Return for each commit the latest of its date and its ancestors' dates, without those that are later than now."""
    latest = dict[CommitId, datetime]()
    for id, made in history.made.items():
        own = made if made <= now + CLOCKS_DIFFER else _UNKNOWN
        # A parent that was removed or is missing has no date. This can only be the parent of an unreached commit.
        latest[id] = max([own, *(latest.get(parent, _UNKNOWN) for parent in history.parents[id])])
    return latest


def _reach(history: DatedHistory, head: CommitId, reached: set[CommitId]) -> Iterator[CommitId]:
    """Yield a commit and its ancestors, except those that were reached before."""
    ahead = [head]
    while ahead:
        id = ahead.pop()
        if id not in reached:
            reached.add(id)
            yield id
            ahead += history.parents[id]


def _first_content(history: DatedHistory, ages: _Ages, line: _Line, walked: set[tuple[Days, CommitId]]) -> CommitId:
    """Return the first of a branch's first parents that is older than its rule allows. If there is none, or if it was
    found before for equal days, return a commit that is kept.
    """
    id = line.head
    while line.days is not None and (line.days, id) not in walked:
        walked.add((line.days, id))
        parents = history.parents[id]
        if not parents or ages.is_older(id, line.days):
            break
        id = parents[0]
    return id

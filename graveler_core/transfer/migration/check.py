"""Complete check of a source repository before anything is written, and computation of the new commits.

Every row is checked by itself (`rows`, `entries`) and against the others: commits have their parents and form no cycle,
branches and tags refer to commits, no two branches share a staging token, and the default branch exists. Every tree
must exist and be readable: all its nodes are read (`metaranges`); ranges are read if they differ from the first
parent's, which gives the operations of the commit; other ranges are looked up in a listing of the namespace.

Broken rows are collected and the check continues, so that one run reports all of them. A commit with a broken tree or
parent has no header; of its descendants only the rows are checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graveler_core.codec.records import encode, identify
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.operations import operations_between
from graveler_core.errors import CorruptData
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.foreign import foreign_header
from graveler_core.transfer.migration import entries, lineage
from graveler_core.transfer.migration.metaranges import Metaranges, metarange_of
from graveler_core.transfer.migration.report import Amounts, BrokenRows, Progress
from graveler_core.transfer.migration.rows import (
    SourceBranch,
    SourceCommit,
    SourceRepository,
    SourceTag,
    branch_of,
    commit_of,
    id_of,
    parents_of,
    tag_of,
)
from graveler_core.transfer.migration.source import IDS_AT_ONCE, SourceSnapshot
from graveler_core.transfer.named_files import first_missing


@dataclass(frozen=True, slots=True)
class Known:
    """New commit of a source commit."""

    id: CommitId
    generation: int
    metarange_id: MetarangeId
    operations: str
    """Empty for a commit that an earlier run has created."""


@dataclass(slots=True)
class Checked:
    """Source repository that was read completely."""

    repository: SourceRepository
    broken: BrokenRows = field(default_factory=BrokenRows)
    branches: dict[str, tuple[SourceBranch, int]] = field(default_factory=dict)
    """By name, with the number of staged records."""
    tags: dict[str, SourceTag] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Ids of the commits, parents before children."""
    commits: dict[str, Known] = field(default_factory=dict)

    @property
    def amounts(self) -> Amounts:
        """Return the size of the repository."""
        staged = sum(count for _, count in self.branches.values())
        return Amounts(len(self.branches), len(self.tags), len(self.order), staged)


def check(
    snapshot: SourceSnapshot,
    repository: SourceRepository,
    indexes: Indexes,
    made: Mapping[str, CommitId],
    progress: Progress = lambda more: None,
) -> Checked:
    """Read a source repository. Writes nothing.

    Memory holds its branches and tags, about 800 bytes for each commit, and 100 for each node of its trees.

    Args:
        snapshot: State of the source.
        repository: The repository.
        indexes: Indexes of the future repository, whose boundary seed must be that of the trees.
        made: Commits that an earlier run has created. Their operations are not computed again.
        progress: Called with the number of additional rows that were read.
    """
    work = _Check(snapshot, Checked(repository), indexes, progress)
    work.commits(made)
    work.refs()
    work.staged()
    work.files()
    return work.found


def foreign(commit: SourceCommit) -> ForeignCommit:
    """Return a source commit as a foreign commit of a dump, with its id in the metadata."""
    return ForeignCommit(
        id=commit.id,
        metarange_id=metarange_of(commit.meta_range_id),
        parents=commit.parents,
        message=commit.message,
        committer=commit.committer,
        creation_date=commit.creation_date,
        metadata={**commit.metadata, ORIGIN: commit.id},
    )


def header(commit: SourceCommit, parents: Sequence[Known], operations: str) -> Commit:
    """Return the header of a new commit. It depends only on the source."""
    made = foreign(commit)
    return foreign_header(made, encode(made), [(parent.id, parent.generation) for parent in parents], operations)


def in_order(
    snapshot: SourceSnapshot, repository: str, order: Sequence[str], broken: BrokenRows
) -> Iterator[SourceCommit]:
    """Yield commits, parents before children. Broken rows are collected and skipped."""
    for start in range(0, len(order), IDS_AT_ONCE):
        ids = order[start : start + IDS_AT_ONCE]
        found = snapshot.commits_by_id(repository, ids)
        for id in ids:
            try:
                yield commit_of(found[id])
            except BrokenValueError as e:
                broken.add("graveler_commits", id, str(e))


@dataclass(slots=True)
class _Check:
    snapshot: SourceSnapshot
    found: Checked
    indexes: Indexes
    progress: Progress
    metaranges: Metaranges = field(init=False)
    ids: set[str] = field(default_factory=set)
    """Ids of all commits, including broken ones, so that references to broken commits are not reported again."""

    def __post_init__(self) -> None:
        self.metaranges = Metaranges(self.indexes.trees)

    def commits(self, made: Mapping[str, CommitId]) -> None:
        """Order the commits and compute each of them."""
        found, broken = self.found, self.found.broken
        parents: dict[str, tuple[str, ...]] = {}
        for id, named, version in self.snapshot.parents(found.repository.id):
            try:
                if id_of(id, "id") in self.ids:
                    raise BrokenValueError("is duplicated")
                self.ids.add(id)
                parents[id] = parents_of(named, version)
            except BrokenValueError as e:
                broken.add("graveler_commits", id, str(e))
        found.order = lineage.ordered(parents, self.ids, lambda id, why: broken.add("graveler_commits", id, why))
        for commit in in_order(self.snapshot, found.repository.id, found.order, broken):
            try:
                self._commit(commit, made.get(commit.id))
            except (BrokenValueError, CorruptData) as e:
                broken.add("graveler_commits", commit.id, str(e))
            self.progress(1)
        for _ in in_order(self.snapshot, found.repository.id, sorted(parents.keys() - set(found.order)), broken):
            self.progress(1)

    def _commit(self, commit: SourceCommit, made: CommitId | None) -> None:
        if ORIGIN in commit.metadata:
            raise BrokenValueError(f"metadata has the key {ORIGIN!r}, which is reserved for the id in the source")
        metarange = metarange_of(commit.meta_range_id)
        self.metaranges.check(metarange)
        parents = [self.found.commits.get(parent) for parent in commit.parents]
        whole = [parent for parent in parents if parent is not None]
        if len(whole) < len(parents):
            return
        generation = 1 + max((parent.generation for parent in whole), default=0)
        if made is not None:
            self.found.commits[commit.id] = Known(made, generation, metarange, "")
            return
        before = Index(metarange_id=whole[0].metarange_id) if whole else None
        operations = operations_between(self.indexes, before, Index(metarange_id=metarange))
        id = identify(header(commit, whole, operations))
        self.found.commits[commit.id] = Known(id, generation, metarange, operations)

    def refs(self) -> None:
        """Read branches and tags."""
        found, broken, tokens = self.found, self.found.broken, dict[str, str]()
        name, names = found.repository.id, set[object]()
        for row in self.snapshot.branches(name):
            names.add(row[0])
            try:
                branch = branch_of(row)
                self._named(branch.commit_id)
                if branch.id in found.branches:
                    raise BrokenValueError("is duplicated")
                if branch.staging_token is not None:
                    other = tokens.setdefault(branch.staging_token, branch.id)
                    if other != branch.id:
                        raise BrokenValueError(f"staging_token {branch.staging_token!r} is also used by branch {other}")
                found.branches[branch.id] = (branch, 0)
            except BrokenValueError as e:
                broken.add("graveler_branches", row[0], str(e))
        for row in self.snapshot.tags(name):
            try:
                tag = tag_of(row)
                self._named(tag.commit_id)
                if tag.id in found.tags:
                    raise BrokenValueError("is duplicated")
                found.tags[tag.id] = tag
            except BrokenValueError as e:
                broken.add("graveler_tags", row[0], str(e))
        default = found.repository.default_branch
        if default not in names:
            broken.add("graveler_repositories", name, f"default_branch {default!r} is missing")

    def _named(self, commit: str) -> None:
        if commit not in self.ids:
            raise BrokenValueError(f"commit_id {commit} does not exist")

    def staged(self) -> None:
        """Read staged records."""
        place = self.found.repository.storage_namespace
        for name, (branch, _) in self.found.branches.items():
            if branch.staging_token is not None:
                count = 0

                def taken(key: object, rule: str, branch: str = name) -> None:
                    self.found.broken.add("graveler_staging_kv", f"of branch {branch}, {_shown(key)}", rule)

                for table in entries.tables(self.snapshot.staged(branch.staging_token), place, taken):
                    count += table.num_rows
                    self.progress(table.num_rows)
                self.found.branches[name] = (branch, count)

    def files(self) -> None:
        """Look up the files of all trees in a listing of the namespace."""
        missing = first_missing(self.indexes.trees.blobs, self.metaranges.files)
        if missing is not None:
            rule = (
                f"{missing}, which the trees of its commits need, is not in {self.found.repository.storage_namespace}"
            )
            self.found.broken.add("graveler_repositories", self.found.repository.id, rule)


def _shown(key: object) -> str:
    return repr(key.decode(errors="backslashreplace")) if isinstance(key, bytes) else repr(key)

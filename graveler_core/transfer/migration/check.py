"""Reading a repository of the source whole, before anything of it is written, and reckoning what its commits become.

Every row is checked by itself (`rows`, `entries`), and against the others: commits have their parents and lead nowhere
in a circle, branches and tags name commits, no two branches share a staging token, the default branch is there. Every
tree is there and can be read: all its nodes are looked at (`metaranges`), its ranges are read where they differ from
the first parent's, which is how a commit's operations are reckoned, and the others are looked for in the namespace.

What is broken is taken down, and reading goes on, so that one run tells all of it; a commit whose tree or parent is
broken has no header, and of its descendants only the rows are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graveler_core.codec.content_hash import HASH
from graveler_core.codec.records import encode, identify
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.operations import operations_between
from graveler_core.errors import CorruptData
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId, MetarangeId, Nonce
from graveler_core.model.index import Index
from graveler_core.transfer.migration import entries, lineage
from graveler_core.transfer.migration.metaranges import Metaranges, metarange_of
from graveler_core.transfer.migration.report import Amounts, BrokenRows, Progress
from graveler_core.transfer.migration.rows import (
    BrokenValueError,
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
from graveler_core.transfer.migration.source import IDS_AT_ONCE, Snapshot
from graveler_core.transfer.named_files import first_missing

ORIGIN = "graveler.migrated-from"
"""The key of a commit's metadata that holds the id that it had in the source."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a commit of the source becomes."""

    id: CommitId
    generation: int
    metarange_id: MetarangeId
    operations: str
    """Of a commit that was made by an earlier run: ""."""


@dataclass(slots=True)
class Checked:
    """A repository of the source that was read whole."""

    repository: SourceRepository
    broken: BrokenRows = field(default_factory=BrokenRows)
    branches: dict[str, tuple[SourceBranch, int]] = field(default_factory=dict)
    """By name, with how many records are staged on each."""
    tags: dict[str, SourceTag] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """The ids of the commits, parents before children."""
    commits: dict[str, Known] = field(default_factory=dict)

    @property
    def amounts(self) -> Amounts:
        """How much it is."""
        staged = sum(count for _, count in self.branches.values())
        return Amounts(len(self.branches), len(self.tags), len(self.order), staged)


def check(
    snapshot: Snapshot,
    repository: SourceRepository,
    indexes: Indexes,
    made: Mapping[str, CommitId],
    progress: Progress = lambda more: None,
) -> Checked:
    """Read a repository of the source. Writes nothing.

    In memory are its branches and tags, some 800 bytes a commit, and 100 a node of its trees.

    Args:
        indexes: Of the repository that is to be; the boundary seed is that of its trees.
        made: Commits that an earlier run has made: their operations are not reckoned again.
        progress: Told how many more rows were read.
    """
    work = _Check(snapshot, Checked(repository), indexes, progress)
    work.commits(made)
    work.refs()
    work.staged()
    work.files()
    return work.found


def foreign(commit: SourceCommit) -> ForeignCommit:
    """A commit of the source as a restoration knows foreign ones, its id kept in its metadata."""
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
    """The header that a commit of the source gets. The same whoever makes it."""
    made = foreign(commit)
    return Commit(
        committer=made.committer,
        message=made.message,
        creation_date=made.creation_date,
        parents=tuple(parent.id for parent in parents),
        metadata=made.metadata,
        generation=1 + max((parent.generation for parent in parents), default=0),
        nonce=Nonce(HASH(encode(made)).hexdigest()[:32]),
        operations=operations,
    )


def in_order(snapshot: Snapshot, repository: str, order: Sequence[str], broken: BrokenRows) -> Iterator[SourceCommit]:
    """Commits, parents before children; broken rows are taken down and left out."""
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
    snapshot: Snapshot
    found: Checked
    indexes: Indexes
    progress: Progress
    metaranges: Metaranges = field(init=False)
    ids: set[str] = field(default_factory=set)
    """Of all commits, broken ones too: what names one of those is not told again."""

    def __post_init__(self) -> None:
        self.metaranges = Metaranges(self.indexes.trees)

    def commits(self, made: Mapping[str, CommitId]) -> None:
        """Put the commits in order, then reckon each."""
        found, broken = self.found, self.found.broken
        parents: dict[str, tuple[str, ...]] = {}
        for id, named, version in self.snapshot.parents(found.repository.id):
            try:
                if id_of(id, "id") in self.ids:
                    raise BrokenValueError("is there twice")
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
            raise BrokenValueError(f"metadata has the key {ORIGIN!r}, which is kept for the id of the source")
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
        """Read branches and tags, which name commits."""
        found, broken, tokens = self.found, self.found.broken, dict[str, str]()
        name, names = found.repository.id, set[object]()
        for row in self.snapshot.branches(name):
            names.add(row[0])
            try:
                branch = branch_of(row)
                self._named(branch.commit_id)
                if branch.id in found.branches:
                    raise BrokenValueError("is there twice")
                if branch.staging_token is not None:
                    other = tokens.setdefault(branch.staging_token, branch.id)
                    if other != branch.id:
                        raise BrokenValueError(f"staging_token {branch.staging_token!r} is that of branch {other}, too")
                found.branches[branch.id] = (branch, 0)
            except BrokenValueError as e:
                broken.add("graveler_branches", row[0], str(e))
        for row in self.snapshot.tags(name):
            try:
                tag = tag_of(row)
                self._named(tag.commit_id)
                if tag.id in found.tags:
                    raise BrokenValueError("is there twice")
                found.tags[tag.id] = tag
            except BrokenValueError as e:
                broken.add("graveler_tags", row[0], str(e))
        default = found.repository.default_branch
        if default not in names:
            broken.add("graveler_repositories", name, f"default_branch {default!r} is not there")

    def _named(self, commit: str) -> None:
        if commit not in self.ids:
            raise BrokenValueError(f"commit_id {commit} is not there")

    def staged(self) -> None:
        """Read what is staged."""
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
        """Look for the files of all trees in the namespace."""
        missing = first_missing(self.indexes.trees.blobs, self.metaranges.files)
        if missing is not None:
            rule = f"{missing}, which trees of its commits need, is not in {self.found.repository.storage_namespace}"
            self.found.broken.add("graveler_repositories", self.found.repository.id, rule)


def _shown(key: object) -> str:
    return repr(key.decode(errors="backslashreplace")) if isinstance(key, bytes) else repr(key)

"""Objects that a repository names: in its staged changes, compacted trees, and all commits.

0. If the repository is not active: read the commits that have no index yet.
1. For each branch: read its layers and its compacted tree, and then the branch record again. If the record has changed,
   read what it lists now.
2. Read the layouts of all commits, including unreachable ones, and the items to which they refer, each once. The order
   is: heads and tags, other commits, expiring commits. Commits whose content has expired are left out, and so are
   missing runs of commits that were never written completely (`gc.half_written`).

Names may move during the walk: a commit takes staged changes, a merge takes those of another branch, and branches are
deleted. A layer leaves its branch when a commit or a compacted tree contains its visible records. The layout of the
commit is stored before that, so step 2, which comes later, finds it. A compacted tree is in the changed branch record.
A name that existed at the start is therefore found, unless all that contained it was dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.codec.elements import decode_elements
from graveler_core.codec.staged_record import decode_record
from graveler_core.committed import node
from graveler_core.errors import CorruptData, Kind, NotFound, SlowDown
from graveler_core.gc.commit_groups import NO_GROUPS, CommitGroups, NamedBy
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.half_written import HalfWrittenCommits
from graveler_core.gc.named_files import EntryFile, EntryFileKind, read_entries, read_item, uncached, with_address
from graveler_core.gc.stock import Progress
from graveler_core.model.entities import BranchRecord, Layout, RepositoryRecord, RepositoryState
from graveler_core.model.entry import ENTRY_SCHEMA, Entry
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index, Run, RunLocation
from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from graveler_core.objects.incomplete_commits import scan_incomplete
from graveler_core.objects.objects import Objects
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import KEY
from graveler_core.staging import area, segment_layer
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores

COLUMNS = ("address", "address_type")
"""Columns of the tables of `named_addresses`."""
Damaged = Callable[[Finding], object]
"""Function that is called with each item that could not be read."""
_LAYOUTS = 1_000
"""Number of layouts that are read at once."""
_ATTEMPTS = 1_000
"""Maximum number of reads of a branch that changes all the time."""


def named_addresses(
    stores: Stores, repo: RepositoryRecord, progress: Progress, groups: CommitGroups = NO_GROUPS
) -> Iterator[tuple[NamedBy, pa.Table]]:
    """Yield the addresses that entries of a repository name, as tables with the columns `COLUMNS`. An address may occur
    many times.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        progress: Called with the number of items examined since the last call.
        groups: Commits with a special treatment.

    Raises:
        CorruptData: An item is missing or damaged, so the addresses in it are unknown.
        SlowDown: A branch changes so often that it could not be read.
    """
    walk = _Walk(stores, repo, progress, _columns(COLUMNS))
    return ((by, table) for by, _, table in walk.all(groups))


def named_parts(
    stores: Stores, repo: RepositoryRecord, progress: Progress, groups: CommitGroups = NO_GROUPS
) -> Iterator[tuple[NamedBy, pa.Table | EntryFile]]:
    """Yield the same as `named_addresses`, but ranges and large runs as files that are not read yet.

    Only files of committed content are left to others, because they never change. Staged changes are read here, before
    the branch record is read again.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        progress: Called with the number of items examined since the last call.
        groups: Commits with a special treatment.

    Raises:
        CorruptData: An item is missing or damaged.
        SlowDown: A branch changes so often that it could not be read.
    """
    walk = _Walk(stores, repo, progress, _columns(COLUMNS), deferred=True)
    return ((by, part) for by, _, part in walk.all(groups))


@dataclass(frozen=True, slots=True)
class WantedEntries:
    """Entries and columns to read."""

    columns: Sequence[str]
    """Names of columns, in the order of `ENTRY_SCHEMA`. `address` must be one of them. Other columns of ranges are not
    read.
    """
    without: Set[CommitId] = frozenset()
    """Commits that are left out."""
    inline: bool = False
    """Also yield entries that contain their content. `address_type` must then be one of the columns."""


def named_objects(
    stores: Stores, repo: RepositoryRecord, wanted: WantedEntries, progress: Progress, damaged: Damaged | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """Yield columns of the entries that name an object, as tables. An object may occur many times.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        wanted: Entries and columns to read.
        progress: Called with the number of items examined since the last call.
        damaged: Called for each item that is missing or damaged, which is then skipped. Without it, such an item ends
            the walk.

    Yields:
        A branch or commit that contains the entries ("branch main", "commit 2a…"), and the entries. A table that
        several commits share is read once.

    Raises:
        CorruptData: An item is missing or damaged, and `damaged` is not given.
        SlowDown: A branch changes so often that it could not be read.
    """
    walk = _Walk(stores, repo, progress, _columns(wanted.columns), damaged, wanted.inline)
    return ((source, table) for _, source, table in walk.all(CommitGroups(expired=wanted.without)))


def _columns(names: Sequence[str]) -> pa.Schema:
    return pa.schema(map(ENTRY_SCHEMA.field, names))


@dataclass(frozen=True, slots=True)
class _Failure:
    """Item that could not be read."""

    error: CorruptData
    thing: Thing
    id: str

    def finding(self, named_by: str) -> Finding:
        missing = isinstance(self.error.__cause__, NotFound)
        trouble = Trouble.MISSING if missing else Trouble.CORRUPT
        return Finding(trouble, self.thing, self.id, self.error.message, named_by)


@dataclass(slots=True)
class _Walk:
    stores: Stores
    repository: RepositoryRecord
    progress: Progress
    schema: pa.Schema
    """Columns of the tables."""
    damaged: Damaged | None = None
    inline: bool = False
    deferred: bool = False
    """Yield ranges and large runs as files, without reading them."""
    seen: set[bytes] = field(default_factory=set)
    """Ids of the nodes, ranges and runs that were read."""
    added: list[bytes] = field(default_factory=list)
    """Ids that were added to `seen` since the walk began with the current branch or index."""
    segments: set[str] = field(default_factory=set)
    """Ids of the segment layers that were read."""
    failures: list[_Failure] = field(default_factory=list)
    """Items of the current branch or index that could not be read."""
    half_written: HalfWrittenCommits = field(init=False)

    def __post_init__(self) -> None:
        self.half_written = HalfWrittenCommits(self.stores, self.repository, self.progress)

    @property
    def blobs(self) -> Blobs:
        """Storage namespace without the caches of this process."""
        return uncached(self.stores, self.repository)

    def all(self, groups: CommitGroups) -> Iterator[tuple[NamedBy, str, Any]]:
        """Yield the entries of all branches and commits, with what contains them.

        Raises:
            CorruptData: An item is missing or damaged. The error names the repository, because a walk for another one
                can find it.
        """
        try:
            yield from self._all(groups)
        except CorruptData as e:
            id = self.repository.id
            raise CorruptData(f"repository {id!r}: {e.message}", kind=e.kind, **e.details | {"repository": id}) from e

    def _all(self, groups: CommitGroups) -> Iterator[tuple[NamedBy, str, Any]]:
        if self.repository.state is not RepositoryState.ACTIVE:
            yield from self._without_indexes()
        branches = keys.branches(self.repository)
        for _, held in access.scan(self.stores.kv, branches, damaged=self._skipping(Thing.BRANCH)):
            for table in self.branch(held.value):
                yield NamedBy.LIVE, f"branch {held.value.id}", table
        for by, commits in self._layouts(groups):
            for id, layout in commits:
                for table in self.index(layout.index, id):
                    yield by, f"commit {id}", table
                self.progress(1)

    def _without_indexes(self) -> Iterator[tuple[NamedBy, str, pa.Table]]:
        """Yield the entries of commits that have no index yet. When they get one, their layouts are written before
        these records are removed, and this walk reads the layouts later.
        """
        for commit, changes in scan_incomplete(self.stores.kv, self.repository):
            yield NamedBy.HISTORY, f"commit {commit.id}", self._of_elements(changes, f"changes of commit {commit.id}")
            self.progress(1)

    def _skipping(self, thing: Thing) -> Callable[[CorruptData], object] | None:
        """Return the function that is called with the errors of records, or `None` if they end the walk."""
        damaged = self.damaged
        if damaged is None:
            return None
        return lambda error: damaged(_Failure(error, thing, error.details["record"]).finding(""))

    def _layouts(self, groups: CommitGroups) -> Iterator[tuple[NamedBy, Iterable[tuple[str, Layout]]]]:
        folder = keys.commit_layouts(self.repository)
        apart = groups.live | groups.expiring | groups.expired
        others = access.scan(self.stores.kv, folder, damaged=self._skipping(Thing.LAYOUT))
        yield NamedBy.LIVE, self._read_layouts(groups.live, required=True)
        yield NamedBy.HISTORY, ((id, held.value) for id, held in others if id not in apart)
        yield NamedBy.EXPIRING, self._read_layouts(groups.expiring, required=False)

    def _read_layouts(self, commits: Set[CommitId], *, required: bool) -> Iterator[tuple[str, Layout]]:
        """Yield the layouts of commits. A process that was killed while it stored a commit may have left a header
        without a layout. Such a commit names nothing.
        """
        ahead = iter(sorted(commits))
        while ids := list(islice(ahead, _LAYOUTS)):
            locations = [keys.commit_layout(self.repository, id) for id in ids]
            for id, held in zip(ids, access.read_many(self.stores.kv, locations), strict=True):
                if held is None and not required:
                    continue
                if held is None:
                    raise CorruptData(f"commit {id}: its layout is missing", kind=Kind.CorruptCommit, commit=id)
                yield id, held.value

    def branch(self, branch: BranchRecord) -> Iterator[pa.Table]:
        """Yield the entries in the layers and the compacted tree of a branch, until its record is unchanged."""
        for _ in range(_ATTEMPTS):
            self._begin()
            yield from self._of_record(branch)
            now = access.read(self.stores.kv, keys.branch(self.repository, branch.id))
            if now is not None and now.value == branch:
                self._settle(f"branch {branch.id}")
                return
            if self.failures:  # a layer that the branch does not list any more may be deleted
                self.seen.difference_update(self.added)
            if now is None:
                return
            branch = now.value
        raise SlowDown(f"branch {branch.id!r}: changed {_ATTEMPTS} times while it was read; try again later")

    def index(self, index: Index, commit: str) -> Iterator[pa.Table]:
        """Yield the entries in the index of a commit, except in parts that were read before."""
        self._begin()
        if index.inline:
            yield from self._tried(lambda: self._of_elements(index.inline, "inline index"), Thing.INDEX, commit)
        for run in index.runs:
            if not self._first_time(run.id):
                continue
            if run.place is RunLocation.BLOB:
                yield from self._of_files([EntryFile(run.id, EntryFileKind.RUN, run.elements)])
            else:
                yield from self._of_run(run, commit)
        yield from self._of_tree(index.metarange_id)
        self._settle(f"commit {commit}")

    def _begin(self) -> None:
        self.added, self.failures = [], []

    def _settle(self, named_by: str) -> None:
        """Report the items that could not be read.

        Raises:
            CorruptData: There is such an item, and `damaged` is not given.
        """
        for failure in self.failures:
            if self.damaged is None:
                error = failure.error
                raise CorruptData(f"{named_by}: {error.message}", kind=error.kind, **error.details) from error
            self.damaged(failure.finding(named_by))

    def _tried(self, read: Callable[[], pa.Table], thing: Thing, id: str) -> Iterator[pa.Table]:
        """Yield a table, or note that it could not be read."""
        try:
            yield read()
        except CorruptData as e:
            self.failures.append(_Failure(e, thing, id))

    def _of_record(self, branch: BranchRecord) -> Iterator[pa.Table]:
        for layer in layers_of(branch):
            try:
                yield from self._of_layer(layer)
            except CorruptData as e:
                self.failures.append(_Failure(e, Thing.LAYER, layer.id))
        if branch.compacted_metarange is not None:
            yield from self._of_tree(branch.compacted_metarange)

    def _of_layer(self, layer: Layer) -> Iterator[pa.Table]:
        if isinstance(layer, SealedToken):
            for table in area.scan(self.stores.kv, layer.token):
                yield self._named(table)
                self.progress(table.num_rows)
        elif isinstance(layer, SegmentLayer) and layer.id not in self.segments:
            for piece in segment_layer.manifest(self.blobs, layer.id).pieces:
                yield self._named(segment_layer.read_piece(self.blobs, layer.id, piece))
                self.progress(piece.count)
            self.segments.add(layer.id)

    def _of_tree(self, root: MetarangeId) -> Iterator[pa.Table]:
        ahead = [str(root)] if self._first_time(root) else []
        while ahead:
            id = ahead.pop()
            try:
                found = node.decode(read_item(self.blobs, id), id)
            except CorruptData as e:
                self.failures.append(_Failure(e, Thing.NODE, id))
                continue
            new = [row for row in found.rows if self._first_time(row.id)]
            if found.level:
                ahead += [row.id for row in new]
            else:
                yield from self._of_files([EntryFile(row.id, EntryFileKind.RANGE, row.entries) for row in new])

    def _of_files(self, files: list[EntryFile]) -> Iterator[Any]:
        """Yield the entries of files, or the files."""
        if self.deferred:
            yield from files
            return
        for result in self.stores.executor.map(self._of_file, files):
            if isinstance(result, _Failure):
                self.failures.append(result)
            else:
                yield result

    def _of_file(self, file: EntryFile) -> pa.Table | _Failure:
        try:
            return read_entries(self.blobs, file, self.schema, inline=self.inline)
        except CorruptData as e:
            return _Failure(e, Thing.RANGE if file.kind is EntryFileKind.RANGE else Thing.RUN, file.id)

    def _of_run(self, run: Run, commit: str) -> Iterator[pa.Table]:
        objects = Objects(self.stores.kv, self.repository, self.stores.clock)
        try:
            yield self._of_elements(objects.read(run.id), f"run {run.id}")
        except CorruptData as e:
            if self.half_written.lacks(commit, run.id):
                self.seen.discard(bytes.fromhex(run.id))  # another commit may refer to it
            else:
                self.failures.append(_Failure(e, Thing.RUN, run.id))

    def _of_elements(self, data: bytes, name: str) -> pa.Table:
        found = list[tuple[bytes, Entry]]()
        for element in decode_elements(data, name):
            entry = decode_record(element.key.decode(errors="backslashreplace"), element.record)
            if entry is not None and (self.inline or entry.address is not None):
                found.append((element.key, entry))
        columns = [
            [key for key, _ in found] if each.name == KEY else [getattr(entry, each.name) for _, entry in found]
            for each in self.schema
        ]
        return pa.table([pa.array(*pair) for pair in zip(columns, self.schema.types, strict=True)], schema=self.schema)

    def _named(self, table: pa.Table) -> pa.Table:
        """Return the wanted columns of the rows that have an address, or of all entries."""
        return with_address(table, self.schema, inline=self.inline)

    def _first_time(self, id: str) -> bool:
        key = bytes.fromhex(id)
        if key in self.seen:
            return False
        self.seen.add(key)
        self.added.append(key)
        return True

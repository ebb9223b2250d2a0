"""Writing of the commits of lakeFS as commits of graveler.

Each commit is built on the index of its first parent, from the entries in which the metaranges of both differ. Ranges
that both share are not read. The id of a commit covers values that only graveler computes, so it is new; the id in
lakeFS is in its metadata. All these values depend only on lakeFS and on the location of its objects, so a repetition
gives the same ids.

lakeFS and graveler compare entries without address and time. A commit of lakeFS may nevertheless change only these.
Such a commit changes the tree of graveler directly, because layers above a tree keep no change that compares as equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import pyarrow as pa

from graveler_core.codec.records import encode
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.operations import operations_between
from graveler_core.committed.index.successor import Successor, on_metarange, successor
from graveler_core.committed.node import EMPTY
from graveler_core.committed.trees import count_entries, encoded
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.commit_texts import require_texts
from graveler_core.model.dump import ForeignCommit
from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.index import Index
from graveler_core.model.migration import ORIGIN
from graveler_core.objects.commits import StoredCommit, prepare, read_commit
from graveler_core.stores import Stores
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.foreign import foreign_header
from graveler_core.transfer.lakefs.entries import Addressing, EntryRow, entry_row, records, tombstone
from graveler_core.transfer.lakefs.messages import EntryMessage
from graveler_core.transfer.lakefs.metaranges import Change, LakefsMetaranges
from graveler_core.transfer.lakefs.references import LakefsCommit
from graveler_core.transfer.migrated import CommitBatches

PAGE_ENTRIES = 5_000
"""Number of entries that are converted at once."""
EMPTY_INDEX = Index(metarange_id=MetarangeId(encoded(EMPTY)[0]))


@dataclass(slots=True)
class CommitWriter:
    """Commits of one repository that are being written."""

    stores: Stores
    indexes: Indexes
    metaranges: LakefsMetaranges
    addressing: Addressing
    commits: Mapping[str, LakefsCommit]
    """All commits of lakeFS by their ids."""
    made: dict[str, CommitId]
    """New ids by the ids in lakeFS, also of the commits of earlier runs."""
    batches: CommitBatches
    _waiting: dict[CommitId, StoredCommit] = field(default_factory=dict)

    def write(self, commits: Iterable[LakefsCommit]) -> Iterator[CommitId]:
        """Write commits whose parents exist or precede them. Yield the new id of each.

        Raises:
            CorruptData: A range of lakeFS is missing or damaged, or an entry breaks a rule of graveler.
            InvalidInput: The texts of a commit are too long.
        """
        for commit in commits:
            yield self._one(commit)
        self.batches.flush()

    def _one(self, commit: LakefsCommit) -> CommitId:
        require_texts(commit.message, commit.committer, commit.metadata)
        repo = self.indexes.objects.repository
        parents = [self._stored(self.made[parent]) for parent in commit.parents]
        made = self._content(commit, parents[0] if parents else None)
        stored, writes = prepare(repo, _header(commit, parents, made.operations), Layout(index=made.index))
        self.made[commit.id] = stored.id
        self._waiting[stored.id] = stored
        self.batches.add(commit.id, stored.id, [*made.writes, *writes])
        # The next commit may read the runs of this one, so they are written now.
        if made.writes:
            self.batches.flush()
        if self.batches.empty:
            self._waiting.clear()
        return stored.id

    def _stored(self, id: CommitId) -> StoredCommit:
        waiting = self._waiting.get(id)
        return waiting or read_commit(self.stores.kv, self.stores.commits, self.indexes.objects.repository, id)

    def _content(self, commit: LakefsCommit, parent: StoredCommit | None) -> Successor:
        """Build the index of a commit."""
        base = EMPTY_INDEX if parent is None else parent.layout.index
        changes = self.metaranges.changes(self._metarange(commit), commit.metarange)
        most = self.indexes.sizes.direct_beyond(count_entries(self.indexes.trees, base.metarange_id))
        few = list(islice(changes, most + 1))
        tables = self._tables(commit, chain(few, changes))
        mapper = self.stores.executor.map
        if parent is not None and (len(few) > most or any(map(_compares_as_equal, few))):
            made = on_metarange(self.indexes, base, tables, mapper=mapper, verbatim=True)
            # The operations of a commit do not include changes that compare as equal.
            return replace(made, operations=operations_between(self.indexes, base, made.index))
        return successor(self.indexes, base, tables, mapper=mapper)

    def _metarange(self, commit: LakefsCommit) -> str:
        """Return the metarange of the first parent."""
        return self.commits[commit.parents[0]].metarange if commit.parents else ""

    def _tables(self, commit: LakefsCommit, changes: Iterator[Change]) -> Iterator[pa.Table]:
        def broken(key: object, rule: str) -> None:
            raise CorruptData(f"commit {commit.id} of lakeFS, entry {key!r}: {rule}", kind=Kind.CorruptRange)

        while page := list(islice(changes, PAGE_ENTRIES)):
            table = records(self._rows(page, broken), broken)
            assert table is not None  # noqa: S101 - broken() raises
            yield table

    def _rows(self, page: Sequence[Change], broken: Callable[[object, str], None]) -> list[EntryRow]:
        rows: list[EntryRow] = []
        for key, _, data in page:
            try:
                rows.append(tombstone(key) if data is None else entry_row(key, data, self.addressing))
            except BrokenValueError as e:
                broken(key, str(e))
        return rows


def _header(commit: LakefsCommit, parents: Sequence[StoredCommit], operations: str) -> Commit:
    """Return the header of a new commit. It depends only on its arguments."""
    made = ForeignCommit(
        id=commit.id,
        metarange_id=MetarangeId(commit.metarange),
        parents=commit.parents,
        message=commit.message,
        committer=commit.committer,
        creation_date=commit.creation_date,
        metadata={**commit.metadata, ORIGIN: commit.id},
    )
    named = [(parent.id, parent.header.generation) for parent in parents]
    return foreign_header(made, encode(made), named, operations)


def _compares_as_equal(change: Change) -> bool:
    """Return true if a change replaces an entry by one that differs only in address and time."""
    _, before, after = change
    if before is None or after is None:
        return False
    sides = [EntryMessage.FromString(data) for data in (before, after)]
    for side in sides:
        side.ClearField("address")
        side.ClearField("last_modified")
        side.ClearField("address_type")
    return bool(sides[0] == sides[1])

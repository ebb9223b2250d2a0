"""Writing a repository of the source into one that nobody can see: commits, branches with what is staged, tags.

Each batch, branch and tag is written by a run that held the repository a moment ago (`holding`). What is written is the
same whoever writes it, but for branches and their layers: those are fresh, and the first one stays, whole. Once another
run has ended, this one writes nothing but what was under way at that moment: a branch or tag that is deleted then may
come back, which is what a restoration says, too.

1. Commits and layouts, in batches, then for each what it was called in the source: so a commit that has that name is
   there.
2. Branch by branch, unless it is there: what is staged on it as one layer, which nothing names but its cleanup record,
   written first; then the branch's record, created once, that lists it.
3. Tags, created where there are none.

A crash leaves an invisible repository, with at most one layer that only a cleanup record names: the next run goes on,
and builds that branch's layer anew under another id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa

from graveler_core.codec.records import encode
from graveler_core.errors import CorruptData, PredicateFailed
from graveler_core.kv.bulk import set_many
from graveler_core.model import past
from graveler_core.model.entities import Branch, Cleanup, Layout, Tag
from graveler_core.model.ids import LayerId
from graveler_core.model.index import Index
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.model.migration import MigratedCommit
from graveler_core.objects.commits import prepare
from graveler_core.objects.objects import Write
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import new_branch
from graveler_core.staging import area, segment_layer
from graveler_core.stores import Stores
from graveler_core.transfer.kv_copy_loading import resent
from graveler_core.transfer.migration import entries
from graveler_core.transfer.migration.check import Checked, header, in_order
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.report import BrokenRows, Progress
from graveler_core.transfer.migration.rows import SourceBranch
from graveler_core.transfer.migration.source import Snapshot

BATCH_COMMITS = 250
BATCH_BYTES = 1 << 20
"""A batch ends with the commit that reaches one of these."""
SEGMENT_ROWS = 1_000
"""From so many staged records on, they become files instead of key-value rows."""


@dataclass(slots=True)
class Writing:
    """A repository on its way: the verbs in the order in which they stand here."""

    snapshot: Snapshot
    found: Checked
    holding: Holding
    progress: Progress
    _batch: list[Write] = field(default_factory=list)
    _named: list[Write] = field(default_factory=list)
    _size: int = 0

    @property
    def stores(self) -> Stores:
        """Where it is written."""
        return self.holding.stores

    def commits(self) -> None:
        """Write the commits that no earlier run has written."""
        repo, known, changed = self.holding.repository, self.found.commits, BrokenRows()
        for commit in in_order(self.snapshot, repo.id, self._missing(), changed):
            made = known[commit.id]
            head = header(commit, [known[parent] for parent in commit.parents], made.operations)
            stored, writes = prepare(repo, head, Layout(index=Index(metarange_id=made.metarange_id)))
            if stored.id != made.id:
                raise CorruptData(f"commit {commit.id} of the source is not what it was a moment ago")
            where = keys.migrated_commits(repo).at(commit.id)
            self._add(writes, (where.partition, where.key, encode(MigratedCommit(commit_id=stored.id))))
        self._flush()

    def _missing(self) -> list[str]:
        """The commits to be written: those that were reckoned."""
        return [id for id in self.found.order if self.found.commits[id].operations]

    def _add(self, writes: list[Write], named: Write) -> None:
        self._batch += writes
        self._named.append(named)
        self._size += sum(len(value) for _, _, value in writes)
        if len(self._named) >= BATCH_COMMITS or self._size >= BATCH_BYTES:
            self._flush()

    def _flush(self) -> None:
        self.holding.require()
        for writes in (self._batch, self._named):
            if writes:
                resent(partial(set_many, self.stores.kv, writes))
        self.progress(len(self._named))
        self._batch, self._named, self._size = [], [], 0

    def branches(self) -> None:
        """Create the branches that are not there, each with what is staged on it."""
        repo = self.holding.repository
        for _, (branch, count) in sorted(self.found.branches.items()):
            where = keys.branch(repo, branch.id)
            if access.read(self.stores.kv, where) is not None:
                continue
            commit = self.found.commits[branch.commit_id].id
            record = new_branch(self.stores.ids, repo, branch.id, commit, past.begun(commit, self._moment()))
            if count:
                record = record.model_copy(update={"sealed_tokens": (self._layer(branch, record, count),)})
            self.holding.require()
            with suppress(PredicateFailed):
                access.create(self.stores.kv, where, record, once=True)
            self.progress(1)

    def tags(self) -> None:
        """Create the tags that are not there."""
        repo = self.holding.repository
        for _, tag in sorted(self.found.tags.items()):
            commit = self.found.commits[tag.commit_id].id
            record = Tag(id=tag.id, commit_id=commit, past=past.begun(commit, self._moment()))
            self.holding.require()
            with suppress(PredicateFailed):
                access.create(self.stores.kv, keys.tag(repo, tag.id), record, once=True)
            self.progress(1)

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self.stores.wall(), UTC)

    def _layer(self, branch: SourceBranch, record: Branch, count: int) -> SealedToken | SegmentLayer:
        """What is staged on a branch as a layer that no record lists yet. In memory is a piece of it."""
        repo, ids = self.holding.repository, self.stores.ids
        layer: SealedToken | SegmentLayer
        if count < SEGMENT_ROWS:
            layer = SealedToken(token=keys.staging_token(repo, branch.id, ids.fresh()))
        else:
            layer = SegmentLayer(id=LayerId(ids.fresh()), count=count)
        cleanup = Cleanup(branch=branch.id, layer=layer, since=self.stores.clock.now())
        access.create(self.stores.kv, keys.cleanup(repo, layer.id), cleanup)
        if isinstance(layer, SealedToken):
            for table in self._staged(branch):
                resent(partial(area.put_table, self.stores.kv, layer.token, table))
            return layer
        blobs = self.stores.blobs.at(repo.storage_namespace)
        pieces = []
        for number, portion in enumerate(segment_layer.portions(self._staged(branch))):
            pieces.append(segment_layer.write_piece(blobs, layer.id, f"{number:06d}.parquet", portion))
            self.holding.require()
        segment_layer.write_manifest(blobs, layer.id, pieces)
        return layer

    def _staged(self, branch: SourceBranch) -> Iterator[pa.Table]:
        """What is staged on a branch; it was checked, and the source shows what it showed then."""

        def broken(key: object, rule: str) -> None:
            raise CorruptData(f"staged row {key!r} of branch {branch.id} of the source: {rule}")

        assert branch.staging_token is not None  # noqa: S101 - it has records
        place = self.holding.repository.storage_namespace
        for table in entries.tables(self.snapshot.staged(branch.staging_token), place, broken):
            self.progress(table.num_rows)
            yield table

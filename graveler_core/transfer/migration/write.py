"""Write a source repository into an invisible repository: commits, branches with their staged changes, and tags.

Before each batch, branch and tag, a run checks that it still owns the repository (`holding`). All runs write the same
records, except for branches and their layers, which are new in each run: the first one stays. If another run has ended
the migration, this run stops, except for a write that was already running. A branch or tag that is deleted at that
moment may therefore reappear, as in `transfer.restore`.

1. Write commits and layouts in batches, then for each commit the record of its id in the source. A commit with such a
record is therefore complete. 2. For each branch that does not exist: write its staged changes as one layer, to which
only a cleanup record refers, which is written first. Then create the branch record, which lists the layer. 3. Create
the tags that do not exist.

A crash leaves an invisible repository, with at most one layer to which only a cleanup record refers. The next run
continues, and writes the layer of that branch again under another id.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from graveler_core.errors import CorruptData, PredicateFailed
from graveler_core.model import past
from graveler_core.model.entities import Cleanup, Layout, Tag
from graveler_core.model.ids import LayerId
from graveler_core.model.index import Index
from graveler_core.model.layers import SealedToken, SegmentLayer
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import new_branch
from graveler_core.staging import area, segment_layer
from graveler_core.stores import Stores
from graveler_core.transfer.kv_copy_loading import resent
from graveler_core.transfer.migrated import CommitBatches
from graveler_core.transfer.migration import entries
from graveler_core.transfer.migration.check import Checked, header, in_order
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.report import BrokenRows, Progress
from graveler_core.transfer.migration.rows import SourceBranch
from graveler_core.transfer.migration.source import SourceSnapshot

SEGMENT_ROWS = 1_000
"""Minimum number of staged records that are written as files instead of key-value rows."""


@dataclass(slots=True)
class Writing:
    """A repository that is being written. Call the methods in the order of their definition."""

    snapshot: SourceSnapshot
    found: Checked
    holding: Holding
    progress: Progress

    @property
    def stores(self) -> Stores:
        """Stores to write to."""
        return self.holding.stores

    def commits(self) -> None:
        """Write the commits that no earlier run has written."""
        repo, known, changed = self.holding.repository, self.found.commits, BrokenRows()
        batches = CommitBatches(self.stores, repo, self.holding.require, self.progress)
        for commit in in_order(self.snapshot, repo.id, self._missing(), changed):
            made = known[commit.id]
            head = header(commit, [known[parent] for parent in commit.parents], made.operations)
            stored, writes = prepare(repo, head, Layout(index=Index(metarange_id=made.metarange_id)))
            if stored.id != made.id:
                raise CorruptData(f"commit {commit.id} of the source has changed since it was checked")
            batches.add(commit.id, stored.id, writes)
        batches.flush()

    def _missing(self) -> list[str]:
        """Return the ids of the commits to write: those whose headers this run has computed."""
        return [id for id in self.found.order if self.found.commits[id].operations]

    def branches(self) -> None:
        """Create the branches that do not exist, with their staged changes."""
        repo = self.holding.repository
        for _, (branch, count) in sorted(self.found.branches.items()):
            where = keys.branch(repo, branch.id)
            if access.read(self.stores.kv, where) is not None:
                continue
            commit = self.found.commits[branch.commit_id].id
            record = new_branch(self.stores.ids, repo, branch.id, commit, past.begun(commit, self.stores.moment()))
            if count:
                record = record.model_copy(update={"sealed_tokens": (self._layer(branch, count),)})
            self.holding.require()
            with suppress(PredicateFailed):
                access.create(self.stores.kv, where, record, once=True)
            self.progress(1)

    def tags(self) -> None:
        """Create the tags that do not exist."""
        repo = self.holding.repository
        for _, tag in sorted(self.found.tags.items()):
            commit = self.found.commits[tag.commit_id].id
            record = Tag(id=tag.id, commit_id=commit, past=past.begun(commit, self.stores.moment()))
            self.holding.require()
            with suppress(PredicateFailed):
                access.create(self.stores.kv, keys.tag(repo, tag.id), record, once=True)
            self.progress(1)

    def _layer(self, branch: SourceBranch, count: int) -> SealedToken | SegmentLayer:
        """Write the staged records of a branch as a layer that no branch record lists yet. Only a part is held in
        memory.
        """
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
        """Yield the staged records of a branch. They were checked before, and the source has not changed since."""

        def broken(key: object, rule: str) -> None:
            raise CorruptData(f"staged row {key!r} of branch {branch.id} of the source: {rule}")

        assert branch.staging_token is not None  # noqa: S101 - it has records
        place = self.holding.repository.storage_namespace
        for table in entries.tables(self.snapshot.staged(branch.staging_token), place, broken):
            self.progress(table.num_rows)
            yield table

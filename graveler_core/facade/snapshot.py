"""A ref to read from. Every method only delegates to `engine`."""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa

from graveler_core.engine.reading import branch as read
from graveler_core.engine.reading import listing, pinned, snapshot
from graveler_core.engine.reading.listing import Beginning, PageSource, Window
from graveler_core.facade.handle import reopened
from graveler_core.facade.readable_ref import ARROW_PAGE_ROWS, ReadableRef
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import Scope
from graveler_core.model.bounds import Bounds
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA, Entry
from graveler_core.model.html import html_table
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.scan import Pinned
from graveler_core.refs.expression import Resolved
from graveler_core.stores import Stores, portable


class Snapshot(ReadableRef):
    """State of a ref expression when it was resolved.

    A tag, a commit, `main~2` or `main@` names a commit: reads always return the same entries. A branch name, or
    `main$`, names the branch with what is staged on it: reads are live, and each page of a listing is a state that the
    branch had during the call. See `Listing.version` for an exception.
    """

    def __init__(self, stores: Stores, record: RepositoryRecord, ref: str, resolved: Resolved) -> None:
        super().__init__(stores, record, Scope(record.id, ref, resolved.branch or ""))
        self._resolved = resolved
        self._origin = resolved.commit_id
        self.ref = ref

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (portable(self._stores.opening), type(self), (self._record, self.ref, self._resolved))

    def _repr_html_(self) -> str:
        rows = {"repository": self._record.id, "commit": self.commit_id, "staged changes": self._resolved.staged}
        return html_table(f"Snapshot {self.ref}", rows)

    @property
    def commit_id(self) -> CommitId:
        """Id of the commit that the ref named when it was resolved: for a branch, its head at that time."""
        return self._resolved.commit_id

    @operation("read as Arrow", needs.prefix(*needs.SHOWN))
    def to_arrow(self, prefix: str = "") -> pa.RecordBatchReader:
        """Return the entries under a prefix as a stream of record batches, lazily.

        Args:
            prefix: Beginning of the paths.

        Returns:
            A reader of batches in `ENTRY_SCHEMA`, sorted by key.

        Raises:
            InvalidInput: the prefix is not valid.
        """
        window = Window(Bounds(prefix), page=ARROW_PAGE_ROWS)
        pages = listing.tables(self._source(), window)
        return pa.RecordBatchReader.from_batches(ENTRY_SCHEMA, (batch for page in pages for batch in page.to_batches()))

    @operation("tree id", needs.prefix(*needs.SHOWN))
    def tree_id(self) -> MetarangeId:
        """Return the id of the whole content.

        Two refs of a repository have the same id if and only if their entries are equal in every field, including the
        modification time and the address. `diff` and `merge` compare identities instead, which cover neither the
        modification time nor the address of an entry that has a checksum: two refs with an empty diff may have
        different ids.

        Returns:
            The metarange id of the content.

        Raises:
            NotFound: the repository, the branch or the commit has been deleted.
        """
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return snapshot.staged_tree_id(self._stores, repo, resolved.branch)
        return snapshot.tree_id(self._stores, repo, resolved.commit_id)

    def _find(self, path: str) -> Entry | None:
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return read.get(self._stores, repo, resolved.branch, path)
        return snapshot.get(self._stores, repo, resolved.commit_id, path)

    def _pin(self, repository: RepositoryRecord) -> Pinned:
        resolved = self._resolved
        if resolved.staged and resolved.branch is not None:
            return pinned.pin_branch(self._stores, repository, resolved.branch)
        return pinned.pin_commit(self._stores, repository, resolved.commit_id)

    def _source(self) -> PageSource:
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return partial(read.entries_page, self._stores, repo, resolved.branch)
        return partial(snapshot.entries_page, self._stores, repo, resolved.commit_id)

    def _beginning(self) -> Beginning:
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return partial(read.begin_listing, self._stores, repo, resolved.branch)
        readable = partial(snapshot.readable, self._stores, repo)
        return lambda span, rows: snapshot.committed_pages(self._stores, readable(), resolved.commit_id)

"""A ref to read from. Thin: every method delegates to `engine`."""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from graveler_core.engine import content, listing, read, snapshot
from graveler_core.engine.listing import PAGE_ROWS, PageSource, Window
from graveler_core.errors import Kind, NotFound
from graveler_core.facade import needs
from graveler_core.facade.listing import Listing, number
from graveler_core.facade.operation import operation
from graveler_core.facade.place import Place
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA, CommonPrefix, Entry
from graveler_core.model.ids import CommitId, MetarangeId
from graveler_core.model.names import path_key, prefix_key
from graveler_core.model.permission import Action
from graveler_core.refs.expression import Resolved
from graveler_core.stores import Stores
from graveler_core.telemetry import Said

ARROW_PAGE_ROWS = 65_536


class Snapshot:
    """What a ref expression showed when it was resolved.

    A tag, a commit, `main~2` or `main@` names a commit: what is read never changes. A plain branch name, or `main$`,
    shows the branch with what is staged on it: live, each page of a listing being a state that the branch had during
    the call.
    """

    def __init__(self, stores: Stores, record: RepositoryRecord, ref: str, resolved: Resolved) -> None:
        self._stores = stores
        self._record = record
        self._said: Said = (record.id, resolved.branch or "")
        self._resolved = resolved
        self.ref = ref

    def __repr__(self) -> str:
        return f"Snapshot({self._record.id!r}, {self.ref!r})"

    @property
    def commit_id(self) -> CommitId:
        """The commit that was read from, or on top of which the branch was staged, when the ref was resolved."""
        return self._resolved.commit_id

    @operation("get", needs.path(Action.READ_OBJECT))
    def get(self, path: str) -> Entry:
        """The entry at a path. Raises `NotFound` (`PathNotFound`)."""
        return self._get(path)

    @operation("read", needs.path(Action.READ_OBJECT))
    def read(self, path: str) -> bytes:
        """The content at a path. Raises `NotFound` for a path, or an object, that does not exist."""
        return content.read_content(self._stores, snapshot.readable(self._stores, self._record.id), self._get(path))

    @operation("list", needs.under(*needs.SHOWN))
    def list(
        self, prefix: str = "", after: str = "", delimiter: str = "", limit: int | None = None
    ) -> Listing[Entry | CommonPrefix]:
        """Entries whose paths begin with `prefix`, in order of their paths as bytes, lazily.

        Args:
            after: Only items whose path is greater.
            delimiter: Show what shares its path up to the next delimiter behind the prefix as one `CommonPrefix`.
            limit: At most so many items.
        """
        return listed(self._source(), prefix, after, delimiter, limit)

    @operation("read as Arrow", needs.under(*needs.SHOWN))
    def to_arrow(self, prefix: str = "") -> pa.RecordBatchReader:
        """The entries under a prefix as a stream of record batches in `ENTRY_SCHEMA`, sorted by key."""
        window = Window(prefix=prefix, page=ARROW_PAGE_ROWS)
        pages = listing.tables(self._source(), window)
        return pa.RecordBatchReader.from_batches(ENTRY_SCHEMA, (batch for page in pages for batch in page.to_batches()))

    @operation("tree id", needs.under(*needs.SHOWN))
    def tree_id(self) -> MetarangeId:
        """The id of the whole content: two refs show equal entries if and only if their ids are equal."""
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return snapshot.staged_tree_id(self._stores, repo, resolved.branch)
        return snapshot.tree_id(self._stores, repo, resolved.commit_id)

    @property
    def _place(self) -> Place:
        return Place(self._record.id, self.ref, self._resolved.branch or "")

    def _get(self, path: str) -> Entry:
        path_key(path)
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            found = read.get(self._stores, repo, resolved.branch, path)
        else:
            found = snapshot.get(self._stores, repo, resolved.commit_id, path)
        return required(found, path, self.ref)

    def _source(self) -> PageSource:
        repo, resolved = self._record.id, self._resolved
        if resolved.staged and resolved.branch is not None:
            return partial(read.entries_page, self._stores, repo, resolved.branch)
        return partial(snapshot.entries_page, self._stores, repo, resolved.commit_id)


def required(found: Entry | None, path: str, ref: str) -> Entry:
    """The entry, or `NotFound` where there is none."""
    if found is None:
        raise NotFound(f"path {path!r} does not exist at {ref!r}", kind=Kind.PathNotFound, path=path)
    return found


def listed(
    source: PageSource, prefix: str, after: str, delimiter: str, limit: int | None
) -> Listing[Entry | CommonPrefix]:
    """A listing of what a source gives; see `Snapshot.list`."""
    window = _window(prefix, after, delimiter, limit)
    return Listing(listing.items(source, window), lambda item: item.path, limit)


def _window(prefix: str, after: str, delimiter: str, limit: int | None) -> Window:
    for text in (prefix, after, delimiter):
        prefix_key(text)
    page = PAGE_ROWS if limit is None or delimiter else max(1, min(number("limit", limit, 0), PAGE_ROWS))
    return Window(prefix, after, delimiter, page)

"""Operations that stage entries and removals on a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from graveler_core.codec.entry import normalise
from graveler_core.codec.entry_rules import require_new_keys
from graveler_core.engine.staging import bulk, conditional, remove, write
from graveler_core.engine.staging.content import Content, ContentSource, MetadataSource
from graveler_core.facade.handle import reopened
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.guard import needs
from graveler_core.guard.addresses import of_entry, of_table
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import branch_scope
from graveler_core.model.changes import Written
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.html import html_table
from graveler_core.model.ids import BranchId
from graveler_core.model.names import many_paths, new_path_key, prefix_key
from graveler_core.model.permission import Action
from graveler_core.stores import SortedRows, Stores, portable


class Staging(ReadableRef):
    """Writes to the staging area of a branch."""

    def __init__(self, stores: Stores, record: RepositoryRecord, name: BranchId) -> None:
        super().__init__(stores, record, branch_scope(record.id, name))
        self._at = (stores, record.id, name)
        self.name = name

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (portable(self._stores.opening), type(self), (self._record, self.name))

    def _repr_html_(self) -> str:
        return html_table(f"Branch {self.name}", {"repository": self._record.id})

    @property
    def id(self) -> BranchId:
        """The branch's name."""
        return self.name

    @operation("put", needs.path(Action.WRITE_OBJECT))
    def put(  # noqa: PLR0913 - options of one content
        self,
        path: str,
        data: ContentSource,
        *,
        content_type: str | None = None,
        metadata: MetadataSource | None = None,
        checksum: Callable[[], str] | None = None,
        if_absent: bool = False,
    ) -> Entry:
        """Upload content and stage an entry for it.

        Args:
            path: Path of the entry.
            data: Content as bytes, as a binary file that is read from its position to its end, or as an iterable of
            bytes. Files and iterables of any size are uploaded in bounded memory.
            content_type: Media type of the content, such as "text/csv".
            metadata: Metadata of the entry, as text by key; or a function that returns them for the checksum of the
                content, after the data were read.
            checksum: Function that returns the checksum of the content after the data were read. By default, the
                SHA-256 is computed.
            if_absent: Refuse a path that has an entry. Of several concurrent calls with this option, one succeeds.

        Returns:
            The staged entry.

        Raises:
            NotUnique: (`PathExists`) with `if_absent`, the path has an entry on the branch.
            InvalidInput: (`InvalidPath`) the path is not valid, or is absolute, or contains empty, `.` or `..`
            segments, backslashes or control characters; or the data are neither bytes, nor a file opened in
            binary mode, nor an iterable of bytes. Nothing is staged.
        """
        new_path_key(path)
        content = Content(data, content_type, metadata, checksum)
        flow = conditional.put_if_absent if if_absent else write.put
        return flow(*self._at, path, content)

    @operation(
        "put many",
        needs.paths(Action.WRITE_OBJECT, named="contents"),
        needs.paths(Action.DELETE_OBJECT, named="remove"),
    )
    def put_many(
        self,
        contents: Mapping[str, ContentSource],
        *,
        remove: Iterable[str] = (),
        content_type: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> list[Entry]:
        """Upload contents, then stage their entries and remove other paths in one step.

        The step is atomic on stores that set many records atomically, as SQLite and PostgreSQL do. The cost is one
        record for each path, and no layer.

        Args:
            contents: Contents by path, each as for `put`.
            remove: Paths to remove. Those that are also in `contents` are replaced, and those that do not exist are
                ignored.
            content_type: Media type of all contents.
            metadata: Metadata of all entries, as text by key.

        Returns:
            The staged entries, in the order of `contents`.

        Raises:
            InvalidInput: (`InvalidPath`) a path of a content, or the content, is not valid, as for `put`; or a path to
                remove is not valid. Nothing is staged.
        """
        for path in contents:
            new_path_key(path)
        made = {path: Content(data, content_type, metadata) for path, data in contents.items()}
        gone = sorted(set(many_paths(remove)) - made.keys())
        return write.put_many(*self._at, made, gone)

    @operation("upload", needs.path(Action.WRITE_OBJECT))
    def upload(  # noqa: PLR0913 - options of one content
        self,
        path: str,
        data: ContentSource,
        *,
        content_type: str | None = None,
        metadata: MetadataSource | None = None,
        checksum: Callable[[], str] | None = None,
        to_stage: bool = False,
    ) -> Entry:
        """Upload content without staging it, for an entry of a later `stage` or `transact`.

        Args:
            path: Path of the later entry.
            data: Content, as for `put`.
            content_type: Media type of the content.
            metadata: Metadata of the entry, as for `put`.
            checksum: Checksum of the content, as for `put`.
            to_stage: Read no data if the entry could not be staged on the branch now.

        Returns:
            The entry. Nothing refers to its content until it is staged.

        Raises:
            InvalidInput: as for `put`.
            PermissionDenied: with `to_stage`, the branch is protected from writes (`BranchProtected`), or the
                repository is read-only (`RepositoryReadOnly`).
        """
        new_path_key(path)
        content = Content(data, content_type, metadata, checksum)
        return write.upload_entry(*self._at, path, content, to_stage=to_stage)

    @operation("stage", needs.path(Action.WRITE_OBJECT), of_entry)
    def stage(self, path: str, entry: Entry) -> Entry:
        """Stage an entry whose content is already in an object store.

        Args:
            path: Path of the entry.
            entry: The entry, with the address of the content or the content itself.

        Returns:
            The staged entry, with its path and its identity.

        Raises:
            InvalidInput: the path is not valid, as for `put`; or the entry is not valid.
        """
        new_path_key(path)
        return write.stage(*self._at, path, entry)

    @operation("stage if unchanged", needs.path(Action.WRITE_OBJECT, Action.READ_OBJECT), of_entry)
    def stage_if(self, path: str, entry: Entry, expected: Entry | None) -> Entry:
        """Stage an entry if the path has a certain entry now, or none. Of several such calls, one succeeds.

        Calls of `put`, `stage` and other operations without a condition are not excluded.

        Args:
            path: Path of the entry.
            entry: The entry, as for `stage`.
            expected: Entry that the path must have, compared by its identity. `None` if the path must not exist.

        Returns:
            The staged entry, with its path and its identity.

        Raises:
            PredicateFailed: the path has another entry, or none. Nothing is staged.
            InvalidInput: the path or the entry is not valid.
        """
        new_path_key(path)
        return conditional.stage_if(*self._at, path, entry, expected)

    @operation("stage many", of_table)
    def stage_many(self, table: pa.Table) -> None:
        """Stage many entries at once: readers see all of them, or none.

        Args:
            table: Column `key` (text or bytes) and any columns of the entry schema
            (`graveler_core.model.entry.ENTRY_SCHEMA`). Rows with `removed` (bool) true remove their path.

        Raises:
            InvalidInput: a row is not valid, its path is not valid as for `put`, or a key occurs twice. Nothing is
            staged. A removal may have any path.
            SlowDown: the branch has too many layers. Commit or compact it first.
        """
        records = normalise(table)
        require_new_keys(records)
        bulk.stage_records(*self._at, records)

    @operation("stage sorted", needs.prefix(Action.WRITE_OBJECT, Action.DELETE_OBJECT), needs.all_content)
    def stage_sorted(self, rows: SortedRows) -> Written:
        """Stage rows that are distributed over many machines, in one step: see `graveler.spark.staging`.

        The machines write the rows as files.

        Args:
            rows: The rows, sorted and divided into partitions.

        Returns:
            Numbers of the rows and files that were written.

        Raises:
            InvalidInput: a row is not valid, or a key occurs twice. Nothing is staged.
            SlowDown: the branch has too many layers. This is checked before any row is read, and again after all
            rows are written.
        """
        return bulk.stage_sorted(*self._at, rows)

    @operation("remove", needs.path(Action.DELETE_OBJECT))
    def remove(self, path: str) -> None:
        """Remove a path. Do nothing if it does not exist.

        Args:
            path: Path to remove.

        Raises:
            InvalidInput: (`InvalidPath`) the path is not valid.
        """
        remove.remove(*self._at, [path])

    @operation("remove if unchanged", needs.path(Action.DELETE_OBJECT, Action.READ_OBJECT))
    def remove_if(self, path: str, expected: Entry) -> None:
        """Remove a path if it has a certain entry now. No error is raised if it does not exist.

        Calls of `put`, `stage` and other operations without a condition are not excluded.

        Args:
            path: Path to remove.
            expected: Entry that the path must have, compared by its identity.

        Raises:
            PredicateFailed: the path has another entry. Nothing is removed.
            InvalidInput: (`InvalidPath`) the path is not valid.
        """
        conditional.remove_if(*self._at, path, expected)

    @operation("remove many", needs.paths(Action.DELETE_OBJECT))
    def remove_many(self, paths: Iterable[str]) -> None:
        """Remove many paths at once: readers see all of them removed, or none. Paths that do not exist are ignored.

        Args:
            paths: Paths to remove.

        Raises:
            InvalidInput: (`InvalidPath`) a path is not valid. Nothing is removed.
            SlowDown: the branch has too many layers. Commit or compact it first.
        """
        remove.remove_many(*self._at, many_paths(paths))

    @operation("remove prefix", needs.prefix(Action.DELETE_OBJECT))
    def remove_prefix(self, prefix: str) -> None:
        """Remove everything under a prefix, at the cost of one element in the branch record.

        Args:
            prefix: Beginning of the paths to remove. "" removes everything.

        Raises:
            InvalidInput: the prefix is not valid.
            SlowDown: the branch has too many layers. Commit or compact it first.
        """
        prefix_key(prefix)
        bulk.remove_prefix(*self._at, prefix)

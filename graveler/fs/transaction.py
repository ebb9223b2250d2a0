"""Transaction of the file system: all writes and removals inside become one commit, or none of them takes effect."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from fsspec.transaction import Transaction

from graveler.fs.failures import as_os_errors
from graveler.fs.paths import FsPath
from graveler_core.errors import NoChanges, NotFound
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Operation, Put, Remove

if TYPE_CHECKING:
    from graveler.fs.filesystem import GravelerFileSystem

MESSAGE = "File system transaction"


class GravelerTransaction(Transaction):
    """Changes of one branch, collected until the end of a `with` statement.

    The changes are based on the branch's head at the first change: a path that another commit changes meanwhile is a
    conflict. Reads inside the statement do not show the changes. If the transaction is not committed, uploaded content
    stays in the object store, and nothing refers to it.
    """

    def __init__(self, fs: GravelerFileSystem) -> None:
        super().__init__(fs)
        self._message = MESSAGE
        self._committer = ""
        self._metadata: dict[str, str] = {}
        self._changes: dict[str, Entry | None] = {}
        self._basis: tuple[FsPath, Snapshot] | None = None
        self._lock = threading.Lock()
        self.commit_id: str | None = None
        """Id of the commit, once the transaction is complete. `None` if nothing changed."""

    def __call__(
        self, message: str = MESSAGE, *, committer: str = "", metadata: Mapping[str, str] | None = None
    ) -> GravelerTransaction:
        """Set the message, the committer and the metadata of the commit, and return this transaction.

        Raises:
            RuntimeError: This transaction is open already.
        """
        refuse_nesting(self.fs)
        self._message, self._committer, self._metadata = message, committer, dict(metadata or {})
        return self

    def start(self) -> None:
        """Begin to collect changes.

        Raises:
            RuntimeError: This transaction is open already.
        """
        refuse_nesting(self.fs)
        super().start()

    def change(self, at: FsPath, entry: Entry | None) -> None:
        """Record the new entry of a path, or `None` for its removal. A later change of a path replaces an earlier one.

        Raises:
            ValueError: The path is on another branch than the earlier changes.
        """
        branch = FsPath(at.repository, at.ref)
        with self._lock:  # several threads may write
            if self._basis is None:
                self._basis = branch, self.fs.snapshot(FsPath(at.repository, f"{at.ref}@"))
            elif branch != self._basis[0]:
                raise ValueError(
                    f"path {at}: this transaction changes {self._basis[0]}, and a transaction changes one branch"
                )
            if entry is None and self._changes.get(at.path) is not None and self._before(at.path) is None:
                del self._changes[at.path]  # written and removed within the transaction
            else:
                self._changes[at.path] = entry

    def changed(self, at: FsPath) -> Entry | None:
        """Return the new entry of a path, if this transaction writes it."""
        if self._basis is None or FsPath(at.repository, at.ref) != self._basis[0]:
            return None
        return self._changes.get(at.path)

    def complete(self, commit: bool = True) -> None:
        """Commit the collected changes, or forget them.

        Raises:
            Conflict: Another commit has changed one of the paths since the first change of this transaction.
            DirtyBranch: One of the paths is staged on the branch.
            ValueError: A file is still open.
        """
        fs, unfinished = self.fs, [file for file in self.files if not file.closed]
        super().complete(commit)  # first, so that the transaction ends whatever fails below
        for file in unfinished:
            file.discard()
        if commit and unfinished:
            raise ValueError(f"file {unfinished[0].path!r} is still open: close it before the end of the transaction")
        if commit and self._basis is not None and self._changes:
            with as_os_errors(), suppress(NoChanges):
                branch = fs.branch(self._basis[0])
                self.commit_id = branch.transact(
                    [*map(self._operation, self._changes)],
                    message=self._message,
                    committer=self._committer,
                    metadata=self._metadata,
                ).id

    def _operation(self, path: str) -> Operation:
        entry, before = self._changes[path], self._before(path)
        if entry is None:
            return Remove(path, before)
        if before is None:  # a copy does not take the content id of its source
            return Put(path, replace(entry, content_id=None))
        return Put(path, replace(entry, content_id=before.content_id, payload=before.payload), before)

    def _before(self, path: str) -> Entry | None:
        """Return the entry at a path when the transaction made its first change."""
        if self._basis is None:
            return None
        try:
            return self._basis[1].get(path)
        except NotFound:
            return None


def refuse_nesting(fs: GravelerFileSystem | None) -> None:
    """Raise `RuntimeError` if a transaction of a file system is open."""
    if fs is not None and fs._intrans:
        raise RuntimeError("a transaction of this file system is open already, and transactions do not nest")

"""Dumps of a repository's metadata, and their restoration. Every method only delegates to `transfer`."""

from __future__ import annotations

from typing import Final

from graveler_core.facade.handle import Handle
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.permission import Action
from graveler_core.transfer.dump import Dumped, dump
from graveler_core.transfer.reading import Progress
from graveler_core.transfer.restore import Restored, restore

EVERYTHING_READABLE: Final = (
    needs.repository(Action.LIST_BRANCHES, Action.LIST_TAGS, Action.LIST_COMMITS),
    needs.all_paths(Action.READ_OBJECT),
)
"""Permission rules of dumps, besides that of the file."""
EVERYTHING_WRITABLE: Final = (
    needs.repository(Action.CREATE_BRANCH, Action.CREATE_TAG, Action.CREATE_COMMIT),
    needs.all_content,
)
"""Permission rules of restorations."""


class Dumping(Handle):
    """Methods of `Repository` that dump and restore it."""

    @operation("dump", *EVERYTHING_READABLE, needs.file(Action.EXPORT_TO_STORAGE))
    def dump_refs(self, uri: str, *, progress: Progress = lambda done, total: None) -> Dumped:
        """Write branches, tags, commits, reflog and settings to a new file: see `transfer.dump`. Change nothing.

        The dump contains neither staged changes nor the files of the storage namespace: it must be restored with
        access to them.

        Args:
            uri: URI of the new file: file:///…, s3://…, gs://…, az://…, memory://….
            progress: Called with the number of completed steps, and the total number (0 while it is unknown).

        Returns:
            Numbers of the dumped records.

        Raises:
            NotUnique: (`BlobExists`) the file already exists.
            CorruptData: a part of the repository is damaged or missing.
        """
        return dump(self._stores, self._active(), uri, progress=progress)

    @operation("restore", *EVERYTHING_WRITABLE)
    def restore_refs(self, uri: str, *, progress: Progress = lambda done, total: None) -> Restored:
        """Restore a dump into this repository, which must be bare: see `graveler_core.transfer.restore`.

        Args:
            uri: URI of the file.
            progress: Called with the number of bytes that are done, and the total number.

        Returns:
            Numbers of the restored records, and the new record of the repository.

        Raises:
            CorruptData: (`CorruptDump`) the dump is truncated, damaged or altered. Nothing was written.
            InvalidInput: this repository is not bare, or its storage namespace lacks files that the dump needs.
            Conflict: another dump has been restored here, or is being restored.
            PermissionDenied: this repository is bare and read-only.
        """
        restored = restore(self._stores, self.id, uri, progress=progress)
        self._record = restored.repository
        return restored

"""Moving a repository's metadata into a file and back. Thin, as `repository`."""

from __future__ import annotations

from graveler_core.facade import needs
from graveler_core.facade.handle import Handle
from graveler_core.facade.operation import operation
from graveler_core.model.permission import Action
from graveler_core.transfer.dump import Dumped, dump
from graveler_core.transfer.reading import Progress
from graveler_core.transfer.restore import Restored, restore


class Moving(Handle):
    """The part of a repository that is dumped and restored."""

    @operation(
        "dump",
        needs.repository(Action.LIST_BRANCHES, Action.LIST_TAGS, Action.LIST_COMMITS),
        needs.everything(Action.READ_OBJECT),
        needs.file(Action.EXPORT_TO_STORAGE),
    )
    def dump_refs(self, uri: str, *, progress: Progress = lambda done, total: None) -> Dumped:
        """Write branches, tags, commits, reflog, settings to a new file; changes nothing: `transfer.dump`.

        What is staged is not in it, nor are the files in the storage namespace: a dump is restored where these are.

        Args:
            uri: Of the file: file:///…, s3://…, gs://…, az://…, memory://….
            progress: Told how many steps are done, and of how many (0 where that is not known yet).

        Raises:
            NotUnique: (`BlobExists`) something is there already.
            CorruptData: something is damaged or missing that belongs to the dump.
        """
        return dump(self._stores, self._active(), uri, progress=progress)

    @operation(
        "restore",
        needs.repository(Action.CREATE_BRANCH, Action.CREATE_TAG, Action.CREATE_COMMIT),
        needs.anything,
    )
    def restore_refs(self, uri: str, *, progress: Progress = lambda done, total: None) -> Restored:
        """Fill this repository, which must be bare, with a dump: see `graveler_core.transfer.restore`.

        Args:
            uri: Of the file.
            progress: Told how many bytes are done, and of how many.

        Raises:
            CorruptData: (`CorruptDump`) the dump is cut off, damaged or altered; nothing was written.
            InvalidInput: this repository is not bare, or its storage namespace lacks what the dump needs.
            Conflict: another dump is being restored here, or was.
            PermissionDenied: this repository is bare and read-only.
        """
        restored = restore(self._stores, self.id, uri, progress=progress)
        self._record = restored.repository
        return restored

"""Files of the file system: one that reads ranges, and one that is uploaded when it is closed."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from fsspec.spec import AbstractBufferedFile

from graveler.fs.failures import as_os_errors

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from graveler_core.facade.content_file import ContentFile

IN_MEMORY: Final = 8 << 20
"""Bytes of a file being written that are kept in memory. A larger file is kept in a temporary file."""


class ReadFile(AbstractBufferedFile):
    """A file opened for reading. It shows the content of the moment when it was opened."""

    def __init__(self, fs: Any, path: str, content: ContentFile, **options: Any) -> None:
        self._content = content
        super().__init__(fs, path, mode="rb", **{**options, "size": content.size})

    def _fetch_range(self, start: int, end: int) -> bytes:
        with as_os_errors():
            return self._content.read_range(start, end - start)


class WriteFile(io.BufferedIOBase):
    """A file opened for writing. Its content is uploaded and staged when it is closed.

    If the body of a `with` statement raises an error, nothing is uploaded.

    Args:
        path: Full path of the file.
        upload: Function that uploads and stages the content, from a file at its beginning. It raises errors of the
            operating system.
        before: Content to begin with, for appending.
    """

    def __init__(self, path: str, upload: Callable[[BinaryIO], object], before: bytes = b"") -> None:
        self.path = path
        self.mode = "wb"
        self._upload = upload
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._spool.write(before)

    @property
    def name(self) -> str:
        """Full path of the file."""
        return self.path

    def writable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return false: a file is written from its beginning to its end."""
        return False

    def tell(self) -> int:
        """Return the number of bytes written so far."""
        return self._spool.tell()

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, and return their number."""
        if self.closed:
            raise ValueError("I/O operation on a closed file")
        view = memoryview(data)
        self._spool.write(view)
        return view.nbytes

    def close(self) -> None:
        """Upload and stage the content. Do nothing if the file is closed."""
        if self.closed:
            return
        try:
            self._spool.seek(0)
            self._upload(self._spool)  # type: ignore[arg-type]
        finally:
            self._abandon()

    def discard(self) -> None:
        """Close the file without uploading anything."""
        if not self.closed:
            self._abandon()

    def commit(self) -> None:
        """Do nothing: fsspec calls this at the end of a transaction, which has the content of closed files already."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        """Discard the content of a file that was never closed."""
        if hasattr(self, "_spool"):
            self.discard()

    def _abandon(self) -> None:
        self._spool.close()
        super().close()

"""Files of the file system: one that reads ranges, and one that is uploaded when it is closed."""

from __future__ import annotations

import inspect
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from fsspec.compression import compr
from fsspec.spec import AbstractBufferedFile

from graveler.fs.failures import as_os_errors
from graveler.fs.infos import file_info
from graveler.fs.paths import FsPath

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from graveler_core.facade.content_file import ContentFile

IN_MEMORY: Final = 8 << 20
"""Maximum size of a file being written that is kept in memory. A larger file is kept in a temporary file."""

_CLOSERS: Final = frozenset({"fsspec.core", "pandas.io.common", "pyarrow.parquet.core"})
"""Modules with `with` statements that close a file in the same way after an error and after success."""


class ReadFile(AbstractBufferedFile):
    """A file opened for reading. It shows the content and the information of the file when it was opened."""

    def __init__(self, fs: Any, at: FsPath, content: ContentFile, **options: Any) -> None:
        self._content = content
        super().__init__(fs, str(at), mode="rb", **{**options, "size": content.size})
        self.details = file_info(at, content.entry)

    def _fetch_range(self, start: int, end: int) -> bytes:
        with as_os_errors():
            return self._content.read_range(start, end - start)


class WriteFile(io.BufferedIOBase):
    """A file opened for writing. Its content is uploaded and staged when it is closed.

    If the body of a `with` statement raises an error, nothing is uploaded. This includes the `with` statements of
    `fsspec.open`, pandas and pyarrow. Nothing is uploaded after a write that has failed, either.

    Args:
        path: Full path of the file.
        upload: Function that uploads and stages the content, from a file at its beginning. It raises errors of the
            operating system.
        before: Content to begin with, for appending.
        codec: Name of fsspec's compression, such as "gzip". `None` means no compression.
        autocommit: Upload when the file is closed. If `False`, `commit` uploads a closed file.
    """

    def __init__(
        self,
        path: str,
        upload: Callable[[BinaryIO], object],
        before: bytes = b"",
        codec: str | None = None,
        *,
        autocommit: bool = True,
    ) -> None:
        self.path = path
        self.mode = "wb"
        self._autocommit = autocommit
        self._upload = upload
        self._forgotten = False
        self._broken = False
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `close`
        self._size = self._spool.write(before)
        self._sink: Any = self._spool if codec is None else compr[codec](_NotClosed(self._spool), mode="w")

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
        if self.closed:
            raise ValueError("I/O operation on a closed file")
        return self._size

    def write(self, data: ReadableBuffer, /) -> int:
        """Write bytes, and return their number."""
        if self.closed:
            raise ValueError("I/O operation on a closed file")
        view = memoryview(data)
        try:
            self._sink.write(view)
        except BaseException:
            self._broken = True
            raise
        self._size += view.nbytes
        return view.nbytes

    def close(self) -> None:
        """Upload and stage the content, unless this is left to `commit`. Do nothing if the file is closed.

        Raises:
            OSError: A write has failed. The content, which is incomplete, was dropped.
        """
        if self.closed:
            return
        if self._forgotten or _ends_in_error(inspect.currentframe()):
            self.discard()
            return
        if self._broken:
            self.discard()
            raise self._incomplete()
        try:
            if self._sink is not self._spool:
                self._sink.close()
            if self._autocommit:
                self._stage()
        except BaseException:
            self._spool.close()
            raise
        finally:
            super().close()

    def discard(self) -> None:
        """Close the file and drop its content, unless it was staged."""
        with suppress(OSError):  # of buffered content, which is dropped
            self._spool.close()
        super().close()

    def commit(self) -> None:
        """Upload and stage the content of a closed file. Do nothing if it was staged or discarded.

        fsspec calls this at the end of a transaction, which has the content of closed files already.

        Raises:
            ValueError: The file was opened with `autocommit=False`, and is open.
            OSError: A write has failed.
        """
        if self._autocommit:
            return
        if self._broken:
            raise self._incomplete()
        if self._spool.closed:
            return
        if not self.closed:
            raise ValueError(f"file {self.path!r} is still open: close it before the commit")
        self._stage()

    def _incomplete(self) -> OSError:
        return OSError(f"graveler://{self.path}: a write failed, so nothing was staged; write the file again")

    def _stage(self) -> None:
        self._spool.seek(0)
        self._upload(self._spool)  # type: ignore[arg-type]
        self._spool.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        """Discard the content of a file that was never closed, with a warning."""
        if hasattr(self, "_spool") and not self.closed:
            self.discard()
            self._warn()

    def _dealloc_warn(self, source: object) -> None:
        """Discard the content when this file is closed, with a warning.

        The finalizers of `io.TextIOWrapper` and `io.BufferedWriter` call this before they close the file that they
        write to: their owner has never closed them.
        """
        self._forgotten = True
        self._warn()

    def _warn(self) -> None:
        text = f"graveler://{self.path}: was not closed, so that nothing was written; use a with statement"
        warnings.warn(text, RuntimeWarning, stacklevel=3)


class _NotClosed:
    """A file as compressors get it. Some of them close the file to which they write, which is read afterwards."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def close(self) -> None:
        """Do nothing."""


class TextFile(io.TextIOWrapper):
    """Text written to a `WriteFile`. If the body of a `with` statement raises an error, nothing is uploaded."""

    def __init__(self, file: WriteFile, **options: Any) -> None:
        super().__init__(file, **options)
        self._file = file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._file.discard()
        self.close()


def _ends_in_error(frame: FrameType | None) -> bool:
    """Return true if a library closes a file because the body of its `with` statement raised an error.

    Such a library calls `close` without the error, so this looks for the error in the arguments of the library's
    `__exit__`.

    Args:
        frame: Frame of the call of `close`.
    """
    error = sys.exception()
    while error is not None and frame is not None:
        if frame.f_code.co_name == "__exit__" and frame.f_globals.get("__name__") in _CLOSERS:
            given = [each if isinstance(each, tuple) else (each,) for each in frame.f_locals.values()]
            return any(each is error for group in given for each in group)
        frame = frame.f_back
    return False

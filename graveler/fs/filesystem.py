"""The file system. Reads and writes go through the façade, so access control and protection rules apply."""

from __future__ import annotations

from typing import Any

from fsspec.core import get_compression

from graveler.fs.failures import as_os_errors
from graveler.fs.files import ReadFile, TextFile, WriteFile
from graveler.fs.listing import Listings
from graveler.fs.paths import parse
from graveler.fs.reading import Reads
from graveler.fs.writing import Writes


class GravelerFileSystem(Listings, Reads, Writes):
    """File system over `graveler://repository/ref/path`.

    A ref is a branch, a tag, a commit id, or an expression such as `main~2` or `main@`. A branch shows its staged
    changes. Only branches can be written. Written files are staged. `Branch.commit` or a transaction of this file
    system commits them.

    Access control uses the credentials of the environment (`GRAVELER_ACCESS_KEY_ID`, `GRAVELER_SECRET_ACCESS_KEY`).

    Args:
        store: URL of the key-value store. Default: the environment variable `GRAVELER_STORE`, else `.graveler` in the
            working directory.
        storage: Options of the object stores, as `storage_options` of `graveler.connect`. They are part of a pickle of
            the file system: prefer the environment variables of the object store for secrets.
        pinned: Resolve each branch once, to its head, and read that commit as long as this instance exists. Each call
            with this option creates an instance. Copies by pickle and JSON read the commits that their original has
            resolved. A pinned file system cannot be written.
        verify: Compare content that is read as a whole (by `cat_file`, `get_file` and methods that use them) with its
            checksum. The length is always compared.
        pins: Commits of a pinned file system by branch, for example `{"files/main": "…"}`. Pickle and JSON use it.
    """

    def open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        cache_options: dict[str, Any] | None = None,
        compression: str | None = None,
        **options: Any,
    ) -> Any:
        """Open a file, as text without "b" in the mode. A file for writing is staged when it is closed.

        Args:
            path: The path.
            mode: "r", "w", "a" or "x", and "b" for bytes.
            block_size: Number of bytes that a file for reading reads at once.
            cache_options: Options of the cache of a file for reading.
            compression: Name of a compression of fsspec, or "infer" from the path.
            options: `encoding`, `errors` and `newline` of text; `content_type` of a file for writing. With
                `autocommit=False`, a closed file is staged by its method `commit`, and dropped by `discard`. In a
                transaction, this option has no effect.

        Raises:
            FileNotFoundError: There is no file at the path to read, or no repository or branch to write to.
            ValueError: The mode, the compression or the path is not valid.
        """
        if not set("wax") & set(mode):
            return super().open(path, mode, block_size, cache_options, compression, **options)
        codec = get_compression(path, compression)
        text = {name: options.pop(name) for name in ("encoding", "errors", "newline") if name in options}
        deferred = not options.pop("autocommit", True) and not self._intrans
        plain = mode.replace("t", "").replace("b", "") + "b"
        file = super().open(path, plain, codec=codec, deferred=deferred, **options)
        return file if "b" in mode else TextFile(file, **text)

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> Any:
        at = parse(path)
        with as_os_errors():
            if mode == "rb":
                content = self.snapshot(self.file_path(at)).open(at.path)
                return ReadFile(
                    self,
                    at,
                    content,
                    block_size=block_size or self.blocksize,
                    cache_options=cache_options,
                    **options,
                )
            if mode not in ("wb", "ab", "xb"):
                raise ValueError(f"mode {mode!r}: must be rb, wb, ab or xb")
            if mode == "ab" and self._intrans and self.transaction.changed(at) is not None:
                raise ValueError(f"graveler://{at}: this transaction has written it, and reads only what was before")
            before = self.cat_file(path) if mode == "ab" and self.exists(path) else b""
            upload = self.new_file(path, options.get("content_type"), create=mode == "xb")
            deferred = options.get("deferred", False)
            return WriteFile(str(at), upload, before, options.get("codec"), autocommit=not deferred)

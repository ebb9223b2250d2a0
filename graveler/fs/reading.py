"""Reads of whole files and of ranges."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.core import has_magic
from fsspec.implementations.local import make_path_posix
from fsspec.utils import isfilelike

from graveler.fs.failures import as_os_errors
from graveler.fs.infos import file_info
from graveler.fs.paths import parse, stripped
from graveler.fs.refs import RefFileSystem
from graveler_core.local.file_output import complete_file, local_path, require_distinct_files

CONCURRENT: Final = 16
"""Number of ranges that `cat_ranges` reads at once."""


class Reads(RefFileSystem):
    """The part of the file system that reads content."""

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the content of a file, or a range of it. Whole content is compared with its checksum."""
        at = self.file_path(parse(path))
        with as_os_errors():
            snapshot = self.snapshot(at)
            if not start and end is None:
                return snapshot.read(at.path, verify=self._verify)
            content = snapshot.open(at.path)
            first, last, _ = slice(start, end).indices(content.size)
            return content.read_range(first, max(0, last - first))

    def get(
        self,
        rpath: Any,
        lpath: Any,
        recursive: bool = False,
        callback: Any = DEFAULT_CALLBACK,
        maxdepth: int | None = None,
        **options: Any,
    ) -> None:
        """Download files, or directories with everything below, to local paths.

        All names are checked before the first download, unless `rpath` and `lpath` are both lists.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at a path.
            ValueError: A path below a directory or pattern cannot be a local file: a name is empty, "." or "..". Or one
                local file would receive two paths: `rpath` is a list, of which only the last names are kept, or the
                paths differ only in capitals, and the local file system does not distinguish them.
        """
        super().get(rpath, lpath, recursive, callback, maxdepth, **options, local=lpath)

    def expand_path(
        self, path: Any, recursive: bool = False, maxdepth: int | None = None, *, local: Any = None, **options: Any
    ) -> list[str]:
        """Return the paths that patterns and directories stand for.

        Args:
            path: A path or pattern, or several.
            recursive: Include everything below a directory.
            maxdepth: Maximum depth below a directory.
            local: Local directory, or local paths. Refuse paths that cannot be downloaded to them.
            options: Options of fsspec.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at a path.
            ValueError: A path cannot be a local file, or one local file would receive two paths.
        """
        found: list[str] = super().expand_path(path, recursive, maxdepth, **options)
        if local is not None:
            with as_os_errors():
                places = [(str(local_path(_local_name(path, each))), each) for each in found]
                if isinstance(local, str):
                    require_distinct_files(places, Path(make_path_posix(local)), self.isdir)
        return found

    def get_file(
        self, rpath: str, lpath: Any = None, callback: Any = DEFAULT_CALLBACK, outfile: Any = None, **options: Any
    ) -> None:
        """Download a file to a local path or an open file, in bounded memory. It is compared with its checksum.

        The local file appears when it is complete. If the download fails, a file that was there stays as it was.
        Devices and pipes are written in place. A directory becomes a local directory.
        """
        file = lpath if outfile is None and isfilelike(lpath) else outfile
        if file is None and self.isdir(rpath):
            Path(lpath).mkdir(parents=True, exist_ok=True)
            return
        at = self.file_path(parse(rpath))
        with as_os_errors():
            snapshot = self.snapshot(at)
            if file is not None:
                entry = snapshot.download(at.path, file, verify=self._verify)
            else:
                snapshot.get(at.path)
                local = Path(lpath)
                local.parent.mkdir(parents=True, exist_ok=True)
                with complete_file(local) as file:
                    entry = snapshot.download(at.path, file, verify=self._verify)
        size = file_info(at, entry)["size"]
        callback.set_size(size)
        callback.absolute_update(size)

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        on_error: str = "return",
        **options: Any,
    ) -> list[Any]:
        """Return ranges of files, read concurrently.

        Raises:
            ValueError: The lists have different lengths.
        """
        every = [
            [*each] if isinstance(each, Iterable) else [each] * len(paths)  # one number for all files
            for each in (starts, ends)
        ]
        if any(len(each) != len(paths) for each in every):
            raise ValueError(f"starts and ends: must be as many as the paths, {len(paths)}, or one number")

        def read(path: str, start: int | None, end: int | None) -> Any:
            try:
                return self.cat_file(path, start, end)
            except Exception as e:  # fsspec returns errors of all kinds in the place of content
                if on_error == "return":
                    return e
                raise

        with ThreadPoolExecutor(CONCURRENT) as pool:
            return [*pool.map(read, paths, *every)]


def _local_name(source: Any, path: str) -> str:
    """Return the names of a path that fsspec may append to the local directory.

    Args:
        source: The path or pattern that stands for the path. If it is no text, fsspec leaves out directories.
        path: The path.
    """
    last = path.rpartition("/")[2]
    if not isinstance(source, str):
        return last
    directory = stripped(source)
    while has_magic(directory):
        directory = directory.rpartition("/")[0]
    return last if path == directory else path.removeprefix(f"{directory}/")

"""Writes, copies and removals. They are staged on a branch, or collected by a transaction."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO

from fsspec.core import has_magic

from graveler.fs.failures import as_os_errors
from graveler.fs.paths import FsPath, parse
from graveler.fs.refs import RefFileSystem
from graveler.fs.transaction import GravelerTransaction, refuse_nesting
from graveler_core.errors import PredicateFailed
from graveler_core.model.entry import Entry
from graveler_core.model.names import new_path_key


class Writes(RefFileSystem):
    """The part of the file system that changes branches."""

    def start_transaction(self) -> GravelerTransaction:
        """Begin a transaction without a `with` statement. `end_transaction` commits it.

        Raises:
            RuntimeError: A transaction of this file system is open already.
        """
        refuse_nesting(self)
        started: GravelerTransaction = super().start_transaction()
        return started

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Write a file. With mode "create", refuse a path that exists."""
        upload = self.new_file(path, options.get("content_type"), create=mode == "create")
        upload(io.BytesIO(memoryview(value)))  # memoryview refuses None, which BytesIO takes for no content

    def put_file(self, lpath: str, rpath: str, callback: Any = None, mode: str = "overwrite", **options: Any) -> None:
        """Upload a local file. A local directory is skipped, because directories exist only through their files."""
        if Path(lpath).is_dir():
            return
        upload = self.new_file(rpath, options.get("content_type"), create=mode == "create")
        with Path(lpath).open("rb") as file:
            upload(file)
        if callback is not None:
            size = Path(lpath).stat().st_size
            callback.set_size(size)
            callback.absolute_update(size)

    def cp_file(
        self,
        path1: str,
        path2: str,
        copied: list[tuple[FsPath, FsPath, Entry]] | None = None,
        *,
        markers: bool = False,
        **options: Any,
    ) -> None:
        """Copy a file. Within a repository no content is copied: the new entry refers to the same object.

        Args:
            path1: The file. A directory is skipped, because directories exist only through their files.
            path2: Path of the copy.
            copied: List to which source, target and the entry of the source are added.
            markers: Copy the entry that marks a directory.
        """
        source, target = parse(path1), parse(path2)
        with as_os_errors():
            if not source.path or self.isdir(path1):
                if not markers or not self._is_marked(source):
                    return
                source, target = source.marker, self.file_path(target).marker
            entry = self._entry(source)
            if source.repository == self.file_path(target).repository:
                self._stage(target, entry)
            else:
                marker = source.path.endswith("/")
                with io.BytesIO(self.snapshot(source).read(source.path)) if marker else self.open(path1, "rb") as file:
                    self.new_file(target, entry.content_type, metadata=entry.metadata)(file)
        if copied is not None:
            copied.append((source, target, entry))

    def mv(self, path1: Any, path2: Any, recursive: bool = False, maxdepth: int | None = None, **options: Any) -> None:
        """Move files. With `recursive`, also move directories with all files below them, and the entries that mark
        directories.

        Exactly the files that were copied are removed. A file that is moved to its own path stays, and so does a file
        that another writer replaces after it was copied.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at a path.
            IsADirectoryError: A path names a directory and `recursive` is false, or a path names a repository.
            PermissionError: A path is not on a branch.
        """
        path1, path2 = (fspath(each) if isinstance(each, PathLike) else each for each in (path1, path2))
        for each in [path1] if isinstance(path1, str) else path1:
            with as_os_errors():
                self.branch(self.branch_path(parse(each)))
        copied: list[tuple[FsPath, FsPath, Entry]] = []
        options = {**options, "copied": copied, "markers": recursive}
        self.copy(path1, path2, recursive=recursive, maxdepth=maxdepth, on_error="raise", **options)
        if not copied:
            raise IsADirectoryError(f"{path1}: has no files, only directories: move them with recursive=True")
        new = {target for _, target, _ in copied}
        for source, _, entry in copied:
            if source not in new:
                self._remove_copied(source, entry)

    def _rm(self, path: str) -> None:
        self._remove(parse(path))

    def rm_file(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: There is no file at the path.
        """
        self._remove(parse(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, or directories with everything below. Patterns stand for the paths that match them.

        A name with characters of a pattern stands for itself if it exists: nothing else that matches it is removed.
        All paths are looked up before the first removal: if one does not exist, nothing is removed. Outside of a
        transaction, each directory is removed in one step, and the other files of a branch are removed together in one
        step.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at a path.
            IsADirectoryError: A path names a repository, whose branches have to be named.
        """
        directories, files = list[FsPath](), dict[tuple[str, str], list[FsPath]]()
        for each in [fspath(path)] if isinstance(path, str | PathLike) else map(fspath, path):
            at = self.branch_path(parse(each))
            if recursive and maxdepth is None and not self._intrans and self.isdir(each):
                with as_os_errors():
                    self.branch(at)
                directories.append(at)
            else:
                literal = has_magic(each) and self._is_there(each)
                found = self.expand_path([each], recursive=recursive, maxdepth=maxdepth, assume_literal=literal)
                for file in map(parse, found):
                    if not recursive or self.isfile(str(file)):
                        self._require_file(file)
                    elif self._is_marked(file):
                        file = file.marker  # noqa: PLW2901 - the entry of the directory
                        self._require_file(file)
                    else:
                        continue
                    files.setdefault((file.repository, file.ref), []).append(file)
        with as_os_errors():
            for at in directories:
                self.branch(at).remove_prefix(at.prefix)
            for below in files.values():
                self._remove_together(list(dict.fromkeys(below)))

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def rmdir(self, path: str) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def new_file(
        self,
        path: str | FsPath,
        content_type: str | None,
        *,
        metadata: Mapping[str, str] | None = None,
        create: bool = False,
    ) -> Callable[[BinaryIO], None]:
        """Return a function that uploads a file to a path. The branch is opened at once, so that its errors come first.

        Args:
            path: The path.
            content_type: Media type of the content.
            metadata: Metadata of the entry.
            create: Refuse a path that exists: now, and again when the file is staged. The commit of a transaction
                refuses paths that others have changed.
        """
        at = path if isinstance(path, FsPath) else parse(path)
        with as_os_errors():
            branch = self.branch(self.file_path(at))
            new_path_key(at.path)
        transaction: GravelerTransaction | None = self.transaction if self._intrans else None
        if create and (self.exists(str(at)) or (transaction is not None and transaction.changed(at) is not None)):
            raise FileExistsError(f"{self.unstrip_protocol(str(at))}: exists")

        def upload(file: BinaryIO) -> None:
            with as_os_errors():
                if transaction is None:
                    branch.put(at.path, file, content_type=content_type, metadata=metadata, if_absent=create)
                else:
                    entry = branch.upload(at.path, file, content_type=content_type, metadata=metadata)
                    transaction.change(at, entry)

        return upload

    def _entry(self, at: FsPath) -> Entry:
        written: Entry | None = self.transaction.changed(at) if self._intrans else None
        return written or self.snapshot(at).get(at.path)

    def _is_there(self, path: str) -> bool:
        """Return true if a file or a directory has exactly this name."""
        return self.exists(path) or (self._intrans and self.transaction.changed(parse(path)) is not None)

    def _is_marked(self, at: FsPath) -> bool:
        """Return true if an entry marks a directory."""
        if not at.path:
            return False
        try:
            with as_os_errors():
                self._entry(at.marker)
        except FileNotFoundError:
            return False
        return True

    def _stage(self, at: FsPath, entry: Entry) -> None:
        branch = self.branch(at)
        new_path_key(at.path)
        if self._intrans:
            self.transaction.change(at, entry)
        else:
            branch.stage(at.path, entry)

    def _remove(self, at: FsPath) -> None:
        self._require_file(at)
        with as_os_errors():
            self._remove_together([at])

    def _remove_copied(self, at: FsPath, copied: Entry) -> None:
        """Remove a file, unless it has another entry than the one that was copied."""
        with as_os_errors():
            if not self._intrans:
                with suppress(PredicateFailed):
                    self.branch(at).remove_if(at.path, copied)
            elif self._entry(at).identity == copied.identity:
                self._remove_together([at])

    def _require_file(self, at: FsPath) -> Entry:
        """Return the entry of a file, or raise the error of a path at which no file can be removed."""
        with as_os_errors():
            self.branch(self.file_path(at))
            return self._entry(at)

    def _remove_together(self, files: list[FsPath]) -> None:
        """Remove files of one branch."""
        if self._intrans:
            for at in files:
                self.transaction.change(at, None)
        elif len(files) == 1:
            self.branch(files[0]).remove(files[0].path)
        else:
            self.branch(files[0]).remove_many(at.path for at in files)

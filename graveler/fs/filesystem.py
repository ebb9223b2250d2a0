"""The file system. Reads and writes go through the façade, so access control and protection rules apply."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Final

from fsspec.callbacks import DEFAULT_CALLBACK
from fsspec.spec import AbstractFileSystem
from fsspec.utils import isfilelike

from graveler.fs import paths
from graveler.fs.failures import as_os_errors
from graveler.fs.files import ReadFile, WriteFile, written_or_removed
from graveler.fs.handles import handle
from graveler.fs.paths import FsPath, parse
from graveler.fs.transaction import GravelerTransaction
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.model.names import new_path_key

DIRECTORY: Final = "directory"
CONCURRENT: Final = 16
"""Number of ranges that `cat_ranges` reads at once."""
_UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Modification time of an entry that has none. Some libraries require a time."""


class GravelerFileSystem(AbstractFileSystem):
    """File system over `graveler://repository/ref/path`.

    A ref is a branch, a tag, a commit id, or an expression such as `main~2` or `main@`. A branch shows its staged
    changes. Only branches can be written. What is written is staged, and is committed by `Branch.commit` or by a
    transaction of this file system.

    Access control uses the credentials of the environment (`GRAVELER_ACCESS_KEY_ID`, `GRAVELER_SECRET_ACCESS_KEY`).

    Args:
        store: URL of the key-value store. Default: the environment variable `GRAVELER_STORE`, else `.graveler` in the
            current directory.
        storage: Options of the object stores, as `storage_options` of `graveler.connect`. They are part of a pickle of
            the file system: prefer the environment variables of the object store for secrets.
        pinned: Resolve each branch once, to its head, and read that commit as long as this instance exists. A pinned
            file system cannot be written.
        verify: Compare content that is read as a whole (`cat_file`, `get_file` and what uses them) with its checksum.
            The length is always compared.
    """

    protocol: ClassVar = (paths.PROTOCOL,)
    root_marker = ""
    transaction_type = GravelerTransaction
    blocksize = 1 << 20

    def __init__(
        self,
        store: str | None = None,
        storage: Mapping[str, str] | None = None,
        pinned: bool = False,
        verify: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(store=store, storage=storage, pinned=pinned, verify=verify, **options)
        self._store, self._storage, self._pinned, self._verify = store, storage, pinned, verify
        self._pins: dict[tuple[str, str], str] = {}

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return paths.stripped(str(path))

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        return f"{paths.PROTOCOL}://{paths.stripped(name)}"

    # Handles

    def repository(self, at: FsPath) -> Repository:
        """Return the repository of a path."""
        return handle(self._store, self._storage).repository(at.repository)

    def snapshot(self, at: FsPath) -> Snapshot:
        """Return the state that the ref of a path names."""
        repository = self.repository(at)
        if not self._pinned:
            return repository.at(at.ref)
        key = (at.repository, at.ref)
        if key not in self._pins:
            self._pins[key] = repository.at(at.ref).commit_id
        return repository.at(self._pins[key])

    def branch(self, at: FsPath) -> Branch:
        """Return the branch of a path, for writing.

        Raises:
            PermissionError: The ref is not a branch, or this file system is pinned.
        """
        if self._pinned:
            raise PermissionError(f"{self.unstrip_protocol(str(at))}: this file system is pinned, so it only reads")
        repository = self.repository(at)
        try:
            return repository.branch(at.ref)
        except (InvalidInput, NotFound):
            repository.at(at.ref)
            raise PermissionError(
                f"{self.unstrip_protocol(str(at))}: {at.ref!r} is not a branch, and only branches can be written"
            ) from None

    # Listing

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """Return name, size, type and attributes of a file or directory.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at the path.
        """
        at = parse(path)
        with as_os_errors():
            if at.path:
                return self._info(at)
            if at.ref:
                self.snapshot(at)
            elif at.repository:
                self.repository(at)
            return _directory(str(at))

    def _info(self, at: FsPath) -> dict[str, Any]:
        snapshot = self.snapshot(at)
        try:
            return _file(at, snapshot.get(at.path))
        except NotFound:
            if any(snapshot.list(at.prefix, limit=1)):
                return _directory(str(at))
            raise

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        """List a directory: repositories, the branches and tags of a repository, or files and directories.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at the path.
        """
        at = parse(path)
        with as_os_errors():
            found = self._ls(at)
        return found if detail else [each["name"] for each in found]

    def _ls(self, at: FsPath) -> list[dict[str, Any]]:
        if not at.repository:
            return [_directory(each.id) for each in handle(self._store, self._storage).list_repositories()]
        if not at.ref:
            repository = self.repository(at)
            names = [*(each.id for each in repository.branches()), *(each.id for each in repository.tags())]
            return [_directory(str(FsPath(at.repository, name))) for name in sorted(names)]
        found = [
            _directory(at.below(item.path.rstrip("/"))) if isinstance(item, CommonPrefix) else _file(at, item)
            for item in self.snapshot(at).list(at.prefix, delimiter="/")
        ]
        return found if found or not at.path else [self._file_info(at)]

    def _file_info(self, at: FsPath) -> dict[str, Any]:
        return _file(at, self.snapshot(at).get(at.path))

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **options: Any
    ) -> Any:
        """List all files below a path, by one listing."""
        at = parse(path)
        if maxdepth is not None or withdirs or not at.ref:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        with as_os_errors():
            try:
                listed = self.snapshot(at).list(at.prefix)
            except NotFound:
                return {} if detail else []
            found = {each["name"]: each for item in listed if isinstance(item, Entry) for each in [_file(at, item)]}
            if not found and at.path:
                try:
                    found = {str(at): self._file_info(at)}
                except NotFound:
                    found = {}
        return found if detail else list(found)

    def modified(self, path: str) -> datetime:
        """Return the modification time of a file; 1970-01-01 if the entry has none."""
        time: datetime = self.info(path)["mtime"]
        return time

    def created(self, path: str) -> datetime:
        """Return the modification time, because an object never changes after its creation."""
        return self.modified(path)

    def checksum(self, path: str) -> str:
        """Return a value that differs if the content differs."""
        return self.ukey(path)

    def ukey(self, path: str) -> str:
        """Return the identity of the entry at a path, in hexadecimal."""
        key: str = self.info(path)["identity"]
        return key

    # Reading

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
                content = self.snapshot(self._whole(at)).open(at.path)
                return ReadFile(
                    self,
                    str(at),
                    content,
                    block_size=block_size or self.blocksize,
                    cache_options=cache_options,
                    **options,
                )
            if mode not in ("wb", "ab", "xb"):
                raise ValueError(f"mode {mode!r}: must be rb, wb, ab or xb")
            if mode == "xb" and self.exists(path):
                raise FileExistsError(f"{self.unstrip_protocol(str(at))}: exists")
            before = self.cat_file(path) if mode == "ab" and self.exists(path) else b""
            return WriteFile(str(at), self._uploader(at, options.get("content_type")), before)

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Return the content of a file, or a range of it. Whole content is compared with its checksum."""
        at = self._whole(parse(path))
        with as_os_errors():
            snapshot = self.snapshot(at)
            if not start and end is None:
                return snapshot.read(at.path, verify=self._verify)
            content = snapshot.open(at.path)
            first, last, _ = slice(start, end).indices(content.size)
            return content.read_range(first, max(0, last - first))

    def get_file(
        self, rpath: str, lpath: Any = None, callback: Any = DEFAULT_CALLBACK, outfile: Any = None, **options: Any
    ) -> None:
        """Download a file to a local path or an open file, in bounded memory. It is compared with its checksum.

        If the download fails, nothing stays at the local path. A directory becomes a local directory.
        """
        file = lpath if outfile is None and isfilelike(lpath) else outfile
        if file is None and self.isdir(rpath):
            Path(lpath).mkdir(parents=True, exist_ok=True)
            return
        at = self._whole(parse(rpath))
        with as_os_errors():
            snapshot = self.snapshot(at)
            if file is not None:
                entry = snapshot.download(at.path, file, verify=self._verify)
            else:
                snapshot.get(at.path)
                local = Path(lpath)
                local.parent.mkdir(parents=True, exist_ok=True)
                with written_or_removed(local) as file:
                    entry = snapshot.download(at.path, file, verify=self._verify)
        size = _file(at, entry)["size"]
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
        """Return ranges of files, read concurrently."""
        every = [
            each if isinstance(each, Iterable) else [each] * len(paths)  # one number for all files
            for each in (starts, ends)
        ]

        def read(path: str, start: int | None, end: int | None) -> Any:
            try:
                return self.cat_file(path, start, end)
            except Exception as e:  # fsspec returns errors of all kinds in the place of content
                if on_error == "return":
                    return e
                raise

        with ThreadPoolExecutor(CONCURRENT) as pool:
            return [*pool.map(read, paths, *every)]

    # Writing

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        """Write a file. With mode "create", refuse a path that exists."""
        at = parse(path)
        if mode == "create" and self.exists(path):
            raise FileExistsError(f"{self.unstrip_protocol(str(at))}: exists")
        with as_os_errors():
            self._uploader(at, options.get("content_type"))(io.BytesIO(value))

    def put_file(self, lpath: str, rpath: str, callback: Any = None, mode: str = "overwrite", **options: Any) -> None:
        """Upload a local file. A local directory is skipped, because directories exist only through their files."""
        if Path(lpath).is_dir():
            return
        at = parse(rpath)
        if mode == "create" and self.exists(rpath):
            raise FileExistsError(f"{self.unstrip_protocol(str(at))}: exists")
        with Path(lpath).open("rb") as file, as_os_errors():
            self._uploader(at, options.get("content_type"))(file)
        if callback is not None:
            size = Path(lpath).stat().st_size
            callback.set_size(size)
            callback.absolute_update(size)

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file. Within a repository no content is copied: the new entry refers to the same object."""
        source, target = parse(path1), self._whole(parse(path2))
        with as_os_errors():
            if not source.path or self.isdir(path1):
                return  # directories exist only through their files
            if source.repository != target.repository:
                with self.open(path1, "rb") as file:
                    self._uploader(target, None)(file)
                return
            self._stage(target, self._entry(source))

    def _rm(self, path: str) -> None:
        self._remove(parse(path))

    def rm_file(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: There is no file at the path.
        """
        self._remove(parse(path))

    def rm(self, path: Any, recursive: bool = False, maxdepth: int | None = None) -> None:
        """Remove files, or directories with everything below. Outside of a transaction a directory takes one step.

        Raises:
            FileNotFoundError: There is neither a file nor a directory at a path.
        """
        given = [path] if isinstance(path, str) else path
        for each in given:
            at = parse(each)
            if recursive and maxdepth is None and at.ref and not self._intrans and not self.isfile(each):
                self.info(each)
                with as_os_errors():
                    self.branch(at).remove_prefix(at.prefix)
            else:
                for file in self.expand_path(each, recursive=recursive, maxdepth=maxdepth):
                    if self.isfile(file) or not recursive:
                        self._remove(parse(file))

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def rmdir(self, path: str) -> None:
        """Do nothing: a directory exists as long as there are files below it."""

    def _whole(self, at: FsPath) -> FsPath:
        """Return a path that names a file.

        Raises:
            FileNotFoundError: It names a repository or a ref that does not exist.
            IsADirectoryError: It names a repository or a ref.
        """
        if not at.path:
            self.info(str(at))
            raise IsADirectoryError(f"{self.unstrip_protocol(str(at))}: must name a file, repository/ref/path")
        return at

    def _uploader(self, at: FsPath, content_type: str | None) -> Callable[[BinaryIO], object]:
        """Return a function that uploads a file to a path. The branch is opened now, to raise its errors now."""
        with as_os_errors():
            branch = self.branch(self._whole(at))
            new_path_key(at.path)
        if self._intrans:
            transaction: GravelerTransaction = self.transaction
            return lambda file: transaction.change(at, branch.upload(at.path, file, content_type=content_type))
        return lambda file: branch.put(at.path, file, content_type=content_type)

    def _entry(self, at: FsPath) -> Entry:
        written: Entry | None = self.transaction.changed(at) if self._intrans else None
        return written or self.snapshot(at).get(at.path)

    def _stage(self, at: FsPath, entry: Entry) -> None:
        branch = self.branch(at)
        new_path_key(at.path)
        if self._intrans:
            self.transaction.change(at, entry)
        else:
            branch.stage(at.path, entry)

    def _remove(self, at: FsPath) -> None:
        with as_os_errors():
            branch = self.branch(self._whole(at))
            self._entry(at)
            if self._intrans:
                self.transaction.change(at, None)
            else:
                branch.remove(at.path)


def _directory(name: str) -> dict[str, Any]:
    return {"name": name, "size": 0, "type": DIRECTORY}


def _file(at: FsPath, entry: Entry) -> dict[str, Any]:
    return {
        "name": at.below(entry.path),
        "size": entry.size if entry.data is None else len(entry.data),
        "type": "file",
        "mtime": entry.mtime or _UNKNOWN_TIME,
        "checksum": entry.checksum,
        "content_type": entry.content_type,
        "metadata": dict(entry.metadata),
        "identity": entry.identity.hex(),
    }

"""Listings of a file system: repositories, refs, directories and files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from graveler.fs.failures import as_os_errors
from graveler.fs.infos import directory_info, file_info
from graveler.fs.paths import FsPath, directories_below, parse
from graveler.fs.refs import RefFileSystem
from graveler_core.errors import NotFound
from graveler_core.model.entry import CommonPrefix, Entry


class Listings(RefFileSystem):
    """The part of the file system that lists, and describes files."""

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
            return directory_info(str(at))

    def _info(self, at: FsPath) -> dict[str, Any]:
        snapshot = self.snapshot(at)
        try:
            return file_info(at, snapshot.get(at.path))
        except NotFound:
            if any(snapshot.list(at.prefix, limit=1)):
                return directory_info(str(at))
            raise

    def exists(self, path: str, **options: Any) -> bool:
        """Return true if there is a file or a directory at the path. A store that cannot be read raises its error."""
        return self._type(path) is not None

    def isfile(self, path: str) -> bool:
        """Return true if there is a file at the path. A store that cannot be read raises its error."""
        return self._type(path) == "file"

    def isdir(self, path: str) -> bool:
        """Return true if there is a directory at the path. A store that cannot be read raises its error."""
        return self._type(path) == "directory"

    def _type(self, path: str) -> str | None:
        try:
            found: str = self.info(path)["type"]
        except (FileNotFoundError, ValueError):  # nothing can be at a path that is not valid
            return None
        return found

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
            return [directory_info(each.id) for each in self.graveler().list_repositories()]
        if not at.ref:
            repository = self.repository(at)
            names = [*(each.id for each in repository.branches()), *(each.id for each in repository.tags())]
            return [directory_info(str(FsPath(at.repository, name))) for name in sorted(names)]
        found = [*self.snapshot(at).list(at.prefix, delimiter="/")]
        if not found and at.path:
            return [self._only_file(at)]
        return [
            directory_info(at.below(item.path.rstrip("/"))) if isinstance(item, CommonPrefix) else file_info(at, item)
            for item in found
            if item.path != at.prefix  # an entry of this path marks the directory
        ]

    def _only_file(self, at: FsPath) -> dict[str, Any]:
        return file_info(at, self.snapshot(at).get(at.path))

    def find(
        self, path: str, maxdepth: int | None = None, withdirs: bool = False, detail: bool = False, **options: Any
    ) -> Any:
        """List all files below a path, by one listing unless there is a maximum depth.

        Args:
            path: A directory or a file. Nothing is found at a path that does not exist.
            maxdepth: Maximum depth below the path.
            withdirs: Include the directories, and the path itself if it is one. Entries that mark directories are
                listed as directories only.
            detail: Return information about each file by its name, instead of a list of names.
            options: Options of fsspec.
        """
        at = parse(path)
        if maxdepth is not None or not at.ref:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **options)
        try:
            with as_os_errors():
                found = self._found(at, withdirs=withdirs)
        except FileNotFoundError:
            found = {}
        return dict(sorted(found.items())) if detail else sorted(found)

    def _found(self, at: FsPath, *, withdirs: bool) -> dict[str, dict[str, Any]]:
        listed = [item for item in self.snapshot(at).list(at.prefix) if isinstance(item, Entry)]
        if not listed and at.path:
            return {str(at): self._only_file(at)}
        directories = directories_below(at, (item.path for item in listed)) if withdirs else ()
        files = [file_info(at, item) for item in listed if not item.path.endswith("/")]
        return {each["name"]: each for each in [*map(directory_info, directories), *files]}

    def modified(self, path: str) -> datetime:
        """Return the modification time of a file; 1970-01-01 if the entry has none.

        Raises:
            IsADirectoryError: The path is a directory, which has no time.
        """
        time: datetime = self._file_info(path)["mtime"]
        return time

    def created(self, path: str) -> datetime:
        """Return the modification time, because an object never changes after its creation."""
        return self.modified(path)

    def checksum(self, path: str) -> str:
        """Return a value that differs if the content differs."""
        return self.ukey(path)

    def ukey(self, path: str) -> str:
        """Return the identity of the entry at a path, in hexadecimal.

        Raises:
            IsADirectoryError: The path is a directory, which has no identity.
        """
        key: str = self._file_info(path)["identity"]
        return key

    def _file_info(self, path: str) -> dict[str, Any]:
        found = self.info(path)
        if found["type"] == "directory":
            raise IsADirectoryError(f"{self.unstrip_protocol(path)}: is a directory, and must be a file")
        return found

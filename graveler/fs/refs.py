"""Refs of a file system: the repository, snapshot or branch that a path names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from fsspec.config import apply_config
from fsspec.spec import AbstractFileSystem

from graveler.fs import paths
from graveler.fs.handles import handle
from graveler.fs.paths import FsPath
from graveler.fs.transaction import GravelerTransaction
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot

_Metaclass: Any = type(AbstractFileSystem)


class PinnedAnew(_Metaclass):
    """Metaclass that creates each pinned file system anew. fsspec keeps other instances, and returns them again."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Return a file system with these arguments."""
        if any(args[2:3]) or apply_config(cls, options).get("pinned"):
            options["skip_instance_cache"] = True
        return super().__call__(*args, **options)


class RefFileSystem(AbstractFileSystem, metaclass=PinnedAnew):
    """Options of a file system, and the handles that its paths name."""

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
        pins: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(store=store, storage=storage, pinned=pinned, verify=verify, pins=pins, **options)
        self._store, self._storage, self._pinned, self._verify = store, storage, pinned, verify
        self._pins = dict(pins or {})

    def __reduce__(self) -> Any:
        """Return what pickle keeps. A copy of a pinned file system reads the same commits."""
        create, (cls, args, options) = super().__reduce__()
        return create, (cls, args, self._with_pins(options))

    def to_dict(self, *, include_password: bool = True) -> dict[str, Any]:
        """Return what JSON keeps. A copy of a pinned file system reads the same commits."""
        return self._with_pins(super().to_dict(include_password=include_password))

    def _with_pins(self, options: dict[str, Any]) -> dict[str, Any]:
        return {**options, "pins": dict(self._pins)} if self._pinned else options

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(each) for each in path]
        return paths.stripped(str(path))

    def unstrip_protocol(self, name: str) -> str:
        """Return the URL of a path."""
        return f"{paths.PROTOCOL}://{paths.stripped(name)}"

    def graveler(self) -> Graveler:
        """Return the handle of the key-value store, which all file systems with these options share."""
        return handle(self._store, self._storage)

    def repository(self, at: FsPath) -> Repository:
        """Return the repository of a path."""
        return self.graveler().repository(at.repository)

    def snapshot(self, at: FsPath) -> Snapshot:
        """Return the state that the ref of a path names."""
        repository = self.repository(at)
        if not self._pinned:
            return repository.at(at.ref)
        key = str(FsPath(at.repository, at.ref))
        if key not in self._pins:
            self._pins.setdefault(key, repository.at(at.ref).commit_id)
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

    def branch_path(self, at: FsPath) -> FsPath:
        """Return a path that names a branch, or something on a branch.

        Raises:
            IsADirectoryError: It names a repository, or all repositories.
        """
        if not at.ref:
            raise IsADirectoryError(f"{self.unstrip_protocol(str(at))}: must name a branch, repository/branch")
        return at

    def file_path(self, at: FsPath) -> FsPath:
        """Return a path that names a file.

        Raises:
            FileNotFoundError: It names a repository or a ref that does not exist.
            IsADirectoryError: It names a repository or a ref.
        """
        if not at.path:
            self.info(str(at))
            raise IsADirectoryError(f"{self.unstrip_protocol(str(at))}: must name a file, repository/ref/path")
        return at

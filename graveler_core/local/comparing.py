"""Comparison of the local and remote changes of a directory: changes of one side, and conflicts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.local.index import DirectoryIndex, FileState
from graveler_core.local.names import refusal_of_path
from graveler_core.local.scanning import DirectoryScan, LocalChange, Skipped, checksum_of, stamp_of
from graveler_core.model.changes import ChangeKind
from graveler_core.model.entry import Entry


@dataclass(frozen=True, slots=True)
class Remote:
    """Content that a directory should have: the entries of one commit below the prefix, by name of the file."""

    commit: str
    at: Snapshot
    entries: Mapping[str, Entry]
    skipped: list[Skipped]


@dataclass(slots=True)
class Comparison:
    """Changes of both sides. A path is in at most one of the dictionaries."""

    local: dict[str, LocalChange] = field(default_factory=dict)
    remote: dict[str, ChangeKind] = field(default_factory=dict)
    conflicts: dict[str, tuple[LocalChange, ChangeKind]] = field(default_factory=dict)
    agreed: dict[str, FileState | None] = field(default_factory=dict)
    """States of files that both sides changed to the same content; `None` if both removed the file."""


def remote_of(repository: Repository, ref: str, prefix: str, *, every: bool = False) -> Remote:
    """Return the entries of a ref's commit below a prefix. Changes that are staged on a branch are left out.

    Args:
        repository: Repository.
        ref: Ref expression.
        prefix: Prefix of the paths.
        every: Do not skip the entries that a directory cannot hold, such as `a/b` beside a file `a`.
    """
    commit = repository.commit(ref).id
    at = repository.at(commit)
    entries, skipped = dict[str, Entry](), list[Skipped]()
    for entry in at.list(prefix):
        path = entry.path.removeprefix(prefix)
        reason = refusal_of_path(path)
        above = next((path[:end] for end in _ends(path) if path[:end] in entries), None)
        if above is not None:
            reason = f"{above!r} is a file, so it cannot be a directory, too"
        if reason and not every:
            skipped.append(Skipped(path, reason))
        else:
            entries[path] = entry
    return Remote(commit, at, entries, skipped)


def compare(root: Path, index: DirectoryIndex, found: DirectoryScan, remote: Remote) -> Comparison:
    """Compare both sides with the index."""
    result = Comparison()
    for path in sorted(index.files.keys() | remote.entries.keys() | found.changes.keys()):
        local, there = found.changes.get(path), _remote_change(index.files.get(path), remote.entries.get(path))
        if local is not None and there is not None:
            agreed, state = agreement(root, path, local, remote)
            if agreed:
                result.agreed[path] = state
            else:
                result.conflicts[path] = (local, there)
        elif local is not None:
            result.local[path] = local
        elif there is not None:
            result.remote[path] = there
    gone = {path for path, change in result.local.items() if change.stamp is None}
    new = [path for path, change in result.local.items() if change.kind is ChangeKind.ADDED]
    for path in crossing(new, remote.entries.keys() - gone):
        result.conflicts[path] = (result.local.pop(path), ChangeKind.REMOVED)
    return result


def crossing(paths: Iterable[str], files: Set[str]) -> list[str]:
    """Return the paths that are directories of some of the files, or that are below one of them."""
    directories = {file[:end] for file in files for end in _ends(file)}
    return [path for path in paths if path in directories or any(path[:end] in files for end in _ends(path))]


def agreement(root: Path, path: str, local: LocalChange, remote: Remote) -> tuple[bool, FileState | None]:
    """Return whether a changed file has the content of its entry, and the state to enter in the index."""
    entry, place = remote.entries.get(path), root / path
    if local.stamp is None or entry is None:
        return local.stamp is None and entry is None, None
    if local.stamp.size != (entry.size if entry.data is None else len(entry.data)):
        return False, None
    checksum = checksum_of(place)
    known = entry.checksum if (entry.checksum or "").startswith("sha256:") else _read(remote.at, entry)
    if checksum != known or stamp_of(place) != local.stamp:
        return False, None
    return True, FileState(local.stamp.size, local.stamp.mtime, checksum, entry.identity.hex())


class Digest:
    """File that computes the checksum of the bytes that are written to it. It may write them to another file, too."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file, self._digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        if self._file is not None:
            self._file.write(data)
        return len(data)

    @property
    def checksum(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"


def _read(at: Snapshot, entry: Entry) -> str:
    """Return the checksum of the content of an entry that was not uploaded through graveler."""
    digest = Digest()
    at.download(entry.path, cast(BinaryIO, digest))
    return digest.checksum


def _remote_change(known: FileState | None, entry: Entry | None) -> ChangeKind | None:
    if entry is None:
        return None if known is None else ChangeKind.REMOVED
    if known is None:
        return ChangeKind.ADDED
    return None if known.identity == entry.identity.hex() else ChangeKind.CHANGED


def _ends(path: str) -> list[int]:
    return [at for at, character in enumerate(path) if character == "/"]

"""A directory at the beginning of a command: it is locked, and its index includes work of an interrupted command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from graveler_core.errors import NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.local.comparing import Comparison, Remote, agreement, compare, remote_of
from graveler_core.local.index import DirectoryIndex, FileState, locked, read_index, remove_temporary_files, write_index
from graveler_core.local.scanning import DirectoryScan, scan

KEY: Final = "graveler.local"
"""Name of the metadata by which the commit of an interrupted command is found."""


@dataclass(slots=True)
class Workspace:
    """A directory, its repository, and its index. `save` replaces the index."""

    root: Path
    repository: Repository
    index: DirectoryIndex

    def save(self, **changes: object) -> None:
        """Replace the index by one with other values."""
        self.index = replace(self.index, **changes)  # type: ignore[arg-type]
        write_index(self.root, self.index)

    def look(self, ref: str = "", *, lenient: bool = False) -> tuple[DirectoryScan, Remote, Comparison]:
        """Read the files of the directory and the entries of the ref, and compare them.

        Args:
            ref: Ref expression. "" means the ref that the directory follows.
            lenient: If the ignore file is not valid, ignore no file.
        """
        remote = remote_of(self.repository, ref or self.index.ref, self.index.prefix)
        found = scan(self.root, self.index, lenient=lenient)
        return found, remote, compare(self.root, self.index, found, remote)

    def files_with(self, found: DirectoryScan, agreed: Mapping[str, FileState | None]) -> dict[str, FileState]:
        """Return the files of the index, updated with the states that a comparison has found without any transfer.

        A file that was found changed, and has the size of its state, is compared by content from now on: its time may
        be that of the state, if times are coarse or a program restores them.
        """
        known = self.index.files
        sizes = {path: change.stamp.size for path, change in found.changes.items() if change.stamp and path in known}
        differing = {path: replace(known[path], size=-1) for path, size in sizes.items() if size == known[path].size}
        files = {**known, **found.touched, **differing, **agreed}
        return {path: state for path, state in files.items() if state is not None}


@contextmanager
def opened(graveler: Graveler, root: Path) -> Iterator[Workspace]:
    """Lock a directory, and finish the index of an interrupted command.

    Raises:
        SlowDown: Another command is at work in the directory.
        NotFound: The repository does not exist, or another one has its name.
    """
    with locked(root):
        index = read_index(root)
        repository = graveler.repository(index.repository)
        if repository.uid != index.uid:
            raise NotFound(
                f"directory {str(root)!r}: follows a repository {index.repository!r} that this store does not have; "
                "the one of this name is another one"
            )
        remove_temporary_files(root)
        workspace = Workspace(root, repository, index)
        _finish(workspace)
        yield workspace


def _finish(workspace: Workspace) -> None:
    """Enter the files in the index that an interrupted command has brought or committed."""
    underway = workspace.index.underway
    if underway is None:
        return
    commit = underway.commit or _made(workspace, underway.key)
    if not commit:
        workspace.save(underway=None)
        return
    found = scan(workspace.root, workspace.index, lenient=True)  # a pull may bring a corrected ignore file
    made = not underway.commit
    try:
        remote = remote_of(workspace.repository, commit, workspace.index.prefix, every=made)
    except NotFound:  # retention has removed the commit: compare what was brought as other files
        workspace.save(underway=None)
        return
    states = {path: agreement(workspace.root, path, change, remote) for path, change in found.changes.items()}
    agreed = {path: state for path, (same, state) in states.items() if same}
    workspace.save(files=workspace.files_with(found, agreed), written=found.taken, underway=None)


def _made(workspace: Workspace, key: str) -> str:
    """Return the commit with a key, if it was made since the commit of the index."""
    index = workspace.index
    with suppress(NotFound):  # the branch was deleted
        for commit in workspace.repository.log(index.ref, since=index.commit, first_parent=True):
            if commit.metadata.get(KEY) == key:
                return commit.id
    return ""

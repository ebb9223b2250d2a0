"""Changes of a directory and of the ref that it follows, since the two last agreed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from graveler_core.facade.graveler import Graveler
from graveler_core.local.index import DirectoryIndex
from graveler_core.local.scanning import Skipped
from graveler_core.local.workspace import opened
from graveler_core.model.changes import ChangeKind


class Where(StrEnum):
    """Side of a change."""

    LOCAL = "local"
    REMOTE = "remote"
    BOTH = "conflict"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file. In a conflict, `kind` is that of the local change."""

    path: str
    where: Where
    kind: ChangeKind


@dataclass(frozen=True, slots=True)
class Status:
    """Index of a directory, commit of the ref, changes in the order of paths, and files that are left out."""

    index: DirectoryIndex
    commit: str
    changes: list[FileChange]
    skipped: list[Skipped]


def status(graveler: Graveler, root: Path) -> Status:
    """Compare a directory with the ref that it follows. Change no file."""
    with opened(graveler, root) as workspace:
        found, remote, compared = workspace.look()
        if found.touched or compared.agreed:  # the next command need not read these files again
            workspace.save(files=workspace.files_with(found, compared.agreed), written=found.taken)
    changes = [FileChange(path, Where.LOCAL, change.kind) for path, change in compared.local.items()]
    changes += [FileChange(path, Where.REMOTE, kind) for path, kind in compared.remote.items()]
    changes += [FileChange(path, Where.BOTH, change.kind) for path, (change, _) in compared.conflicts.items()]
    skipped = [*remote.skipped, *found.skipped]
    return Status(workspace.index, remote.commit, sorted(changes, key=lambda each: each.path), skipped)

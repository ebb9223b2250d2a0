"""Commit of the local changes of a directory, in one transaction on the branch that it follows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind, NoChanges, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.history import CommitRecord
from graveler_core.local.comparing import Remote, remote_of
from graveler_core.local.concurrent import concurrently
from graveler_core.local.index import FileState, LocalWork
from graveler_core.local.line import Line
from graveler_core.local.placing import changed
from graveler_core.local.pulling import conflicting
from graveler_core.local.scanning import LocalChange, Skipped, Stamp, checksum_of, stamp_of
from graveler_core.local.workspace import KEY, Workspace, opened
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Operation, Put, Remove


@dataclass(frozen=True, slots=True)
class Words:
    """Texts of a commit."""

    message: str
    committer: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit, and the files that were left out."""

    commit: CommitRecord
    uploaded: list[str]
    removed: list[str]
    skipped: list[Skipped]


def commit(
    graveler: Graveler, root: Path, words: Words, progress: Callable[[int], object] = lambda count: None
) -> Committed:
    """Commit the local changes of a directory to its branch, all of them or none.

    Changes of other paths that others have committed stay in the branch. The next pull brings them. If a path is then
    both a file and a directory in the branch, the pull brings the file, and reports the files below it as skipped.

    A failure after the commit is not reported: the index still names the commit's key, and the next command enters the
    committed files.

    Args:
        graveler: The store.
        root: The directory.
        words: Texts of the commit.
        progress: Function that is called with numbers of bytes.

    Raises:
        Conflict: Both sides changed some files, a file was changed during the commit, or the branch has a path that the
            directory has left out (`LocalConflict`). Or another call changed one of the paths at the same moment:
            repeat the call.
        NoChanges: There are no local changes.
        InvalidInput: The directory follows no branch.
        DirtyBranch: Changes of the same paths are staged on the branch.
    """
    with opened(graveler, root) as workspace:
        branch = _branch(workspace)
        found, remote, compared = workspace.look()
        if compared.conflicts:
            raise conflicting(root, compared)
        _refuse_hidden(root, remote, compared.local)
        files = workspace.files_with(found, compared.agreed)
        if not compared.local:
            workspace.save(files=files)
            raise NoChanges(f"directory {str(root)!r}: there are no local changes", commit=remote.commit)
        operations = _operations(workspace, branch, remote, compared.local, progress)
        key = uuid.uuid4().hex
        workspace.save(files=files, underway=LocalWork(key=key))
        try:
            made = branch.transact(
                operations,
                message=words.message,
                committer=words.committer,
                metadata={**words.metadata, KEY: key},
                idempotency_key=key,
            )
        except GravelerError as e:
            if e.kind is not Kind.OutcomeUnknown:
                workspace.save(underway=None)
            raise
        with suppress(GravelerError, OSError):  # the commit is made, and the next command completes the index
            states = _states(workspace, made, compared.local, operations)
            files = {path: state for path, state in {**files, **states}.items() if state is not None}
            workspace.save(files=files, commit=made.id, written=found.taken, underway=None)
    uploaded = [path for path, change in compared.local.items() if change.stamp is not None]
    removed = [path for path, change in compared.local.items() if change.stamp is None]
    return Committed(made, uploaded, removed, found.skipped)


def _branch(workspace: Workspace) -> Branch:
    ref = workspace.index.ref
    try:
        branch = workspace.repository.branch(ref)
        branch.record()
    except (InvalidInput, NotFound) as e:
        raise InvalidInput(
            f"directory {str(workspace.root)!r}: follows {ref!r}, which is no branch, so nothing can be committed "
            "to it; graveler local checkout lets it follow a branch"
        ) from e
    return branch


def _refuse_hidden(root: Path, remote: Remote, changes: Mapping[str, LocalChange]) -> None:
    """Refuse to replace entries that pulls have left out, because the directory never had their content."""
    hidden = {left_out.path: left_out.reason for left_out in remote.skipped if left_out.path in changes}
    if hidden:
        path, reason = next(iter(hidden.items()))
        raise Conflict(
            f"directory {str(root)!r}: {path!r} is new here, but the branch has it, too, and pulls have left it out: "
            f"{reason}; move it out of the directory, commit, pull, and compare it with the file of the branch",
            kind=Kind.LocalConflict,
            paths=sorted(hidden),
        )


def _operations(
    workspace: Workspace,
    branch: Branch,
    remote: Remote,
    changes: Mapping[str, LocalChange],
    progress: Callable[[int], object],
) -> list[Operation]:
    """Upload the changed files, and return the operations of the transaction, which expect the entries of `remote`."""
    root, prefix, line = workspace.root, workspace.index.prefix, Line()

    def operation(item: tuple[str, LocalChange]) -> Operation:
        path, change = item
        held = remote.entries.get(path)
        if change.stamp is None:
            return Remove(prefix + path, expected=held)
        with line.sending(change.stamp.size):
            entry = _uploaded(branch, prefix + path, root / path, change.stamp)
        progress(change.stamp.size)
        if held is not None:
            entry = replace(
                entry,
                content_id=held.content_id,
                content_type=held.content_type,
                metadata=held.metadata,
                payload=held.payload,
            )
        return Put(prefix + path, entry, expected=held)

    operations = list(concurrently(operation, changes.items()))
    for path, change in changes.items():  # a file may have been changed since its upload
        if stamp_of(root / path) != change.stamp:
            raise changed(root / path)
    return operations


def _uploaded(branch: Branch, path: str, file: Path, stamp: Stamp) -> Entry:
    with file.open("rb") as source:
        entry = branch.upload(path, source)
    if stamp_of(file) != stamp or entry.size != stamp.size:
        raise changed(file)
    return entry


def _states(
    workspace: Workspace, made: CommitRecord, changes: Mapping[str, LocalChange], operations: list[Operation]
) -> dict[str, FileState | None]:
    """Return the new states of the committed files.

    The commit contains all of them, even if another call has just added a file `a` beside a committed `a/b`. The next
    pull then brings `a`, and removes `a/b` from the directory, but not from the branch.
    """
    entries = remote_of(workspace.repository, made.id, workspace.index.prefix, every=True).entries
    uploaded = {operation.path: operation.entry for operation in operations if isinstance(operation, Put)}
    states = dict[str, FileState | None]()
    for path, change in changes.items():
        entry = uploaded.get(workspace.index.prefix + path)
        if change.stamp is None or entry is None:
            states[path] = None
        else:
            checksum = entry.checksum or checksum_of(workspace.root / path)
            states[path] = FileState(change.stamp.size, change.stamp.mtime, checksum, entries[path].identity.hex())
    return states

"""Clone, pull and checkout: bring the content of a ref into a directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.facade.graveler import Graveler
from graveler_core.local.comparing import Comparison, Remote, crossing
from graveler_core.local.concurrent import concurrently
from graveler_core.local.index import FOLDER, DirectoryIndex, FileState, LocalWork, has_index, locked, write_index
from graveler_core.local.placing import Destination, place, remove
from graveler_core.local.scanning import DirectoryScan, Skipped, Stamp
from graveler_core.local.workspace import Workspace, opened
from graveler_core.model.changes import ChangeKind
from graveler_core.model.counting import counted

Side: TypeAlias = Literal["ours", "theirs"]
Progress: TypeAlias = Callable[[int], object]


@dataclass(frozen=True, slots=True)
class Pulled:
    """Result of a command that brings a commit."""

    commit: str
    downloaded: list[str]
    removed: list[str]
    skipped: list[Skipped]


@dataclass(slots=True)
class _Plan:
    """Files to download and to remove, each with the stamp that it must have, and states that need no transfer."""

    downloads: dict[str, Stamp | None] = field(default_factory=dict)
    removals: dict[str, Stamp] = field(default_factory=dict)
    states: dict[str, FileState | None] = field(default_factory=dict)


def clone(
    graveler: Graveler, source: tuple[str, str, str], root: Path, progress: Progress = lambda count: None
) -> Pulled:
    """Bring the committed content of a ref into a new directory, which follows the ref from then on.

    Args:
        graveler: The store.
        source: Repository, ref and prefix. The prefix is that of a directory.
        root: The directory. It must be absent or empty.
        progress: Function that is called with numbers of bytes.

    Raises:
        InvalidInput: The directory contains something.
        NotFound: The repository or the ref does not exist.
    """
    _follow(graveler, source, root, empty=True)
    return pull(graveler, root, progress=progress)


def init(graveler: Graveler, source: tuple[str, str, str], root: Path) -> DirectoryIndex:
    """Let a directory follow a ref, and transfer nothing. The files that it has are local changes.

    Args:
        graveler: The store.
        source: Repository, ref and prefix. The prefix is that of a directory.
        root: The directory. It may contain files, or be absent.

    Raises:
        InvalidInput: The directory follows a ref already, or is a file.
        NotFound: The repository or the ref does not exist.
    """
    return _follow(graveler, source, root, empty=False)


def _follow(graveler: Graveler, source: tuple[str, str, str], root: Path, *, empty: bool) -> DirectoryIndex:
    """Create the index of a directory."""
    name, ref, prefix = source
    repository = graveler.repository(name)
    commit = repository.commit(ref).id
    _check_new(root, empty=empty)
    root.mkdir(parents=True, exist_ok=True)
    below = f"{prefix.rstrip('/')}/" if prefix else ""
    index = DirectoryIndex(name, repository.uid, ref, below, commit)
    with locked(root):
        _check_new(root, empty=empty)  # another command may have been faster
        write_index(root, index)
    return index


def _check_new(root: Path, *, empty: bool) -> None:
    """Refuse a directory that cannot begin to follow a ref."""
    if root.exists() and not root.is_dir():
        raise InvalidInput(f"directory {str(root)!r}: is a file")
    if has_index(root):
        raise InvalidInput(
            f"directory {str(root)!r}: is a clone already; if it was interrupted, graveler local pull completes it"
        )
    if empty and root.exists() and any(each.name != FOLDER for each in root.iterdir()):
        raise InvalidInput(
            f"directory {str(root)!r}: must be empty, or not exist; graveler local init takes one that has files"
        )


def pull(
    graveler: Graveler, root: Path, *, keep: Side | None = None, progress: Progress = lambda count: None
) -> Pulled:
    """Bring the changes of the ref that a directory follows. Local changes of other files stay.

    An ignore file that is not valid does not prevent this: the pull may bring a corrected one.

    Args:
        graveler: The store.
        root: The directory.
        keep: Side to take where both sides changed a file: "ours" keeps the local file as a change against the new
            content, "theirs" replaces it.
        progress: Function that is called with numbers of bytes.

    Raises:
        Conflict: (`LocalConflict`) both sides changed some files, and `keep` is not given; `details["paths"]` lists
            them, and nothing is changed. Or a file was changed meanwhile: it stays, and others may have been brought.
    """
    with opened(graveler, root) as workspace:
        found, remote, compared = workspace.look(lenient=True)
        if compared.conflicts and keep is None:
            raise conflicting(root, compared)
        return _bring(
            workspace, _Sides(found, remote, compared), _plan(workspace.index, compared, remote, keep), progress
        )


def checkout(
    graveler: Graveler, root: Path, ref: str, *, discard: bool = False, progress: Progress = lambda count: None
) -> Pulled:
    """Let a directory follow another ref, and bring its content.

    Args:
        graveler: The store.
        root: The directory.
        ref: Ref expression. "" means the ref that the directory follows.
        discard: Replace local changes by the content of the ref. New files stay, unless the ref has the same name.
        progress: Function that is called with numbers of bytes.

    Raises:
        Conflict: (`LocalConflict`) there are local changes, and `discard` is false. Or a new file is a directory of
            the ref, or below a file of it.
        NotFound: The ref does not exist.
    """
    with opened(graveler, root) as workspace:
        ref = ref or workspace.index.ref
        found, remote, compared = workspace.look(ref)
        changes = sorted(compared.local.keys() | compared.conflicts.keys())
        if changes and not discard:
            raise Conflict(
                f"directory {str(root)!r}: has local changes ({len(changes):,}), the first is {changes[0]!r}; commit "
                "them, or discard them with --discard",
                kind=Kind.LocalConflict,
                paths=changes,
            )
        _refuse_in_the_way(root, ref, found, remote)
        plan = _plan(workspace.index, compared, remote, "theirs")
        for path, change in compared.local.items():
            if change.kind is not ChangeKind.ADDED:
                plan.downloads[path] = change.stamp
        return _bring(workspace, _Sides(found, remote, compared), plan, progress, ref)


def conflicting(root: Path, compared: Comparison) -> Conflict:
    """Return the error that names the conflicts of a directory."""
    paths = sorted(compared.conflicts)
    return Conflict(
        f"directory {str(root)!r}: {counted(len(paths), 'file was', 'files were')} changed here and in the "
        "repository, the first is "
        f"{paths[0]!r}; graveler local pull with --ours or --theirs takes one side",
        kind=Kind.LocalConflict,
        paths=paths,
    )


def _refuse_in_the_way(root: Path, ref: str, found: DirectoryScan, remote: Remote) -> None:
    """Refuse to remove new files that have the name of a directory of a ref, or are below one of its files."""
    new = [path for path, change in found.changes.items() if change.kind is ChangeKind.ADDED]
    paths = sorted(crossing(new, remote.entries.keys()))
    if paths:
        raise Conflict(
            f"directory {str(root)!r}: {counted(len(paths), 'new file is', 'new files are')} in the way of files of "
            f"{ref!r}, the first is {paths[0]!r}; move them, and repeat the command",
            kind=Kind.LocalConflict,
            paths=paths,
        )


def _refuse_left_out(root: Path, plan: _Plan, found: DirectoryScan) -> None:
    """Refuse to replace or remove a file whose name, or that of a directory above it, is left out here: a tracked file
    may have become a symbolic link, or a directory a clone of its own.
    """
    reasons = {each.path: each.reason for each in found.skipped}
    for path in sorted(plan.downloads.keys() | plan.removals.keys()) if reasons else ():
        at = next((at for at in (path, *map(str, PurePosixPath(path).parents)) if at in reasons), None)
        if at is not None:
            raise Conflict(
                f"directory {str(root)!r}: {path!r} was changed in the repository, but {at!r} is left out here "
                f"({reasons[at]}); move it, and repeat the command",
                kind=Kind.LocalConflict,
                paths=[path],
            )


@dataclass(frozen=True, slots=True)
class _Sides:
    found: DirectoryScan
    remote: Remote
    compared: Comparison


def _plan(index: DirectoryIndex, compared: Comparison, remote: Remote, keep: Side | None) -> _Plan:
    """Return the plan that brings the remote changes into the directory."""
    plan = _Plan(states=dict(compared.agreed))
    ours = {path for path, (local, _) in compared.conflicts.items() if keep == "ours" and local.stamp is not None}
    refused = set(crossing(compared.remote, ours))
    for path, kind in compared.remote.items():
        if path in refused:  # a kept file is a directory of it, or below it
            plan.states[path] = _kept(path, remote)
            continue
        known = index.files.get(path)
        stamp = None if known is None else Stamp(known.size, known.mtime)
        _replace(plan, path, kind, stamp)
    for path, (local, kind) in compared.conflicts.items():
        if keep == "theirs":
            _replace(plan, path, kind, local.stamp)
        else:
            plan.states[path] = _kept(path, remote)
    return plan


def _replace(plan: _Plan, path: str, kind: ChangeKind, stamp: Stamp | None) -> None:
    if kind is not ChangeKind.REMOVED:
        plan.downloads[path] = stamp
    elif stamp is None:
        plan.states[path] = None
    else:
        plan.removals[path] = stamp


def _kept(path: str, remote: Remote) -> FileState | None:
    """Return the state of a file that stays different from its entry."""
    entry = remote.entries.get(path)
    return None if entry is None else FileState(-1, 0, entry.checksum or "", entry.identity.hex())


def _bring(workspace: Workspace, sides: _Sides, plan: _Plan, progress: Progress, ref: str = "") -> Pulled:
    """Carry out a plan: note it in the index, remove, download, and enter the result in the index."""
    root, remote, index = workspace.root, sides.remote, workspace.index
    _refuse_left_out(root, plan, sides.found)
    files = workspace.files_with(sides.found, plan.states)
    stamps = _current(plan, sides.found)
    if plan.downloads or plan.removals:
        workspace.save(ref=ref or index.ref, underway=LocalWork(commit=remote.commit))
    done, commit, refused = False, index.commit, dict[str, Skipped]()
    try:
        for path, stamp in plan.removals.items():
            remove(root, path, stamps.get(path, stamp))
            files.pop(path, None)

        destination = Destination(root)

        def download(path: str) -> tuple[str, FileState | Skipped]:
            expected = stamps.get(path, plan.downloads[path])
            return path, place(destination, path, expected, (remote.at, remote.entries[path]), progress)

        for path, state in concurrently(download, plan.downloads):
            if isinstance(state, Skipped):
                refused[path] = state
            else:
                files[path] = state
        done, commit = True, remote.commit
    finally:
        # After an error, the next command finds the files that are not entered yet: it compares them with the commit.
        underway = None if done else LocalWork(commit=remote.commit)
        workspace.save(ref=ref or index.ref, files=files, written=sides.found.taken, commit=commit, underway=underway)
    skipped = [*remote.skipped, *refused.values(), *sides.found.skipped]
    return Pulled(commit, sorted(plan.downloads.keys() - refused.keys()), sorted(plan.removals), skipped)


def _current(plan: _Plan, found: DirectoryScan) -> Mapping[str, Stamp]:
    """Return the stamps of files that were touched without a change, which differ from those of the index."""
    paths = plan.downloads.keys() | plan.removals.keys()
    return {path: Stamp(state.size, state.mtime) for path, state in found.touched.items() if path in paths}

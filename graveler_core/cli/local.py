"""`graveler local`: a directory that follows a branch. The flows are those of `graveler_core.local`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from graveler_core.cli.commit import AllowEmptyMessage, Metadata, require_message
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.output import note
from graveler_core.cli.pairs import pairs
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, first_line
from graveler_core.cli.uri import Uri, prefix_uri, ref_in
from graveler_core.cli.views import CONFLICTING_FILES, FILE_CHANGES
from graveler_core.documents.versions import commit_document
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graveler_core.local.index import DirectoryIndex
    from graveler_core.local.pulling import Pulled
    from graveler_core.local.scanning import Skipped

app = typer.Typer(
    name="local", help="Work on a branch in a local directory: clone, init, status, pull, commit, checkout."
)
Directory = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The directory, or one below it. Default: the working directory.")
]
HERE = Path(".")


@verb(app, "clone")
def clone(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref, or with /directory")],
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="[DIR]", help="New or empty directory. Default: the last name of the URI."),
    ] = None,
) -> None:
    """Download what a ref has committed below a directory into a new local directory, which then follows the ref.

    JSON: one document with directory, repository, ref, prefix, commit, downloaded (number of files), removed, skipped
    (a list of objects with path, reason).
    """
    from graveler_core.local.pulling import clone as brought

    target = prefix_uri(uri)
    root = Path(target.path.rstrip("/").rpartition("/")[2] or target.repository) if directory is None else directory
    with Progress(ProgressWork("downloading")) as progress:
        done = brought(
            session.graveler, (target.repository, target.ref, target.path), root.absolute(), progress.advance
        )
    _tell(session, root.absolute(), done, "cloned into")
    if not done.downloaded and not done.skipped:
        note(f"{target} has no committed files: the directory is empty")


@verb(app, "init")
def init(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref, or with /directory")],
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The directory. Default: the working directory.")
    ] = HERE,
) -> None:
    """Let a directory follow a ref, and transfer nothing. The files that it has become local changes.

    `local pull` then brings the files of the ref, and `local commit` uploads those of the directory.

    JSON: one document with directory, repository, ref, prefix, commit.
    """
    from graveler_core.local.pulling import init as followed

    target, root = prefix_uri(uri), directory.absolute()
    index = followed(session.graveler, (target.repository, target.ref, target.path), root)
    session.out.result(_where(root, index), f"{root} follows {target}; graveler local status compares them")


@verb(app, "status")
def status(session: Session, directory: Directory = HERE) -> None:
    """List local changes of a directory, changes of the ref that it follows, and conflicts of both.

    JSON: a line for each change with type ("change"), path, where ("local", "remote", "conflict"), change ("added",
    "changed", "removed"); then one document with type ("directory"), directory, repository, ref, prefix, commit (the
    one that was brought last), head (that of the ref), skipped (a list of objects with path, reason).
    """
    from graveler_core.local.index import root_of
    from graveler_core.local.status import status as looked

    root = root_of(directory)
    with session.working("comparing"):
        found = looked(session.graveler, root)
    session.out.rows(found.changes, FILE_CHANGES)
    session.out.document(
        {"type": "directory", **_where(root, found.index), "head": found.commit, "skipped": _listed(found.skipped)}
    )
    uri = Uri(found.index.repository, found.index.ref, found.index.prefix)
    note(f"{root} follows {uri} at {found.index.commit[:SHORT_ID]}")
    _note_skipped(found.skipped)


@verb(app, "pull")
def pull(
    session: Session,
    directory: Directory = HERE,
    *,
    ours: Annotated[bool, typer.Option("--ours", help="Keep local files that both sides changed.")] = False,
    theirs: Annotated[
        bool, typer.Option("--theirs", help="Replace local files that both sides changed: local changes are lost.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Bring the new commits of the ref that a directory follows. Local changes of other files stay.

    If both sides changed a file, nothing is changed and the files are listed. After --ours the local files are changes
    against the new content, which the next commit overwrites.

    JSON: one document as for `clone`; after a conflict a line for each file with type ("conflict"), path.
    """
    from graveler_core.local.index import root_of
    from graveler_core.local.pulling import pull as brought

    if ours and theirs:
        raise InvalidInput("--ours and --theirs exclude each other: give one of them")
    keep: Literal["ours", "theirs"] | None = "ours" if ours else "theirs" if theirs else None
    root = root_of(directory)
    if theirs:
        confirm(f"Replace local changes in {root} that the ref has changed, too?", yes=yes)
    with _conflicts_listed(session), Progress(ProgressWork("downloading")) as progress:
        done = brought(session.graveler, root, keep=keep, progress=progress.advance)
    _tell(session, root, done, "pulled into")


@verb(app, "checkout")
def checkout(
    session: Session,
    ref: Annotated[str, typer.Argument(metavar="REF", help="Branch, tag or commit, or its URI.")],
    directory: Directory = HERE,
    *,
    discard: Annotated[
        bool, typer.Option("--discard", help="Discard local changes of files that the repository has.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Let a directory follow another ref, and bring its content. Refuse if there are local changes.

    New files that the ref does not have stay.

    JSON: one document as for `clone`.
    """
    from graveler_core.local.index import read_index, root_of
    from graveler_core.local.pulling import checkout as brought

    root = root_of(directory)
    name = ref_in(read_index(root).repository, ref)
    if discard:
        confirm(f"Discard local changes in {root}?", yes=yes)
    with _conflicts_listed(session), Progress(ProgressWork("downloading")) as progress:
        done = brought(session.graveler, root, name, discard=discard, progress=progress.advance)
    _tell(session, root, done, f"checked out {name} in")


@verb(app, "commit")
def commit(
    session: Session,
    directory: Directory = HERE,
    *,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Message of the commit.")],
    meta: Metadata = None,
    allow_empty_message: AllowEmptyMessage = False,
) -> None:
    """Upload the local changes of a directory, and commit them to the branch that it follows: all of them or none.

    If both sides changed a file, nothing is committed: `local pull` first. What others have committed to other paths
    stays, and is brought by the next pull.

    JSON: one document as for `commit`, with uploaded and removed (lists of paths), skipped.
    """
    from graveler_core.local.committing import Words
    from graveler_core.local.committing import commit as made
    from graveler_core.local.index import root_of

    require_message(message, allow_empty_message=allow_empty_message)
    root = root_of(directory)
    words = Words(message, session.committer, pairs("metadata", meta or []))
    with _conflicts_listed(session), Progress(ProgressWork("uploading")) as progress:
        done = made(session.graveler, root, words, progress.advance)
    document = {"uploaded": done.uploaded, "removed": done.removed, "skipped": _listed(done.skipped)}
    text = (
        f"{counted(len(done.uploaded), 'file')} uploaded, {len(done.removed):,} removed: "
        f"{first_line(done.commit.message)}"
    )
    session.out.result({**commit_document(done.commit), **document}, f"committed {done.commit.id[:SHORT_ID]}, {text}")
    _note_skipped(done.skipped)


@contextmanager
def _conflicts_listed(session: Session) -> Iterator[None]:
    """List the conflicting files of a command that is refused because of them."""
    try:
        yield
    except Conflict as e:
        if e.kind is Kind.LocalConflict:
            session.out.rows(e.details.get("paths", ()), CONFLICTING_FILES)
        raise


def _tell(session: Session, root: Path, done: Pulled, text: str) -> None:
    from graveler_core.local.index import read_index

    document = {**_where(root, read_index(root)), "downloaded": len(done.downloaded), "removed": len(done.removed)}
    counts = f"{counted(len(done.downloaded), 'file')} downloaded, {len(done.removed):,} removed"
    session.out.result({**document, "skipped": _listed(done.skipped)}, f"{text} {root}: {counts}")
    _note_skipped(done.skipped)


def _where(root: Path, index: DirectoryIndex) -> dict[str, Any]:
    followed = {"repository": index.repository, "ref": index.ref, "prefix": index.prefix, "commit": index.commit}
    return {"directory": str(root), **followed}


def _listed(skipped: Iterable[Skipped]) -> list[dict[str, str]]:
    return [{"path": each.path, "reason": each.reason} for each in skipped]


def _note_skipped(skipped: Iterable[Skipped]) -> None:
    for each in skipped:
        note(f"skipped {each.path!r}: {each.reason}")

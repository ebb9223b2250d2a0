"""`graveler commit`, `merge`: what makes commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, first_line
from graveler_core.cli.uri import ref_uri
from graveler_core.cli.views import CONFLICTS, commit_document
from graveler_core.errors import Conflict, InvalidInput, Kind

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord

Metadata = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata of the commit; may be repeated.")
]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("commit", commit), ("merge", merge)):
        verb(app, name)(function)


def commit(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch")],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="What changed, and why.")],
    meta: Metadata = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Even if nothing is uncommitted.")] = False,
) -> None:
    """Commit what is uncommitted on a branch.

    JSON: one document with id, message, committer, creation_date, parents, metadata, generation.
    """
    target = ref_uri(uri)
    metadata = _pairs(meta or [])
    committer = session.committer
    with session.working("committing"):
        made = session.branch(target).commit(message, committer=committer, metadata=metadata, allow_empty=allow_empty)
    _show(session, made, f"to {target.ref}")


def merge(
    session: Session,
    source: Annotated[str, typer.Argument(metavar="SOURCE_URI", help="graveler://repository/ref")],
    destination: Annotated[str, typer.Argument(metavar="DEST_URI", help="graveler://repository/branch")],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Else it names both.")] = "",
    strategy: Annotated[
        Literal["source", "destination"] | None, typer.Option(help="Who wins where both changed a path.")
    ] = None,
) -> None:
    """Merge a ref into a branch of the same repository. Conflicts are listed one a line; then nothing is changed.

    JSON: one document with id, message, committer, creation_date, parents, metadata, generation; on conflict a line for
    each (at most the first thousand) with type ("conflict"), path, base, source, destination. If the branch has all of
    the source already, its head.
    """
    left, right = ref_uri(source), ref_uri(destination)
    if left.repository != right.repository:
        raise InvalidInput(f"URI {destination!r}: must name the same repository as the source", kind=Kind.InvalidUrl)
    committer = session.committer
    try:
        with session.working("merging"):
            repository = session.repository(right)
            head = repository.branch(right.ref).record().commit_id
            made = repository.merge(left.ref, right.ref, message=message, committer=committer, strategy=strategy)
    except Conflict as e:
        if e.kind is Kind.MergeConflict:
            session.out.rows(e.details.get("conflicts", ()), CONFLICTS)
        raise
    if made.id == head:
        session.out.result(commit_document(made), f"{right.ref} at {head[:SHORT_ID]} has all of {left.ref} already")
    else:
        _show(session, made, f"merging {left.ref} into {right.ref}")


def _show(session: Session, made: CommitRecord, where: str) -> None:
    session.out.result(commit_document(made), f"committed {made.id[:SHORT_ID]} {where}: {first_line(made.message)}")


def _pairs(given: list[str]) -> dict[str, str]:
    pairs = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise InvalidInput(f"metadata {text!r}: must be KEY=VALUE with a key")
        if key in pairs:
            raise InvalidInput(f"metadata {text!r}: key {key!r} is given twice")
        pairs[key] = value
    return pairs

"""`graveler commit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, first_line
from graveler_core.cli.uri import ref_uri
from graveler_core.cli.views import commit_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord

Metadata = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata of the commit; may be repeated.")
]


def register(app: typer.Typer) -> None:
    """Add this verb to the application."""
    verb(app, "commit")(commit)


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
    metadata = pairs("metadata", meta or [])
    committer = session.committer
    with session.working("committing"):
        made = session.branch(target).commit(message, committer=committer, metadata=metadata, allow_empty=allow_empty)
    committed(session, made, f"to {target.ref}")


def committed(session: Session, made: CommitRecord, where: str) -> None:
    """Tell of a commit that was made."""
    session.out.result(commit_document(made), f"committed {made.id[:SHORT_ID]} {where}: {first_line(made.message)}")


def pairs(what: str, given: list[str], *, last: bool = False) -> dict[str, str]:
    """Keys and values of options like KEY=VALUE, cut at the first or at the last sign of equality."""
    found = {}
    for text in given:
        key, equals, value = text.rpartition("=") if last else text.partition("=")
        if not key or not equals:
            raise InvalidInput(f"{what} {text!r}: must be KEY=VALUE with a key")
        if key in found:
            raise InvalidInput(f"{what} {text!r}: key {key!r} is given twice")
        found[key] = value
    return found

"""`graveler commit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.pairs import pairs
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID, first_line
from graveler_core.cli.uri import ref_uri
from graveler_core.documents.versions import commit_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.history import CommitRecord

Metadata = Annotated[
    list[str] | None, typer.Option("--meta", metavar="KEY=VALUE", help="Metadata of the commit. May be repeated.")
]
IdempotencyKey = Annotated[
    str,
    typer.Option(
        "--idempotency-key",
        metavar="KEY",
        help="Key for safe retries: a repeated call with this key returns the commit of the first call.",
    ),
]
AllowEmptyMessage = Annotated[bool, typer.Option("--allow-empty-message", help="Accept a message without text.")]

app = typer.Typer()


@verb(app, "commit", clusters=True)
def commit(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch")],
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Message of the commit.")],
    *,
    meta: Metadata = None,
    allow_empty: Annotated[
        bool, typer.Option("--allow-empty", help="Commit even if there are no uncommitted changes.")
    ] = False,
    allow_empty_message: AllowEmptyMessage = False,
    idempotency_key: IdempotencyKey = "",
) -> None:
    """Commit the uncommitted changes of a branch. A message without text is refused, as by Git.

    JSON: one document with id, message, committer, creation_date, parents, metadata, generation. With --cluster it also
    has verb, engine and, if work was planned, "rows planned", "spark from rows" and tasks.
    """
    require_message(message, allow_empty_message=allow_empty_message)
    target = ref_uri(uri)
    metadata = pairs("metadata", meta or [])
    committer = session.committer
    with session.working("committing"):
        made = session.branch(target).commit(
            message,
            committer=committer,
            metadata=metadata,
            allow_empty=allow_empty,
            idempotency_key=idempotency_key,
        )
    committed(session, made, f"to {target.ref}")


def require_message(message: str, *, allow_empty_message: bool) -> None:
    """Refuse a message without text, unless the option allows it.

    Raises:
        InvalidInput: The message is empty or consists of white space.
    """
    if not allow_empty_message and not message.strip():
        raise InvalidInput("--message: has no text; describe the changes, or give --allow-empty-message")


def committed(session: Session, made: CommitRecord, where: str) -> None:
    """Write the result of a command that made a commit."""
    session.result(commit_document(made), f"committed {made.id[:SHORT_ID]} {where}: {first_line(made.message)}")

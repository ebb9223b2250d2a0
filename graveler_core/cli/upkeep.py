"""`graveler fsck`, `gc`: whether all that is stored is there and whole, and deleting what nothing needs."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import repository_uri
from graveler_core.cli.views import FINDINGS, swept_document

DAMAGED = 1
"""Exit code when something is damaged."""


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    verb(app, "fsck")(fsck)
    verb(app, "gc")(gc)


def fsck(
    session: Session,
    uri: RepositoryUri,
    deep: Annotated[bool, typer.Option("--deep", help="Read every range and staged record too.")] = False,
) -> None:
    """Check that all that is stored for a repository is there and whole. Changes nothing.

    Exit code 1 if something is missing, corrupt or inconsistent, 0 if things are merely unreachable.

    JSON: a line for each finding with type ("finding"), trouble ("missing", "corrupt", "inconsistent", "unreachable"),
    thing, id, why, named_by, size.
    """
    repository = session.graveler.repository(repository_uri(uri).repository)
    with session.working("checking"):
        findings = list(repository.fsck(deep=deep))
    session.out.rows(findings, FINDINGS)
    if any(finding.damage for finding in findings):
        raise typer.Exit(DAMAGED)


def gc(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    *,
    grace: Annotated[
        str, typer.Option(metavar="TIME", help="Keep what was needed so lately: 7d, 36h, 90m; longer than any build.")
    ] = "7d",
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be deleted.")] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="Delete at most so many things.")] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Nobody else is at work on the repository: allow less than a day.")
    ] = False,
    uploads: Annotated[
        bool, typer.Option("--uploads", help="Delete the files, too, that jobs stored and did not live to commit.")
    ] = False,
) -> None:
    """Delete what no commit and no branch names and nobody has needed for a while. Commits stay.

    JSON: one document with dry_run, objects, blobs, size (bytes), young, renewed, rest, unreadable,
    uploads.
    """
    repository = session.graveler.repository(repository_uri(uri).repository)
    with session.working("collecting"):
        swept = repository.sweep(
            grace=span("--grace", grace), dry_run=dry_run, limit=limit, alone=alone, uploads=uploads
        )
    what = f"{swept.blobs:,} files and {swept.objects:,} objects, {bytes_for_people(swept.size)}"
    left = f"; left {swept.young:,} that are young" if swept.young else ""
    rest = f"; {swept.rest:,} to go" if swept.rest else ""
    session.out.result(swept_document(swept), f"{'would delete' if dry_run else 'deleted'} {what}{left}{rest}")

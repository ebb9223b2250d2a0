"""`graveler fsck`: whether all that is stored is there and whole."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.cli.views import FINDINGS

DAMAGED = 1
"""Exit code when something is damaged."""


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    verb(app, "fsck")(fsck)


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

"""`graveler log`, `diff`: what happened, and what differs."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from graveler_core.cli.objects import Limit
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import ref_range, ref_uri
from graveler_core.cli.views import CHANGES, COMMITS


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("log", log), ("diff", diff)):
        verb(app, name)(function)


def log(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref")],
    first_parent: Annotated[bool, typer.Option("--first-parent", help="Leave out what merges brought in.")] = False,
    limit: Limit = None,
) -> None:
    """List the commits that lead to a ref, newest first.

    JSON: a line for each with id, message, committer, creation_date, parents, metadata, generation.
    """
    target = ref_uri(uri)
    commits = session.repository(target).log(target.ref, first_parent=first_parent, limit=limit)
    session.out.rows(commits, COMMITS)


def diff(
    session: Session,
    left: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/left..right, or the left ref")],
    right: Annotated[str | None, typer.Argument(metavar="URI", help="The right ref, as a URI.")] = None,
    limit: Limit = None,
) -> None:
    """List the paths that differ from one ref to another: added, changed, removed. A prefix may follow the refs.

    JSON: a line for each with type ("change"), path, kind ("added", "changed", "removed"), before, after; these two
    are objects as `ls` writes them, or null.
    """
    source, destination = ref_range(left, right)
    changes = session.repository(source).diff(source.ref, destination.ref, prefix=source.path)
    session.out.rows(islice(changes, limit), CHANGES)

"""`graveler status`, `reset`: what is uncommitted on a branch, and throwing it away."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.objects import Limit
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import prefix_uri, ref_in
from graveler_core.cli.views import CHANGES, LAYERS, branch_document
from graveler_core.errors import InvalidInput, Kind

BranchPrefix = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch, or with /prefix")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("status", status), ("reset", reset)):
        verb(app, name)(function)


def status(session: Session, uri: BranchPrefix, limit: Limit = None) -> None:
    """Show where a branch stands: its head, its staging layers, newest first, and what is uncommitted.

    JSON: a line with type ("branch"), id, commit_id, staging_token; a line for each layer with type ("layer"), kind
    ("token", "segment", "removal", "restoration"), id, prefix, count; a line for each change as `diff` writes it.
    """
    target = prefix_uri(uri)
    with session.working("reading the branch"):
        branch = session.branch(target)
        record = branch.record()
    document = {"type": "branch", **branch_document(record), "staging_token": record.staging_token}
    session.out.result(document, f"branch {record.id} at {record.commit_id[:SHORT_ID]}")
    if record.sealed_tokens:
        session.out.rows(record.sealed_tokens, LAYERS)
    session.out.rows(branch.uncommitted(prefix=target.path, limit=limit), CHANGES)


def reset(
    session: Session,
    uri: BranchPrefix,
    hard: Annotated[
        str | None, typer.Option("--hard", metavar="REF", help="Move the branch there: main~1, or a URI.")
    ] = None,
) -> None:
    """Throw away what is uncommitted on a branch, or only below a prefix. With --hard, move its head instead.

    JSON: one document with id, commit_id, prefix (null with --hard).
    """
    target = prefix_uri(uri)
    if hard is not None and target.path:
        raise InvalidInput(f"URI {uri!r}: must name no path when --hard is given", kind=Kind.InvalidUrl)
    ref = ref_in(target.repository, hard) if hard is not None else None
    with session.working("resetting"):
        branch = session.branch(target)
        if ref is None:
            branch.reset(prefix=target.path)
        else:
            branch.hard_reset(ref)
        record = branch.record()
    document = {**branch_document(record), "prefix": target.path if ref is None else None}
    what = f"moved branch {target.ref} to" if ref is not None else f"reset {target} to"
    session.out.result(document, f"{what} {record.commit_id[:SHORT_ID]}")

"""`graveler status`, `compact`, `reset`: what is uncommitted on branches, folding it, and throwing it away."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.branch import BranchUri
from graveler_core.cli.objects import Limit
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.staged_views import (
    LAYERS,
    STAGED,
    compacted_document,
    history_document,
    staged_document,
    told_of,
)
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import Uri, parse, prefix_uri, ref_in, ref_uri
from graveler_core.cli.views import CHANGES, branch_document
from graveler_core.errors import InvalidInput, Kind

BranchPrefix = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch, or with /prefix")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("status", status), ("compact", compact), ("reset", reset)):
        verb(app, name)(function)


def status(
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="URI", help="graveler://repository, or with /branch, or with /branch/prefix")
    ] = None,
    limit: Limit = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Count by reading all that is staged on the branch, and set counters right.")
    ] = False,
) -> None:
    """Show where a branch stands: its head, what is staged, and whether it should be compacted; its staging layers,
    newest first; and what is uncommitted. Without a branch, where much is staged.

    What is staged comes from counters, which are a little late: a process writes them down now and then. Without a
    branch's name, a branch is listed once a process has staged 1,024 records on it, or one call 256, or once it has 10
    layers.

    JSON: for each branch a line with type ("branch"), repository, id, commit_id, staging_token, staged and tombstones
    (records), layers, age (seconds), pressure (1 and more is too much), over, reasons, thresholds: an object with
    tombstones, layers, staged, age. For one branch also compactions: an object with outcomes (how many of each),
    seconds, recent: the last ones, newest first, each with began, seconds, outcome ("compacted", "lost", "failed"),
    layers, records, tombstones; then a line for each layer with type ("layer"), kind ("token", "segment", "removal",
    "restoration"), id, prefix, count; and a line for each change as `diff` writes it.
    """
    target = None if uri is None else parse(uri)
    if target is not None and target.ref:
        _status_of_branch(session, prefix_uri(str(target)), limit=limit, exact=exact)
        return
    if exact:
        raise InvalidInput("--exact: is for one branch, as in graveler://repository/branch")
    prefix = "" if target is None else f"{session.repository(target).id}/"
    session.out.rows(session.graveler.pressures(prefix=prefix, limit=limit), STAGED)


def compact(
    session: Session,
    uri: BranchUri,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Give way to a compaction that began so lately: 10m, 90s, 2h.")
    ] = "0s",
) -> None:
    """Fold what is staged on a branch into one tree, so that reading it is fast again. It stays uncommitted.

    JSON: one document with metarange_id; layers, records and tombstones that were folded; what they added, changed and
    removed; entries of the tree, and the size in bytes that they describe.
    """
    target, least = ref_uri(uri), span("--every", every)
    with session.working("compacting"):
        made = session.branch(target).compact(every=least)
    what = f"{made.records:,} records of {made.layers:,} layers, {made.tombstones:,} of them tombstones"
    session.out.result(compacted_document(made), f"compacted branch {target.ref}: {what}")


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


def _status_of_branch(session: Session, target: Uri, *, limit: int | None, exact: bool) -> None:
    with session.working("counting what is staged" if exact else "reading the branch"):
        branch = session.branch(target)
        found = branch.pressure(exact=exact)
        history = branch.compactions()
    session.out.document({**staged_document(found), "compactions": history_document(history)})
    for line in told_of(found, history):
        session.out.say(line)
    if found.branch.sealed_tokens:
        session.out.rows(found.branch.sealed_tokens, LAYERS)
    if limit != 0:
        session.out.rows(branch.uncommitted(prefix=target.path, limit=limit), CHANGES)

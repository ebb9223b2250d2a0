"""`graveler status`, `compact`, `reset`: show, compact and discard uncommitted changes of branches."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.bounds import AfterPath, EndPath, Limit, StartPath
from graveler_core.cli.branch import BranchUri, ExpectedOption
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.staged_views import LAYERS, STAGED, branch_lines
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import Uri, parse, prefix_uri, ref_in, ref_uri
from graveler_core.cli.views import CHANGES
from graveler_core.documents.staging import compacted_document, history_document, staged_document
from graveler_core.documents.versions import branch_document
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.bounds import Bounds
from graveler_core.model.counting import counted

BranchPrefix = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch, or with /prefix")]


app = typer.Typer()


@verb(app, "status")
def status(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="URI", help="graveler://repository, or with /branch, or with /branch/prefix")
    ] = None,
    *,
    start: StartPath = "",
    end: EndPath = None,
    after: AfterPath = "",
    limit: Limit = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Count by reading all staged records of the branch, and correct the counters."),
    ] = False,
) -> None:
    """Show the uncommitted changes of a branch, or list the branches with many staged records.

    For a branch, show its head, the number of staged records, whether it should be compacted, its staging layers
    (newest first), and its uncommitted changes.

    The number of staged records comes from counters, which processes write at intervals, so it may be slightly out of
    date. Without a branch, the list contains each branch on which one process has staged 1,024 records or one call has
    staged 256, and each branch with 10 layers.

    JSON: for each branch a line with type ("branch"), repository, id, commit_id, staging_token, staged and tombstones
    (records), layers, age (seconds), pressure (from 1 on, the branch should be compacted), over, reasons, thresholds:
    an object with tombstones, layers, staged, age. For one branch also compactions: an object with outcomes (the number
    of each), seconds, recent: the last compactions, newest first, each with began, seconds, outcome ("compacted",
    "lost", "failed"), layers, records, tombstones; then a line for each layer with type ("layer"), kind ("token",
    "segment", "removal", "restoration"), id, prefix, count; and a line for each change in the format of `diff`.
    """
    target = None if uri is None else parse(uri)
    if target is not None and target.ref:
        bounds = Bounds(target.path, after, start, end)
        _status_of_branch(session, prefix_uri(str(target)), bounds, limit=limit, exact=exact)
        return
    given = {"--exact": exact, "--from": start, "--to": end, "--after": after}
    if asked := [name for name, value in given.items() if value]:
        raise InvalidInput(f"{asked[0]}: needs the URI of a branch, as in graveler://repository/branch")
    prefix = "" if target is None else f"{session.repository(target).id}/"
    session.out.rows(session.graveler.pressures(prefix=prefix, limit=limit), STAGED)


@verb(app, "compact", clusters=True)
def compact(
    session: Session,
    uri: BranchUri,
    every: Annotated[
        str, typer.Option(metavar="TIME", help="Fail if another compaction began within this time: 10m, 90s, 2h.")
    ] = "0s",
) -> None:
    """Compact the staged changes of a branch into one tree, so that reads are fast again. They stay uncommitted.

    JSON: one document with metarange_id; layers, records, tombstones (numbers that were compacted); added, changed,
    removed (numbers of paths); entries of the tree, and their total size in bytes. With --cluster also the fields that
    `commit` adds.
    """
    target, least = ref_uri(uri), span("--every", every)
    with session.working("compacting"):
        made = session.branch(target).compact(every=least)
    what = (
        f"{counted(made.records, 'record')} of {counted(made.layers, 'layer')}, "
        f"{counted(made.tombstones, 'tombstone')} among them"
    )
    session.result(compacted_document(made), f"compacted branch {target.ref}: {what}")


@verb(app, "reset")
def reset(  # noqa: PLR0913, PLR0917 - options of a command
    session: Session,
    uri: BranchPrefix,
    hard: Annotated[
        str | None,
        typer.Option("--hard", metavar="REF", help="Move the head of the branch to this commit: main~1, or a URI."),
    ] = None,
    expected: ExpectedOption = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Discard only the change of the path itself, and not of longer paths.")
    ] = False,
    yes: YesOption = False,
) -> None:
    """Discard the uncommitted changes of a branch, or only those below a prefix. With --hard, move its head instead.

    With --hard and --expected, do so only if the head is at this commit.

    JSON: one document with id, commit_id, prefix (null with --hard or --exact), path (null without --exact).
    """
    target = prefix_uri(uri)
    if hard is not None and target.path:
        raise InvalidInput(f"URI {uri!r}: must name no path when --hard is given", kind=Kind.InvalidUrl)
    if hard is None and expected is not None:
        raise InvalidInput("--expected: needs --hard")
    if exact and not target.path:
        raise InvalidInput(f"URI {uri!r}: must name a path when --exact is given", kind=Kind.InvalidUrl)
    ref = ref_in(target.repository, hard) if hard is not None else None
    confirm(
        f"Discard the uncommitted changes of {target}?"
        if ref is None
        else f"Move the head of branch {target.ref} of repository {target.repository} to {ref}?",
        yes=yes,
    )
    with session.working("resetting"):
        branch = session.branch(target)
        if ref is not None:
            branch.hard_reset(ref, expected=expected)
        elif exact:
            branch.reset(path=target.path)
        else:
            branch.reset(prefix=target.path)
        record = branch.record()
    document = {
        **branch_document(record),
        "prefix": target.path if ref is None and not exact else None,
        "path": target.path if exact else None,
    }
    what = f"moved branch {target.ref} to" if ref is not None else f"reset {target} to"
    session.out.result(document, f"{what} {record.commit_id[:SHORT_ID]}")


def _status_of_branch(session: Session, target: Uri, within: Bounds, *, limit: int | None, exact: bool) -> None:
    with session.working("counting staged records" if exact else "reading the branch"):
        branch = session.branch(target)
        pressure = branch.pressure(exact=exact)
        history = branch.compactions()
    session.out.document({**staged_document(pressure), "compactions": history_document(history)})
    for line in branch_lines(pressure, history):
        session.out.say(line)
    if pressure.branch.sealed_tokens:
        session.out.rows(pressure.branch.sealed_tokens, LAYERS)
    if limit != 0:
        found = branch.uncommitted(within.prefix, within.after, limit, start=within.start, end=within.end)
        session.out.rows(found, CHANGES)

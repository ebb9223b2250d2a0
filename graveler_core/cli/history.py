"""`graveler log`, `commits`, `reflog`, `diff`: what happened, and what differs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.objects import Limit
from graveler_core.cli.reference_views import REFLOG
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import Uri, parse, ref_in, ref_range, ref_uri, repository_uri
from graveler_core.cli.views import CHANGES, COMMITS, LOG, LOG_WITH_CHANGES, LOG_WITH_COUNTS, summary_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.history import LogEntry
    from graveler_core.model.changes import Change


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    for name, function in (("log", log), ("commits", commits), ("reflog", reflog), ("diff", diff)):
        verb(app, name)(function)


def log(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref")],
    *,
    since: Annotated[
        str | None, typer.Option(metavar="REF", help="Leave out what this ref has: v1, main~5, or a URI.")
    ] = None,
    path: Annotated[str, typer.Option(metavar="PREFIX", help="Only commits that changed a path beginning so.")] = "",
    first_parent: Annotated[bool, typer.Option("--first-parent", help="Leave out what merges brought in.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Count what each commit added, changed, removed.")] = False,
    changes: Annotated[bool, typer.Option("--changes", help="List what each commit changed.")] = False,
    after: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="Go on behind the commit that has this token in JSON.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="At most so many commits.")] = (
        None
    ),
) -> None:
    """List the commits that lead to a ref, newest first.

    A commit's changes are those against its first parent: of a merge, what it brought in. With --path, --stat and
    --changes tell of the paths that begin so. A token is for a log of the same ref, --since, --path and --first-parent,
    and goes on from the commits they named then.

    JSON: a line for each with type ("commit"), id, message, committer, creation_date, parents, metadata, generation,
    token; with --stat also changes: an object with added, changed, removed. With --changes each is followed by its
    changes, as `diff` writes them, with commit (the id).
    """
    if stat and changes:
        raise InvalidInput("--stat and --changes: one of them, not both")
    target = ref_uri(uri)
    end = None if since is None else ref_in(target.repository, since)
    found = session.repository(target).log(
        target.ref, since=end, prefix=path, first_parent=first_parent, after=after, limit=limit
    )
    if changes:
        session.out.rows(_with_changes(found), LOG_WITH_CHANGES)
    else:
        session.out.rows(found, LOG_WITH_COUNTS if stat else LOG)


def reflog(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository, or graveler://repository/name")],
    *,
    after: Annotated[
        str, typer.Option(metavar="TOKEN", help="Go on behind the event that has this token in JSON.")
    ] = "",
    limit: Annotated[int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="At most so many events.")] = (
        None
    ),
    mend: Annotated[
        bool, typer.Option("--mend", help="Set a damaged log back to the newest of its commits that is whole.")
    ] = False,
) -> None:
    """List what happened to branches and tags, newest first: created, deleted, assigned (a hard reset).

    Of one name, which nothing needs to bear any more, also the newest moves of its branches.

    JSON: a line for each with type ("event"), time, kind ("created", "deleted", "assigned", "moved"), ref_type
    ("branch", "tag"), ref, before, after (commits or null), by, message, token. With --mend one document with mended.
    """
    target = parse(uri)
    if target.path:
        raise InvalidInput(f"URI {uri!r}: must name a repository, or a branch or tag in it", uri=uri)
    if mend:
        _mend(session, target)
        return
    found = session.repository(target).reflog(target.ref or None, after=after, limit=limit)
    session.out.rows(found, REFLOG)


def _mend(session: Session, target: Uri) -> None:
    if target.ref:
        raise InvalidInput(f"--mend: is for a repository, as in graveler://{target.repository}")
    with session.working("reading the log"):
        mended = session.repository(target).mend_reflog()
    text = "set the log back to a commit that is whole" if mended else "the log is whole"
    session.out.result({"mended": mended}, text)


def commits(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")],
    *,
    not_first_parent: Annotated[
        bool, typer.Option("--not-first-parent", help="Only those that no commit has as its first parent. Reads all.")
    ] = False,
    after: Annotated[str, typer.Option(metavar="ID", help="Go on behind the commit of this id.")] = "",
    limit: Limit = None,
) -> None:
    """List all commits of a repository by id, also those that no branch and no tag leads to.

    JSON: a line for each with type ("commit"), id, message, committer, creation_date, parents, metadata, generation.
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.commits(after, limit, not_first_parent=not_first_parent), COMMITS)


def diff(
    session: Session,
    left: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/left..right, or the left ref")],
    right: Annotated[str | None, typer.Argument(metavar="URI", help="The right ref, as a URI.")] = None,
    stat: Annotated[bool, typer.Option("--stat", help="Count the paths, do not list them.")] = False,
    limit: Limit = None,
) -> None:
    """List the paths that differ from one ref to another: added, changed, removed. A prefix may follow the refs.

    With three dots, left...right, what the right ref changed since it left the left one: what merging it would bring.

    JSON: a line for each with type ("change"), path, kind ("added", "changed", "removed"), before, after; these two
    are objects as `ls` writes them, or null. With --stat one document with type ("summary"), added, changed, removed.
    """
    sides = ref_range(left, right)
    repository = session.repository(sides.left)
    refs, prefix, since = (sides.left.ref, sides.right.ref), sides.left.path, sides.since_merge_base
    if stat:
        with session.working("comparing"):
            counts = repository.diff_summary(*refs, prefix, since_merge_base=since)
        text = f"{counts.added:,} added, {counts.changed:,} changed, {counts.removed:,} removed"
        session.out.result({"type": "summary", **summary_document(counts)}, text)
    else:
        session.out.rows(repository.diff(*refs, prefix, limit=limit, since_merge_base=since), CHANGES)


def _with_changes(found: Iterable[LogEntry]) -> Iterator[tuple[LogEntry, Change | None]]:
    """Each commit, then its changes one by one."""
    for entry in found:
        yield entry, None
        for change in entry.changes():
            yield entry, change

"""`graveler log`, `show`, `commits`, `reflog`, `diff`: history of a repository, and differences between refs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.bounds import AfterPath, EndPath, Limit, StartPath
from graveler_core.cli.reference_views import REFLOG
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import HERE, Uri, parse, ref_in, ref_range, ref_uri, repository_uri
from graveler_core.cli.views import (
    CHANGES,
    COMMITS,
    LOG,
    LOG_WITH_CHANGES,
    LOG_WITH_COUNTS,
    expiry_for_people,
)
from graveler_core.documents.values import time_for_machines
from graveler_core.documents.versions import commit_document, summary_document
from graveler_core.errors import InvalidInput
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.facade.history import LogEntry
    from graveler_core.model.changes import Change


app = typer.Typer()


@verb(app, "log")
def log(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref")],
    *,
    since: Annotated[
        str | None, typer.Option(metavar="REF", help="Leave out commits that this ref has: v1, main~5, or a URI.")
    ] = None,
    path: Annotated[
        str, typer.Option(metavar="PREFIX", help="Only commits that changed a path with this prefix.")
    ] = "",
    first_parent: Annotated[
        bool, typer.Option("--first-parent", help="Follow only the first parent of each commit.")
    ] = False,
    stat: Annotated[
        bool, typer.Option("--stat", help="Count the paths that each commit added, changed and removed.")
    ] = False,
    changes: Annotated[bool, typer.Option("--changes", help="List the changes of each commit.")] = False,
    after: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Continue after the commit that has this token in the JSON output."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="Maximum number of commits.")
    ] = (None),
) -> None:
    """List the ancestors of a ref, newest first.

    The changes of a commit are the differences from its first parent; for a merge, they are the merged changes. With
    --path, --stat and --changes show only paths with that prefix. A token is valid for a log of the same ref, --since,
    --path and --first-parent. It continues the log even if the refs have moved since.

    JSON: a line for each commit with type ("commit"), id, message, committer, creation_date, parents, metadata,
    generation, expired (null, or an object with since, rule, final: false while the content is about to expire,
    removes: true if the whole commit is about to be removed), token; with --stat also changes: an object with added,
    changed, removed. With --changes each commit is followed by its changes, in the format of `diff`, with commit (the
    id).
    """
    if stat and changes:
        raise InvalidInput("--stat and --changes: cannot be combined")
    target = ref_uri(uri)
    end = None if since is None else ref_in(target.repository, since)
    found = session.repository(target).log(
        target.ref, since=end, prefix=path, first_parent=first_parent, after=after, limit=limit
    )
    if changes:
        session.out.rows(_with_changes(found), LOG_WITH_CHANGES)
    else:
        session.out.rows(found, LOG_WITH_COUNTS if stat else LOG)


@verb(app, "show")
def show(
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref")],
    limit: Limit = None,
) -> None:
    """Show one commit: its message, its metadata, and its changes from its first parent.

    JSON: a line with type ("commit") and the fields of `log` without token; then a line for each change in the format
    of `diff`.
    """
    target = ref_uri(uri)
    (commit,) = session.repository(target).log(target.ref, limit=1)
    session.out.document({"type": "commit", **commit_document(commit)})
    for line in _shown(commit):
        session.out.say(line)
    session.out.rows(commit.changes(limit=limit), CHANGES)


def _shown(commit: LogEntry) -> Iterator[str]:
    """Yield the lines about a commit that `show` writes for people."""
    yield f"commit {commit.id}"
    for parent in commit.parents:
        yield f"parent {parent}"
    yield f"committer {commit.committer}"
    yield f"date {time_for_machines(commit.creation_date)}"
    if commit.expired is not None:
        yield expiry_for_people(commit.expired)
    for name, value in commit.metadata.items():
        yield f"{name}: {value}"
    yield commit.message


@verb(app, "reflog")
def reflog(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="graveler://repository, or graveler://repository/name")
    ] = HERE,
    *,
    start: Annotated[
        str, typer.Option("--from", metavar="TOKEN", help="Only the event with this token and older ones (inclusive).")
    ] = "",
    end: Annotated[
        str, typer.Option("--to", metavar="TOKEN", help="Only events newer than the one with this token (exclusive).")
    ] = "",
    after: Annotated[
        str, typer.Option(metavar="TOKEN", help="Continue after the event that has this token in the JSON output.")
    ] = "",
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="Maximum number of events.")
    ] = (None),
    mend: Annotated[
        bool,
        typer.Option(
            "--mend", help="Repair a damaged log: set it back to its newest intact commit, and remove damaged events."
        ),
    ] = False,
    trim: Annotated[
        bool,
        typer.Option("--trim", help="Store the log in fewer commits. The events do not change. At most once a day."),
    ] = False,
    keep: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="With --trim: number of commits of the log to keep; 100 if it is not given."
        ),
    ] = None,
) -> None:
    """List events of branches and tags, newest first: created, deleted, assigned (by a hard reset).

    For one name, also list the newest moves of the branch. The branch or tag may have been deleted.

    JSON: a line for each event with type ("event"), time, kind ("created", "deleted", "assigned", "moved"), ref_type
    ("branch", "tag"), ref, before, after (commits or null), by, message, token. With --mend: one document with mended.
    With --trim: one document with folded, deleted (numbers of commits: combined with the oldest one that is kept, and
    deleted a day after the log no longer contained them).
    """
    if keep is not None and not trim:
        raise InvalidInput("--keep: needs --trim")
    if mend and trim:
        raise InvalidInput("--mend and --trim: cannot be combined")
    target = parse(uri)
    if target.path:
        raise InvalidInput(f"URI {uri!r}: must name a repository, or a branch or tag in it", uri=uri)
    if mend:
        _mend(session, target)
    elif trim:
        _trim(session, target, keep)
    else:
        found = session.repository(target).reflog(target.ref or None, after, limit, start=start, end=end)
        session.out.rows(found, REFLOG)


def _mend(session: Session, target: Uri) -> None:
    _require_repository(target, "--mend")
    with session.working("reading the log"):
        mended = session.repository(target).mend_reflog()
    text = "mended the log" if mended else "the log is intact"
    session.out.result({"mended": mended}, text)


def _trim(session: Session, target: Uri, keep: int | None) -> None:
    _require_repository(target, "--trim")
    with session.working("reading the log"):
        repository = session.repository(target)
        done = repository.trim_reflog() if keep is None else repository.trim_reflog(keep)
    combined, deleted = counted(done.folded, "commit"), counted(done.deleted, "former commit")
    session.out.result(
        {"folded": done.folded, "deleted": done.deleted}, f"combined {combined} of the log, deleted {deleted}"
    )


def _require_repository(target: Uri, option: str) -> None:
    if target.ref:
        raise InvalidInput(f"{option}: needs the URI of a repository, as in graveler://{target.repository}")


@verb(app, "commits")
def commits(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")],
    *,
    not_first_parent: Annotated[
        bool,
        typer.Option(
            "--not-first-parent", help="Only commits that are not the first parent of any commit. Reads all commits."
        ),
    ] = False,
    start: Annotated[str, typer.Option("--from", metavar="ID", help="Only ids from this one on (inclusive).")] = "",
    end: Annotated[str | None, typer.Option("--to", metavar="ID", help="Only ids before this one (exclusive).")] = None,
    after: Annotated[str, typer.Option(metavar="ID", help="Continue after the commit with this id.")] = "",
    limit: Limit = None,
) -> None:
    """List all commits of a repository, sorted by id, including those that no branch or tag reaches.

    JSON: a line for each commit with type ("commit"), id, message, committer, creation_date, parents, metadata,
    generation.
    """
    repository = session.repository(repository_uri(uri))
    found = repository.commits(after, limit, not_first_parent=not_first_parent, start=start, end=end)
    session.out.rows(found, COMMITS)


@verb(app, "diff", clusters=True)
def diff(  # noqa: PLR0913 - the command line's own options
    session: Session,
    left: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/left..right, or the left ref.")],
    right: Annotated[str | None, typer.Argument(metavar="URI", help="The right ref, as a URI.")] = None,
    *,
    stat: Annotated[bool, typer.Option("--stat", help="Count the paths instead of listing them.")] = False,
    start: StartPath = "",
    end: EndPath = None,
    after: AfterPath = "",
    limit: Limit = None,
) -> None:
    """List the paths that differ between two refs: added, changed, removed. A prefix may follow the refs.

    Three dots, left...right, compare the right ref with the merge base of both: the changes that a merge would apply.

    JSON: a line for each path with type ("change"), path, kind ("added", "changed", "removed"), before, after. The last
    two are objects in the format of `ls`, or null. With --stat: one document with type ("summary"), added, changed,
    removed. With --cluster, which needs --stat, also the fields that `commit` adds.
    """
    if session.cluster is not None and not stat:
        raise InvalidInput("--cluster: needs --stat, because the paths are listed in this process")
    if stat and (start or end is not None or after):
        raise InvalidInput("--stat: counts all paths below a prefix; it cannot be combined with --from, --to, --after")
    sides = ref_range(left, right)
    repository = session.repository(sides.left)
    refs, prefix, since = (sides.left.ref, sides.right.ref), sides.left.path, sides.since_merge_base
    if stat:
        with session.working("comparing"):
            counts = repository.diff_summary(*refs, prefix, since_merge_base=since)
        text = f"{counts.added:,} added, {counts.changed:,} changed, {counts.removed:,} removed"
        session.result({"type": "summary", **summary_document(counts)}, text)
    else:
        found = repository.diff(*refs, prefix, after, limit, start=start, end=end, since_merge_base=since)
        session.out.rows(found, CHANGES)


def _with_changes(found: Iterable[LogEntry]) -> Iterator[tuple[LogEntry, Change | None]]:
    """Yield each commit, then its changes one by one."""
    for entry in found:
        yield entry, None
        for change in entry.changes():
            yield entry, change

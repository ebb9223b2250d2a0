"""`graveler du`: number and bytes of entries by directory, or of the content of a repository by state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.output import Column, View
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import Uri, parse, prefix_uri
from graveler_core.documents.upkeep import stored_states
from graveler_core.documents.values import Document
from graveler_core.documents.versions import branch_usage, usage_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.model.usage import Usage

DEPTH, GRACE = 1, "7d"
TOTAL = "total"

app = typer.Typer()


@verb(app, "du")
def du(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[
        str, typer.Argument(metavar="URI", help="graveler://repository/ref, or with /prefix; or graveler://repository")
    ],
    *,
    depth: Annotated[
        int | None,
        typer.Option("--depth", "-d", metavar="N", min=0, help=f"Levels of directories to show. Default: {DEPTH}."),
    ] = None,
    grace: Annotated[
        str | None,
        typer.Option(metavar="TIME", help=f"For a repository: grace period of the collection. Default: {GRACE}."),
    ] = None,
    retention: Annotated[
        int | None,
        typer.Option(
            metavar="DAYS", help="For a repository: as if this were its only retention rule, for all branches."
        ),
    ] = None,
    branches: Annotated[
        bool, typer.Option("--branches", help="For a repository: show the total of the entries of each branch.")
    ] = False,
) -> None:
    """Show bytes and number of the entries below each directory, and the total in the last line.

    On a branch, include uncommitted changes. Content to which two entries refer counts twice.

    With graveler://repository, show bytes and number of the objects of content in the storage namespace by state, as a
    dry run of `gc --data` finds them. Each object has one of the states live (a branch or a tag shows it), history
    (only older commits name it), young, uploading, waiting, expired, unnamed and due. A collection can delete those
    that are waiting, expired, unnamed or due: they are reclaimable.

    With --branches, show bytes and number of the entries of each branch. Branches share content, so there is no sum.

    JSON: a line for each directory with type ("directory", or "total" in the last line), path, size, entries. With
    graveler://repository: a line for each state with type ("state", or "sum" for reclaimable and total), state, size,
    objects. With --branches: a line for each branch with type ("branch"), branch, size, entries.
    """
    target = parse(uri)
    if not target.ref:
        if depth is not None:
            raise InvalidInput(f"--depth needs the URI of a ref, as in {target}/main")
        if branches:
            if grace is not None or retention is not None:
                raise InvalidInput("--branches cannot be combined with --grace or --retention")
            return _by_branch(session, target)
        return _by_state(session, target, GRACE if grace is None else grace, retention)
    if grace is not None or retention is not None or branches:
        raise InvalidInput("--grace, --retention and --branches need the URI of a repository, not of a ref")
    target = prefix_uri(uri)
    found = session.at(target).usage(target.path, DEPTH if depth is None else depth)
    session.out.rows(found, directories(target.path))


def _by_branch(session: Session, target: Uri) -> None:
    repository = session.repository(target)
    found = (branch_usage(branch.id, repository.branch(branch.id).usage(depth=0)) for branch in repository.branches())
    session.out.rows(found, BRANCHES)


def _by_state(session: Session, target: Uri, grace: str, retention: int | None) -> None:
    from graveler_core.model.retention import retention_rules

    rules = None if retention is None else retention_rules(retention, {})
    with session.working("measuring") as progress:
        done = session.repository(target).collect(
            grace=span("--grace", grace), dry_run=True, rules=rules, progress=progress.advance
        )
    session.out.rows(stored_states(done), STATES)


def directories(prefix: str) -> View[Usage]:
    """Return the view of the directories below a prefix, of which the last is the prefix itself."""
    return View(
        columns=(_SIZE, _count("entries"), Column("path", folds=True)),
        cells=lambda one: (one.size, one.entries, TOTAL if one.path == prefix else one.path),
        document=lambda one: usage_document(one, total=one.path == prefix),
        empty="",
    )


def _count(title: str) -> Column:
    return Column(title, people="{:,}".format, right=True)


_SIZE = Column("size", people=bytes_for_people, right=True)
STATES: View[Document] = View(
    columns=(_SIZE, _count("objects"), Column("state")),
    cells=lambda row: (row["size"], row["objects"], row["state"]),
    document=lambda row: row,
    empty="",
)
BRANCHES: View[Document] = View(
    columns=(_SIZE, _count("entries"), Column("branch")),
    cells=lambda row: (row["size"], row["entries"], row["branch"]),
    document=lambda row: row,
    empty="no branches",
)

"""`graveler branch …`: create, list, delete and undelete branches."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import SHORT_ID
from graveler_core.cli.uri import ref_in, ref_uri, repository_uri
from graveler_core.cli.views import BRANCHES, branch_document

app = typer.Typer(help="Create, list, delete and undelete branches.")
BranchUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/branch")]


@verb(app, "create")
def create(
    session: Session,
    uri: BranchUri,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", "-s", metavar="REF", help="Where it starts: main~1, or a URI; else the default branch."
        ),
    ] = None,
) -> None:
    """Create a branch. No data is copied.

    JSON: one document with id, commit_id.
    """
    target = ref_uri(uri)
    start = ref_in(target.repository, source) if source is not None else None
    with session.working("creating the branch"):
        repository = session.repository(target)
        branch = repository.create_branch(target.ref, source=start or repository.default_branch)
        record = branch.record()
    text = f"created branch {target.ref} at {record.commit_id[:SHORT_ID]}"
    session.out.result(branch_document(record), text)


@verb(app, "list")
def list_(session: Session, uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")]) -> None:
    """List the branches of a repository, by name, with their head commits.

    JSON: a line for each with id, commit_id.
    """
    session.out.rows(session.repository(repository_uri(uri)).branches(), BRANCHES)


@verb(app, "delete")
def delete(
    session: Session,
    uri: BranchUri,
    message: Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Why, for the reflog.")] = "",
) -> None:
    """Delete a branch, with what is uncommitted on it. `graveler branch undelete` brings its commits back.

    JSON: one document with deleted (the branch).
    """
    target = ref_uri(uri)
    with session.working("deleting the branch"):
        session.repository(target).delete_branch(target.ref, by=session.committer, message=message)
    session.out.result({"deleted": target.ref}, f"deleted branch {target.ref}")


@verb(app, "undelete")
def undelete(session: Session, uri: BranchUri) -> None:
    """Create a branch anew where it was when it was deleted last. What was uncommitted on it stays gone.

    JSON: one document with id, commit_id.
    """
    target = ref_uri(uri)
    with session.working("undeleting the branch"):
        record = session.repository(target).undelete_branch(target.ref).record()
    session.out.result(branch_document(record), f"undeleted branch {target.ref} at {record.commit_id[:SHORT_ID]}")

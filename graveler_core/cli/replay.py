"""`graveler cherry-pick`, `transplant`, `revert`: apply the changes of commits again, or undo them."""

from __future__ import annotations

from typing import Annotated

import typer

from graveler_core.cli.commit import IdempotencyKey, committed
from graveler_core.cli.merge import Strategy, conflicts_listed
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import ref_in, ref_uri, repository_uri

CommitUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository/ref, the commit")]
Onto = Annotated[str, typer.Argument(metavar="BRANCH", help="Name of the branch, or its URI.")]
Message = Annotated[str, typer.Option("--message", "-m", metavar="TEXT", help="Message of the new commit.")]
Mainline = Annotated[
    int, typer.Option("--mainline", metavar="N", min=1, help="Parent of a merge commit to compare it with, from 1.")
]

app = typer.Typer()


@verb(app, "cherry-pick")
def cherry_pick(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: CommitUri,
    onto: Onto,
    *,
    message: Message = "",
    mainline: Mainline = 1,
    idempotency_key: IdempotencyKey = "",
) -> None:
    """Apply the changes of one commit to a branch. If there are conflicts, list them and change nothing.

    JSON: one document as for `commit`, or the conflicts as for `merge`.
    """
    target, branch, committer = ref_uri(uri), _branch(uri, onto), session.committer
    with conflicts_listed(session), session.working("applying"):
        made = session.repository(target).cherry_pick(
            target.ref,
            branch,
            message=message,
            committer=committer,
            mainline=mainline,
            idempotency_key=idempotency_key,
        )
    committed(session, made, f"to {branch}")


@verb(app, "transplant")
def transplant(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository, with the commits")],
    onto: Onto,
    commits: Annotated[list[str], typer.Argument(metavar="COMMIT...", help="Commits, oldest first: refs or ids.")],
    *,
    strategy: Strategy = None,
    idempotency_key: IdempotencyKey = "",
) -> None:
    """Apply the changes of several commits to a branch, each as a commit of its own: all of them or none.

    Each commit must be the parent of the next. If there are conflicts, list them and change nothing.

    JSON: one document with the new head of the branch as for `commit`, or the conflicts as for `merge`.
    """
    target = repository_uri(uri)
    branch = ref_in(target.repository, onto)
    refs = [ref_in(target.repository, each) for each in commits]
    with conflicts_listed(session), session.working("applying"):
        made = session.repository(target).transplant(refs, branch, strategy=strategy, idempotency_key=idempotency_key)
    committed(session, made, f"to {branch}")


@verb(app, "revert")
def revert(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: CommitUri,
    onto: Onto,
    *,
    message: Message = "",
    mainline: Mainline = 1,
    idempotency_key: IdempotencyKey = "",
) -> None:
    """Undo the changes of one commit, by a new commit on a branch. If there are conflicts, list them.

    JSON: one document as for `commit`, or the conflicts as for `merge`.
    """
    target, branch, committer = ref_uri(uri), _branch(uri, onto), session.committer
    with conflicts_listed(session), session.working("undoing"):
        made = session.repository(target).revert(
            target.ref,
            branch,
            message=message,
            committer=committer,
            mainline=mainline,
            idempotency_key=idempotency_key,
        )
    committed(session, made, f"to {branch}")


def _branch(uri: str, onto: str) -> str:
    return ref_in(ref_uri(uri).repository, onto)

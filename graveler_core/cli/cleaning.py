"""`graveler clean`, `graveler repo undelete`: remove leftovers permanently, and undelete a repository."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graveler_core.cli import repo
from graveler_core.cli.confirmation import YesOption, confirm
from graveler_core.cli.deleted import CALL, cleaned_document, cleaned_text, emptied_text, tell_failures
from graveler_core.cli.repo import RepositoryUri
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.upkeep import emptied_document
from graveler_core.documents.versions import repository_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Cleaned
    from graveler_core.gc.collection_plan import CollectionPlan

app = typer.Typer()


@verb(app, "clean")
def clean(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[
        str | None, typer.Argument(metavar="[URI]", help="graveler://repository. Default: the whole store.")
    ] = None,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only report what would be removed.")] = False,
    undelete_within: Annotated[
        str, typer.Option(metavar="TIME", help="Keep repositories that were deleted within this time: 7d, 36h, 90m.")
    ] = "7d",
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Maximum number of items to examine.")] = None,
    after: Annotated[str | None, typer.Option(metavar="TOKEN", help="Continue after a run that --limit ended.")] = None,
    data: Annotated[
        bool, typer.Option("--data", help="Then delete the content of removed repositories, after a grace period.")
    ] = False,
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="With --data: grace period, 7d by default. Less than 1 day only with --alone."
        ),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone",
            help="Assert that no other process uses the store. Then clean does not wait for late writers, and --data "
            "allows any grace period.",
        ),
    ] = False,
    yes: YesOption = False,
) -> None:
    """Remove permanently what deleted repositories, crashes and committed layers left behind. Keeps everything in use.

    It may be run at any time, also concurrently with other work. Exit code 1 if an item failed; the other items are
    still removed. A repository can be cleaned from ten minutes after its deletion on, when no process writes to it
    any more, or at once with --alone.

    With --data: a first run reserves the storage namespaces of removed repositories, a run after the grace period
    deletes their content, and a run after another grace period releases them. Do not use it if another store uses the
    same namespaces.

    JSON: with --data, one document for each namespace, with type ("namespace"), uri, repository, state, deleted,
    deleted_size, named, named_size, due. Always, one document with dry_run; removed: repositories, deletions, layers,
    rows, files, records, keys, counters, claims; left: waiting, late, contested, failed; failures (pairs of item and
    reason); next (the token for --after, or null).
    """
    from graveler_core.engine.cleaning import Cleaned, CleaningPlan

    if data and uri is not None:
        raise InvalidInput(f"--data: works on the whole store, and cannot be combined with {uri}")
    if not data and grace is not None:
        raise InvalidInput("--grace needs --data: the other work of clean has no use for it")
    plan = _emptying(grace or "7d", dry_run=dry_run, alone=alone)
    name = None if uri is None else repository_uri(uri).repository
    within = span("--undelete-within", undelete_within)
    what = "all repositories" if name is None else f"repository {name}"
    confirm(f"Permanently remove what was deleted more than {undelete_within} ago of {what}?", yes=yes or dry_run)
    late = timedelta(0) if alone else CleaningPlan().late
    options = {"undelete_within": within, "late": late, "dry_run": dry_run, "repository": name}
    done = _cleaned(session, options, Cleaned(dry_run=dry_run), limit, after)
    if data:
        with session.working("emptying namespaces"):
            emptied = session.graveler.empty_namespaces(grace=plan.grace, dry_run=dry_run, alone=alone)
        for each in emptied:
            session.out.result(emptied_document(each), emptied_text(each, dry_run=dry_run))
    session.out.result(cleaned_document(done), cleaned_text(done))
    tell_failures(session, done)


def _cleaned(session: Session, options: dict[str, Any], done: Cleaned, limit: int | None, after: str | None) -> Cleaned:
    """Clean in calls of limited size, and return `done` with what they did."""
    left = limit
    with session.working("cleaning") as progress:
        while True:
            most = CALL if left is None else min(CALL, left)
            step = session.graveler.clean(**options, limit=most, after=after, progress=progress.advance)
            done, after = done.plus(step), step.next
            left = None if limit is None else limit - progress.done
            if after is None or (left is not None and left <= 0):
                return done


def _emptying(grace: str, *, dry_run: bool, alone: bool) -> CollectionPlan:
    """Return the options of `--data`. They are checked before anything is removed."""
    from graveler_core.gc.collection_plan import CollectionPlan

    return CollectionPlan(span("--grace", grace), dry_run, alone)


@verb(repo.app, "undelete")
def undelete(
    session: Session,
    uri: RepositoryUri,
    uid: Annotated[
        str | None, typer.Option(metavar="UID", help="Uid of the repository. Default: the one that was deleted last.")
    ] = None,
) -> None:
    """Undelete a repository with its branches, tags, commits and uncommitted changes.

    This is possible until `graveler clean` removes its data, by default a week after the deletion. `repo list
    --deleted` lists the deleted repositories.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    with session.working("undeleting the repository"):
        restored = session.graveler.undelete_repository(name, uid=uid)
    session.out.result(repository_document(restored), f"undeleted repository {name}")

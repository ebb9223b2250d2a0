"""`graveler repo …`: create, list and delete repositories, and say when their branches are to be compacted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.deleted import (
    DELETED,
    cleaned_document,
    cleaned_text,
    deleted_now,
    emptied,
    tell_failures,
)
from graveler_core.cli.session import Session, verb
from graveler_core.cli.spans import span
from graveler_core.cli.staged_views import THRESHOLDS
from graveler_core.cli.uri import parse, ref_uri, repository_uri
from graveler_core.cli.views import REPOSITORIES, repository_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.model.compaction import CompactionSettings, Thresholds
    from graveler_core.model.ids import BranchId

app = typer.Typer(help="Create, list and delete repositories; thresholds of compaction.")
Threshold = Annotated[int | None, typer.Option(metavar="N", min=1, help="So many are too many.")]
RepositoryUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")]

NamespaceOption = Annotated[
    str | None, typer.Option(metavar="URI", help="Where its data goes, else below the storage root of the settings.")
]
AdoptOption = Annotated[
    bool, typer.Option("--adopt", help="Take the storage namespace over with what an earlier repository left there.")
]


def namespace_of(session: Session, name: str, given: str | None) -> str:
    """The storage namespace of a repository to create."""
    return given or f"{session.settings.data.rstrip('/')}/{name}"


@verb(app, "create")
def create(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    *,
    storage_namespace: NamespaceOption = None,
    default_branch: Annotated[str, typer.Option(metavar="NAME", help="Name of its first branch.")] = "main",
    bare: Annotated[bool, typer.Option("--bare", help="Without a branch, for graveler restore.")] = False,
    adopt: AdoptOption = False,
) -> None:
    """Create a repository with an empty default branch.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    namespace = namespace_of(session, name, storage_namespace)
    with session.working("creating the repository"):
        if bare:
            created = session.graveler.create_bare_repository(
                name, namespace, default_branch=default_branch, adopt=adopt
            )
        else:
            created = session.graveler.create_repository(
                name, namespace, default_branch=default_branch, committer=session.committer, adopt=adopt
            )
    what = f"bare repository {name}" if bare else f"repository {name} with branch {default_branch}"
    session.out.result(repository_document(created), f"created {what} in {created.storage_namespace}")


@verb(app, "list")
def list_(
    session: Session,
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted and not cleaned up yet.")] = False,
) -> None:
    """List the repositories of the store, by name.

    JSON: a line for each with id, storage_namespace, default_branch, creation_date; with --deleted with type
    ("deleted"), id, uid, state ("deleted", "purging", "restoring"), since, restorable, storage_namespace.
    """
    if deleted:
        session.out.rows(session.graveler.deleted_repositories(), DELETED)
    else:
        session.out.rows(session.graveler.list_repositories(), REPOSITORIES)


@verb(app, "delete")
def delete(
    session: Session,
    uri: RepositoryUri,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Empty it too, for good, once nobody can write to it: some ten minutes.")
    ] = False,
    alone: Annotated[bool, typer.Option("--alone", help="With --wait: nobody is at work on it, do not wait.")] = False,
) -> None:
    """Delete a repository with all its branches, tags and commits. On a terminal it asks first.

    It can be restored (repo undelete) until it is cleaned up, a week later unless said otherwise; not with --wait.
    Whoever interrupts the wait leaves the rest to a cleaner.

    JSON: one document with deleted (the name); with --wait also removed: the fields of `graveler clean`.
    """
    name = repository_uri(uri).repository
    if alone and not wait:
        raise InvalidInput("--alone: says how to wait, and needs --wait")
    if not yes and sys.stdin.isatty():
        forever = ", for ever" if wait else ""
        typer.confirm(f"Delete repository {name} and everything in it{forever}?", abort=True, err=True)
    document, text = {"deleted": name}, f"deleted repository {name}"
    if not wait:
        with session.working("deleting the repository"):
            session.graveler.delete_repository(name)
        session.out.result(document, text)
        return
    with session.working("deleting the repository"):
        uid = deleted_now(session, name)
    done = emptied(session, name, uid, alone=alone)
    session.out.result({**document, "removed": cleaned_document(done)}, f"{text}; {cleaned_text(done)}")
    tell_failures(session, done)


@verb(app, "thresholds")
def thresholds(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository, or with /branch")],
    *,
    tombstones: Threshold = None,
    layers: Threshold = None,
    staged: Threshold = None,
    age: Annotated[str | None, typer.Option(metavar="TIME", help="Of the oldest staged record: 7d, 36h, 90m.")] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Take back what was set there.")] = False,
) -> None:
    """Show or set from where on branches should be compacted: all of a repository, or one of them.

    What is not given stays as it is for the branch. A branch without thresholds of its own has the repository's.

    JSON: a line for the repository with type ("thresholds"), repository, branch (null), tombstones, layers, staged
    (records), age (seconds), and such a line for each branch that has its own; with a branch only the line that it has.
    """
    target = parse(uri)
    branch = ref_uri(uri).ref if target.ref else None
    asked = {
        "tombstones": tombstones,
        "layers": layers,
        "staged": staged,
        "age": age and span("--age", age, positive=True),
    }
    given = {name: value for name, value in asked.items() if value is not None}
    if unset and given:
        raise InvalidInput("--unset: takes no thresholds beside it")
    with session.working("reading the thresholds"):
        repository = session.repository(target)
        settings = repository.thresholds()
        if branch is not None:
            branch = repository.branch(branch).name
        if unset:
            settings = repository.set_thresholds(None, branch)
        elif given:
            settings = repository.set_thresholds(_changed(settings, branch, given), branch)
    shown = dict(settings.branches) if branch is None else {branch: settings.of(branch)}
    rows = [(repository.id, name, each) for name, each in shown.items()]
    session.out.rows([(repository.id, None, settings.thresholds), *rows] if branch is None else rows, THRESHOLDS)


def _changed(settings: CompactionSettings, branch: BranchId | None, given: Mapping[str, object]) -> Thresholds:
    from graveler_core.model.compaction import Thresholds

    now = settings.thresholds if branch is None else settings.of(branch)
    return Thresholds(**{**dict(now), **given})

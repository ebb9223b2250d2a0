"""`graveler repo …`: create, list and delete repositories, and set thresholds of compaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.bounds import AfterName, EndName, Limit, Prefix, StartName
from graveler_core.cli.confirmation import YesOption, confirm
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
from graveler_core.cli.views import REPOSITORIES, STORED_OBJECTS
from graveler_core.documents.versions import repository_document
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.model.compaction import CompactionSettings, Thresholds
    from graveler_core.model.ids import BranchId

app = typer.Typer(name="repo", help="Create, list and delete repositories, and set thresholds of compaction.")
Threshold = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Number from which a branch should be compacted.")
]
RepositoryUri = Annotated[str, typer.Argument(metavar="URI", help="graveler://repository")]

NamespaceOption = Annotated[
    str | None, typer.Option(metavar="URI", help="URI for its data. Default: below the storage root of the settings.")
]
AdoptOption = Annotated[
    bool, typer.Option("--adopt", help="Take over a storage namespace that holds data of another repository.")
]
EphemeralOption = Annotated[
    bool,
    typer.Option("--ephemeral", help="Accept a namespace in memory (memory://), whose content ends with the command."),
]


def namespace_of(session: Session, name: str, given: str | None) -> str:
    """Return the storage namespace for a new repository."""
    return f"{session.settings.data.rstrip('/')}/{name}" if given is None else given


@verb(app, "create")
def create(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    *,
    storage_namespace: NamespaceOption = None,
    default_branch: Annotated[str, typer.Option(metavar="NAME", help="Name of the default branch.")] = "main",
    bare: Annotated[bool, typer.Option("--bare", help="Create it without branches, for graveler restore.")] = False,
    adopt: AdoptOption = False,
    ephemeral: EphemeralOption = False,
) -> None:
    """Create a repository with an empty default branch.

    JSON: one document with id, storage_namespace, default_branch, creation_date.
    """
    name = repository_uri(uri).repository
    namespace = namespace_of(session, name, storage_namespace)
    with session.working("creating the repository"):
        if bare:
            created = session.graveler.create_bare_repository(
                name, namespace, default_branch=default_branch, adopt=adopt, ephemeral=ephemeral
            )
        else:
            created = session.graveler.create_repository(
                name,
                namespace,
                default_branch=default_branch,
                committer=session.committer,
                adopt=adopt,
                ephemeral=ephemeral,
            )
    what = f"bare repository {name}" if bare else f"repository {name} with branch {default_branch}"
    session.out.result(repository_document(created), f"created {what} in {created.storage_namespace}")


@verb(app, "list")
def list_(  # noqa: PLR0913 - the command line's own options
    session: Session,
    *,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List deleted repositories whose data is not removed yet.")
    ] = False,
    prefix: Prefix = "",
    start: StartName = "",
    end: EndName = None,
    after: AfterName = "",
    limit: Limit = None,
) -> None:
    """List the repositories of the store, sorted by name. An incomplete one must be completed before it can be used:
    see migrate complete.

    JSON: a line for each with id, storage_namespace, default_branch, creation_date, state ("active",
    "incomplete"); with --deleted with type ("deleted"), id, uid, state ("deleted", "purging", "restoring"), since,
    restorable, storage_namespace.
    """
    if deleted:
        if start or end is not None:
            raise InvalidInput("--deleted: lists by name and deletion; it cannot be combined with --from and --to")
        session.out.rows(session.graveler.deleted_repositories(prefix, after, limit), DELETED)
    else:
        session.out.rows(session.graveler.list_repositories(prefix, after, limit, start=start, end=end), REPOSITORIES)


@verb(app, "objects")
def objects(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    *,
    prefix: Prefix = "",
    start: StartName = "",
    end: EndName = None,
    after: AfterName = "",
    limit: Limit = None,
) -> None:
    """List the commits, layouts and runs in the key-value store, sorted by type and id, such as commit/5f3a….

    JSON: a line for each with type, id, size (bytes as stored), referenced (time, only for runs).
    """
    repository = session.repository(repository_uri(uri))
    session.out.rows(repository.stored_objects(prefix, after, limit, start=start, end=end), STORED_OBJECTS)


@verb(app, "delete")
def delete(
    session: Session,
    uri: RepositoryUri,
    *,
    yes: YesOption = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait",
            help="Also remove its data permanently. This waits about ten minutes, until no process can write to it.",
        ),
    ] = False,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone", help="With --wait: assert that no process uses the repository, and remove its data at once."
        ),
    ] = False,
) -> None:
    """Delete a repository with all its branches, tags and commits.

    `repo undelete` brings back a deleted repository until `graveler clean` removes its data, by default after
    a week. With --wait it cannot be undeleted. If the wait is interrupted, a later `graveler clean` removes the rest.

    JSON: one document with deleted (the name); with --wait also removed: the fields of `graveler clean`.
    """
    name = repository_uri(uri).repository
    if alone and not wait:
        raise InvalidInput("--alone: needs --wait")
    confirm(f"Delete repository {name} and everything in it{', permanently' if wait else ''}?", yes=yes)
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


@verb(app, "read-only")
def read_only(
    session: Session,
    uri: RepositoryUri,
    on: Annotated[bool | None, typer.Option("--on/--off", help="Refuse all changes, or allow them again.")] = None,
) -> None:
    """Show if a repository is read-only, or change it. All changes to a read-only repository are refused.

    JSON: one document with repository, read_only.
    """
    repository = session.repository(repository_uri(uri))
    with session.working("reading the repository"):
        if on is not None:
            repository.set_read_only(on)
        now = repository.read_only
    text = f"repository {repository.id} is {'read-only' if now else 'writable'}"
    session.out.result({"repository": repository.id, "read_only": now}, text)


@verb(app, "thresholds")
def thresholds(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: Annotated[str, typer.Argument(metavar="URI", help="graveler://repository, or with /branch")],
    *,
    tombstones: Threshold = None,
    layers: Threshold = None,
    staged: Threshold = None,
    age: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Age of the oldest staged record from which a branch should be compacted: 7d, 36h, 90m.",
        ),
    ] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Remove the thresholds that were set there.")] = False,
) -> None:
    """Show or set the thresholds from which branches should be compacted, for a repository or for one branch.

    Thresholds that are not given do not change. A branch without its own thresholds uses those of the repository.

    JSON: a line for the repository with type ("thresholds"), repository, branch (null), tombstones, layers, staged
    (records), age (seconds), and such a line for each branch with its own thresholds. For a branch: only its line.
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
        raise InvalidInput("--unset: cannot be combined with thresholds")
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

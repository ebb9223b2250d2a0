"""`graveler migrate lakefs` and `lakefs-verify`: migrate a repository of lakeFS into the store, and verify it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.migrate import DIFFERENCES, DIFFERENT, from_first
from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.repo import AdoptOption, NamespaceOption, namespace_of
from graveler_core.cli.session import Session, verb
from graveler_core.cli.uri import repository_uri
from graveler_core.documents.values import Document
from graveler_core.model.counting import counted
from graveler_core.telemetry.secrets import without_password

if TYPE_CHECKING:
    from graveler_core.transfer.lakefs.report import LakefsMigrated, MigratedReferences

app = typer.Typer()
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Storage namespace with a dump of references, such as s3://bucket/flights, or "
        "lakefs+https://key:secret@host:port/repository.",
    ),
]
RepositoryName = Annotated[str, typer.Argument(metavar="REPOSITORY", help="Repository, such as graveler://flights.")]
Objects = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Storage namespace of the server's repository, if another URI reaches it."),
]
Manifest = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Output of `lakectl refs-dump`. Default: _lakefs/refs_manifest.json in SOURCE."),
]


@verb(app, "lakefs")
def lakefs(  # noqa: PLR0913 - the command line's own options
    session: Session,
    source: Source,
    uri: RepositoryName,
    *,
    storage_namespace: NamespaceOption = None,
    adopt: AdoptOption = False,
    objects: Objects = None,
    manifest: Manifest = None,
    default_branch: Annotated[
        str | None, typer.Option(metavar="NAME", help="Default branch. Default: that of the server, else main.")
    ] = None,
    uncommitted: Annotated[
        bool, typer.Option("--uncommitted", help="Stage the uncommitted changes, too. Needs a server.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Count the commits and write nothing.")] = False,
) -> None:
    """Migrate a repository of lakeFS. Running it again completes an interrupted run, or brings what is new.

    No object is copied, and nothing of lakeFS is changed. A branch follows lakeFS until it has commits or uncommitted
    changes of its own; it is left alone then.

    JSON: one document with repository, commits, earlier_commits, staged, dry_run, and branches and tags, each with
    created, moved, unchanged, kept (lists of names).
    """
    name = repository_uri(uri).repository
    with Progress(ProgressWork("migrating", unit="commits")) as progress:
        done = session.graveler.migrate_lakefs(
            name,
            source,
            namespace_of(session, name, storage_namespace),
            objects=objects,
            manifest=manifest,
            default_branch=default_branch,
            uncommitted=uncommitted,
            dry_run=dry_run,
            adopt=adopt,
            progress=progress.advance,
        )
    session.out.result(migrated_document(done), _summary(done))


@verb(app, "lakefs-verify")
def lakefs_verify(
    session: Session, source: Source, uri: RepositoryName, *, objects: Objects = None, manifest: Manifest = None
) -> None:
    """List the differences between a repository of lakeFS and the migrated one, with all commits and their entries.

    Changes nothing. Exit code 1 if there are differences. JSON: as for compare; "equal" has commits instead of rows.
    """
    name = repository_uri(uri).repository
    with Progress(ProgressWork("verifying", unit="commits")) as progress:
        found = session.graveler.verify_lakefs(
            name, source, objects=objects, manifest=manifest, progress=progress.advance
        )
        waiting = iter(found)
        first = next(waiting, None)
        if first is not None:
            session.out.rows(from_first(first, waiting), DIFFERENCES)
            raise typer.Exit(DIFFERENT)
    shown = without_password(source)
    document = {"type": "equal", "from": shown, "commits": progress.done}
    session.out.result(document, f"equal: {counted(progress.done, 'commit')} of {shown}")


def migrated_document(done: LakefsMigrated) -> Document:
    """Return the document of a migration."""
    return {
        "repository": done.repository,
        "commits": done.commits,
        "earlier_commits": done.earlier_commits,
        "branches": _document(done.branches),
        "tags": _document(done.tags),
        "staged": done.staged,
        "dry_run": done.dry_run,
    }


def _document(found: MigratedReferences) -> Document:
    return {
        "created": list(found.created),
        "moved": list(found.moved),
        "unchanged": list(found.unchanged),
        "kept": list(found.kept),
    }


def _summary(done: LakefsMigrated) -> str:
    if done.dry_run:
        return (
            f"{done.repository}: would migrate {counted(done.commits, 'commit')} "
            f"({counted(done.earlier_commits, 'is', 'are')} there)"
        )
    parts = [counted(done.commits, "commit")]
    for what, found in (("branches", done.branches), ("tags", done.tags)):
        parts += [
            f"{what} {how}: {', '.join(names)}"
            for how, names in (("created", found.created), ("moved", found.moved), ("left alone", found.kept))
            if names
        ]
    if done.staged:
        parts.append(counted(done.staged, "uncommitted change"))
    return f"{done.repository}: migrated {'; '.join(parts)}"

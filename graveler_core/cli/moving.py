"""`graveler dump`, `restore`: a repository's metadata into one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from graveler_core.cli.progress import Progress, Work
from graveler_core.cli.repo import AdoptOption, NamespaceOption, RepositoryUri, namespace_of
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import repository_uri
from graveler_core.cli.views import dumped_document, restored_document
from graveler_core.errors import InvalidInput

DumpFile = Annotated[str, typer.Argument(metavar="FILE", help="A path, or a URI as s3://bucket/flights.dump.")]


def register(app: typer.Typer) -> None:
    """Add these verbs to the application."""
    verb(app, "dump")(dump)
    verb(app, "restore")(restore)


def dump(session: Session, uri: RepositoryUri, file: DumpFile) -> None:
    """Write branches, tags, commits and settings of a repository to a new file. Changes nothing.

    Not in it: what is staged, and the files in the storage namespace. It is restored where those are.

    JSON: one document with uri, digest, branches, dirty (branches with something staged), tags, commits, objects,
    size (bytes).
    """
    repository = session.repository(repository_uri(uri))
    with Progress(Work("dumping", 0, "steps")) as progress:
        dumped = repository.dump_refs(_uri(file), progress=progress.reach)
    left = f"; what is staged on {dumped.dirty:,} branches is not in it" if dumped.dirty else ""
    counts = f"{dumped.branches:,} branches, {dumped.tags:,} tags, {dumped.commits:,} commits"
    text = f"dumped {counts} to {dumped.uri}, {bytes_for_people(dumped.size)}{left}"
    session.out.result(dumped_document(dumped), text)


def restore(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    file: DumpFile,
    *,
    create: Annotated[bool, typer.Option("--create", help="Create the repository, bare, if there is none.")] = False,
    storage_namespace: NamespaceOption = None,
    adopt: AdoptOption = False,
) -> None:
    """Fill a bare repository with a dump. If it breaks off, the same again completes it.

    JSON: one document with id, digest, branches, tags, commits, objects, renamed (ids of foreign commits to their new
    ones).
    """
    target = repository_uri(uri)
    if not create and (storage_namespace or adopt):
        raise InvalidInput("--storage-namespace, --adopt: are for --create")
    if create and not _is_there(session, target.repository):
        namespace = namespace_of(session, target.repository, storage_namespace)
        session.graveler.create_bare_repository(target.repository, namespace, adopt=adopt)
    repository = session.repository(target)
    with Progress(Work("restoring", 0)) as progress:
        restored = repository.restore_refs(_uri(file), progress=progress.reach)
    counts = f"{restored.branches:,} branches, {restored.tags:,} tags, {restored.commits:,} commits"
    session.out.result(restored_document(restored), f"restored {counts} into {target.repository}")


def _is_there(session: Session, name: str) -> bool:
    return any(repository.id == name for repository in session.graveler.list_repositories(prefix=name))


def _uri(file: str) -> str:
    return file if "://" in file else Path(file).absolute().as_uri()

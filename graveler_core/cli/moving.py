"""`graveler dump`, `restore`: write the metadata of a repository to one file, and restore it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.progress import Progress, ProgressWork
from graveler_core.cli.repo import AdoptOption, EphemeralOption, NamespaceOption, RepositoryUri, namespace_of
from graveler_core.cli.session import Session, verb
from graveler_core.cli.terminal import bytes_for_people
from graveler_core.cli.uri import repository_uri, storage_uri
from graveler_core.documents.upkeep import dumped_document, restored_document
from graveler_core.errors import InvalidInput
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.transfer.dump import Dumped
    from graveler_core.transfer.restore import Restored

DumpFile = Annotated[str, typer.Argument(metavar="FILE", help="A path, or a URI such as s3://bucket/flights.dump.")]


app = typer.Typer()


@verb(app, "dump")
def dump(session: Session, uri: RepositoryUri, file: DumpFile) -> None:
    """Write the branches, tags, commits and settings of a repository to a new file. Does not change the repository.

    The dump contains neither staged changes nor the files in the storage namespace. Restoring it needs those files.

    JSON: one document with uri, digest, branches, dirty (branches with staged changes), tags, commits, objects, size
    (bytes).
    """
    repository = session.repository(repository_uri(uri))
    with Progress(ProgressWork("dumping", 0, "steps")) as progress:
        dumped = repository.dump_refs(storage_uri(file), progress=progress.reach)
    left = f"; staged changes on {counted(dumped.dirty, 'branch')} are not in it" if dumped.dirty else ""
    text = f"dumped {_counts(dumped)} to {dumped.uri}, {bytes_for_people(dumped.size)}{left}"
    session.out.result(dumped_document(dumped), text)


@verb(app, "restore")
def restore(  # noqa: PLR0913 - the command line's own options
    session: Session,
    uri: RepositoryUri,
    file: DumpFile,
    *,
    create: Annotated[bool, typer.Option("--create", help="Create a bare repository if it does not exist.")] = False,
    storage_namespace: NamespaceOption = None,
    adopt: AdoptOption = False,
    ephemeral: EphemeralOption = False,
) -> None:
    """Restore a dump into a bare repository. After an interruption, run the same command again to complete it. With
    --create, a dump that cannot be restored leaves no repository.

    The content must be in the storage namespace of the repository. `graveler fsck --data` checks that it is there.

    JSON: one document with id, digest, branches, tags, commits, objects, renamed (an object from ids of foreign commits
    to their new ids).
    """
    target = repository_uri(uri)
    if not create and (storage_namespace is not None or adopt or ephemeral):
        raise InvalidInput("--storage-namespace, --adopt, --ephemeral: need --create")
    source = storage_uri(file)
    if create and not _is_there(session, target.repository):
        namespace = namespace_of(session, target.repository, storage_namespace)
        session.graveler.create_bare_repository(
            target.repository, namespace, adopt=adopt, ephemeral=ephemeral, dump=source
        )
    repository = session.repository(target)
    with Progress(ProgressWork("restoring", 0)) as progress:
        restored = repository.restore_refs(source, progress=progress.reach)
    session.out.result(restored_document(restored), f"restored {_counts(restored)} into {target.repository}")


def _is_there(session: Session, name: str) -> bool:
    return any(repository.id == name for repository in session.graveler.list_repositories(prefix=name))


def _counts(done: Dumped | Restored) -> str:
    return f"{counted(done.branches, 'branch')}, {counted(done.tags, 'tag')}, {counted(done.commits, 'commit')}"

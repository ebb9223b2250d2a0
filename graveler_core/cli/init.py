"""`graveler init` and `config`: a default repository for the commands below a directory, and the settings in effect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graveler_core.cli.repo import AdoptOption, NamespaceOption
from graveler_core.cli.session import Session, verb
from graveler_core.errors import InvalidInput, Kind, NotFound, NotUnique

if TYPE_CHECKING:
    from graveler_core.configuration import Configuration
    from graveler_core.facade.repository import Repository

app = typer.Typer()


@verb(app, "init")
def init(
    session: Session,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Name of the repository. Default: the name of the directory."),
    ] = None,
    *,
    storage_namespace: NamespaceOption = None,
    default_branch: Annotated[str, typer.Option(metavar="NAME", help="Name of the default branch.")] = "main",
    adopt: AdoptOption = False,
) -> None:
    """Create a repository, and make it the default repository of this directory and those below it.

    The file .graveler/config names the store and the repository. The store is that of --store or GRAVELER_STORE, else
    .graveler/meta.db. The data is stored in --storage-namespace, else below GRAVELER_DATA, else in .graveler/data. A
    repository that the store already has is used as it is. In a directory that has a default repository, the command
    creates it again if it is gone. Afterwards URIs may be short: main/raw/, and "." for the repository. Settings:
    `graveler config`.

    JSON: one document with repository, storage_namespace, default_branch, config (the file), created (of the
    repository).
    """
    from graveler_core.configuration import FOLDER, NAME, Configuration, read, write
    from graveler_core.model.names import repository_id

    file = Path.cwd() / FOLDER / NAME
    if file.exists():
        _tell_again(session, read(file), name, (storage_namespace, default_branch), adopt=adopt)
        return
    chosen = repository_id(_of_directory(file.parent.parent) if name is None else name)
    session.ignore_configuration()  # that of a directory above
    with session.working("creating the repository"):
        found, created = _opened(session, chosen, (storage_namespace, default_branch), adopt=adopt)
    kept, secret = _without_secret(session.store_url)
    write(Configuration(file, store=kept, repository=chosen))
    if secret:
        session.out.say("the URL of the store contains a secret and is not written: keep it in GRAVELER_STORE")
    _tell(session, found, file, f"{'created' if created else 'using'} repository {chosen}", created=created)


@verb(app, "config")
def config(session: Session) -> None:
    """Show the settings in effect, and where each comes from: an option, the environment, a file, or the default.

    JSON: a line for each setting with name, value, source.
    """
    from graveler_core.cli.views import SETTINGS
    from graveler_core.settings import sources
    from graveler_core.telemetry.secrets import without_password

    settings, variables = session.settings, sources()
    given = {"store": session.options.store, "committer": session.options.committer}
    written = _written(settings.config)
    rows: list[tuple[str, str | None, str]] = []
    for key, value in settings.shown().items():
        option = given.get(key)
        shown = value if option is None else without_password(option)
        source = "option" if option is not None else variables.get(key) or written.get(str(value)) or "default"
        rows.append((key, None if shown is None else str(shown), source))
    session.out.rows(rows, SETTINGS)


def _written(file: Path | None) -> dict[str, str]:
    """Return where the values of a configuration file come from, by value."""
    if file is None:
        return {}
    from graveler_core.configuration import read

    values = read(file, own=False).values().values()
    return {str(file): "found upwards from the working directory", **dict.fromkeys(values, str(file))}


def _opened(session: Session, name: str, made_with: tuple[str | None, str], *, adopt: bool) -> tuple[Repository, bool]:
    """Create a repository, or return the one that the store has."""
    from graveler_core.cli.repo import namespace_of

    namespace, branch = made_with
    try:
        return session.graveler.create_repository(
            name,
            namespace_of(session, name, namespace),
            default_branch=branch,
            committer=session.committer,
            adopt=adopt,
        ), True
    except NotUnique as exists:
        if exists.kind is not Kind.RepositoryExists or namespace is not None:
            raise
        return session.graveler.repository(name), False


def _of_directory(directory: Path) -> str:
    from graveler_core.model.names import allowed_name

    found = allowed_name(directory.name, repository=True)
    if not found:
        raise InvalidInput(f"directory {directory.name!r}: its name is no name for a repository; give one")
    return found


def _without_secret(url: str) -> tuple[str | None, bool]:
    from graveler_core.telemetry.secrets import without_secrets

    return (url, False) if without_secrets(url) == url else (None, True)


def _tell_again(
    session: Session, there: Configuration, name: str | None, made_with: tuple[str | None, str], *, adopt: bool
) -> None:
    """Say that the directory has a default repository, which must be the requested one.

    A repository that was deleted meanwhile is created again. If it can still be undeleted, the error says so.
    """
    if name is not None and name != there.repository:
        raise NotUnique(
            f"directory {str(there.directory)!r}: its default repository is {there.repository!r} already; "
            f"to change it, edit {there.file}"
        )
    if there.repository is None:
        raise InvalidInput(f'configuration file {str(there.file)!r}: names no repository; add repository = "…"')
    try:
        repository = session.graveler.repository(there.repository)
    except NotFound:
        with session.working("creating the repository"):
            repository, created = _opened(session, there.repository, made_with, adopt=adopt)
        _tell(session, repository, there.file, f"created repository {repository.id}", created=created)
        return
    _tell(session, repository, there.file, f"repository {repository.id} is the default already", created=False)


def _tell(session: Session, repository: Repository, file: Path, text: str, *, created: bool) -> None:
    document = {
        "repository": repository.id,
        "storage_namespace": repository.storage_namespace,
        "default_branch": repository.default_branch,
        "config": str(file),
        "created": created,
    }
    session.out.result(document, f"{text} in {repository.storage_namespace}; {file} makes it the default")

"""Sources to migrate from: a SQL database in which there is nothing, a repository of lakeFS, an export of Nessie."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from benchmarks.lifecycle.sources import make_tables, opened
from graveler_core.errors import NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.transfer.lakefs.report import LakefsMigrated
from graveler_core.transfer.nessie.report import NessieMigrated
from tests.foreign import fixtures
from tests.foreign.nessie_exports import HISTORY, write_archive


@cache
def nothing() -> str:
    """The URL of a database with the tables, and no rows."""
    url = f"sqlite:///{mkdtemp()}/source.db"
    with opened(url) as connection:
        make_tables(connection)
    return url


def new_file() -> Path:
    """Where a file can be made."""
    return Path(mkdtemp()) / "new"


def lakefs_again(graveler: Graveler, place: str) -> LakefsMigrated:
    """What a migration of a repository of lakeFS would do."""
    source, manifest = fixtures.NAMESPACE.as_uri(), fixtures.manifest("first")
    return graveler.migrate_lakefs("flights", source, place, manifest=manifest, dry_run=True)


def not_from_lakefs(graveler: Graveler) -> None:
    """A verification of a repository that does not exist."""
    with suppress(NotFound):
        next(graveler.verify_lakefs("flights", fixtures.NAMESPACE.as_uri(), manifest=fixtures.manifest("first")), None)


def completed_again(graveler: Graveler) -> None:
    """The completion of a repository that does not exist."""
    with suppress(NotFound):
        graveler.complete_migration("flights")


@cache
def nessie_export() -> str:
    """The URI of an export of Nessie."""
    return write_archive(HISTORY.files(2), new_file())


def nessie_again(graveler: Graveler, place: str) -> NessieMigrated:
    """What an import of an export would do."""
    return graveler.migrate_nessie("flights", nessie_export(), place, dry_run=True)


def not_from_nessie(graveler: Graveler) -> None:
    """A verification of a repository that does not exist."""
    with suppress(NotFound):
        next(graveler.verify_nessie("flights", nessie_export()), None)

"""Migration of a repository from a SQL database: dry run, migration and verification."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from benchmarks import entries
from benchmarks.lifecycle.sources import entry, insert, make_tables, opened
from benchmarks.lifecycle.stock import commits_of
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.open import open_blobs
from graveler_core.codec.entry import normalise
from graveler_core.committed.apply import apply
from graveler_core.committed.trees import Trees
from graveler_core.facade.graveler import Graveler
from graveler_core.model.address import namespace
from graveler_core.transfer.migration.report import Migrated

NAME = "migrated"
BEGAN = datetime(2020, 1, 1, tzinfo=UTC)
_AT_ONCE = 10_000
_TREES = 100
"""Number of commits with a new tree. The other commits have the tree of their parent."""


def source_database(place: Place) -> None:
    """Create a SQLite file with a linear history and staged records. There is one commit for ten records."""
    with opened(source_of(place)) as connection:
        make_tables(connection)
        repository = {"id": NAME, "storage_namespace": _namespace(place), "creation_date": BEGAN}
        insert(connection, "graveler_repositories", [{**repository, "default_branch": "main"}])
        for table, found in (("graveler_commits", _commits(place)), ("graveler_staging_kv", _staged(place))):
            while page := list(islice(found, _AT_ONCE)):
                insert(connection, table, page)
        branch = {"repository_id": NAME, "id": "main", "staging_token": "token"}
        insert(connection, "graveler_branches", [{**branch, "commit_id": _id(commits_of(place) - 1)}])


@scenario("lifecycle", source_database, counts="staged records")
def migrate(place: Place) -> Iterator[Measured]:
    """Migrate a repository from a SQLite file to the store of the run: a dry run, the migration, and a verification."""
    done = list[Migrated]()
    what = f"{commits_of(place):,} commits and {place.size:,} staged records"
    source = source_of(place)
    with place.connect() as g:
        yield clocked(lambda: done.append(g.migrate_from(source, dry_run=True))).named(f"check {what}")
        taken = clocked(lambda: done.append(g.migrate_from(source)))
        _require(done)
        rows = place.size + commits_of(place)
        yield taken.named(f"migrate {what}")
        yield Measured(f"migrate {what}: rows", "per s", (rows / taken.wall[0] * 1e3,))
        yield clocked(lambda: _verified(g, source)).named(f"verify {what}")
    Path(source.removeprefix("sqlite:///")).unlink()


def source_of(place: Place) -> str:
    """Return the URL of the source database. It is next to the run's objects if they are local files."""
    beside = Path(place.data.removeprefix("file://")).parent if place.data.startswith("file://") else gettempdir()
    return f"sqlite:///{Path(beside, f'{place.repository}-source.db')}"


def _namespace(place: Place) -> str:
    return f"{place.data}-{NAME}"


def _commits(place: Place) -> Iterator[dict[str, Any]]:
    where = namespace(_namespace(place))
    if where.scheme == "file":
        Path("/", where.path, OWN).mkdir(parents=True, exist_ok=True)
    trees = Trees(open_blobs(where, {}, durable=False), 0)
    count = commits_of(place)
    tree = apply(trees, None, normalise(entries.first(min(place.size, 1_000)))).metarange_id
    for number in range(count):
        if number % max(1, count // _TREES) == 0:
            rows = normalise(entries.first(1 + number % 7))
            tree = apply(trees, tree, rows).metarange_id
        yield {
            "repository_id": NAME,
            "id": _id(number),
            "committer": "somebody",
            "message": f"change {number}",
            "creation_date": BEGAN + timedelta(minutes=number),
            "meta_range_id": tree,
            "metadata": {"number": str(number)},
            "parents": [_id(number - 1)] if number else [],
            "version": 1,
            "generation": number + 1,
        }


def _staged(place: Place) -> Iterator[dict[str, Any]]:
    for number in range(place.size):
        yield {
            "staging_token": "token",
            "key": f"raw/{number:09}.parquet".encode(),
            "identity": b"theirs" * 4,
            "data": entry(number),
        }


def _id(number: int) -> str:
    return hashlib.sha256(b"%d" % number).hexdigest()


def _require(done: list[Migrated]) -> None:
    if not all(found.good and found.outcomes for found in done):
        raise RuntimeError(f"{NAME}: the migration failed: {done}")


def _verified(g: Graveler, source: str) -> None:
    for difference in g.verify_against(source):
        raise RuntimeError(str(difference))

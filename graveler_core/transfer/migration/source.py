"""The database that is migrated from: five tables, read in one transaction that sees one state of them.

PostgreSQL reads in a REPEATABLE READ READ ONLY transaction, SQLite in a read transaction of a file opened read-only.
Nothing is ever written there. Rows are streamed, in pages, through server-side cursors where the database has them.

Values come as the driver gives them, but for two columns: dates and JSON are asked for as text, so that no value ends
the reading that the driver could not turn into one of Python (a date of the year 20000). What they are is judged by
`rows`. SQLite has neither arrays nor JSON: both are JSON text there, and dates are ISO 8601 text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import psycopg
from sqlalchemy import ColumnElement, Connection, Engine, Text, bindparam, cast, column, create_engine, inspect, select
from sqlalchemy import table as sql_table
from sqlalchemy.exc import NoSuchTableError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql.expression import Select, TableClause

from graveler_core.errors import GravelerError, InvalidInput, Kind, Unavailable
from graveler_core.kv.backends import postgresql_errors, postgresql_sessions, sqlite_errors, sqlite_file
from graveler_core.kv.display import without_password

PAGE_ROWS: Final = 5_000
IDS_AT_ONCE: Final = 500
Row = Sequence[Any]
COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "graveler_repositories": ("id", "storage_namespace", "creation_date", "default_branch"),
    "graveler_branches": ("repository_id", "id", "staging_token", "commit_id"),
    "graveler_commits": (
        "repository_id",
        "id",
        "committer",
        "message",
        "creation_date",
        "meta_range_id",
        "metadata",
        "parents",
        "version",
        "generation",
    ),
    "graveler_tags": ("repository_id", "id", "commit_id"),
    "graveler_staging_kv": ("staging_token", "key", "identity", "data"),
}
"""The tables and the columns that are needed; others may be there."""
_AS_TEXT: Final = ("creation_date", "metadata")
_SCHEMES: Final = ("postgresql", "postgres", "sqlite")


@dataclass(frozen=True, slots=True)
class Source:
    """A database that can be read from."""

    shown: str
    """Its URL without secrets."""
    engine: Engine

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """One state of the database, as long as the `with` statement lasts.

        Raises:
            Unavailable: it cannot be reached, or has not these tables.
        """
        with _mapping(self):
            connection = self.engine.connect()
        with closing(connection):
            with _mapping(self):
                self._begin(connection)
                _require_tables(self, connection)
            yield Snapshot(self, connection)

    def _begin(self, connection: Connection) -> None:
        if self.engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            connection.exec_driver_sql("SET LOCAL TIME ZONE 'UTC'")
            connection.exec_driver_sql("SET LOCAL datestyle = 'ISO'")
        else:
            connection.exec_driver_sql("BEGIN")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One state of a source. Rows come in the order of their columns in `COLUMNS`, without the repository's id."""

    source: Source
    connection: Connection

    def repositories(self) -> Iterator[Row]:
        """All repositories in the order of their ids."""
        return self._rows("graveler_repositories", order="id")

    def branches(self, repository: str) -> Iterator[Row]:
        """The branches of a repository: id, staging token, commit id."""
        return self._rows("graveler_branches", {"repository_id": repository}, order="id")

    def tags(self, repository: str) -> Iterator[Row]:
        """The tags of a repository: id, commit id."""
        return self._rows("graveler_tags", {"repository_id": repository}, order="id")

    def commits(self, repository: str) -> Iterator[Row]:
        """All commits of a repository."""
        return self._rows("graveler_commits", {"repository_id": repository}, order="id")

    def commits_by_id(self, repository: str, ids: Sequence[str]) -> dict[str, Row]:
        """Some commits, at most `IDS_AT_ONCE`."""
        query = self._query("graveler_commits", {"repository_id": repository})
        query = query.where(column("id").in_(bindparam("ids", expanding=True)))
        with _mapping(self.source):
            found = self.connection.execute(query, {"ids": list(ids)}).all()
        return {row[0]: row for row in found}

    def parents(self, repository: str) -> Iterator[Row]:
        """Of all commits of a repository: id, parents, version."""
        query = self._query("graveler_commits", {"repository_id": repository}, ("id", "parents", "version"))
        return self._streamed(query.order_by(self._ordered("id")))

    def staged(self, token: str) -> Iterator[Row]:
        """What is staged under a token, in the order of the keys: key, identity, data."""
        return self._rows("graveler_staging_kv", {"staging_token": token}, order="key")

    def _rows(self, name: str, where: dict[str, str] | None = None, *, order: str) -> Iterator[Row]:
        return self._streamed(self._query(name, where or {}).order_by(self._ordered(order)))

    def _query(self, name: str, where: dict[str, str], columns: Sequence[str] = ()) -> Select[Any]:
        wanted = columns or [each for each in COLUMNS[name] if each not in where]
        found = _table(name)
        query = select(*(self._selected(found, each) for each in wanted))
        return query.where(*(found.c[each] == value for each, value in where.items()))

    def _selected(self, found: TableClause, name: str) -> ColumnElement[Any]:
        if name in _AS_TEXT and self.connection.dialect.name == "postgresql":
            return cast(found.c[name], Text)
        return found.c[name]

    def _ordered(self, name: str) -> ColumnElement[Any]:
        """By bytes, whatever order the database has for texts."""
        if name != "key" and self.connection.dialect.name == "postgresql":
            return column(name, Text).collate("C")
        return column(name)

    def _streamed(self, query: Select[Any]) -> Iterator[Row]:
        with _mapping(self.source):
            result = self.connection.execute(query, execution_options={"yield_per": PAGE_ROWS})
        with closing(result):
            while True:
                with _mapping(self.source):
                    page = result.fetchmany(PAGE_ROWS)
                if not page:
                    return
                yield from page


@contextmanager
def open_source(url: str) -> Iterator[Source]:
    """The database of `postgresql://user:password@host:port/database` or `sqlite:///path`.

    Raises:
        InvalidInput: (`InvalidUrl`) the URL is none of these.
    """
    scheme, _, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if kind not in _SCHEMES or not rest:
        shown = without_password(url)
        raise InvalidInput(
            f"{shown!r} is no URL to migrate from: must begin with postgresql:// or sqlite:///",
            kind=Kind.InvalidUrl,
            url=shown,
        )
    source = _sqlite(url) if kind == "sqlite" else _postgresql(url)
    try:
        yield source
    finally:
        source.engine.dispose()


def _postgresql(url: str) -> Source:
    target = postgresql_sessions.parse_url(url)
    engine = create_engine("postgresql+psycopg://", creator=target.connect, poolclass=NullPool)
    return Source(target.shown, engine)


def _sqlite(url: str) -> Source:
    path = sqlite_file.parse_url(url).path

    def connect() -> sqlite3.Connection:
        # In autocommit mode, so that the one transaction begins and ends where it is said.
        found = sqlite3.connect(
            f"file:{quote(path)}?mode=ro", uri=True, timeout=sqlite_file.BUSY_SECONDS, isolation_level=None
        )
        found.text_factory = _lenient_text
        return found

    return Source(without_password(url), create_engine("sqlite://", creator=connect, poolclass=NullPool))


def _lenient_text(data: bytes) -> str:
    """What is no UTF-8 is a broken row, not the end of reading."""
    return data.decode("utf-8", "surrogateescape")


def _table(name: str) -> TableClause:
    # Columns without types: values stay what the driver makes of them.
    return sql_table(name, *(column(each) for each in COLUMNS[name]))


def _require_tables(source: Source, connection: Connection) -> None:
    found = inspect(connection)
    for name, needed in COLUMNS.items():
        try:
            there = {str(each["name"]) for each in found.get_columns(name)}
        except NoSuchTableError as e:
            raise _not_a_source(source, f"it has no table {name}") from e
        missing = [each for each in needed if each not in there]
        if missing:
            raise _not_a_source(source, f"its table {name} has no column {', '.join(missing)}")


def _not_a_source(source: Source, why: str) -> Unavailable:
    return Unavailable(
        f"{source.shown} cannot be migrated from: {why}", kind=Kind.NotAGravelerStore, store=source.shown
    )


@contextmanager
def _mapping(source: Source) -> Iterator[None]:
    """Errors of the drivers as ours, without what they say of the URL."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error, sqlite3.Error) as e:
        raise _mapped(source, e) from None


def _mapped(source: Source, error: Exception) -> GravelerError:
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        return sqlite_errors.mapped(cause, source.shown, writing=False)
    return postgresql_errors.mapped(error, source.shown, writing=False)

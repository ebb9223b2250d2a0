"""Source database of a migration: five tables, read in one transaction that sees one state of them.

PostgreSQL reads in a REPEATABLE READ READ ONLY transaction, SQLite in a read transaction of a file opened read-only.
Nothing is written to the source. Rows are streamed in pages, through server-side cursors if the database has them.

Values are returned as the driver converts them, except for dates and JSON, which are queried as text. Otherwise a value
that the driver cannot convert, such as a date in the year 20000, would end the reading. `rows` checks the values.
SQLite has neither arrays nor JSON: both are JSON text there, and dates are ISO 8601 text.
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
from graveler_core.kv.backends.postgresql import errors as postgresql_errors
from graveler_core.kv.backends.postgresql import sessions as postgresql_sessions
from graveler_core.kv.backends.sqlite import errors as sqlite_errors
from graveler_core.kv.backends.sqlite import file as sqlite_file
from graveler_core.telemetry.secrets import without_password

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
"""Required tables and columns. Others are ignored."""
_AS_TEXT: Final = ("creation_date", "metadata")
_SCHEMES: Final = ("postgresql", "postgres", "sqlite")


@dataclass(frozen=True, slots=True)
class SourceDatabase:
    """A source database."""

    shown: str
    """URL of the database without secrets."""
    engine: Engine

    @contextmanager
    def snapshot(self) -> Iterator[SourceSnapshot]:
        """Open a transaction that shows one state of the database until the `with` statement ends.

        Raises:
            Unavailable: The database cannot be reached, or lacks a required table or column.
        """
        with _mapping(self):
            connection = self.engine.connect()
        with closing(connection):
            with _mapping(self):
                self._begin(connection)
                _require_tables(self, connection)
            yield SourceSnapshot(self, connection)

    def _begin(self, connection: Connection) -> None:
        if self.engine.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            connection.exec_driver_sql("SET LOCAL TIME ZONE 'UTC'")
            connection.exec_driver_sql("SET LOCAL datestyle = 'ISO'")
        else:
            connection.exec_driver_sql("BEGIN")


@dataclass(frozen=True, slots=True)
class SourceSnapshot:
    """One state of a source. Rows have the columns in `COLUMNS`, in that order, without the id of the repository."""

    source: SourceDatabase
    connection: Connection

    def repositories(self) -> Iterator[Row]:
        """Yield all repositories in the order of their ids."""
        return self._rows("graveler_repositories", order="id")

    def branches(self, repository: str) -> Iterator[Row]:
        """Yield the branches of a repository: id, staging token, commit id."""
        return self._rows("graveler_branches", {"repository_id": repository}, order="id")

    def tags(self, repository: str) -> Iterator[Row]:
        """Yield the tags of a repository: id, commit id."""
        return self._rows("graveler_tags", {"repository_id": repository}, order="id")

    def commits(self, repository: str) -> Iterator[Row]:
        """Yield all commits of a repository."""
        return self._rows("graveler_commits", {"repository_id": repository}, order="id")

    def commits_by_id(self, repository: str, ids: Sequence[str]) -> dict[str, Row]:
        """Return the commits with these ids, of which there are at most `IDS_AT_ONCE`."""
        query = self._query("graveler_commits", {"repository_id": repository})
        query = query.where(column("id").in_(bindparam("ids", expanding=True)))
        with _mapping(self.source):
            found = self.connection.execute(query, {"ids": list(ids)}).all()
        return {row[0]: row for row in found}

    def parents(self, repository: str) -> Iterator[Row]:
        """Yield id, parents and version of all commits of a repository."""
        query = self._query("graveler_commits", {"repository_id": repository}, ("id", "parents", "version"))
        return self._streamed(query.order_by(self._ordered("id")))

    def staged(self, token: str) -> Iterator[Row]:
        """Yield the staged records of a token in order of their keys: key, identity, data."""
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
        """Return the column with a byte order, independent of the collation of the database."""
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
def open_source(url: str) -> Iterator[SourceDatabase]:
    """Open the database of `postgresql://user:password@host:port/database` or `sqlite:///path`.

    Raises:
        InvalidInput: (`InvalidUrl`) The URL has another scheme.
    """
    scheme, _, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if kind not in _SCHEMES or not rest:
        shown = without_password(url)
        raise InvalidInput(
            f"{shown!r} is not a URL of a source: must begin with postgresql:// or sqlite:///",
            kind=Kind.InvalidUrl,
            url=shown,
        )
    source = _sqlite(url) if kind == "sqlite" else _postgresql(url)
    try:
        yield source
    finally:
        source.engine.dispose()


def _postgresql(url: str) -> SourceDatabase:
    target = postgresql_sessions.parse_url(url)
    engine = create_engine("postgresql+psycopg://", creator=target.connect, poolclass=NullPool)
    return SourceDatabase(target.shown, engine)


def _sqlite(url: str) -> SourceDatabase:
    path = sqlite_file.parse_url(url).path

    def connect() -> sqlite3.Connection:
        # In autocommit mode, so that the driver does not begin or end transactions by itself.
        found = sqlite3.connect(
            f"file:{quote(path)}?mode=ro", uri=True, timeout=sqlite_file.BUSY_SECONDS, isolation_level=None
        )
        found.text_factory = _lenient_text
        return found

    return SourceDatabase(without_password(url), create_engine("sqlite://", creator=connect, poolclass=NullPool))


def _lenient_text(data: bytes) -> str:
    """Decode text. Invalid UTF-8 makes the row a broken row and does not stop the reading."""
    return data.decode("utf-8", "surrogateescape")


def _table(name: str) -> TableClause:
    # Columns have no types, so values stay as the driver returns them.
    return sql_table(name, *(column(each) for each in COLUMNS[name]))


def _require_tables(source: SourceDatabase, connection: Connection) -> None:
    found = inspect(connection)
    for name, needed in COLUMNS.items():
        try:
            there = {str(each["name"]) for each in found.get_columns(name)}
        except NoSuchTableError as e:
            raise _not_a_source(source, f"it has no table {name}") from e
        missing = [each for each in needed if each not in there]
        if missing:
            raise _not_a_source(source, f"its table {name} has no column {', '.join(missing)}")


def _not_a_source(source: SourceDatabase, why: str) -> Unavailable:
    return Unavailable(
        f"{source.shown} is not a source of a migration: {why}", kind=Kind.NotAGravelerStore, store=source.shown
    )


@contextmanager
def _mapping(source: SourceDatabase) -> Iterator[None]:
    """Translate errors of the drivers into errors of graveler, without their text about the URL."""
    try:
        yield
    except (SQLAlchemyError, psycopg.Error, sqlite3.Error) as e:
        raise _mapped(source, e) from None


def _mapped(source: SourceDatabase, error: Exception) -> GravelerError:
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, sqlite3.Error):
        return sqlite_errors.mapped(cause, source.shown, writing=False)
    return postgresql_errors.mapped(error, source.shown, writing=False)

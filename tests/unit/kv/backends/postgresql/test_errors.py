"""Every exception class of the driver, and those of the pool, become errors of the tree."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy.exc
from psycopg import errors

from graveler_core.errors import GravelerError, Kind, OutcomeUnknown, SlowDown
from graveler_core.kv.backends.postgresql.errors import RETRIED, is_lost, mapped

EXPECTED = {
    errors.ReadOnlySqlTransaction: (Kind.StoreReadOnly, Kind.StoreReadOnly),
    errors.DiskFull: (Kind.StoreFull, Kind.StoreFull),
    errors.TooManyConnections: (Kind.StoreBusy, Kind.StoreBusy),
    errors.CannotConnectNow: (Kind.StoreBusy, Kind.StoreBusy),
    errors.QueryCanceled: (Kind.StoreBusy, Kind.StoreBusy),
    errors.SerializationFailure: (Kind.StoreBusy, Kind.StoreBusy),
    errors.DeadlockDetected: (Kind.StoreBusy, Kind.StoreBusy),
    errors.UndefinedTable: (Kind.NotAGravelerStore, Kind.NotAGravelerStore),
    errors.InsufficientPrivilege: (Kind.PermissionDenied, Kind.PermissionDenied),
    errors.InvalidPassword: (Kind.PermissionDenied, Kind.PermissionDenied),
    errors.DataCorrupted: (Kind.CorruptRecord, Kind.CorruptRecord),
    errors.ProgramLimitExceeded: (Kind.ValueTooLarge, Kind.ValueTooLarge),
    errors.SyntaxError: (Kind.StoreUnreachable, Kind.StoreUnreachable),
    errors.AdminShutdown: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    errors.CrashShutdown: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    errors.ConnectionFailure: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    errors.StatementCompletionUnknown: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    psycopg.OperationalError: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    psycopg.InterfaceError: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
}
"""What it becomes after a read, and after a write."""


def error_classes(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


@pytest.mark.parametrize("root", [psycopg.Error, psycopg.Warning])
def test_every_class_of_the_driver_is_mapped(root: type[Exception]) -> None:
    for cls in error_classes(root):
        for writing in (False, True):
            found = mapped(cls("as it happens\nLINE 1: and where"), "postgresql://host/db", writing=writing)
            assert isinstance(found, GravelerError)
            assert type(found) is not GravelerError
            assert found.message.endswith(": postgresql://host/db: as it happens")


def test_all_states_of_the_server_are_among_them() -> None:
    states = {getattr(cls, "sqlstate", None) for cls in error_classes(psycopg.Error)}
    assert len(states) > 200


@pytest.mark.parametrize(("cls", "kinds"), EXPECTED.items())
def test_classes(cls: type[psycopg.Error], kinds: tuple[Kind, Kind]) -> None:
    error = cls("as it happens")
    assert (mapped(error, "db", writing=False).kind, mapped(error, "db", writing=True).kind) == kinds


def test_a_lost_connection_is_never_a_plain_failure_of_a_write() -> None:
    for cls in error_classes(psycopg.Error):
        error = cls("as it happens")
        if isinstance(error, psycopg.Error) and is_lost(error) and error.sqlstate != "57P03":
            assert isinstance(mapped(error, "db", writing=True), OutcomeUnknown), cls


def test_what_is_retried_was_undone() -> None:
    for state in RETRIED:
        found = mapped(errors.lookup(state)("as it happens"), "db", writing=True)
        assert isinstance(found, SlowDown)
        assert found.details["state"] == state


def test_errors_of_the_pool() -> None:
    assert isinstance(mapped(sqlalchemy.exc.TimeoutError("no session"), "db", writing=False), SlowDown)
    wrapped = sqlalchemy.exc.OperationalError("SELECT", None, errors.DiskFull("full"))
    assert mapped(wrapped, "db", writing=False).kind is Kind.StoreFull
    for cls in error_classes(sqlalchemy.exc.SQLAlchemyError):
        if cls.__init__ is Exception.__init__:
            assert type(mapped(cls("as it happens"), "db", writing=True)) is not GravelerError

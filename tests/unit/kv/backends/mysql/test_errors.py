"""Every error class of the driver, every number that it knows, and the errors of the pool become errors of the tree."""

from __future__ import annotations

from collections.abc import Iterator

import pymysql
import pytest
import sqlalchemy.exc
from pymysql import err
from pymysql.constants import CR, ER

from graveler_core.errors import GravelerError, Kind, OutcomeUnknown, SlowDown
from graveler_core.kv.backends.mysql.errors import RETRIED, code_of, is_lost, mapped

NUMBERS = {
    name: number
    for constants in (ER, CR)
    for name, number in vars(constants).items()
    if isinstance(number, int) and not name.endswith(("_FIRST", "_LAST"))
}
EXPECTED = {
    ER.LOCK_DEADLOCK: (Kind.StoreBusy, Kind.StoreBusy),
    ER.LOCK_WAIT_TIMEOUT: (Kind.StoreBusy, Kind.StoreBusy),
    ER.CON_COUNT_ERROR: (Kind.StoreBusy, Kind.StoreBusy),
    ER.OPTION_PREVENTS_STATEMENT: (Kind.StoreReadOnly, Kind.StoreReadOnly),
    1792: (Kind.StoreReadOnly, Kind.StoreReadOnly),
    ER.ACCESS_DENIED_ERROR: (Kind.PermissionDenied, Kind.PermissionDenied),
    ER.TABLEACCESS_DENIED_ERROR: (Kind.PermissionDenied, Kind.PermissionDenied),
    ER.RECORD_FILE_FULL: (Kind.StoreFull, Kind.StoreFull),
    ER.DISK_FULL: (Kind.StoreFull, Kind.StoreFull),
    ER.NO_SUCH_TABLE: (Kind.NotAGravelerStore, Kind.NotAGravelerStore),
    ER.CRASHED_ON_USAGE: (Kind.CorruptRecord, Kind.CorruptRecord),
    ER.NET_PACKET_TOO_LARGE: (Kind.ValueTooLarge, Kind.ValueTooLarge),
    ER.PARSE_ERROR: (Kind.StoreUnreachable, Kind.StoreUnreachable),
    ER.SERVER_SHUTDOWN: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    ER.QUERY_INTERRUPTED: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    ER.ERROR_DURING_COMMIT: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    CR.CR_SERVER_LOST: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    CR.CR_SERVER_GONE_ERROR: (Kind.StoreUnreachable, Kind.OutcomeUnknown),
    CR.CR_CONN_HOST_ERROR: (Kind.StoreUnreachable, Kind.StoreUnreachable),
}
"""What it becomes after a read, and after a write."""


def error_classes(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


def raised(number: int) -> err.Error:
    """The error that the driver raises for an error of the server."""
    packet = b"\xff" + number.to_bytes(2, "little") + b"#HY000as it happens"
    try:
        err.raise_mysql_exception(packet)
    except err.Error as error:
        return error
    raise AssertionError(number)


@pytest.mark.parametrize("root", [err.Error, err.Warning])
def test_every_class_of_the_driver_is_mapped(root: type[Exception]) -> None:
    for cls in error_classes(root):
        for arguments in ((), ("as it happens",), (0, ""), (2013, "as it happens\nand where")):
            for writing in (False, True):
                found = mapped(cls(*arguments), "mysql://host/db", writing=writing)
                assert isinstance(found, GravelerError)
                assert type(found) is not GravelerError
                assert "\n" not in found.message
                assert ": mysql://host/db: " in found.message


def test_every_number_is_mapped() -> None:
    assert len(NUMBERS) > 400
    for name, number in NUMBERS.items():
        for writing in (False, True):
            found = mapped(raised(number), "db", writing=writing)
            assert type(found) is not GravelerError, name
            assert found.details["state"] == number


@pytest.mark.parametrize(("number", "kinds"), EXPECTED.items())
def test_numbers(number: int, kinds: tuple[Kind, Kind]) -> None:
    error = raised(number)
    assert code_of(error) == number
    assert (mapped(error, "db", writing=False).kind, mapped(error, "db", writing=True).kind) == kinds


def test_a_lost_connection_is_never_a_plain_failure_of_a_write() -> None:
    certain = {ER.NET_PACKET_TOO_LARGE, CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, CR.CR_UNKNOWN_HOST}
    for name, number in NUMBERS.items():
        error = raised(number)
        if is_lost(error) and number not in certain:
            assert isinstance(mapped(error, "db", writing=True), OutcomeUnknown), name
    for error in (pymysql.InterfaceError(0, ""), pymysql.OperationalError(2013, "lost"), pymysql.InternalError("out")):
        assert isinstance(mapped(error, "db", writing=True), OutcomeUnknown)


def test_what_is_retried_was_undone() -> None:
    for number in RETRIED:
        assert isinstance(mapped(raised(number), "db", writing=True), SlowDown)


def test_errors_of_the_pool() -> None:
    assert isinstance(mapped(sqlalchemy.exc.TimeoutError("no session"), "db", writing=False), SlowDown)
    for cls in error_classes(sqlalchemy.exc.SQLAlchemyError):
        if cls.__init__ is Exception.__init__:
            assert type(mapped(cls("as it happens"), "db", writing=True)) is not GravelerError

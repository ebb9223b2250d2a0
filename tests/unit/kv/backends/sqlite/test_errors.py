"""Every exception class of the driver, and every result code of SQLite, becomes an error of the tree."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator

import pytest

from graveler_core.errors import GravelerError, Kind
from graveler_core.kv.backends.sqlite.errors import mapped

# The module's integers that are result codes; authorizer actions and limits share the prefix.
CODES = {
    name: code
    for name, code in vars(sqlite3).items()
    if re.match(
        r"SQLITE_(ABORT|AUTH|BUSY|CANTOPEN|CONSTRAINT|CORRUPT|EMPTY|ERROR|FORMAT|FULL|INTERNAL|INTERRUPT|IOERR|LOCKED"
        r"|MISMATCH|MISUSE|NOLFS|NOMEM|NOTADB|NOTFOUND|PERM|PROTOCOL|RANGE|READONLY|SCHEMA|TOOBIG)(_|$)",
        name,
    )
}

EXPECTED = {
    "SQLITE_BUSY": Kind.StoreBusy,
    "SQLITE_BUSY_SNAPSHOT": Kind.StoreBusy,
    "SQLITE_LOCKED": Kind.StoreBusy,
    "SQLITE_PROTOCOL": Kind.StoreBusy,
    "SQLITE_READONLY": Kind.StoreReadOnly,
    "SQLITE_READONLY_DIRECTORY": Kind.StoreReadOnly,
    "SQLITE_FULL": Kind.StoreFull,
    "SQLITE_CORRUPT": Kind.CorruptRecord,
    "SQLITE_NOTADB": Kind.NotAGravelerStore,
    "SQLITE_CANTOPEN": Kind.StoreUnreachable,
    "SQLITE_TOOBIG": Kind.ValueTooLarge,
    "SQLITE_ERROR": Kind.StoreUnreachable,
}


def error_classes(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


def coded(code: int) -> sqlite3.Error:
    error = sqlite3.OperationalError("as it happens")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize("root", [sqlite3.Error, sqlite3.Warning])
def test_every_class_is_mapped(root: type[sqlite3.Error]) -> None:
    for cls in error_classes(root):
        for writing in (False, True):
            found = mapped(cls("as it happens"), "/data/kv.db", writing=writing)  # type: ignore[arg-type]
            assert isinstance(found, GravelerError)
            assert type(found) is not GravelerError
            assert "/data/kv.db" in found.message


def test_every_code_is_mapped() -> None:
    assert len(CODES) > 80
    for code in CODES.values():
        for writing in (False, True):
            assert type(mapped(coded(code), "/data/kv.db", writing=writing)) is not GravelerError


@pytest.mark.parametrize(("name", "kind"), EXPECTED.items())
def test_codes(name: str, kind: Kind) -> None:
    for writing in (False, True):
        assert mapped(coded(CODES[name]), "/data/kv.db", writing=writing).kind is kind


@pytest.mark.parametrize("name", ["SQLITE_IOERR", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_WRITE"])
def test_a_failed_disk_leaves_writes_unknown(name: str) -> None:
    assert mapped(coded(CODES[name]), "/data/kv.db", writing=True).kind is Kind.OutcomeUnknown
    assert mapped(coded(CODES[name]), "/data/kv.db", writing=False).kind is Kind.StoreUnreachable

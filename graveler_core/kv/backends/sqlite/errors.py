"""Conversion of the errors of the sqlite3 driver to errors of graveler, by the result code of SQLite."""

from __future__ import annotations

import sqlite3
from typing import Final

from graveler_core.errors import CorruptData, GravelerError, Kind, LimitExceeded, OutcomeUnknown, SlowDown, Unavailable

_PRIMARY: Final = 0xFF
"""Mask of the primary result code in the low byte of an extended result code."""

_Rule = tuple[type[GravelerError], Kind, str]

_RULES: Final[dict[int, _Rule]] = {
    **dict.fromkeys(
        (
            sqlite3.SQLITE_BUSY,
            sqlite3.SQLITE_LOCKED,
            sqlite3.SQLITE_PROTOCOL,
            sqlite3.SQLITE_NOMEM,
            sqlite3.SQLITE_INTERRUPT,
        ),
        (SlowDown, Kind.StoreBusy, "the store is busy"),
    ),
    **dict.fromkeys(
        (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH),
        (Unavailable, Kind.StoreReadOnly, "the store cannot be written"),
    ),
    sqlite3.SQLITE_FULL: (Unavailable, Kind.StoreFull, "no space is left for the store"),
    sqlite3.SQLITE_NOTADB: (Unavailable, Kind.NotAGravelerStore, "this is not a graveler store"),
    sqlite3.SQLITE_CORRUPT: (CorruptData, Kind.CorruptRecord, "the store is corrupt"),
    sqlite3.SQLITE_TOOBIG: (LimitExceeded, Kind.ValueTooLarge, "the store does not accept a row of this size"),
}
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the store cannot be used")
_DISK_FAILED: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the disk failed during a write")


def mapped(error: sqlite3.Error | sqlite3.Warning, path: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an error of the driver.

    Args:
        error: The error of the driver.
        path: The database file, for the message.
        writing: True if the failed statement writes. SQLite rolls back a failed statement, but after a disk error its
            outcome is unknown.
    """
    code = getattr(error, "sqlite_errorcode", None)
    primary = -1 if code is None else code & _PRIMARY
    rule = _DISK_FAILED if writing and primary == sqlite3.SQLITE_IOERR else _RULES.get(primary, _OTHER)
    error_class, kind, what = rule
    return error_class(f"{what}: {path}: {error}", kind=kind, path=path)


def moved(path: str) -> Unavailable:
    """Return the error for a file that is not at its path any more."""
    return Unavailable(
        f"the store {path} was moved, deleted or replaced by another file while it was open; nothing was written; "
        "close it, and open it again",
        kind=Kind.StoreMoved,
        path=path,
    )


def not_a_store(path: str, why: str) -> Unavailable:
    """Return the error for a file that graveler did not create."""
    return Unavailable(f"{path} is not a graveler store: {why}", kind=Kind.NotAGravelerStore, path=path)

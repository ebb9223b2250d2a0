"""The mark of a store in a database without schemas: a value that holds the schema version.

The mark has a key that no row can have. The first process that opens an empty database writes it. A database with rows
but without a mark belongs to another application.
"""

from __future__ import annotations

from typing import Final

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.schema_versions import Migrations, newest, pending

MARK_KEY: Final = b"schema_version"


def mark_value(migrations: Migrations) -> bytes:
    """Return the mark of a store that this library creates."""
    return b"%d" % newest(migrations)


def check_mark(found: bytes, migrations: Migrations, shown: str) -> None:
    """Check the mark of a store.

    Raises:
        Unavailable: Kind NotAGravelerStore: it is not a mark. Kind NewerSchema: a newer version of the library wrote
            it.
    """
    if not found.isdigit() or not int(found):
        raise not_a_store(shown, f"its schema version is {found[:40]!r}")
    pending(int(found), migrations, shown)


def not_a_store(shown: str, why: str) -> Unavailable:
    """Return the error for a database with rows that graveler did not write."""
    return Unavailable(f"{shown} is not a graveler store: {why}", kind=Kind.NotAGravelerStore, store=shown)

"""Schema versions of a backend. A store with an older schema is migrated when it is opened; a newer one is refused.

A backend lists the statements of each migration to the next version. A new store is created with version 1 and then
runs all migrations, so every schema is created in the same way. The backend runs the statements and updates the version
in one transaction, under a lock that excludes other processes that open the store.

Migrations only add tables, columns or indexes, because a process with the previous version may still use the store.
"""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.errors import Kind, Unavailable

Migrations = Sequence[Sequence[str]]
"""Statements of each migration: from version 1 to 2, from 2 to 3, …"""


def newest(migrations: Migrations) -> int:
    """Return the newest schema version, which this library creates."""
    return 1 + len(migrations)


def pending(found: int, migrations: Migrations, where: str) -> list[str]:
    """Return the statements that migrate a store from a version (1 or later) to the newest version.

    Args:
        found: Version of the store.
        migrations: Migrations of the backend.
        where: Name of the store for error messages.

    Raises:
        Unavailable: Kind NewerSchema: a newer version of the library created or migrated the store.
    """
    if found > newest(migrations):
        raise Unavailable(
            f"{where} has schema version {found}, but this version of graveler supports at most {newest(migrations)};"
            " open it with a newer version of graveler",
            kind=Kind.NewerSchema,
            store=where,
            version=found,
        )
    return [statement for step in migrations[found - 1 :] for statement in step]

"""The versions of a backend's tables: an older store is led forward when it is opened, a newer one is refused.

A backend lists, for each version but the last, the statements that lead to the next one. A new store is made as
version 1 and led through all of them, so there is one way to a schema. The backend runs the statements in one
transaction under a lock that excludes other openers, with the version written in the same transaction.

Migrations only add: a process of the version before may have the store open, and goes on working on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.errors import Kind, Unavailable

Migrations = Sequence[Sequence[str]]
"""The statements from version 1 to 2, from 2 to 3, …"""


def newest(migrations: Migrations) -> int:
    """The version that this library makes and reads."""
    return 1 + len(migrations)


def pending(found: int, migrations: Migrations, where: str) -> list[str]:
    """The statements that lead from a version (1 or later) to the newest one.

    Raises:
        Unavailable: Kind NewerSchema: a newer library made the store, or led it forward.
    """
    if found > newest(migrations):
        raise Unavailable(
            f"{where} has schema version {found}, and this version of graveler knows none above {newest(migrations)}:"
            " open it with a newer graveler",
            kind=Kind.NewerSchema,
            store=where,
            version=found,
        )
    return [statement for step in migrations[found - 1 :] for statement in step]

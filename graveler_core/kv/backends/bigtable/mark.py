"""The mark of a store in a table of Bigtable, and the check that its app profile allows conditional writes."""

from __future__ import annotations

from typing import Final

from grpc import StatusCode

from graveler_core.errors import GravelerError, InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.bigtable.errors import is_refused
from graveler_core.kv.backends.bigtable.requests import BigtableRequests, RowMutations
from graveler_core.kv.backends.bigtable.rows import VALUE, all_cells, cells_set, column_filter
from graveler_core.kv.backends.key_space import KeySpace
from graveler_core.kv.backends.schema_mark import check_mark, mark_value, not_a_store
from graveler_core.kv.schema_versions import Migrations

MIGRATIONS: Final[Migrations] = ()
_NAME: Final = KeySpace().mark
_PROFILE: Final = b"p"
"""Column of the mark with the name of the app profile with which the store was created."""


def prepare(requests: BigtableRequests, migrations: Migrations = MIGRATIONS) -> None:
    """Create the table if it is absent, check that it is a store, and write the mark if it is empty.

    Each opening sends a conditional write, which changes nothing if the mark is there. The service executes it only if
    the app profile routes to a single cluster and allows transactions of single rows. Two profiles can route to two
    clusters, which then accept writes of the same row without knowing of each other. So the mark names the profile with
    which the store was created, and no other one is accepted.

    Processes that open an empty table at the same time write the same mark. Rows are looked for before the mark: rows
    of another process that are found were written after its mark, which is then found, too.

    Raises:
        Unavailable: Kind NotAGravelerStore: there are rows without the mark. Kind NewerSchema: a newer version of the
            library created the store. Kind StoreNotDurable: the app profile does not allow conditional writes.
        InvalidInput: Kind InvalidUrl: the store was created with another app profile.
        GravelerError: The service refuses, or cannot be reached.
    """
    target = requests.target
    rows = _has_rows(requests)
    if rows and not requests.read_names([_NAME]).rows:
        raise not_a_store(target.shown, "the table has other rows")
    cells = {VALUE: mark_value(migrations), _PROFILE: target.app_profile.encode()}
    try:
        requests.mutate_if(column_filter(VALUE), RowMutations(_NAME, cells_set(cells)), matching=False)
    except GravelerError as error:
        if not is_refused(error, StatusCode.FAILED_PRECONDITION):
            raise
        raise Unavailable(
            f"{target.shown} needs an app profile with single-cluster routing that allows single-row transactions:"
            f" {error.message}",
            kind=Kind.StoreNotDurable,
            store=target.shown,
        ) from error
    ((_, found),) = requests.read_names([_NAME], all_cells()).rows
    check_mark(found.get(VALUE, b""), migrations, target.shown)
    profile = found.get(_PROFILE, b"").decode(errors="replace")
    if profile != target.app_profile:
        raise InvalidInput(
            f"the store at {target.shown} was created with the app profile {profile or 'default'!r}, not"
            f" {target.app_profile or 'default'!r}; all processes must use the same one",
            kind=Kind.InvalidUrl,
            url=target.shown,
        )


def _has_rows(requests: BigtableRequests) -> bool:
    """Return true if the table has rows. Create the table if it is absent."""
    try:
        return bool(requests.read_range(KeySpace().all, 1).rows)
    except GravelerError as error:
        if not is_refused(error, StatusCode.NOT_FOUND):
            raise
    requests.create_table()
    return False

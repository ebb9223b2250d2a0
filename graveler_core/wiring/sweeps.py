"""Sweep of the tombstones of a store in a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing

from graveler_core.errors import InvalidInput, Kind
from graveler_core.telemetry.secrets import without_password
from graveler_core.wiring.wrong_values import explained, require_characters


@explained
def sweep_tombstones(url: str, storage_options: Mapping[str, str] | None = None) -> int:
    """Delete the objects that deleted records have left in a bucket. The store may be in use.

    Args:
        url: URL of a store in a bucket (`s3://…`, `az://…`), as for `connect`.
        storage_options: Options of object stores (credentials, region, …). By default, they come from the environment.

    Returns:
        The number of deleted objects.

    Raises:
        InvalidInput: It is not the URL of a store in a bucket.
        Unavailable: The service has no conditional deletions, or cannot be reached.
        PermissionDenied: The service denies access.
    """
    from graveler_core.kv.backends.bucket.store import BucketStore
    from graveler_core.kv.registry import open_store

    require_characters(url)
    with closing(open_store(url, storage_options)) as store:
        if not isinstance(store, BucketStore):
            shown = without_password(url)
            raise InvalidInput(
                f"{shown!r} is not a store in a bucket; other stores have no tombstones",
                kind=Kind.InvalidUrl,
                url=shown,
            )
        return store.sweep()

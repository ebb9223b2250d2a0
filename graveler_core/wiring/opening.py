"""Stores without a handle and without permission checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Final

from graveler_core.errors import InvalidInput, Kind
from graveler_core.wiring.callbacks import callbacks
from graveler_core.wiring.wrong_values import require_characters

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graveler_core.objects.uploads import Uploads
    from graveler_core.stores import Stores

_WORKER_CACHE_BYTES: Final = 32 << 20
"""Cache of decoded nodes and ranges in a worker, in bytes. It is small because a worker reads each range of its
partition once.
"""


def open_stores(  # noqa: PLR0913 - arguments of `connect`, all of them optional
    url: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    memory_cache_bytes: int | None = None,
    metrics: CollectorRegistry | None = None,
) -> Stores:
    """Open the stores of a URL without a handle and without permission checks, for workers of a cluster.

    Arguments and errors are the same as for `connect`.
    """
    from graveler_core.blobs.disk_cache import DEFAULT_BYTES, DiskCache
    from graveler_core.blobs.open import OpenedBlobs
    from graveler_core.committed.cache import TreeCache
    from graveler_core.kv.registry import open_store
    from graveler_core.stores import Aside, HookCalls, Stores, Turns

    if not isinstance(url, str):
        raise InvalidInput(f"store {url!r}: must be a URL as text, as in 'sqlite:///meta.db'", kind=Kind.InvalidUrl)
    require_characters(url)
    if storage_options is not None and not isinstance(storage_options, Mapping):
        raise InvalidInput(f"storage options {type(storage_options).__name__}: must be a mapping of names to texts")
    if metrics is not None:
        from graveler_core.extras import requires

        with requires("metrics"):
            from prometheus_client import CollectorRegistry as Registry

            from graveler_core.kv.wrappers.metrics import Metered
        if not isinstance(metrics, Registry):
            raise InvalidInput(
                f"metrics {metrics!r}: must be a prometheus_client.CollectorRegistry", argument="metrics"
            )
    durable = "durability=process" not in url
    cache = None if cache_dir is None else DiskCache(cache_dir, DEFAULT_BYTES if cache_bytes is None else cache_bytes)
    ranges = TreeCache() if memory_cache_bytes is None else TreeCache(memory_cache_bytes)
    blobs = OpenedBlobs(storage_options, durable=durable, cache=cache)
    kv = open_store(url, storage_options)
    if metrics is not None:
        kv = Metered(kv, metrics)
    return Stores(
        kv=kv,
        blobs=blobs,
        background=Aside(),
        hook_calls=HookCalls(),
        turns=Turns(kv),
        ranges=ranges,
        hooks=callbacks(),
    )


def open_worker_stores(
    url: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
) -> Stores:
    """Open the stores of a URL for a process that executes tasks of a cluster: with one thread, without background
    work, and with small caches in memory.

    Arguments and errors are the same as for `connect`.
    """
    from graveler_core.committed.cache import TreeCache
    from graveler_core.stores import AtOnce, Threads, Turns

    return replace(
        open_stores(
            url,
            storage_options=storage_options,
            cache_dir=cache_dir,
            cache_bytes=cache_bytes,
            memory_cache_bytes=_WORKER_CACHE_BYTES,
        ),
        executor=Threads(1),
        background=AtOnce(),
        turns=Turns(),
        uncommitted=TreeCache(_WORKER_CACHE_BYTES),
        collected=TreeCache(_WORKER_CACHE_BYTES),
    )


def uploads_of(stores: Stores, repository: str, uid: str) -> Uploads:
    """Return the uploads of a repository without permission checks, for workers that store files.

    Args:
        stores: Stores of the repository.
        repository: Name of the repository.
        uid: Unique id of the repository, as it was when the job began.

    Returns:
        The uploads.

    Raises:
        NotFound: the repository was deleted, even if another one has its name now.
    """
    from graveler_core.engine.reading.pinned import still
    from graveler_core.model.ids import RepositoryUid
    from graveler_core.model.names import repository_id
    from graveler_core.objects.uploads import Uploads

    record = still(stores, repository_id(repository), RepositoryUid(uid))
    return Uploads(stores.kv, stores.blobs.at(record.storage_namespace), record, stores.clock, stores.ids)

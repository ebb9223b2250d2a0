"""Putting the parts together: from a URL to a handle.

The parts are imported when a store is opened: they take most of a second, which nobody who only asks for `--help` or
for a type should wait.

A store on which it was said who may do what gives a guarded handle, and only to those who show credentials. What is
opened here without a handle (`open_stores`, `copy_store`, `compare_stores`) asks nobody: it is for workers, which do
what a driver was allowed, and for administrators. Whoever holds the store's URL can go round any handle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from logging import INFO
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.principal import Principal
    from graveler_core.kv.store import Store
    from graveler_core.model.credentials import Credentials
    from graveler_core.stores import Cluster, Stores, TagVerifier
    from graveler_core.transfer.kv_copy import Copied
    from graveler_core.transfer.kv_copy_compare import Compared, Progress


def connect(  # noqa: PLR0913 - one call, all of it optional
    url: str,
    *,
    credentials: Credentials | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    metrics: CollectorRegistry | None = None,
    verify_tag: TagVerifier | None = None,
    cluster: Cluster | None = None,
) -> Graveler:
    """Open graveler on a key-value store.

    Args:
        url: `memory://`, `sqlite:///path`, `postgresql://…`, or a scheme that a plug-in registered. With
            `?durability=process`, SQLite and local objects survive a killed process but not a power cut, and are
            faster.
        credentials: Who opens it. Needed where it was said who may do what; then every call on the handle asks whether
            this user may. Whether it was said is looked up once: a handle that was opened before stays open to all.
        storage_options: Options of the object stores, by the names that obstore gives them (credentials, region, …).
            Read from obstore's own environment variables where not given.
        cache_dir: A local directory, which processes may share, for what is read of commits in remote object stores.
            Nothing is kept on disk without.
        cache_bytes: About how much it may hold; 10 GiB where not given.
        metrics: A registry of Prometheus that is told of every call of the key-value store: `graveler_kv_…`.
        verify_tag: Called as `verify_tag(tag, commit)` with a tag's record and its commit's before the tag is created,
            and by `Repository.verify_tag`; refuses the tag by raising.
        cluster: Does what outgrows this process, for instance `jobs.cluster.SparkCluster`; everything is done here
            without.

    Raises:
        InvalidInput: the URL has an unknown scheme or a wrong form, or the cache no room.
        Unavailable: the store cannot be reached, or is no graveler store.
        PermissionDenied: (`CredentialsRequired`) the store wants credentials; (`InvalidCredentials`) these are none of
            its.
    """
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores import Hooks

    stores = open_stores(
        url, storage_options=storage_options, cache_dir=cache_dir, cache_bytes=cache_bytes, metrics=metrics
    )
    try:
        principal = principal_of(stores, credentials)
    except BaseException:
        stores.close()
        raise
    return Graveler(replace(stores, hooks=Hooks(verify_tag), cluster=cluster, principal=principal))


def principal_of(stores: Stores, credentials: Credentials | None) -> Principal | None:
    """Who works on a store; None where nothing was said about who may. One get, and with credentials some more.

    Raises:
        PermissionDenied: as `connect`.
    """
    from graveler_core.errors import Kind, PermissionDenied
    from graveler_core.iam.principal import authenticate, is_set_up

    if is_set_up(stores.kv):
        if credentials is None:
            raise PermissionDenied(
                "this store wants credentials: give connect(credentials=…), or set GRAVELER_ACCESS_KEY_ID and "
                "GRAVELER_SECRET_ACCESS_KEY",
                kind=Kind.CredentialsRequired,
            )
        return authenticate(stores.kv, stores.clock, credentials.access_key_id, credentials.secret_access_key)
    if credentials is not None:
        raise PermissionDenied(
            "credentials were given to a store that knows none: `graveler iam setup` makes the first; or connect "
            "without",
            kind=Kind.InvalidCredentials,
        )
    _say_that_it_is_open()
    return None


@cache
def _say_that_it_is_open() -> None:
    """Once in a process, whatever number of stores it opens."""
    from graveler_core.telemetry.events import tell

    tell(
        "connect",
        INFO,
        "a store was opened on which nothing is said about who may do what, so whoever can open it may do anything; "
        "`graveler iam setup` changes that",
    )


def open_stores(
    url: str,
    *,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    metrics: CollectorRegistry | None = None,
) -> Stores:
    """What `connect` opens, without a handle on it: for workers of a cluster. Arguments and errors as there."""
    from graveler_core.blobs.disk_cache import DEFAULT_BYTES, DiskCache
    from graveler_core.blobs.open import OpenedBlobs
    from graveler_core.kv.registry import open_store
    from graveler_core.stores import Aside, Stores, Turns

    durable = "durability=process" not in url
    cache = None if cache_dir is None else DiskCache(cache_dir, DEFAULT_BYTES if cache_bytes is None else cache_bytes)
    blobs = OpenedBlobs(storage_options, durable=durable, cache=cache)
    kv = open_store(url)
    if metrics is not None:
        from graveler_core.kv.wrappers.metrics import Metered

        kv = Metered(kv, metrics)
    return Stores(kv=kv, blobs=blobs, background=Aside(), turns=Turns(kv))


def copy_store(source: str, target: str, *, dry_run: bool = False, progress: Progress = lambda more: None) -> Copied:
    """Copy a whole key-value store at rest into an empty one, and compare both: see `graveler_core.transfer.kv_copy`.

    A copy that did not end goes on where it was. What lies in storage namespaces stays there.

    Args:
        source: URL of a store, as for `connect`.
        target: URL of a store that is empty, or holds a part of this very copy.
        dry_run: Only count what would be copied.
        progress: Told how many more rows were copied or compared.

    Raises:
        InvalidInput: a URL is none; the source holds nothing, or is itself a copy that did not end.
        NotUnique: (`StoreNotEmpty`) the target holds something else.
        Conflict: (`StoreChanged`) the source changed meanwhile; (`LostRace`) another run copies into the target.
    """
    from graveler_core.transfer import kv_copy

    with _opened(source, target) as (here, there):
        return kv_copy.measure(here, there) if dry_run else kv_copy.copy_store(here, there, progress=progress)


def compare_stores(source: str, target: str, *, progress: Progress = lambda more: None) -> Compared:
    """Compare all that two key-value stores at rest hold, row by row. Changes nothing.

    Args:
        source: URL of a store; so is `target`.
        progress: Told how many more rows were compared.
    """
    from graveler_core.transfer import kv_copy_compare

    with _opened(source, target) as (here, there):
        return kv_copy_compare.compare_stores(here, there, progress)


@contextmanager
def _opened(source: str, target: str) -> Iterator[tuple[Store, Store]]:
    from graveler_core.kv.registry import open_store

    with closing(open_store(source)) as here, closing(open_store(target)) as there:
        yield here, there

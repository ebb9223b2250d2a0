"""Opening of stores: from a URL to a handle.

The packages are imported when a store is opened, because their import takes most of a second. `--help` and the use
of types do not need them.

A store with access control returns a guarded handle, and requires credentials. Functions without a handle
(`open_stores`, `open_worker_stores`, `uploads_of`, `copy_store`, `compare_stores`) check no permissions: they are for
workers, which do what their driver is allowed to do, and for administrators. Anyone with the store's URL can bypass
the handles.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from logging import INFO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from pydantic import SecretStr

    from graveler_core.facade.graveler import Graveler
    from graveler_core.facade.repository import Repository
    from graveler_core.iam.principal import Principal
    from graveler_core.kv.store import Store
    from graveler_core.model.credentials import Credentials
    from graveler_core.model.secrets_keys import SecretsKeys
    from graveler_core.model.webhooks import Webhook
    from graveler_core.objects.uploads import Uploads
    from graveler_core.stores import Cluster, Hook, HookAnswer, Hooks, Reopening, Stores, TagVerifier
    from graveler_core.transfer.kv_copy import Copied
    from graveler_core.transfer.kv_copy_compare import Progress, StoreComparison

_WORKER_CACHE_BYTES: Final = 32 << 20
"""Cache of decoded nodes and ranges in a worker, in bytes. It is small because a worker reads each range of its
partition once.
"""


def connect(  # noqa: PLR0913 - one call, all of it optional
    url: str,
    *,
    credentials: Credentials | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    metrics: CollectorRegistry | None = None,
    verify_tag: TagVerifier | None = None,
    hooks: Sequence[Hook] = (),
    cluster: Cluster | None = None,
) -> Graveler:
    """Open a handle on a key-value store.

    Args:
        url: `memory://`, `sqlite:///path`, `postgresql://…`, `s3://bucket/prefix`, or another scheme of a store. With
        `?durability=process`, SQLite and local objects survive a killed process but not a power failure, and are
        faster.
        credentials: Credentials of the user. Required if access control is set up; every call then checks the user's
        permissions. A handle that was opened before access control was set up remains unrestricted.
        storage_options: Options of the object stores, with the names of obstore (credentials, region, …). By default
        obstore reads its own environment variables. A key-value store in a bucket uses them, too.
        cache_dir: Local directory that caches data of commits in remote object stores. Processes may share it.
        Without it nothing is cached on disk.
        cache_bytes: Approximate maximum size of the cache in bytes. Default: 10 GiB.
        metrics: Prometheus registry that records every call of the key-value store: `graveler_kv_…`.
        verify_tag: Function that is called as `verify_tag(tag, commit)` with the records of a tag and its commit,
        before the tag is created and by `Repository.verify_tag`. It refuses a tag by raising an exception.
        hooks: Functions that are called before and after changes: see `Hook`. Functions of the entry points
        `graveler.hooks` are called as well.
        cluster: Cluster for large work, such as `graveler.spark.cluster.SparkCluster`. Default: none.

    Returns:
        The handle. Close it after use.

    Raises:
        InvalidInput: the URL has an unknown scheme or is malformed, or the cache is too small.
        Unavailable: the store cannot be reached, or is not a graveler store.
        PermissionDenied: (`CredentialsRequired`) the store requires credentials; (`InvalidCredentials`) the
        credentials are wrong.
    """
    from graveler_core.configuration import anchored
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores.opening import Opening

    stores = open_stores(
        url, storage_options=storage_options, cache_dir=cache_dir, cache_bytes=cache_bytes, metrics=metrics
    )
    try:
        principal = principal_of(stores, credentials)
    except BaseException:
        stores.close()
        raise
    opening = Opening(
        reopen=reopen,
        environment=_environment,
        url=anchored(url, Path.cwd()),
        credentials=credentials,
        storage_options=dict(storage_options or {}),
        cache_dir=None if cache_dir is None else str(Path(cache_dir).absolute()),
        cache_bytes=cache_bytes,
        verify_tag=verify_tag,
        hooks=tuple(hooks),
    )
    callbacks = _callbacks(verify_tag, tuple(hooks))
    return Graveler(replace(stores, hooks=callbacks, cluster=cluster, principal=principal, opening=opening))


def _callbacks(verify_tag: TagVerifier | None, hooks: tuple[Hook, ...]) -> Hooks:
    from graveler_core.stores import Hooks

    return Hooks(verify_tag, hooks, _installed_hooks, _repository_for_hooks, _send_to_webhook)


def _send_to_webhook(hook: Webhook, run_id: str, event: str, body: bytes) -> HookAnswer:
    from graveler_core.settings import secret
    from graveler_core.stores.webhook_request import post

    return post(hook, run_id, event, body, secret)


@cache
def _installed_hooks() -> tuple[Hook, ...]:
    """Return the functions of the entry points `graveler.hooks`.

    Raises:
        Unavailable: one of them cannot be loaded, so changes that it might refuse cannot be made.
    """
    from importlib.metadata import entry_points

    from graveler_core.errors import Unavailable
    from graveler_core.stores import Hook

    found: list[Hook] = []
    for entry_point in entry_points(group="graveler.hooks"):
        try:
            hook = entry_point.load()
        except Exception as e:
            raise Unavailable(
                f"the installed hook {entry_point.name!r} ({entry_point.value}) cannot be loaded: {e}"
            ) from e
        if not isinstance(hook, Hook):
            raise Unavailable(f"the installed hook {entry_point.name!r} ({entry_point.value}) is not a graveler.Hook")
        found.append(hook)
    return tuple(found)


def _repository_for_hooks(stores: Stores, name: str) -> Repository:
    """Return a repository for functions: changes that they make call no functions, and wait for no turn."""
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores import Turns

    return Graveler(
        replace(stores, hooks=replace(stores.hooks, functions=(), installed=tuple), turns=Turns())
    ).repository(name)


_shared: dict[tuple[int, Reopening], Graveler] = {}
"""Handles that unpickled repositories, branches and snapshots share, by process and arguments."""
_sharing = threading.Lock()


def reopen(opened: Reopening, own: bool) -> Graveler:
    """Open the store of a pickled handle, with the secrets of this process's environment.

    Args:
        opened: How the store was opened.
        own: Return a new handle, which the caller closes. Otherwise one that the process shares and closes at its end.

    Returns:
        The handle.

    Raises:
        GravelerError: as for `connect`.
    """
    if own:
        return _connected(opened)
    key = (os.getpid(), opened)
    with _sharing:
        if key not in _shared:
            _shared[key] = _connected(opened)
        return _shared[key]


def _connected(opened: Reopening) -> Graveler:
    url, credentials = _environment()
    return connect(
        url if opened.url is None else opened.url,
        credentials=credentials if opened.with_credentials else None,
        storage_options=dict(opened.storage_options) or None,
        cache_dir=opened.cache_dir,
        cache_bytes=opened.cache_bytes,
        verify_tag=opened.verify_tag,
        hooks=opened.hooks,
    )


@atexit.register
def _close_shared() -> None:
    """Close the shared handles of this process."""
    with _sharing:
        for key in [key for key in _shared if key[0] == os.getpid()]:
            with suppress(Exception):
                _shared.pop(key).close()


def _environment() -> tuple[str, Credentials | None]:
    from graveler_core.settings import Settings

    settings = Settings()
    return settings.store.get_secret_value(), settings.credentials


def principal_of(stores: Stores, credentials: Credentials | None) -> Principal | None:
    """Return the principal for some credentials, or `None` if access control is not set up.

    Raises:
        PermissionDenied: as for `connect`.
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


def sign_in(stores: Stores, credentials: Credentials | None) -> Graveler:
    """Return a handle for a user on stores that are open already, as a server needs for each of its users.

    Args:
        stores: The stores. The handle uses them too, so close the stores and not the handle.
        credentials: Credentials of the user, as for `connect`.

    Returns:
        The handle.

    Raises:
        PermissionDenied: As for `connect`.
    """
    from graveler_core.facade.graveler import Graveler

    principal = principal_of(stores, credentials)
    return Graveler(replace(stores, principal=principal))


def session_user(stores: Stores, access_key_id: str) -> tuple[Graveler, bytes]:
    """Return the handle of a user, and the key with which the caller verifies the token of the user's session.

    Args:
        stores: The stores, as for `sign_in`.
        access_key_id: Id of the access key with which the session was begun.

    Returns:
        The handle, and the key. It must not be shown to anybody.

    Raises:
        PermissionDenied: (`InvalidCredentials`) the access key does not exist any more.
    """
    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.sessions import session_of

    principal, key = session_of(stores.kv, stores.clock, access_key_id)
    return Graveler(replace(stores, principal=principal)), key


def signing_user(stores: Stores, secrets_keys: SecretsKeys, access_key_id: str) -> tuple[Graveler, SecretStr]:
    """Return the handle of a user, and the secret with which the caller verifies that the user has signed a request.

    Args:
        stores: The stores, as for `sign_in`.
        secrets_keys: Keys that decrypt secrets.
        access_key_id: Id of the access key.

    Returns:
        The handle, and the secret of the access key.

    Raises:
        PermissionDenied: (`InvalidCredentials`) the access key does not exist; (`SecretNotKept`) its secret cannot be
            recovered.
    """
    from graveler_core.facade.graveler import Graveler
    from graveler_core.iam.sealing import signing_user as found

    principal, secret = found(stores.kv, stores.clock, secrets_keys, access_key_id)
    return Graveler(replace(stores, principal=principal)), secret


@cache
def _say_that_it_is_open() -> None:
    """Log once in each process that a store has no access control."""
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
    """Open the stores of a URL without a handle and without permission checks, for workers of a cluster.

    Arguments and errors are the same as for `connect`.
    """
    from graveler_core.blobs.disk_cache import DEFAULT_BYTES, DiskCache
    from graveler_core.blobs.open import OpenedBlobs
    from graveler_core.kv.registry import open_store
    from graveler_core.stores import Aside, Stores, Turns

    durable = "durability=process" not in url
    cache = None if cache_dir is None else DiskCache(cache_dir, DEFAULT_BYTES if cache_bytes is None else cache_bytes)
    blobs = OpenedBlobs(storage_options, durable=durable, cache=cache)
    kv = open_store(url, storage_options)
    if metrics is not None:
        from graveler_core.extras import requires

        with requires("metrics"):
            from graveler_core.kv.wrappers.metrics import Metered
        kv = Metered(kv, metrics)
    return Stores(kv=kv, blobs=blobs, background=Aside(), turns=Turns(kv), hooks=_callbacks(None, ()))


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
        open_stores(url, storage_options=storage_options, cache_dir=cache_dir, cache_bytes=cache_bytes),
        executor=Threads(1),
        background=AtOnce(),
        turns=Turns(),
        ranges=TreeCache(_WORKER_CACHE_BYTES),
        uncommitted=TreeCache(_WORKER_CACHE_BYTES),
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


def copy_store(source: str, target: str, *, dry_run: bool = False, progress: Progress = lambda more: None) -> Copied:
    """Copy a whole key-value store into an empty one, and compare both: see `graveler_core.transfer.kv_copy`.

    Neither store may be in use. An interrupted copy is continued by the next call. Files in storage namespaces are
    not copied.

    Args:
        source: URL of a store, as for `connect`.
        target: URL of a store that is empty, or contains a part of this copy.
        dry_run: Only count what would be copied.
        progress: Called with the number of rows copied or compared since the last call.

    Returns:
        Numbers of the copied rows.

    Raises:
        InvalidInput: a URL is not valid; the source is empty, or is itself an incomplete copy.
        NotUnique: (`StoreNotEmpty`) the target contains other data.
        Conflict: (`StoreChanged`) the source has changed during the copy; (`LostRace`) another process copies into
        the target.
    """
    from graveler_core.transfer import kv_copy

    with _opened(source, target) as (here, there):
        return kv_copy.measure(here, there) if dry_run else kv_copy.copy_store(here, there, progress=progress)


def compare_stores(source: str, target: str, *, progress: Progress = lambda more: None) -> StoreComparison:
    """Compare all data of two key-value stores, row by row. Change nothing. Neither store may be in use.

    Args:
        source: URL of a store, as for `connect`.
        target: URL of the other store.
        progress: Called with the number of rows compared since the last call.

    Returns:
        Numbers of equal and different rows, with examples.

    Raises:
        InvalidInput: a URL is not valid.
        Unavailable: a store cannot be reached, or a SQLite file does not exist.
    """
    from graveler_core.kv.backends.sqlite_file import require_file
    from graveler_core.transfer import kv_copy_compare

    for url in (source, target):
        require_file(url)
    with _opened(source, target) as (here, there):
        return kv_copy_compare.compare_stores(here, there, progress)


@contextmanager
def _opened(source: str, target: str) -> Iterator[tuple[Store, Store]]:
    from graveler_core.kv.registry import open_store

    with closing(open_store(source)) as here, closing(open_store(target)) as there:
        yield here, there

"""Handles on stores: those that `connect` opens, and those of unpickled objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from graveler_core.wiring.callbacks import callbacks
from graveler_core.wiring.opening import open_stores
from graveler_core.wiring.shared_handles import SharedHandles
from graveler_core.wiring.users import principal_of
from graveler_core.wiring.wrong_values import explained

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from graveler_core.errors import InvalidInput
    from graveler_core.facade.graveler import Graveler
    from graveler_core.model.credentials import Credentials
    from graveler_core.stores import Cluster, Hook, Reopening, TagVerifier


@explained
def connect(  # noqa: PLR0913 - one call, all of it optional
    url: str,
    *,
    credentials: Credentials | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache_dir: str | PathLike[str] | None = None,
    cache_bytes: int | None = None,
    memory_cache_bytes: int | None = None,
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
        memory_cache_bytes: Approximate maximum size of the cache of decoded commits in memory, in bytes. Default:
        256 MiB, which holds about a million entries. Small commits of larger repositories are faster if more fit.
        metrics: Prometheus registry that records every call of the key-value store: `graveler_kv_…`.
        verify_tag: Function that is called as `verify_tag(tag, commit)` with the records of a tag and its commit,
        before the tag is created and by `Repository.verify_tag`. It refuses a tag by raising an exception.
        hooks: Functions that are called before and after changes: see `Hook`. Functions of the entry points
        `graveler.hooks` are called as well.
        cluster: Cluster for large work, such as `graveler.spark.cluster.SparkCluster`. Default: none.

    Returns:
        The handle. Close it after use.

    Raises:
        InvalidInput: the URL has an unknown scheme or is malformed, or a cache is too small.
        Unavailable: the store cannot be reached, or is not a graveler store.
        PermissionDenied: (`CredentialsRequired`) the store requires credentials; (`InvalidCredentials`) the
        credentials are wrong.
    """
    from graveler_core.configuration import anchored
    from graveler_core.facade.graveler import Graveler
    from graveler_core.stores.opening import Opening

    functions = _functions(verify_tag, hooks)
    stores = open_stores(
        url,
        storage_options=storage_options,
        cache_dir=cache_dir,
        cache_bytes=cache_bytes,
        memory_cache_bytes=memory_cache_bytes,
        metrics=metrics,
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
        memory_cache_bytes=memory_cache_bytes,
        verify_tag=verify_tag,
        hooks=functions,
    )
    called = callbacks(verify_tag, functions)
    return Graveler(replace(stores, hooks=called, cluster=cluster, principal=principal, opening=opening))


def _functions(verify_tag: object, hooks: object) -> tuple[Hook, ...]:
    """Return the hooks of a call of `connect`. Raises `InvalidInput` if one of its callbacks is of another type."""
    from graveler_core.stores import Hook

    if verify_tag is not None and not callable(verify_tag):
        raise _wrong("verify_tag", verify_tag, "a function")
    given: tuple[object, ...] = tuple(hooks) if isinstance(hooks, Iterable) else (None,)
    found = tuple(each for each in given if isinstance(each, Hook))
    if len(found) < len(given):
        raise _wrong("hooks", hooks, "a sequence of graveler.Hook")
    return found


def _wrong(name: str, value: object, wanted: str) -> InvalidInput:
    from graveler_core.errors import InvalidInput

    return InvalidInput(f"connect: {name} {value!r} must be {wanted}", argument=name)


_shared = SharedHandles()
"""Handles that unpickled repositories, branches and snapshots share, by their arguments."""


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
    return _shared.get(opened, partial(_connected, opened))


def _connected(opened: Reopening) -> Graveler:
    url, credentials = _environment()
    return connect(
        url if opened.url is None else opened.url,
        credentials=credentials if opened.with_credentials else None,
        storage_options=dict(opened.storage_options) or None,
        cache_dir=opened.cache_dir,
        cache_bytes=opened.cache_bytes,
        memory_cache_bytes=opened.memory_cache_bytes,
        verify_tag=opened.verify_tag,
        hooks=opened.hooks,
    )


def _environment() -> tuple[str, Credentials | None]:
    from graveler_core.settings import Settings

    settings = Settings()
    return settings.store.get_secret_value(), settings.credentials

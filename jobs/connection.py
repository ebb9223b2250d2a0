"""How a Spark worker reaches the stores that the driver works on: plain values, pickled, opened where they arrive.

A worker takes no turns, moves no head and has nothing to do in the background; what it writes are blobs that nothing
names before the driver does. So a worker that is killed leaves at most such blobs, which a sweep deletes, and
connections, which the store closes.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from graveler_core.committed.cache import TreeCache
from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.display import without_password
from graveler_core.model.credentials import Credentials
from graveler_core.stores import AtOnce, Cluster, Stores, Threads, Turns
from graveler_core.wiring import connect, open_stores, principal_of

if TYPE_CHECKING:
    from graveler_core.blobs.port import Blobs, BlobStores, Foreign
    from graveler_core.model.address import Namespace

_KEPT: Final = 4
"""Connections that a process keeps open: an application has one or two."""
_CACHE_BYTES: Final = 32 << 20
"""Decoded nodes and ranges that a worker keeps: it passes by each range of its interval once."""


@dataclass(frozen=True)
class Connection:
    """Where graveler keeps what changes, and how to reach the objects: what `connect` takes, for other processes too.

    Args:
        url: The key-value store; not memory://. The path of a SQLite file is made absolute.
        storage_options: Options of the object stores, as for `connect`. Where not given, each worker asks its own
            environment.
        cache_dir: A directory of each machine, for what is read of commits in remote object stores.
        cache_bytes: About how much it may hold.
        credentials: Who opens it, where it was said who may do what. Workers show none: they do what the driver was
            allowed.

    Raises:
        InvalidInput: a store in memory, which one process alone can see.
    """

    url: str = field(repr=False)
    storage_options: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)
    cache_dir: str | None = None
    cache_bytes: int | None = None
    credentials: Credentials | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        refuse_memory(self.url)
        object.__setattr__(self, "url", _absolute(self.url))
        object.__setattr__(self, "storage_options", dict(self.storage_options))

    def __str__(self) -> str:
        return without_password(self.url)

    @property
    def for_workers(self) -> Connection:
        """The same without credentials, which nobody asks a worker for."""
        return replace(self, credentials=None)

    def connect(self, cluster: Cluster | None = None) -> Graveler:
        """Open the same stores in this process; `cluster` does what outgrows it."""
        return connect(
            self.url,
            credentials=self.credentials,
            storage_options=self.storage_options or None,
            cache_dir=self.cache_dir,
            cache_bytes=self.cache_bytes,
            cluster=cluster,
        )


def refuse_memory(uri: str) -> None:
    """Raise `InvalidInput` for a key-value store or a storage namespace in memory."""
    if uri.partition("://")[0] == "memory":
        raise InvalidInput(
            f"{without_password(uri)}: what is in memory exists in one process, so Spark's workers cannot see it; "
            "use SQLite or PostgreSQL, and a directory or an object store",
            kind=Kind.InvalidUrl,
            uri=without_password(uri),
        )


def opened(connection: Connection) -> Stores:
    """The stores of a connection, opened at the first call in a process; Spark keeps its workers from task to task.

    The process keeps the few that were used last. For workers: they work on one thread, and a call may close what an
    earlier one has given.
    """
    with _lock:
        stores = _opened.pop(connection, None) or _open(connection)
        _opened[connection] = stores
        while len(_opened) > _KEPT:
            _opened.pop(next(iter(_opened))).close()
        return stores


def guarded(connection: Connection) -> Graveler:
    """A handle on `opened` stores that asks whether whoever the connection stands for may. Not to be closed."""
    stores = opened(connection)
    return Graveler(replace(stores, principal=principal_of(stores, connection.credentials)))


def _open(connection: Connection) -> Stores:
    stores = open_stores(
        connection.url,
        storage_options=connection.storage_options or None,
        cache_dir=connection.cache_dir,
        cache_bytes=connection.cache_bytes,
    )
    return replace(
        stores,
        blobs=_SharedBlobs(stores.blobs),
        executor=Threads(1),
        background=AtOnce(),
        turns=Turns(),
        ranges=TreeCache(_CACHE_BYTES),
        uncommitted=TreeCache(_CACHE_BYTES),
    )


@dataclass(frozen=True, slots=True)
class _SharedBlobs:
    """Objects of namespaces that other processes see too: one in memory would be a new, empty one here."""

    beneath: BlobStores

    def at(self, namespace_uri: str) -> Blobs:
        refuse_memory(namespace_uri)
        return self.beneath.at(namespace_uri)

    def foreign(self, place: Namespace) -> Foreign:
        refuse_memory(place.uri)
        return self.beneath.foreign(place)


def _absolute(url: str) -> str:
    """A relative path counts from the working directory of the driver, not from that of a worker."""
    scheme, slashes, rest = url.partition(":///")
    if scheme != "sqlite" or not slashes or not rest or rest.startswith("/"):
        return url
    return f"sqlite:///{quote(str(Path.cwd()))}/{rest}"


_opened: dict[Connection, Stores] = {}
_lock = threading.Lock()

"""Connection of a Spark worker to the stores of the driver: plain values, pickled, and opened where they arrive.

A worker takes no locks, moves no head and has no background work. It writes only blobs, and nothing refers to them
before the driver does. So a worker that is killed leaves at most such blobs, which a sweep deletes, and connections,
which the store closes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.graveler import Graveler
from graveler_core.model.credentials import Credentials
from graveler_core.model.forks import ForkSafe
from graveler_core.stores import Cluster, Stores
from graveler_core.telemetry.secrets import without_password
from graveler_core.wiring.handles import connect
from graveler_core.wiring.opening import open_worker_stores
from graveler_core.wiring.users import principal_of

if TYPE_CHECKING:
    from graveler_core.blobs.port import Blobs, BlobStores, Foreign
    from graveler_core.model.address import Namespace

_KEPT: Final = 4
"""Maximum number of connections that a process keeps open. An application has one or two."""


@dataclass(frozen=True)
class Connection:
    """Location of the metadata and access to the objects: the arguments of `connect`, in a form for other processes.

    Args:
        url: The key-value store; not memory://. The path of a SQLite file is made absolute.
        storage_options: Options of the object stores, as for `connect`. If not given, each worker uses its own
            environment.
        cache_dir: A directory on each machine that caches commits of remote object stores.
        cache_bytes: Approximate maximum size of that cache.
        credentials: Credentials of the user, if access control is on. They are not sent to workers, which act with the
            driver's permission.

    Raises:
        InvalidInput: The store is in memory, which only one process can see.
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
        """Return the connection without credentials, which workers do not need."""
        return replace(self, credentials=None)

    def connect(self, cluster: Cluster | None = None) -> Graveler:
        """Open the same stores in this process.

        Args:
            cluster: Cluster for work that is too large for this process.

        Returns:
            The handle. Close it after use, or use it in a `with` statement.
        """
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
            f"{without_password(uri)}: data in memory exists in one process only, so Spark's workers cannot see it; "
            "use SQLite or PostgreSQL, and a directory or an object store",
            kind=Kind.InvalidUrl,
            uri=without_password(uri),
        )


def opened(connection: Connection) -> Stores:
    """Return the stores of a connection, opened at the first call in a process. Spark reuses worker processes across
    tasks.

    The process keeps the few most recently used ones. A call may close the stores that an earlier call returned, which
    is safe in workers, because they have one thread.
    """
    return _opened.of(connection)


def unguarded(connection: Connection) -> Graveler:
    """Return a handle on the `opened` stores that checks no permissions, for workers, and for work that was permitted
    before. Must not be closed.
    """
    return Graveler(opened(connection))


def guarded(connection: Connection) -> Graveler:
    """Return a handle on the `opened` stores that checks the permissions of the connection's user. Must not be
    closed.
    """
    stores = opened(connection)
    return Graveler(replace(stores, principal=principal_of(stores, connection.credentials)))


def _open(connection: Connection) -> Stores:
    stores = open_worker_stores(
        connection.url,
        storage_options=connection.storage_options or None,
        cache_dir=connection.cache_dir,
        cache_bytes=connection.cache_bytes,
    )
    return replace(stores, blobs=_SharedBlobs(stores.blobs))


@dataclass(frozen=True, slots=True)
class _SharedBlobs:
    """Objects of namespaces that other processes can see. A namespace in memory would be a new, empty one here."""

    beneath: BlobStores

    def at(self, namespace_uri: str) -> Blobs:
        refuse_memory(namespace_uri)
        return self.beneath.at(namespace_uri)

    def foreign(self, place: Namespace) -> Foreign:
        refuse_memory(place.uri)
        return self.beneath.foreign(place)


def _absolute(url: str) -> str:
    """Return the URL with an absolute path: a relative path refers to the working directory of the driver, not of a
    worker.
    """
    scheme, slashes, rest = url.partition(":///")
    if scheme != "sqlite" or not slashes or not rest or rest.startswith("/"):
        return url
    return f"sqlite:///{quote(str(Path.cwd()))}/{rest}"


class _OpenedStores(ForkSafe):
    """The most recently used stores. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._stores: dict[Connection, Stores] = {}

    def of(self, connection: Connection) -> Stores:
        """Return the stores of a connection, and close those that are too many."""
        with self._lock:
            stores = self._stores.pop(connection, None) or _open(connection)
            self._stores[connection] = stores
            while len(self._stores) > _KEPT:
                self._stores.pop(next(iter(self._stores))).close()
            return stores


_opened = _OpenedStores()

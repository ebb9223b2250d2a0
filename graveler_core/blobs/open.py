"""Opens storage namespaces. This is the only module that knows every kind of store.

Credentials and settings come from `options`, with obstore's names (`access_key_id`, `endpoint`, `region`, `timeout`,
`allow_http`, …), or from obstore's own sources (environment, instance metadata). Two options are graveler's own:
`max_retries` (default 5) and `retry_timeout` in seconds (default 90), for requests that are safe to repeat. The time of
each request, with the transfer of its content, is limited by `timeout`, which is 30 seconds in obstore. A download that
reaches this limit is continued by another request. No request is repeated later than `retry_timeout`, counted from the
first one, so all repetitions end within 135 seconds: 90, a pause of at most 15, and 30. The register of sweeps needs an
end within 150 seconds (`objects.sweep_register`).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Any

from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import AzureStore, GCSStore, MemoryStore, S3Store

from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.cached import CachedBlobs
from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.foreign import ForeignFiles, ForeignRemote
from graveler_core.blobs.forks import note_use, require_first_process
from graveler_core.blobs.local import LocalBlobs
from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.blobs.remote import RemoteBlobs, RemoteStore
from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.forks import ForkSafe

_REMOTE: dict[str, Any] = {"s3": S3Store, "gs": GCSStore, "az": AzureStore}
_DIRECTORY_BUCKETS = ("--x-s3", "--xa-s3")
"""Ends of the names of S3 directory buckets (S3 Express One Zone) and of their access points. Their listings are not in
the order of keys, on which every reader of a listing relies.
"""
_RETRY_SECONDS = "90"
"""Default of `retry_timeout`: three times the default of `timeout`. If it were not longer, a request that has reached
the time limit would never be repeated.
"""
_LARGEST = 1_000_000_000
"""Maximum value of graveler's own options."""
_memory: dict[str, MemoryStore] = {}


def open_blobs(at: Namespace | str, options: Mapping[str, str] | None = None, *, durable: bool = True) -> Blobs:
    """Return the objects of a storage namespace, without opening a connection yet.

    Args:
        at: URI: file:///…, s3://…, gs://…, az://… or memory://… (shared within the process by the name of the
            bucket).
        options: Credentials and settings of the store. They are never displayed.
        durable: True if local directories sync every object before it is acknowledged, so that it survives a power
            failure. Otherwise it survives the end of the process. Other stores have their own durability.

    Raises:
        InvalidInput: The namespace is invalid or in an S3 directory bucket, or the store refuses an option. The message
            names the option, not its value.
    """
    return OpenedBlobs(options, durable=durable).at(at.uri if isinstance(at, Namespace) else at)


def open_bucket(place: Namespace, options: Mapping[str, str]) -> RemoteStore:
    """Return the store of the whole bucket of a namespace, without opening a connection yet.

    Args:
        place: Namespace that is not local.
        options: Credentials and settings of the store.

    Raises:
        InvalidInput: The bucket is an S3 directory bucket, or the store refuses an option. The message names the
            option, not its value.
    """
    if place.scheme == "s3" and place.bucket.endswith(_DIRECTORY_BUCKETS):
        raise InvalidInput(
            f"{place.uri}: is in an S3 directory bucket, whose listings are not in the order of keys: use a general "
            "purpose bucket",
            kind=Kind.InvalidNamespace,
            uri=place.uri,
        )
    if place.scheme == "memory":
        return _memory.setdefault(place.bucket, MemoryStore())  # atomic, so it needs no lock
    return _remote_store(place, dict(options))


def _remote_store(place: Namespace, options: dict[str, str]) -> S3Store | GCSStore | AzureStore:
    retry = {
        "max_retries": int(_number(options, "max_retries", "5")),
        "retry_timeout": timedelta(seconds=_number(options, "retry_timeout", _RETRY_SECONDS)),
    }
    make = _REMOTE[place.scheme]
    try:
        store: S3Store | GCSStore | AzureStore = make(place.bucket, config=options, retry_config=retry)
    except (BaseError, ValueError, TypeError) as e:
        raise _refused_option(place, options, e) from None
    return store


def _number(options: dict[str, str], name: str, default: str) -> float:
    try:
        number = float(options.pop(name, default))
        if not 0 <= number <= _LARGEST:
            raise ValueError("out of range")
    except ValueError:
        rule = f"must be a number from 0 to {_LARGEST:,}"
        raise InvalidInput(f"option {name!r}: {rule}", kind=Kind.InvalidValue, option=name) from None
    return number


def _refused_option(place: Namespace, options: Mapping[str, str], error: Exception) -> InvalidInput:
    """Return an error with the names of the options that obstore's message quotes. The message itself contains
    values.
    """
    text = str(error)
    if isinstance(error, UnknownConfigurationKeyError):
        named = [name for name in options if f"'{name}'" in text]
        rule = "is not known for this store"
    else:
        named = [name for name, value in options.items() if f'"{value}"' in text]
        rule = "has a value that the store does not accept"
    which = "option " + ", ".join(map(repr, named)) if named else "the combination of options and environment"
    return InvalidInput(f"cannot open {place.uri}: {which} {rule}", kind=Kind.InvalidValue, options=named)


class OpenedBlobs(ForkSafe):
    """Opens each storage namespace once and keeps it open. Thread-safe. All namespaces of a bucket share one client.

    A pickle contains the configuration with its secrets, but nothing that is open. Workers open their own connections,
    without the cache, which is a local directory. Namespaces in memory exist in one process only; elsewhere `at` raises
    `Unavailable`. It does so, too, for buckets in a process that was forked after a bucket or a namespace in memory was
    opened.

    Args:
        options: Credentials and settings of the stores.
        durable: As for `open_blobs`.
        cache: Cache of graveler's own objects in remote stores.
    """

    def __init__(
        self, options: Mapping[str, str] | None = None, *, durable: bool = True, cache: DiskCache | None = None
    ) -> None:
        self._options = dict(options or {})
        self._durable = durable
        self._cache = cache
        self._process = _this_process()
        self._reset()

    def _reset(self) -> None:
        super().__init__()
        self._opened: dict[Namespace, Blobs] = {}
        self._buckets: dict[tuple[str, str], RemoteStore] = {}

    def __repr__(self) -> str:
        return f"OpenedBlobs(options=<{len(self._options)}>, durable={self._durable})"

    def describe(self) -> dict[str, Any]:
        """Return properties for diagnostics: names of options without values, durability, the cache on disk."""
        with self._lock:
            opened = len(self._opened)
        return {
            "options": sorted(self._options),
            "durability": "power" if self._durable else "process",
            "opened_namespaces": opened,
            "disk_cache": None if self._cache is None else self._cache.describe(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self._options, "durable": self._durable, "process": self._process}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._options, self._durable, self._process = state["options"], state["durable"], state["process"]
        self._cache = None
        self._reset()

    def at(self, namespace_uri: str) -> Blobs:
        """Return the objects of a storage namespace, which is opened with the first call."""
        place = _parsed(namespace_uri)
        self._require_reach(place)
        with self._lock:
            found = self._opened.get(place)
            if found is None:
                local = place.scheme == "file"
                found = LocalBlobs(place, self._durable) if local else RemoteBlobs(self._bucket(place), place)
                if self._cache is not None and place.scheme in _REMOTE:
                    found = CachedBlobs(found, self._cache, OWN)
                self._opened[place] = found
            return found

    def foreign(self, place: Namespace) -> Foreign:
        """Return the foreign objects below a location. Each bucket is opened once."""
        self._require_reach(place)
        if place.scheme == "file":
            return ForeignFiles(place)
        with self._lock:
            return ForeignRemote(self._bucket(place), place)

    def _bucket(self, place: Namespace) -> RemoteStore:
        """Return the client of a bucket. The caller holds the lock."""
        bucket = place.scheme, place.bucket
        if bucket not in self._buckets:
            self._buckets[bucket] = open_bucket(place, self._options)
        return self._buckets[bucket]

    def _require_reach(self, place: Namespace) -> None:
        if place.scheme == "memory" and self._process != _this_process():
            raise Unavailable(f"{place.uri}: a storage namespace in memory cannot be used from another process")
        if place.scheme in _REMOTE:
            require_first_process(place.uri)
        if place.scheme != "file":
            note_use()

    def close(self) -> None:
        """Close everything. `at` opens namespaces again."""
        with self._lock:
            for blobs in self._opened.values():
                blobs.close()
            self._opened.clear()
            self._buckets.clear()


_parsed = lru_cache(maxsize=1_024)(namespace)
_process_ids: dict[int, str] = {}


def _this_process() -> str:
    """Return an id of this process that is unique across hosts and forks."""
    return _process_ids.setdefault(os.getpid(), uuid.uuid4().hex)  # atomic, too

"""The suite `imports`: import the objects of an object store as entries.

The time to list a real object store is not measured, because it depends on the disk or the bucket. The listing is
synthetic: it implements the interface of object stores and returns pages of 1,000 objects like S3.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.core import empty_repository
from benchmarks.entries import entries
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.blobs.foreign import PAGE
from graveler_core.blobs.port import LISTED, RANGE_BYTES, BlobInfo, Blobs, BlobStores, Foreign
from graveler_core.errors import NoChanges
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.address import Namespace
from graveler_core.wiring.opening import open_stores

_SOURCE = "s3://bench-of-imports/raw"
_SHARE = 100


@dataclass
class Bucket:
    """`BlobStores` with a single foreign location. The location lists the objects of a table."""

    inner: BlobStores
    objects: pa.Table

    def at(self, namespace: str) -> Blobs:
        """Return the unchanged store of a storage namespace."""
        return self.inner.at(namespace)

    def foreign(self, place: Namespace) -> Foreign:
        """Return this object, which is also the foreign location."""
        return self

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        """Yield all objects in pages."""
        yield from (self.objects.slice(at, PAGE) for at in range(0, self.objects.num_rows, PAGE))

    def split_points(self, most: int) -> list[str]:
        """Return no split points, because this listing takes no time."""
        return []

    def head(self, key: str) -> BlobInfo | None:
        """Return `None`: there are no directory markers."""
        return None

    def read(self, key: str) -> bytes:
        """Return no content, because imports do not read content."""
        return b""

    def chunks(self, key: str) -> Iterator[bytes]:
        """Return no content."""
        return iter(())

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Return no content."""
        return b""

    @property
    def range_bytes(self) -> int:
        """Return any length, because imports do not read content."""
        return RANGE_BYTES

    def presigned(self, key: str, seconds: int) -> str:
        """Return no URL."""
        return ""


@scenario("imports", empty_repository)
def synthetic(place: Place) -> Iterator[Measured]:
    """Import all objects; repeat it unchanged, with 1 % changed, and with 1 % removed; then import 1,000 objects."""
    every = np.arange(place.size)
    with _opened(place) as (repo, bucket):
        bucket.objects = _listed(every, 0)
        yield clocked(lambda: _import(repo, "add")).named("import")
        yield clocked(lambda: _import(repo, "add"), 3).named("import again, nothing new")
        changed = every % _SHARE == 0
        bucket.objects = _mixed(bucket.objects, _listed(every, 1), changed)
        yield clocked(lambda: _import(repo, "add")).named("import again, 1 of 100 changed")
        bucket.objects = bucket.objects.filter(pa.array(every % _SHARE != 1))
        yield clocked(lambda: _import(repo, "replace")).named("replace, 1 of 100 removed")
        bucket.objects = _listed(every[:1_000], 2)
        yield clocked(lambda: _import(repo, "add")).named("import of 1,000 of them")


@contextmanager
def _opened(place: Place) -> Iterator[tuple[Repository, Bucket]]:
    stores = open_stores(place.store)
    bucket = Bucket(stores.blobs, LISTED.empty_table())
    with Graveler(replace(stores, blobs=bucket)) as g:
        yield place.repo(g), bucket


def _listed(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int) -> pa.Table:
    found = entries(numbers, seed)
    columns = [found.column(name) for name in ("key", "size", "checksum", "mtime")]
    return pa.Table.from_arrays(columns, names=LISTED.names).cast(LISTED)


def _mixed(left: pa.Table, right: pa.Table, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Table:
    """Return the rows of the left table, with the chosen rows replaced by those of the right table."""
    rows = np.arange(left.num_rows) + np.where(chosen, left.num_rows, 0)
    return pa.concat_tables([left, right]).combine_chunks().take(pa.array(rows))


def _import(repo: Repository, mode: str) -> None:
    with suppress(NoChanges):
        repo.import_prefix(_SOURCE, "main", "in", mode=mode)

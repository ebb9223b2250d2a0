"""Sources of an import: all objects below a place, the objects that an inventory lists below a place, or single
objects.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from graveler_core.blobs.port import LISTED, UNORDERED, BlobInfo
from graveler_core.codec.full_addresses import full_addresses
from graveler_core.engine.importing.concurrent_listing import Told, side_by_side, unheard
from graveler_core.engine.importing.partitions import ListedPartitions, PartitionedSource, marked
from graveler_core.errors import NotFound
from graveler_core.model.address import Namespace, full_address, parted
from graveler_core.model.counting import counted
from graveler_core.stores import Stores

SHOWN = 100
"""Maximum number of objects that an error names."""


class ImportSource(Protocol):
    """Source of objects."""

    @property
    def name(self) -> str:
        """Name of the source in messages."""

    @property
    def places(self) -> tuple[Namespace, ...]:
        """Places below which the objects are."""

    @property
    def whole_places(self) -> tuple[Namespace, ...]:
        """Places of which all objects may be imported."""

    @property
    def rising(self) -> bool:
        """True if the keys ascend, as bytes, over all pages."""

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects in `LISTED`, lazily. An empty object whose key ends in a slash marks a directory.

        Args:
            stores: Stores in which the objects are.
            told: Receives the number of rows that `partitions` could have listed as well.
        """

    def partitions(self) -> PartitionedSource | None:
        """Return the source as partitions for many machines, or `None` if it is always listed on this machine."""

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        """Return the absolute address of the object at each key."""


@dataclass(frozen=True, slots=True)
class ObjectsBelow:
    """Objects below a place. Base class of sources."""

    place: Namespace

    @property
    def name(self) -> str:
        return self.place.uri

    @property
    def places(self) -> tuple[Namespace, ...]:
        return (self.place,)

    @property
    def whole_places(self) -> tuple[Namespace, ...]:
        return (self.place,)

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        return full_addresses(self.place, keys)


@dataclass(frozen=True, slots=True)
class Prefix(ObjectsBelow):
    """All objects below a place, as the object store lists them."""

    @property
    def rising(self) -> bool:
        return not self.place.bucket.endswith(UNORDERED)

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects, as the protocol specifies. Each empty object is looked up by its key, which costs a
        request.

        Raises:
            NotFound: The place is an object, and there are no objects below it (`ObjectNotFound`).
        """
        objects = stores.blobs.foreign(self.place)
        found = False
        for page in side_by_side(objects, marked, told):
            found |= page.num_rows > 0
            yield page
        if not found and self.place.path and _head(stores, self.place.uri) is not None:
            raise NotFound(
                f"import of {self.name}: is an object itself; give --object (import_objects) to import it",
                uri=self.name,
            )

    def partitions(self) -> PartitionedSource:
        return ListedPartitions(self.place)


@dataclass(frozen=True, slots=True)
class SingleObjects:
    """Single objects, as URIs by path."""

    uris: Mapping[str, str]
    rising = True
    whole_places = ()

    @property
    def name(self) -> str:
        return next(iter(self.uris.values())) if len(self.uris) == 1 else counted(len(self.uris), "object")

    @property
    def places(self) -> tuple[Namespace, ...]:
        found = (parted(uri)[0] if uri.startswith("file:") else _directory(uri) for uri in self.uris.values())
        return tuple(dict.fromkeys(found))

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects, as the protocol specifies.

        Raises:
            NotFound: Some of the objects do not exist (`ObjectNotFound`). `details["uris"]` names the first hundred.
        """
        paths = sorted(self.uris, key=os.fsencode)
        found = list(stores.executor.map(partial(_head, stores), [self.uris[path] for path in paths]))
        missing = [self.uris[path] for path, info in zip(paths, found, strict=True) if info is None]
        if missing:
            raise NotFound(
                f"import: {counted(len(missing), 'object does', 'objects do')} not exist, the first is {missing[0]}",
                uris=missing[:SHOWN],
            )
        there = [info for info in found if info is not None]
        columns = [
            pa.array([os.fsencode(path) for path in paths], pa.binary()),
            pa.array([info.size for info in there], pa.int64()),
            pa.array([info.etag for info in there], pa.string()),
            pa.array([info.mtime for info in there], LISTED.field("mtime").type),
        ]
        yield pa.Table.from_arrays(columns, schema=LISTED)

    def partitions(self) -> None:
        return None

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        return pa.array([full_address(self.uris[path]) for path in keys.to_pylist()], pa.string())


def _directory(uri: str) -> Namespace:
    bucket, key = parted(uri)
    return Namespace(bucket.scheme, bucket.bucket, key.rpartition("/")[0])


def _head(stores: Stores, uri: str) -> BlobInfo | None:
    place, key = parted(uri)
    return stores.blobs.foreign(place).head(key)

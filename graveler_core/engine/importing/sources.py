"""What is imported: everything below a place, everything that an inventory lists below a place, or single objects."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa

from graveler_core.blobs.foreign import UNORDERED
from graveler_core.blobs.port import LISTED, BlobInfo
from graveler_core.codec.full_addresses import full_addresses
from graveler_core.engine.importing.shares import ListedShares, Shares, marked
from graveler_core.engine.importing.side_by_side import Told, side_by_side, unheard
from graveler_core.errors import NotFound
from graveler_core.model.address import Namespace, full_address, parted
from graveler_core.stores import Stores

SHOWN = 100
"""So many objects are named in an error at most."""


class Source(Protocol):
    """Where objects come from."""

    @property
    def name(self) -> str:
        """How messages name it."""
        ...

    @property
    def places(self) -> tuple[Namespace, ...]:
        """Where the objects lie: below these places."""
        ...

    @property
    def whole(self) -> bool:
        """Whether all that lies below the places may be taken."""
        ...

    @property
    def rising(self) -> bool:
        """Whether the keys rise as bytes over all pages."""
        ...

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """The objects, in `LISTED`, lazily. A key that ends in a slash marks a directory, if the object is empty.

        Args:
            stores: Where the objects are looked for.
            told: Is told of rows that `shares` could as well have listed.
        """
        ...

    def shares(self) -> Shares | None:
        """The source as shares for many machines; None where it is always listed here."""
        ...

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        """The absolute address of the object at each key."""
        ...


@dataclass(frozen=True, slots=True)
class Prefix:
    """Everything below a place, as the object store lists it."""

    place: Namespace

    @property
    def name(self) -> str:
        return self.place.uri

    @property
    def places(self) -> tuple[Namespace, ...]:
        return (self.place,)

    @property
    def whole(self) -> bool:
        return True

    @property
    def rising(self) -> bool:
        return not self.place.bucket.endswith(UNORDERED)

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """As the protocol says; each empty object is asked for by its key, which costs a request.

        Raises:
            NotFound: (`ObjectNotFound`) the place is an object, and nothing lies below it.
        """
        objects = stores.blobs.foreign(self.place)
        found = False
        for page in side_by_side(objects, marked, told):
            found |= page.num_rows > 0
            yield page
        if not found and self.place.path and _head(stores, self.place.uri) is not None:
            raise NotFound(f"import of {self.name}: is an object itself; import_objects takes it", uri=self.name)

    def shares(self) -> Shares:
        return ListedShares(self.place)

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        return full_addresses(self.place, keys)


@dataclass(frozen=True, slots=True)
class Objects:
    """Single objects: their URIs by path."""

    uris: Mapping[str, str]

    @property
    def name(self) -> str:
        return next(iter(self.uris.values())) if len(self.uris) == 1 else f"{len(self.uris):,} objects"

    @property
    def places(self) -> tuple[Namespace, ...]:
        found = (parted(uri)[0] if uri.startswith("file:") else _directory(uri) for uri in self.uris.values())
        return tuple(dict.fromkeys(found))

    @property
    def whole(self) -> bool:
        return False

    @property
    def rising(self) -> bool:
        return True

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """As the protocol says.

        Raises:
            NotFound: (`ObjectNotFound`) some of them are not there: `details["uris"]` names the first hundred.
        """
        paths = sorted(self.uris, key=os.fsencode)
        found = list(stores.executor.map(partial(_head, stores), [self.uris[path] for path in paths]))
        missing = [self.uris[path] for path, info in zip(paths, found, strict=True) if info is None]
        if missing:
            raise NotFound(
                f"import: {len(missing):,} objects do not exist, the first is {missing[0]}", uris=missing[:SHOWN]
            )
        there = [info for info in found if info is not None]
        columns = [
            pa.array([os.fsencode(path) for path in paths], pa.binary()),
            pa.array([info.size for info in there], pa.int64()),
            pa.array([info.etag for info in there], pa.string()),
            pa.array([info.mtime for info in there], LISTED.field("mtime").type),
        ]
        yield pa.Table.from_arrays(columns, schema=LISTED)

    def shares(self) -> None:
        return None

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        return pa.array([full_address(self.uris[path]) for path in keys.to_pylist()], pa.string())


def _directory(uri: str) -> Namespace:
    bucket, key = parted(uri)
    return Namespace(bucket.scheme, bucket.bucket, key.rpartition("/")[0])


def _head(stores: Stores, uri: str) -> BlobInfo | None:
    place, key = parted(uri)
    return stores.blobs.foreign(place).head(key)

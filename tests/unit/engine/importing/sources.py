"""Places that tests import from: objects in memory and on disk, and listings that are no store's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pyarrow as pa

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import LISTED, BlobInfo, Blobs, Foreign
from graveler_core.model.address import Namespace
from graveler_core.model.entry import Entry
from tests.unit.engine.world import World

_lakes = count()


def lake(objects: Mapping[str, bytes], place: str | None = None) -> str:
    """A place in memory that holds these objects; gives its URI."""
    uri = place or f"memory://lake-{next(_lakes)}/raw"
    blobs = OpenedBlobs().at(uri)
    for key, data in objects.items():
        if not blobs.create(key, data):
            blobs.delete(key)
            blobs.create(key, data)
    return uri


def written(directory: Path, files: Mapping[str, bytes]) -> str:
    """A local directory that holds these files; gives its URI."""
    for name, data in files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return directory.as_uri()


def shown(world: World, ref: str = "main@", prefix: str = "") -> dict[str, int]:
    """What a ref holds: sizes by path."""
    listed = world.graveler().repository("repo").at(ref).list(prefix)
    return {held.path: held.size for held in listed if isinstance(held, Entry)}


@dataclass
class Listing:
    """`Foreign` that says it holds these objects: keys, sizes, etags. No store need know keys so odd."""

    rows: Sequence[tuple[bytes, int, str | None]]
    page: int = 3
    nothing: frozenset[str] = frozenset()
    """Keys that only mark directories."""
    asked: list[str] = field(default_factory=list)

    def split_points(self, most: int) -> list[str]:
        return []

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        for at in range(0, len(self.rows), self.page):
            keys, sizes, etags = zip(*self.rows[at : at + self.page], strict=True)
            times = [datetime(2026, 1, 1, tzinfo=UTC)] * len(keys)
            columns = [pa.array(c, f.type) for c, f in zip((keys, sizes, etags, times), LISTED, strict=True)]
            yield pa.Table.from_arrays(columns, schema=LISTED)

    def head(self, key: str) -> BlobInfo | None:
        self.asked.append(key)
        return None if key in self.nothing else BlobInfo(key, 0, None, datetime(2026, 1, 1, tzinfo=UTC))

    def read(self, key: str) -> bytes:
        return key.encode()


@dataclass
class Listings:
    """`BlobStores` of which the foreign places are those given, by URI."""

    inner: OpenedBlobs
    places: Mapping[str, Foreign]

    def at(self, namespace: str) -> Blobs:
        return self.inner.at(namespace)

    def foreign(self, place: Namespace) -> Foreign:
        return self.places.get(place.uri) or self.inner.foreign(place)

"""Source of an import that has several parts: directories and single objects, each at a path of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import LISTED
from graveler_core.engine.importing.concurrent_listing import Told, unheard
from graveler_core.engine.importing.sources import ImportSource, Prefix, SingleObjects
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.counting import counted
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class CombinedSource:
    """Directories and single objects."""

    directories: Mapping[bytes, Prefix]
    """Directories by the prefix of their paths, which is empty or ends in a slash. None lies within another one."""
    objects: SingleObjects
    rising = False

    @property
    def name(self) -> str:
        return counted(len(self.directories) + len(self.objects.uris), "source")

    @property
    def places(self) -> tuple[Namespace, ...]:
        return (*self.whole_places, *self.objects.places)

    @property
    def whole_places(self) -> tuple[Namespace, ...]:
        return tuple(directory.place for directory in self.directories.values())

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects of each part, as the protocol specifies.

        Raises:
            NotFound: A directory has no objects, or single objects do not exist (`ObjectNotFound`).
        """
        for below, directory in self.directories.items():
            found = False
            for page in directory.pages(stores, told):
                found |= page.num_rows > 0
                yield page.set_column(
                    0, LISTED.field("key"), pc.binary_join_element_wise(below, page.column("key"), b"")
                )
            if not found:
                raise NotFound(f"import of {directory.name}: there are no objects", uri=directory.name)
        if self.objects.uris:
            yield from self.objects.pages(stores, told)

    def partitions(self) -> None:
        return None

    def addresses(self, keys: pa.StringArray) -> pa.StringArray:
        """Return the absolute address of the object at each key. If the key of a single object also lies below a
        directory, it is that of the single object.
        """
        single = pc.is_in(keys, value_set=pa.array(list(self.objects.uris), pa.string()))
        found = pa.nulls(len(keys), pa.string())
        for below, directory in self.directories.items():
            inside = pc.and_not(pc.starts_with(keys, below.decode()), single)
            names = pc.utf8_slice_codeunits(keys.filter(inside), len(below.decode()))
            found = pc.replace_with_mask(found, inside, directory.addresses(names))
        return pc.replace_with_mask(found, single, self.objects.addresses(keys.filter(single)))


def named_sources(uris: Mapping[str, str]) -> ImportSource:
    """Return the source for URIs by path. A URI that ends in a slash stands for everything below this directory.

    Raises:
        InvalidInput: The path of a directory lies within that of another one (`InvalidPath`).
    """
    directories, objects = parted_sources(uris)
    if not directories:
        return SingleObjects(objects)
    for outer, inner in pairwise(sorted(directories)):
        if inner.startswith(outer):
            raise InvalidInput(
                f"import: the directory {directories[inner]} goes to {inner!r}, which lies within {outer!r}, the path "
                f"of {directories[outer]}; import one of them by a call of its own",
                kind=Kind.InvalidPath,
                path=inner,
            )
    parts = {below.encode(): Prefix(namespace(uri)) for below, uri in directories.items()}
    return CombinedSource(parts, SingleObjects(objects))


def parted_sources(uris: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the directories by the prefix of their paths, and the single objects by path.

    Raises:
        InvalidInput: Two directories have the same path (`InvalidPath`).
    """
    directories: dict[str, str] = {}
    for path, uri in uris.items():
        if uri.endswith("/"):
            below = f"{path.rstrip('/')}/" if path else ""
            if below in directories:
                raise InvalidInput(f"import: two directories go to {below!r}", kind=Kind.InvalidPath, path=below)
            directories[below] = uri
    return directories, {path: uri for path, uri in uris.items() if not uri.endswith("/")}

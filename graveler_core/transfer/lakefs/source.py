"""Sources of a migration from lakeFS: a dump in a storage namespace, or a running server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from graveler_core.blobs.port import BlobStores
from graveler_core.codec.content_hash import HASH
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.address import Namespace, namespace, parted
from graveler_core.model.ids import BranchId
from graveler_core.transfer.lakefs.addresses import LakefsAddresses, storage_namespace
from graveler_core.transfer.lakefs.api import LakefsApi
from graveler_core.transfer.lakefs.entries import EntryRow
from graveler_core.transfer.lakefs.metaranges import LakefsMetaranges
from graveler_core.transfer.lakefs.references import (
    MANIFEST,
    LakefsReferences,
    RefsManifest,
    default_branch,
    parse_manifest,
    read_references,
)
from graveler_core.transfer.lakefs.uncommitted import uncommitted

SERVER = "lakefs+"
"""Beginning of the URL of a server."""


@dataclass(frozen=True, slots=True)
class LakefsLocation:
    """Location of a repository of lakeFS."""

    uri: str
    """`lakefs+https://key:secret@host:port/repository` for a server, or the URI of a storage namespace with a dump."""
    objects: str | None = None
    """URI of the storage namespace of a server, if graveler reaches it by another one."""
    manifest: str | None = None
    """URI of the manifest of a dump. Default: `_lakefs/refs_manifest.json` in the storage namespace."""


class LakefsSource(Protocol):
    """Repository of lakeFS."""

    @property
    def place(self) -> Namespace:
        """Storage namespace of the repository."""

    @property
    def metaranges(self) -> LakefsMetaranges:
        """Reader of its metaranges."""

    def references(self) -> LakefsReferences:
        """Read the current branches, tags and commits."""

    def properties(self, references: LakefsReferences, wanted: str | None) -> tuple[BranchId, datetime]:
        """Return default branch and creation date.

        Args:
            references: The references.
            wanted: Name of the default branch that the caller requests.
        """

    def require_uncommitted(self) -> None:
        """Refuse a source that does not know uncommitted changes. Raises `InvalidInput`."""

    def uncommitted(self, branch: BranchId) -> Iterator[EntryRow]:
        """Yield the uncommitted changes of a branch in the order of their paths."""


def identity(place: Namespace) -> str:
    """Return a digest that identifies a repository of lakeFS: no two of its repositories share a namespace."""
    return HASH(f"lakefs {place.uri}".encode()).hexdigest()[:64]


def open_source(blobs: BlobStores, location: LakefsLocation, sleep: Callable[[float], object]) -> LakefsSource:
    """Return the source at a location.

    Args:
        blobs: Object stores.
        location: The location.
        sleep: Function that waits for some seconds.

    Raises:
        InvalidInput: The location is invalid.
        Unavailable: The server cannot be reached.
        NotFound: The server has no such repository.
    """
    if not location.uri.startswith(SERVER):
        if location.objects is not None:
            raise InvalidInput("objects: is only for the URL of a server; pass the storage namespace as the source")
        place = namespace(location.uri)
        return DumpSource(place, LakefsMetaranges(blobs.at(place.uri)), blobs, location.manifest)
    if location.manifest is not None:
        raise InvalidInput("manifest: is only for a storage namespace; a server makes a new dump of references")
    api = LakefsApi(location.uri.removeprefix(SERVER), sleep)
    place = storage_namespace(api.repository.storage_namespace, location.objects)
    return ServerSource(place, LakefsMetaranges(blobs.at(place.uri)), api)


@dataclass(frozen=True, slots=True)
class DumpSource:
    """Storage namespace with a dump of references."""

    place: Namespace
    metaranges: LakefsMetaranges
    blobs: BlobStores
    manifest: str | None

    def references(self) -> LakefsReferences:
        return read_references(self.metaranges, self._manifest())

    def _manifest(self) -> RefsManifest:
        if self.manifest is None:
            place, key = self.place, MANIFEST
        else:
            place, key = parted(self.manifest)
        uri = f"{place.uri}/{key}"
        try:
            return parse_manifest(self.blobs.at(place.uri).read(key), uri)
        except NotFound as e:
            raise NotFound(
                f"{uri} does not exist: dump the references with `lakectl refs-dump lakefs://repository`, and pass the "
                "file with its output as the manifest",
                kind=Kind.ObjectNotFound,
                uri=uri,
            ) from e

    def properties(self, references: LakefsReferences, wanted: str | None) -> tuple[BranchId, datetime]:
        default = default_branch(references, wanted)
        return default, min(commit.creation_date for commit in references.commits.values())

    def require_uncommitted(self) -> None:
        raise InvalidInput("uncommitted changes: a dump has none; pass the URL of the running server as the source")

    def uncommitted(self, branch: BranchId) -> Iterator[EntryRow]:
        return iter(())


@dataclass(frozen=True, slots=True)
class ServerSource:
    """Running server of lakeFS. It makes a new dump of references whenever they are read."""

    place: Namespace
    metaranges: LakefsMetaranges
    api: LakefsApi

    def references(self) -> LakefsReferences:
        return read_references(self.metaranges, self.api.dump())

    def properties(self, references: LakefsReferences, wanted: str | None) -> tuple[BranchId, datetime]:
        said = self.api.repository
        return default_branch(references, wanted or said.default_branch), said.creation_date

    def require_uncommitted(self) -> None:
        pass

    def uncommitted(self, branch: BranchId) -> Iterator[EntryRow]:
        return uncommitted(self.api, LakefsAddresses(self.place), branch)

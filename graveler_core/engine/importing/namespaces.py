"""Check that the source of an import does not overlap the storage namespace of any repository.

In a namespace, objects are created and deleted by the rules of its repository: its sweeps and its deletion would
delete objects that the import refers to. Therefore a place that is imported must not be inside a namespace, and a
place that is imported completely must not contain one. The check uses the claims of this store. A namespace of
another store is detected by the files that graveler keeps in it (`rows`).

The check is done before anything is listed, and again before the swap. It does not prevent the later creation of a
repository in such a place: creation does not know about imports, and a repository deletes only what it wrote itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.engine.importing.sources import ImportSource
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import Namespace
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def require_apart(stores: Stores, source: ImportSource) -> None:
    """Refuse a source that overlaps a storage namespace.

    Raises:
        InvalidInput: The source overlaps a storage namespace (`NamespaceInUse`). `details` has `uri` and
            `namespace`.
    """
    _require_outside(stores, source.places)
    for place in source.whole_places:
        inside = next(access.scan(stores.kv, keys.NAMESPACES, prefix=place.uri.rstrip("/") + "/"), None)
        if inside is not None:
            raise _overlap(place.uri, inside[0], "holds")


def _require_outside(stores: Stores, places: Iterable[Namespace]) -> None:
    above: dict[str, str] = {}
    for place in places:
        above |= {holder.uri: place.uri for holder in (place, *place.ancestors())}
    claims = access.read_many(stores.kv, [keys.namespace_claim(uri) for uri in above])
    for (uri, place_uri), claim in zip(above.items(), claims, strict=True):
        if claim is not None:
            raise _overlap(place_uri, uri, "lies in")


def _overlap(place: str, namespace: str, how: str) -> InvalidInput:
    return InvalidInput(
        f"import of {place!r}: {how} {namespace!r}, the storage namespace of a repository; objects that a repository "
        "manages cannot be imported",
        kind=Kind.NamespaceInUse,
        uri=place,
        namespace=namespace,
    )

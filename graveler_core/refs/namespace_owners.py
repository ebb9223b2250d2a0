"""Repositories that own the storage namespaces in which objects lie."""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.kv.store import Store
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.entities import NamespaceClaim
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held


def owners_of_directories(kv: Store, directories: Iterable[str]) -> dict[str, tuple[str, NamespaceClaim]]:
    """Return the storage namespace that contains each directory, with its claim.

    Args:
        kv: Key-value store.
        directories: Normalised URIs of directories or buckets, without a trailing slash.

    Returns:
        URI of the namespace and its claim, by directory. Directories outside of all namespaces are left out. Takes one
        round trip.
    """
    places = {directory: namespace(directory) for directory in directories}
    above = {directory: [place.uri, *(outer.uri for outer in place.ancestors())] for directory, place in places.items()}
    asked = sorted({uri for uris in above.values() for uri in uris})
    claims = access.read_many(kv, [keys.namespace_claim(uri) for uri in asked]) if asked else []
    claimed = {uri: held.value for uri, held in zip(asked, claims, strict=True) if held is not None}
    found = {directory: next((uri for uri in uris if uri in claimed), None) for directory, uris in above.items()}
    return {directory: (uri, claimed[uri]) for directory, uri in found.items() if uri is not None}


def overlapping(kv: Store, place: Namespace) -> tuple[str, Held[NamespaceClaim]] | None:
    """Return a claimed storage namespace that contains the given one or lies inside it, with its claim, if any."""
    above = [ancestor.uri for ancestor in place.ancestors()]
    for uri, found in zip(above, access.read_many(kv, [keys.namespace_claim(u) for u in above]), strict=True):
        if found is not None:
            return uri, found
    return next(access.scan(kv, keys.NAMESPACES, prefix=place.uri.rstrip("/") + "/"), None)

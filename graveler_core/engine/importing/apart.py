"""Whether what is imported lies apart from the storage namespaces of all repositories.

In a namespace objects come and go by the rules of its repository: its collections and its deletion would take what the
import names. So no place that is imported may lie in a namespace, and none that is taken whole may hold one. Judged by
the claims of this store; a namespace that another store knows shows by what graveler keeps in it (`rows`).

Asked before anything is listed, and again before the swap. A repository that is created there later is not stopped: its
creation knows nothing of imports, and it deletes nothing but what it wrote itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from graveler_core.engine.importing.sources import Source
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.address import Namespace
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.stores import Stores


def require_apart(stores: Stores, source: Source) -> None:
    """Refuse a source that overlaps a storage namespace.

    Raises:
        InvalidInput: (`NamespaceInUse`) `details` has `uri` and `namespace`.
    """
    _require_outside(stores, source.places)
    if source.whole:
        for place in source.places:
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

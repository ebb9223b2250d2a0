"""Check of a dump before the repository exists into which it will be restored."""

from __future__ import annotations

from graveler_core.committed.node import EMPTY
from graveler_core.committed.trees import address, encoded
from graveler_core.model.address import namespace
from graveler_core.stores import Stores
from graveler_core.transfer.files import dump_file
from graveler_core.transfer.verify import verify


def require_restorable(stores: Stores, storage_namespace: str, uri: str) -> None:
    """Require that a dump can be restored into a repository with a storage namespace. Writes nothing.

    The dump is read once.

    Args:
        stores: The stores.
        storage_namespace: URI of the namespace that the repository will have.
        uri: URI of the dump.

    Raises:
        CorruptData, InvalidInput, NotFound: As for `transfer.restore`.
    """
    place = namespace(storage_namespace)
    # The creation of the repository writes this file.
    created = (address(encoded(EMPTY)[0]),)
    verify(dump_file(stores.blobs, uri), stores.blobs.at(place.uri), place.uri, lambda done, total: None, created)

"""Uncommitted changes of a branch of lakeFS, which only its server knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from graveler_core.errors import CorruptData, Kind
from graveler_core.model.address import Namespace
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.addresses import LakefsAddresses
from graveler_core.transfer.lakefs.api import LakefsApi
from graveler_core.transfer.lakefs.entries import FULL, RELATIVE, EntryRow, tombstone

_LOCAL = "local://"


def uncommitted(api: LakefsApi, addresses: LakefsAddresses, branch: str) -> Iterator[EntryRow]:
    """Yield the uncommitted changes of a branch in the order of their paths. Takes one request for each entry.

    Args:
        api: The server.
        addresses: Function that converts addresses.
        branch: Name of the branch.

    Raises:
        CorruptData: The server describes an entry that graveler cannot keep.
        Unavailable: The server cannot be reached.
    """
    for path, kind in api.uncommitted(branch):
        said = None if kind == "removed" else api.stat(branch, path)
        try:
            yield tombstone(path.encode()) if said is None else _row(api, addresses, said)
        except (BrokenValueError, KeyError, TypeError, ValueError, OverflowError) as e:
            raise CorruptData(
                f"uncommitted entry {path!r} of branch {branch} of lakeFS: {e}", kind=Kind.CorruptRange
            ) from e


def _row(api: LakefsApi, addresses: LakefsAddresses, said: Mapping[str, Any]) -> EntryRow:
    address, kind = addresses(
        *stored_address(api.repository.storage_namespace, addresses.place, said["physical_address"])
    )
    return (
        said["path"].encode(),
        address,
        int(kind),
        said.get("size_bytes") or 0,
        said["checksum"] or None,
        datetime.fromtimestamp(said["mtime"], UTC),
        said.get("content_type") or None,
        sorted((said.get("metadata") or {}).items()) or None,
        False,
    )


def stored_address(home: str, place: Namespace, address: str) -> tuple[str, int]:
    """Return an address as lakeFS stores it, and its type. The server states full addresses only.

    Args:
        home: Storage namespace as the server states it.
        place: Its location.
        address: Address as the server states it.
    """
    below, name = home.rstrip("/") + "/", home.removeprefix(_LOCAL).strip("/")
    if home.startswith(_LOCAL) and place.path.endswith(f"/{name}"):
        # The server puts the directory of all namespaces before every path, also before those of other files.
        path = address.removeprefix(f"{_LOCAL}/{place.path.removesuffix(name)}")
        return (path.removeprefix(f"{name}/"), RELATIVE) if path.startswith(f"{name}/") else (f"{_LOCAL}/{path}", FULL)
    return (address.removeprefix(below), RELATIVE) if address.startswith(below) else (address, FULL)

"""Check that content which is about to be staged by its address is not being deleted by a collection.

A collection (`gc.collection`) condemns objects that nothing names, waits for a grace period, and deletes those that
nothing names then. A flow that stages an entry with an address checks first that the object is not condemned. If the
object is condemned after the check, the flow ends before the grace period, so the collection finds the entry and keeps
the object. Content that the flow has just stored itself needs no check, because a collection leaves young objects
alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import Conflict, CorruptData, Kind
from graveler_core.model.entities import ClaimState, Repository
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.objects import condemned
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.namespace_owners import owners_of_directories
from graveler_core.stores import Stores


def require_kept(stores: Stores, repo: Repository, entries: Iterable[Entry]) -> None:
    """Refuse entries whose content is condemned.

    Takes no round trip for relative addresses before the first collection of the repository that condemns content, and
    one afterwards. Full addresses take one, and another one if they lie in a storage namespace.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read.
        entries: Entries that are about to be staged.

    Raises:
        Conflict: The content of an entry is condemned or was deleted (`ContentCollected`). `details` has `address`.
    """
    named = [(entry.address, int(entry.address_type)) for entry in entries if entry.address is not None]
    if named:
        addresses, kinds = zip(*named, strict=True)
        _require(stores, repo, pa.array(addresses, pa.string()), pa.array(kinds, pa.int8()))


def require_kept_rows(stores: Stores, repo: Repository, rows: pa.Table) -> None:
    """Refuse rows whose content is condemned, as `require_kept`.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read.
        rows: Table with the columns `address` and `address_type` of `RECORD_SCHEMA`.

    Raises:
        Conflict: As for `require_kept`.
    """
    named = rows.select(["address", "address_type"]).filter(pc.is_valid(rows.column("address"))).combine_chunks()
    for batch in named.to_batches():
        _require(stores, repo, batch.column("address"), batch.column("address_type"))


def _require(stores: Stores, repo: Repository, addresses: pa.StringArray, kinds: pa.Int8Array) -> None:
    own = pc.unique(addresses.filter(pc.equal(kinds, AddressType.RELATIVE)))
    if len(own) and repo.addresses_checked:
        _require_in(stores, repo.id, repo.uid, repo.storage_namespace, own)
    full = pc.unique(addresses.filter(pc.equal(kinds, AddressType.FULL)))
    if not len(full):
        return
    directories = pc.replace_substring_regex(full, r"/[^/]*\z", "")
    owners = owners_of_directories(stores.kv, pc.unique(directories).to_pylist())
    for directory, (uri, claim) in owners.items():
        inside = full.filter(pc.equal(directories, directory)).to_pylist()
        if claim.state is not ClaimState.OWNED:
            raise Conflict(
                f"address {inside[0]!r}: storage namespace {uri!r} of the deleted repository {claim.repository!r} is "
                "being emptied; store the content again",
                kind=Kind.ContentCollected,
                repository=claim.repository,
                address=inside[0],
            )
        relative = pa.array([unquote(address.removeprefix(uri + "/")) for address in inside], pa.string())
        _require_in(stores, claim.repository, claim.owner, uri, relative)


def _require_in(stores: Stores, id: RepositoryId, uid: RepositoryUid, uri: str, addresses: pa.StringArray) -> None:
    """Refuse addresses relative to the namespace of a repository that are condemned there."""
    where, blobs = keys.collections(id, uid), stores.blobs.at(uri)
    held = access.read(stores.kv, where)
    while held is not None:
        try:
            found = [each for one in held.value.sets for each in condemned.among(blobs, one, addresses).to_pylist()]
        except CorruptData:
            before, held = held, access.read(stores.kv, where)
            if held == before:
                raise
            continue  # the files of a former set may be gone
        if not found:
            return
        raise Conflict(
            f"address {found[0]!r} of repository {id!r}: nothing named its content, so a collection is "
            "deleting or has deleted it; store the content again",
            kind=Kind.ContentCollected,
            repository=id,
            address=found[0],
        )

"""Check that content which is about to be staged by its address is not being deleted by a collection or an erasure.

A collection (`gc.collection`) condemns objects that nothing names, waits for a grace period, and deletes those that
nothing names then. A flow that stages an entry with an address checks first that the object is not condemned. If the
object is condemned after the check, the flow ends before the grace period, so the collection finds the entry and keeps
the object. Content that the flow has just stored itself needs no check, because a collection leaves young objects
alone.

Erased content (`graveler_core.erasure.flow`) is refused, too. An erasure has no grace period. Instead, it changes the
repository record and the record of every branch after it has marked the content, and reads the names after that. A flow
that has checked before therefore has added its entry before the names are read, or finds a changed record and checks
again. A flow that ends in a swap reads the repository record once more here, because the one that it has read together
with the branch record may be older than the branch record.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.engine.staging.collected_addresses import collected_among
from graveler_core.errors import Conflict, CorruptData, Kind
from graveler_core.model.entities import ClaimState, RepositoryRecord
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.objects.erased import ErasedContents
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.refs.namespace_owners import owners_of_directories
from graveler_core.stores import Stores


def require_kept(stores: Stores, repo: RepositoryRecord, entries: Iterable[Entry], *, swaps: bool) -> None:
    """Refuse entries whose content is condemned or erased.

    Relative addresses take one round trip once the repository has condemned content, one once it has erased content,
    and one if the flow ends in a swap. Full addresses take one, and two more if they lie in a storage namespace. Files
    that list condemned content are read too, each once by a process.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read.
        entries: Entries that are about to be staged.
        swaps: True if the flow ends in a swap of the branch record that it has read together with `repo`. False if it
            has read `repo` after the branch record, or ends by reading the repository record again.

    Raises:
        Conflict: The content of an entry is condemned or was deleted (`ContentCollected`), or it is erased
            (`ContentErased`). `details` has `address`.
    """
    own, full = set[str](), set[str]()
    for entry in entries:
        if entry.address is not None:
            (full if entry.address_type is AddressType.FULL else own).add(entry.address)
    if full or (own and (swaps or repo.addresses_checked or repo.erasures)):
        _require(stores, repo, pa.array(own, pa.string()), pa.array(full, pa.string()), swaps=swaps)


def require_kept_rows(stores: Stores, repo: RepositoryRecord, rows: pa.Table, *, swaps: bool = True) -> None:
    """Refuse rows whose content is condemned or erased, as `require_kept`.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read.
        rows: Table with the columns `address` and `address_type` of `RECORD_SCHEMA`.
        swaps: As for `require_kept`.

    Raises:
        Conflict: As for `require_kept`.
    """
    named = rows.select(["address", "address_type"]).filter(pc.is_valid(rows.column("address"))).combine_chunks()
    for batch in named.to_batches():
        addresses, kinds = batch.columns
        own, full = (addresses.filter(pc.equal(kinds, kind)) for kind in (AddressType.RELATIVE, AddressType.FULL))
        _require(stores, repo, own, full, swaps=swaps)


def _require(stores: Stores, repo: RepositoryRecord, own: pa.StringArray, full: pa.StringArray, *, swaps: bool) -> None:
    """Refuse relative and full addresses."""
    if len(own) and repo.addresses_checked:
        _require_in(stores, repo.id, repo.uid, repo.storage_namespace, pc.unique(own))
    if len(own) and (repo.erasures or (swaps and _has_erased(stores, repo))):
        _require_not_erased(stores, repo.id, repo.uid, pc.unique(own))
    if not len(full):
        return
    full = pc.unique(full)
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
        _require_not_erased(stores, claim.repository, claim.owner, relative)


def _has_erased(stores: Stores, repo: RepositoryRecord) -> bool:
    """Read the repository record again. Return `True` if there may be marks."""
    held = repositories.find(stores.kv, repo.id)
    return held is None or held.value.uid != repo.uid or held.value.erasures > 0


def _require_in(stores: Stores, id: RepositoryId, uid: RepositoryUid, uri: str, addresses: pa.StringArray) -> None:
    """Refuse addresses relative to the namespace of a repository that are condemned there."""
    where, blobs = keys.collections(id, uid), stores.blobs.at(uri)
    held = access.read(stores.kv, where)
    while held is not None:
        try:
            found = next(collected_among(stores, blobs, held.value.sets, addresses), None)
        except CorruptData:
            before, held = held, access.read(stores.kv, where)
            if held == before:
                raise
            continue  # the files of a former set may be gone
        if found is None:
            return
        raise Conflict(
            f"address {found!r} of repository {id!r}: nothing named its content, so a collection is "
            "deleting or has deleted it; store the content again",
            kind=Kind.ContentCollected,
            repository=id,
            address=found,
        )


def _require_not_erased(stores: Stores, id: RepositoryId, uid: RepositoryUid, addresses: pa.StringArray) -> None:
    """Refuse addresses relative to the namespace of a repository whose content is erased."""
    erased = ErasedContents(stores.kv, id, uid).of(addresses.to_pylist())
    for address, erasure in sorted(erased.items())[:1]:
        raise Conflict(
            f"address {address!r} of repository {id!r}: its content is erased since {erasure.since:%Y-%m-%d} "
            f"({erasure.why}); store other content",
            kind=Kind.ContentErased,
            repository=id,
            address=address,
            erasure=erasure.id,
        )

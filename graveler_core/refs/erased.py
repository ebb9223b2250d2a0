"""Erased content of entries, by their addresses in any storage namespace, and the error that reports it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote

from graveler_core.errors import Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.entities import ClaimState, RepositoryRecord
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.erasure import Erasure
from graveler_core.objects.erased import ErasedContents
from graveler_core.refs.namespace_owners import owners_of_directories


def require_not_erased(kv: Store, repo: RepositoryRecord, entry: Entry) -> None:
    """Refuse an entry whose content is erased.

    Raises:
        NotFound: The content is erased (`ContentErased`). `details` has `path`, `erasure`, `since` and `why`.
    """
    if entry.address is None:
        return
    found = erased_of(kv, repo, {entry.address: entry.address_type})
    for erasure in found.values():
        raise NotFound(
            f"path {entry.path!r}: its content was erased on {erasure.since:%Y-%m-%d}: {erasure.why}",
            kind=Kind.ContentErased,
            path=entry.path,
            erasure=erasure.id,
            since=erasure.since,
            why=erasure.why,
        )


def erased_of(kv: Store, repo: RepositoryRecord, addresses: Mapping[str, int]) -> dict[str, Erasure]:
    """Return the erasure of each address whose content is erased, or is about to be.

    Args:
        kv: Key-value store.
        repo: Repository whose entries have the addresses.
        addresses: Type of each address.
    """
    own = [address for address, kind in addresses.items() if kind == AddressType.RELATIVE]
    found = ErasedContents(kv, repo.id, repo.uid).of(own) if own else {}
    full = [address for address, kind in addresses.items() if kind == AddressType.FULL]
    directories = {address: address.rpartition("/")[0] for address in full}
    owners = owners_of_directories(kv, sorted(set(directories.values()))) if full else {}
    for directory, (uri, claim) in owners.items():
        if claim.state is ClaimState.OWNED:
            inside = {
                unquote(address.removeprefix(uri + "/")): address
                for address in full
                if directories[address] == directory
            }
            erased = ErasedContents(kv, claim.repository, claim.owner).of(list(inside))
            found |= {inside[relative]: erasure for relative, erasure in erased.items()}
    return found

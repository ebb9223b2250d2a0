"""Permission rules for entries that contain addresses. A caller who stages such an entry can read its content, so
staging is a copy.

* Full address in the storage namespace of a repository: the content may belong to any path there, so the caller must
  be allowed to read all of that repository.
* Full address elsewhere: graveler reads it with its own credentials, so the caller must be allowed to import it.
* Relative address created by `put` or a job (`data/`, then 32 random digits): it can be learnt only from an entry
  that the caller was allowed to read, so knowing it is sufficient. Any other relative address can be guessed, or is
  an internal file with the entries of all paths: the caller must be allowed to read all of the repository.

Entries with inline data contain no address.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry_columns import conformed
from graveler_core.guard.call import GuardedCall
from graveler_core.guard.needs import all_content_requests, narrowed, on_keys, on_paths
from graveler_core.guard.scope import Scope
from graveler_core.model.address import full_address
from graveler_core.model.entry import REMOVED, TOMBSTONE, AddressType, Entry
from graveler_core.model.ids import RepositoryId
from graveler_core.model.names import path_key, prefix_key
from graveler_core.model.operations import Basis, Put, Remove, Unchanged
from graveler_core.model.permission import Action, Request, namespace_resource
from graveler_core.refs.namespace_owners import owners_of_directories

_RANDOM = r"\Adata/[0-9a-f]{32}(?:/|\z)"
_FEW = 100
"""Maximum number of addresses that are always checked one by one. More addresses are not checked if the caller may read
everything.
"""
_COLUMNS = ("key", REMOVED, "address", "address_type")


def of_entry(call: GuardedCall) -> Iterator[Request]:
    """Require access to the address of the argument `entry`."""
    return of_entries(call, [call.arguments["entry"]])


def of_entries(call: GuardedCall, entries: Iterable[Entry]) -> Iterator[Request]:
    """Require access to the addresses of some entries."""
    named = [entry for entry in entries if isinstance(entry.address, str)]
    full = [entry.address for entry in named if entry.address_type == AddressType.FULL]
    others = [entry.address for entry in named if entry.address_type != AddressType.FULL]
    return _named(call, pa.array(others, pa.string()), pa.array(full, pa.string()))


def of_table(call: GuardedCall) -> Iterator[Request]:
    """Require permission for each path of the argument `table`, and access to the addresses of its entries."""
    table: pa.Table = call.arguments["table"]
    rows = conformed(table.select([n for n, name in enumerate(table.schema.names) if name in _COLUMNS]))
    removed = rows.column(TOMBSTONE).fill_null(False)
    kept = rows.filter(pc.invert(removed))
    yield from on_keys(call, call.scope, Action.WRITE_OBJECT, kept.column("key"))
    yield from on_keys(call, call.scope, Action.DELETE_OBJECT, rows.filter(removed).column("key"))
    is_full = pc.equal(kept.column("address_type").fill_null(AddressType.RELATIVE), AddressType.FULL)
    addresses = kept.column("address")
    yield from _named(call, addresses.filter(pc.invert(is_full)), addresses.filter(is_full))


def of_operations(call: GuardedCall) -> Iterator[Request]:
    """Require permission for each path of a transaction, and access to the addresses of its entries.

    Every path also requires `ReadObject`, because a conflict reports the current entry.
    """
    given = call.arguments["operations"] = [*call.arguments["operations"]]
    known = [operation for operation in given if isinstance(operation, Put | Remove | Unchanged)]
    for operation in known:
        path_key(operation.path)
    puts = [operation for operation in known if isinstance(operation, Put)]
    removed = [operation.path for operation in known if isinstance(operation, Remove)]
    yield from on_paths(call, call.scope, Action.WRITE_OBJECT, (put.path for put in puts))
    yield from on_paths(call, call.scope, Action.DELETE_OBJECT, removed)
    yield from on_paths(call, call.scope, Action.READ_OBJECT, (operation.path for operation in known))
    yield from of_entries(call, (put.entry for put in puts))
    basis = call.arguments["on"]
    for prefix in basis.under if isinstance(basis, Basis) else ():
        prefix_key(prefix)
        yield call.scope.on_prefix(Action.LIST_OBJECTS, prefix)


def _named(
    call: GuardedCall, relative: pa.ChunkedArray | pa.Array, full: pa.ChunkedArray | pa.Array
) -> Iterator[Request]:
    if not pc.all(pc.match_substring_regex(relative.drop_null(), _RANDOM), min_count=0).as_py():
        yield Scope(call.scope.repository).on_prefix(Action.READ_OBJECT)
    uris = pc.unique(full.drop_null()).to_pylist()
    if len(uris) <= _FEW or not all(map(call.allows, all_content_requests())):
        yield from of_uris(call, uris)


def of_uris(call: GuardedCall, uris: Iterable[str]) -> Iterator[Request]:
    """Require access to full addresses."""
    owners = _owners(call, {full_address(uri) for uri in uris})
    for repository in sorted({owner for owner in owners.values() if owner is not None}):
        yield Scope(repository).on_prefix(Action.READ_OBJECT)
    outside = (uri for uri, owner in owners.items() if owner is None)
    yield from narrowed(call, _imported, lambda begun: _imported(begun, prefix=True), outside)


def _imported(uri: str, *, prefix: bool = False) -> Request:
    return Request(Action.IMPORT_FROM_STORAGE, namespace_resource(uri), prefix=prefix)


def _owners(call: GuardedCall, uris: set[str]) -> dict[str, RepositoryId | None]:
    """Return the repository whose storage namespace contains each object, or `None`."""
    owners = owners_of_directories(call.stores.kv, {uri.rpartition("/")[0] for uri in uris})
    repositories = {directory: claim.repository for directory, (_, claim) in owners.items()}
    return {uri: repositories.get(uri.rpartition("/")[0]) for uri in uris}

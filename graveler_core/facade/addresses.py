"""Rules for entries that name their content by address: whoever stages one can read it, so it is a copy.

* A full address in the storage namespace of a repository, by its claim: its content may be that of any path there, so
  all of that repository must be readable.
* A full address elsewhere: graveler would read it with its own credentials, so it needs the right to import it.
* A relative address that `put` or a job has given (`data/`, then 32 random digits) is learnt from an entry alone, which
  needs the right to read it: to know it is the proof. Any other relative address can be guessed, or is a file of
  graveler's own that holds the entries of all paths: all of the repository must be readable.

An entry with its data inline names nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry_columns import conformed
from graveler_core.facade.needs import anywhere, narrowed, on_keys, on_paths
from graveler_core.facade.operation import Call
from graveler_core.facade.place import Place
from graveler_core.model.address import full_address, namespace
from graveler_core.model.entry import REMOVED, TOMBSTONE, AddressType, Entry
from graveler_core.model.ids import RepositoryId
from graveler_core.model.names import path_key, prefix_key
from graveler_core.model.operations import Basis, Put, Remove, Unchanged
from graveler_core.model.permission import Action, Request, namespace_resource
from graveler_core.records import access
from graveler_core.records import layout as keys

_RANDOM = r"\Adata/[0-9a-f]{32}(?:/|\z)"
_FEW = 100
"""So many addresses are looked at one by one, whoever asks; more of them not for those who may read anything."""
_COLUMNS = ("key", REMOVED, "address", "address_type")


def of_entry(call: Call) -> Iterator[Request]:
    """What the argument `entry` names."""
    return of_entries(call, [call.arguments["entry"]])


def of_entries(call: Call, entries: Iterable[Entry]) -> Iterator[Request]:
    """What some entries name."""
    named = [entry for entry in entries if isinstance(entry.address, str)]
    full = [entry.address for entry in named if entry.address_type == AddressType.FULL]
    others = [entry.address for entry in named if entry.address_type != AddressType.FULL]
    return _named(call, pa.array(others, pa.string()), pa.array(full, pa.string()))


def of_table(call: Call) -> Iterator[Request]:
    """Each path of the argument `table`, and what its entries name."""
    table: pa.Table = call.arguments["table"]
    rows = conformed(table.select([n for n, name in enumerate(table.schema.names) if name in _COLUMNS]))
    removed = rows.column(TOMBSTONE).fill_null(False)
    kept = rows.filter(pc.invert(removed))
    yield from on_keys(call, call.place, Action.WRITE_OBJECT, kept.column("key"))
    yield from on_keys(call, call.place, Action.DELETE_OBJECT, rows.filter(removed).column("key"))
    is_full = pc.equal(kept.column("address_type").fill_null(AddressType.RELATIVE), AddressType.FULL)
    addresses = kept.column("address")
    yield from _named(call, addresses.filter(pc.invert(is_full)), addresses.filter(is_full))


def of_operations(call: Call) -> Iterator[Request]:
    """Each path of a transaction, and what its entries name.

    Each is read as well: an operation that does not fit is told with what is there.
    """
    given = call.arguments["operations"] = [*call.arguments["operations"]]
    known = [operation for operation in given if isinstance(operation, Put | Remove | Unchanged)]
    for operation in known:
        path_key(operation.path)
    puts = [operation for operation in known if isinstance(operation, Put)]
    removed = [operation.path for operation in known if isinstance(operation, Remove)]
    yield from on_paths(call, call.place, Action.WRITE_OBJECT, (put.path for put in puts))
    yield from on_paths(call, call.place, Action.DELETE_OBJECT, removed)
    yield from on_paths(call, call.place, Action.READ_OBJECT, (operation.path for operation in known))
    yield from of_entries(call, (put.entry for put in puts))
    basis = call.arguments["on"]
    for prefix in basis.under if isinstance(basis, Basis) else ():
        prefix_key(prefix)
        yield call.place.under(Action.LIST_OBJECTS, prefix)


def _named(call: Call, relative: pa.ChunkedArray | pa.Array, full: pa.ChunkedArray | pa.Array) -> Iterator[Request]:
    if not pc.all(pc.match_substring_regex(relative.drop_null(), _RANDOM), min_count=0).as_py():
        yield Place(call.place.repository).under(Action.READ_OBJECT)
    uris = pc.unique(full.drop_null()).to_pylist()
    if len(uris) <= _FEW or not all(map(call.allows, anywhere())):
        yield from of_uris(call, uris)


def of_uris(call: Call, uris: Iterable[str]) -> Iterator[Request]:
    """What full addresses name."""
    owners = _owners(call, {full_address(uri) for uri in uris})
    for repository in sorted({owner for owner in owners.values() if owner is not None}):
        yield Place(repository).under(Action.READ_OBJECT)
    outside = (uri for uri, owner in owners.items() if owner is None)
    yield from narrowed(call, _imported, lambda begun: _imported(begun, prefix=True), outside)


def _imported(uri: str, *, prefix: bool = False) -> Request:
    return Request(Action.IMPORT_FROM_STORAGE, namespace_resource(uri), prefix=prefix)


def _owners(call: Call, uris: set[str]) -> dict[str, RepositoryId | None]:
    """In whose storage namespace each object lies; None where it lies in none. Asks once for each directory."""
    directories = {uri.rpartition("/")[0]: namespace(uri).ancestors() for uri in uris}
    places = sorted({place.uri for above in directories.values() for place in above})
    claims = access.read_many(call.stores.kv, [keys.namespace_claim(uri) for uri in places])
    claimed = {uri: held.value.repository for uri, held in zip(places, claims, strict=True) if held is not None}
    owner = {
        directory: next((claimed[place.uri] for place in above if place.uri in claimed), None)
        for directory, above in directories.items()
    }
    return {uri: owner[uri.rpartition("/")[0]] for uri in uris}

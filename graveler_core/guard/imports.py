"""Permission rules of imports: the caller must be allowed to import the objects, and to write their paths.

The keys of a directory are not known before it is listed, so everything below the destination must be writable. It
must also be listable, because imports and dry runs report how many of their paths exist and are staged. The flow
refuses directories that overlap the storage namespace of a repository, for every caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from graveler_core.blobs.inventory import inventory_home
from graveler_core.errors import InvalidInput, Kind
from graveler_core.guard.addresses import of_uris
from graveler_core.guard.call import GuardedCall
from graveler_core.guard.needs import on_paths
from graveler_core.guard.scope import branch_scope
from graveler_core.model.address import namespace, parted
from graveler_core.model.importing import ImportMode
from graveler_core.model.names import branch_id, prefix_key
from graveler_core.model.permission import Action, Request, namespace_resource

_ON_PATHS = (Action.WRITE_OBJECT, Action.LIST_OBJECTS)


def place(call: GuardedCall) -> Iterator[Request]:
    """Require permission for everything below the argument `uri`, and below the destination."""
    yield _below(namespace(call.arguments["uri"]).uri)
    yield from _into(call)


def inventory(call: GuardedCall) -> Iterator[Request]:
    """Require the same as `place`, and permission to read the argument `inventory`, a file or a directory of files."""
    yield from readable_inventory(call.arguments["inventory"])
    yield from place(call)


def optional_inventory(call: GuardedCall) -> Iterator[Request]:
    """Require permission to read the argument `inventory`, unless it is `None`."""
    if call.arguments["inventory"] is not None:
        yield from readable_inventory(call.arguments["inventory"])


def readable_inventory(uri: str) -> Iterator[Request]:
    """Require permission to read an inventory: a file, a directory of files, or a manifest with the files it names."""
    yield Request(Action.IMPORT_FROM_STORAGE, namespace_resource(namespace(uri).uri))
    yield _below(inventory_home(uri).uri)


def objects(call: GuardedCall) -> Iterator[Request]:
    """Require permission for each URI of the argument `objects`, and for its path. A directory requires permission for
    everything below its URI and below its path.
    """
    found = call.arguments["objects"] = by_path(call.arguments["objects"] or {})
    single = {path: uri for path, uri in found.items() if not uri.endswith("/")}
    yield from of_uris(call, single.values())
    yield from _into(call, single)
    for path, uri in found.items():
        if uri.endswith("/"):
            yield _below(namespace(uri).uri)
            yield from _on_directory(call, path)


def source(call: GuardedCall) -> Iterator[Request]:
    """Require the same as `place` or `objects`, depending on which argument is given."""
    yield from place(call) if call.arguments["uri"] else objects(call)


def by_path(objects: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """Return URIs by path. URIs without paths are imported under their own names.

    Raises:
        InvalidInput: (`InvalidPath`) two URIs have the same name.
    """
    if isinstance(objects, str):
        raise InvalidInput(f"objects {objects!r}: must be a list of URIs, or URIs by path")
    if isinstance(objects, Mapping):
        return dict(objects)
    found: dict[str, str] = {}
    for uri in objects:
        key = namespace(uri).path if uri.endswith("/") else parted(uri)[1]
        name = key.rpartition("/")[2]
        if name in found:
            raise InvalidInput(
                f"objects: {found[name]!r} and {uri!r} have the same name; give them by path",
                kind=Kind.InvalidPath,
                path=name,
            )
        found[name] = uri
    return found


def _into(call: GuardedCall, names: Iterable[str] | None = None) -> Iterator[Request]:
    given = call.arguments
    prefix_key(given["destination"])
    below = f"{given['destination'].rstrip('/')}/" if given["destination"] else ""
    branch = branch_scope(call.scope.repository, branch_id(given["into"]))
    if names is None:
        yield from (branch.on_prefix(action, below) for action in _ON_PATHS)
    else:
        paths = [f"{below}{name}" for name in names]
        for action in _ON_PATHS:
            yield from on_paths(call, branch, action, paths)
    if given.get("options", {}).get("mode", ImportMode.ADD) != ImportMode.ADD:
        yield branch.on_prefix(Action.DELETE_OBJECT, below)


def _on_directory(call: GuardedCall, path: str) -> Iterator[Request]:
    below = "".join(f"{part.rstrip('/')}/" for part in (call.arguments["destination"], path) if part)
    prefix_key(below)
    branch = branch_scope(call.scope.repository, branch_id(call.arguments["into"]))
    yield from (branch.on_prefix(action, below) for action in _ON_PATHS)


def _below(uri: str) -> Request:
    return Request(Action.IMPORT_FROM_STORAGE, namespace_resource(f"{uri}/"), prefix=True)

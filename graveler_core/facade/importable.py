"""Rules for imports: what is named where it lies must be the caller's to import, and the paths his to write.

The keys of a place are not known before it is listed, so everything below the destination must be writable. It must
be listable, too: an import, also a dry run, tells how many of its paths were there and are staged. A place
that overlaps the storage namespace of a repository is refused by the flow, whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from graveler_core.errors import InvalidInput, Kind
from graveler_core.facade.addresses import of_uris
from graveler_core.facade.needs import on_paths
from graveler_core.facade.operation import Call
from graveler_core.facade.place import on_branch
from graveler_core.model.address import namespace, parted
from graveler_core.model.importing import ImportMode
from graveler_core.model.names import branch_id, prefix_key
from graveler_core.model.permission import Action, Request, namespace_resource

_ON_PATHS = (Action.WRITE_OBJECT, Action.LIST_OBJECTS)


def place(call: Call) -> Iterator[Request]:
    """Everything below the argument `uri`, and below the destination."""
    yield _below(namespace(call.arguments["uri"]).uri)
    yield from _into(call)


def inventory(call: Call) -> Iterator[Request]:
    """As `place`, and the argument `inventory`, a file or a directory of them."""
    uri = namespace(call.arguments["inventory"]).uri
    yield Request(Action.IMPORT_FROM_STORAGE, namespace_resource(uri))
    yield _below(uri)
    yield from place(call)


def objects(call: Call) -> Iterator[Request]:
    """Each of the argument `objects`, and its path."""
    found = call.arguments["objects"] = by_path(call.arguments["objects"])
    yield from of_uris(call, found.values())
    yield from _into(call, found)


def by_path(objects: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """URIs by path; where they have none, each by its own name.

    Raises:
        InvalidInput: (`InvalidPath`) two of them have one name.
    """
    if isinstance(objects, str):
        raise InvalidInput(f"objects {objects!r}: must be a list of URIs, or URIs by path")
    if isinstance(objects, Mapping):
        return dict(objects)
    found: dict[str, str] = {}
    for uri in objects:
        name = parted(uri)[1].rpartition("/")[2]
        if name in found:
            raise InvalidInput(
                f"objects: {found[name]!r} and {uri!r} have one name; give them by path",
                kind=Kind.InvalidPath,
                path=name,
            )
        found[name] = uri
    return found


def _into(call: Call, names: Iterable[str] | None = None) -> Iterator[Request]:
    given = call.arguments
    prefix_key(given["destination"])
    below = f"{given['destination'].rstrip('/')}/" if given["destination"] else ""
    branch = on_branch(call.place.repository, branch_id(given["into"]))
    if names is None:
        yield from (branch.under(action, below) for action in _ON_PATHS)
    else:
        paths = [f"{below}{name}" for name in names]
        for action in _ON_PATHS:
            yield from on_paths(call, branch, action, paths)
    if given["options"].get("mode", ImportMode.ADD) != ImportMode.ADD:
        yield branch.under(Action.DELETE_OBJECT, below)


def _below(uri: str) -> Request:
    return Request(Action.IMPORT_FROM_STORAGE, namespace_resource(f"{uri}/"), prefix=True)

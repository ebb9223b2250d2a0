"""What operations ask permission for, as rules for `@operation`: on a store, a repository, a branch, a tag, paths.

Each of these functions makes a rule out of actions and the names of the arguments that say what is meant; where none is
named, the handle itself is meant. Names are checked before anything is asked, so bad input is told as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import AnyStr

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry_rules import checked_keys
from graveler_core.facade.operation import Call, Rule
from graveler_core.facade.place import Place, on_branch
from graveler_core.model.address import namespace
from graveler_core.model.names import branch_id, many_paths, path_key, prefix_key, repository_id, tag_id
from graveler_core.model.permission import Action, Request, namespace_resource, repository_resource

SHOWN = (Action.LIST_OBJECTS, Action.READ_OBJECT)
"""For whatever shows many entries: entries hold addresses, and inline ones their content."""


def repositories(*actions: Action) -> Rule:
    """On all repositories whose names begin with the argument `prefix`, as far as that names repositories."""

    def rule(call: Call) -> Iterator[Request]:
        prefix = call.arguments["prefix"]
        prefix_key(prefix)
        for action in actions:
            yield Request(action, repository_resource(prefix.partition("/")[0]), prefix=True)

    return rule


def repository(*actions: Action, named: str = "") -> Rule:
    """On the handle's repository, or on the one that an argument names."""

    def rule(call: Call) -> Iterator[Request]:
        place = Place(repository_id(call.arguments[named])) if named else Place(call.place.repository)
        yield from map(place.itself, actions)

    return rule


def chosen(*actions: Action) -> Rule:
    """On the repository that the argument or option `repository` names, or on all of them."""

    def rule(call: Call) -> Iterator[Request]:
        name = call.arguments.get("options", call.arguments).get("repository")
        yield from _on_each([] if name is None else [name], actions)

    return rule


def each(*actions: Action, whole: bool = False) -> Rule:
    """On the repositories that the argument `repositories` names, or on all of them.

    Args:
        whole: On everything in them, too: what the actions are on are paths.
    """

    def rule(call: Call) -> Iterator[Request]:
        names = call.arguments["repositories"] = [*call.arguments["repositories"]]
        yield from _on_each(names, actions, whole)

    return rule


def attached(call: Call) -> Iterator[Request]:
    """The storage namespace of a new repository, in its one spelling."""
    uri = namespace(call.arguments["storage_namespace"]).uri
    yield Request(Action.ATTACH_STORAGE_NAMESPACE, namespace_resource(uri))


def attached_anywhere(call: Call) -> Iterator[Request]:
    """Any storage namespace: for repositories whose namespaces are known only when they are read."""
    yield Request(Action.ATTACH_STORAGE_NAMESPACE, namespace_resource(""), prefix=True)


def file(action: Action, named: str = "uri") -> Rule:
    """On a file of an object store, in its one spelling."""

    def rule(call: Call) -> Iterator[Request]:
        yield Request(action, namespace_resource(namespace(call.arguments[named]).uri), call.place.context)

    return rule


def branch(*actions: Action, named: str = "") -> Rule:
    """On the handle's branch, or on the one of its repository that an argument names."""

    def rule(call: Call) -> Iterator[Request]:
        place = call.place
        if named:
            place = on_branch(place.repository, branch_id(call.arguments[named]))
        yield from map(place.named, actions)

    return rule


def tag(*actions: Action, named: str = "name") -> Rule:
    """On the tag that an argument names."""

    def rule(call: Call) -> Iterator[Request]:
        yield from map(Place(call.place.repository, tag_id(call.arguments[named])).tag, actions)

    return rule


def through_refs(*actions: Action, named: Sequence[str] = ("ref",)) -> Rule:
    """On the handle's repository, through each ref that an argument gives."""

    def rule(call: Call) -> Iterator[Request]:
        for ref in (call.arguments[name] for name in named):
            if ref is not None:
                yield from map(call.through(ref).itself, actions)

    return rule


def path(*actions: Action, named: str = "path") -> Rule:
    """On one path."""

    def rule(call: Call) -> Iterator[Request]:
        path_key(call.arguments[named])
        yield from (call.place.path(action, call.arguments[named]) for action in actions)

    return rule


def paths(action: Action, named: str = "paths") -> Rule:
    """On each of many paths, which are read once."""

    def rule(call: Call) -> Iterator[Request]:
        given = call.arguments[named] = many_paths(call.arguments[named])
        for each in given:
            path_key(each)
        yield from on_paths(call, call.place, action, given)

    return rule


def under(*actions: Action, refs: Sequence[str] = (), unless_empty: bool = False) -> Rule:
    """On every path that begins with the argument `prefix`, or on every path where there is none.

    Args:
        refs: The arguments that give the refs to look through; else the handle's own.
        unless_empty: An empty prefix asks for nothing.
    """

    def rule(call: Call) -> Iterator[Request]:
        prefix = call.arguments.get("prefix", "")
        prefix_key(prefix)
        if unless_empty and not prefix:
            return
        places = [call.through(call.arguments[ref]) for ref in refs] if refs else [call.place]
        yield from (place.under(action, prefix) for place in places for action in actions)

    return rule


def written(call: Call) -> Iterator[Request]:
    """What users wrote, where the argument `user_data` asks for it: messages of commits, prefixes of paths."""
    if call.arguments["user_data"]:
        name = call.arguments["repository"]
        yield from _on_each([] if name is None else [name], [Action.LIST_COMMITS])
        yield from _on_each([] if name is None else [name], [Action.LIST_OBJECTS], whole=True)


def everything(*actions: Action) -> Rule:
    """On every path of the repository, through whatever ref."""

    def rule(call: Call) -> Iterator[Request]:
        yield from map(Place(call.place.repository).under, actions)

    return rule


def anything(call: Call) -> Iterator[Request]:
    """On every object of every repository and store: for what names objects that cannot be looked at beforehand."""
    yield from anywhere()


def anywhere() -> Iterator[Request]:
    """Asks to read whatever an address may name."""
    yield Request(Action.READ_OBJECT, repository_resource(""), prefix=True)
    yield Request(Action.IMPORT_FROM_STORAGE, namespace_resource(""), prefix=True)


def signed(named: str = "committer", *, options: str = "", repository: str = "") -> Rule:
    """Whoever makes a commit is its committer, whatever name was given, but for those who may choose one."""

    def rule(call: Call) -> Iterable[Request]:
        given: dict[str, str] = call.arguments[options] if options else call.arguments
        place = Place(repository_id(call.arguments[repository])) if repository else call.place
        if not given.get(named) or not call.allows(place.itself(Action.SET_COMMITTER)):
            given[named] = str(call.principal.user)
        return ()

    return rule


def _on_each(names: Sequence[str], actions: Sequence[Action], whole: bool = False) -> Iterator[Request]:
    places = [Place(repository_id(name)) for name in names]
    for action in actions:
        if not places:
            yield Request(action, repository_resource(""), prefix=True)
        yield from (place.under(action) if whole else place.itself(action) for place in places)


def on_paths(call: Call, place: Place, action: Action, given: Iterable[str]) -> Iterator[Request]:
    """On each of some paths."""
    return narrowed(call, lambda text: place.path(action, text), lambda text: place.under(action, text), given)


def on_keys(call: Call, place: Place, action: Action, keys: pa.ChunkedArray) -> Iterator[Request]:
    """On each of a column of paths, as bytes. Where all that begins as they all begin is allowed, no row is looked at.

    Raises:
        InvalidInput: one of them is no path.
    """
    if not len(keys):
        return
    ends = pc.min_max(keys)
    # A character that is cut in two is left out: that asks for more.
    shared = _shared(ends["min"].as_py(), ends["max"].as_py()).decode(errors="ignore")
    if call.allows(place.under(action, shared)):
        return
    for chunk in keys.chunks:
        checked_keys(chunk)
    yield from on_paths(call, place, action, (key.decode() for key in keys.to_pylist()))


def narrowed(
    call: Call, one: Callable[[str], Request], below: Callable[[str], Request], names: Iterable[str]
) -> Iterator[Request]:
    """Requests for each of some names, less what is proved by asking for all that begins as many of them do.

    What is allowed or denied mostly lies side by side, so a few requests decide about any number of names. At worst
    there are two requests for each name.
    """
    ordered = sorted(set(names))
    parts = [(0, len(ordered))] if ordered else []
    while parts:
        start, end = parts.pop()
        if end - start == 1:
            yield one(ordered[start])
        elif not call.allows(below(_shared(ordered[start], ordered[end - 1]))):
            middle = (start + end) // 2
            parts += [(middle, end), (start, middle)]


def _shared(first: AnyStr, last: AnyStr) -> AnyStr:
    """How the first and the last of some sorted names begin, so all between them too."""
    shorter = min(len(first), len(last))
    return first[: next((n for n in range(shorter) if first[n] != last[n]), shorter)]

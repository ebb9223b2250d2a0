"""Permission rules for `@operation`: on a store, a repository, a branch, a tag or paths.

Each function returns a rule for some actions. `named` parameters are the names of the arguments that identify the
resource; without them the rule concerns the handle itself. Rules check names before they yield requests, so that
invalid input raises `InvalidInput`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import AnyStr

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry_rules import checked_keys
from graveler_core.guard.call import GuardedCall, rule
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.model.address import namespace
from graveler_core.model.erasure import erasure_rule
from graveler_core.model.names import branch_id, many_paths, path_key, prefix_key, repository_id, tag_id
from graveler_core.model.permission import Action, Request, namespace_resource, repository_resource

SHOWN = (Action.LIST_OBJECTS, Action.READ_OBJECT)
"""Actions required to show entries: entries contain addresses, and inline entries their content."""


@rule
def repositories_by_prefix(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on all repositories whose names begin with the argument `prefix`, up to its first slash."""
    prefix = call.arguments["prefix"]
    prefix_key(prefix)
    for action in actions:
        yield Request(action, repository_resource(prefix.partition("/")[0]), prefix=True)


@rule
def some_repositories(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on a repository whose name may begin with the argument `prefix`. The method shows no others."""
    for request in repositories_by_prefix(*actions)(call):
        if not call.principal.reaches(request):
            yield request


@rule
def repository(call: GuardedCall, *actions: Action, named: str = "") -> Iterator[Request]:
    """Require actions on the handle's repository, or on the one that an argument names."""
    scope = Scope(repository_id(call.arguments[named])) if named else Scope(call.scope.repository)
    yield from map(scope.on_repository, actions)


@rule
def optional_repository(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on the repository that the argument or option `repository` names, or on all repositories."""
    name = call.arguments.get("options", call.arguments).get("repository")
    yield from _on_repositories([] if name is None else [name], actions)


@rule
def listed_repositories(call: GuardedCall, *actions: Action, whole: bool = False) -> Iterator[Request]:
    """Require actions on the repositories that the argument `repositories` names, or on all repositories.

    Args:
        actions: The actions.
        whole: Require the actions on every path of the repositories, instead of the repositories themselves.
    """
    names = call.arguments["repositories"] = [*call.arguments["repositories"]]
    yield from _on_repositories(names, actions, whole)


def storage_namespace(call: GuardedCall) -> Iterator[Request]:
    """Require `AttachStorageNamespace` on the normalised storage namespace of a new repository."""
    uri = namespace(call.arguments["storage_namespace"]).uri
    yield Request(Action.ATTACH_STORAGE_NAMESPACE, namespace_resource(uri))


def any_storage_namespace(call: GuardedCall) -> Iterator[Request]:
    """Require `AttachStorageNamespace` on any storage namespace: for repositories whose namespaces are not known in
    advance.
    """
    yield Request(Action.ATTACH_STORAGE_NAMESPACE, namespace_resource(""), prefix=True)


@rule
def file(call: GuardedCall, action: Action, named: str = "uri") -> Iterator[Request]:
    """Require an action on a file of an object store, by its normalised URI."""
    yield Request(action, namespace_resource(namespace(call.arguments[named]).uri), call.scope.context)


@rule
def directory(call: GuardedCall, action: Action, named: str) -> Iterator[Request]:
    """Require an action on everything below a directory of an object store, by its normalised URI."""
    yield Request(action, namespace_resource(f"{namespace(call.arguments[named]).uri}/"), prefix=True)


@rule
def branch(call: GuardedCall, *actions: Action, named: str = "") -> Iterator[Request]:
    """Require actions on the handle's branch, or on the branch that an argument names."""
    scope = call.scope
    if named:
        scope = branch_scope(scope.repository, branch_id(call.arguments[named]))
    yield from map(scope.on_branch, actions)


@rule
def tag(call: GuardedCall, *actions: Action, named: str = "name") -> Iterator[Request]:
    """Require actions on the tag that an argument names."""
    yield from map(Scope(call.scope.repository, tag_id(call.arguments[named])).on_tag, actions)


@rule
def refs(call: GuardedCall, *actions: Action, named: Sequence[str] = ("ref",)) -> Iterator[Request]:
    """Require actions on the handle's repository, through each ref that an argument names."""
    for ref in (call.arguments[name] for name in named):
        if ref is not None:
            yield from map(call.through(ref).on_repository, actions)


@rule
def path(call: GuardedCall, *actions: Action, named: str = "path") -> Iterator[Request]:
    """Require actions on one path."""
    path_key(call.arguments[named])
    yield from (call.scope.on_path(action, call.arguments[named]) for action in actions)


@rule
def paths(call: GuardedCall, action: Action, named: str = "paths") -> Iterator[Request]:
    """Require an action on each of many paths. An iterable is read once and replaced by a list, a mapping stays."""
    given = many_paths(call.arguments[named])
    if not isinstance(call.arguments[named], Mapping):
        call.arguments[named] = given
    for each in given:
        path_key(each)
    yield from on_paths(call, call.scope, action, given)


@rule
def prefix(
    call: GuardedCall, *actions: Action, refs: Sequence[str] = (), unless_empty: bool = False
) -> Iterator[Request]:
    """Require actions on every path that begins with the argument `prefix`, or on every path without this argument.

    Args:
        actions: The actions.
        refs: Names of the arguments with the refs to read through; `None` is left out. By default the handle's own
            ref.
        unless_empty: Require nothing if the prefix is empty.
    """
    prefix = call.arguments.get("prefix", "")
    prefix_key(prefix)
    if unless_empty and not prefix:
        return
    through = [call.arguments[ref] for ref in refs]
    scopes = [call.through(ref) for ref in through if ref is not None] if refs else [call.scope]
    yield from (scope.on_prefix(action, prefix) for scope in scopes for action in actions)


def user_data(call: GuardedCall) -> Iterator[Request]:
    """Require access to user data (commit messages and path prefixes) if the argument `user_data` is true."""
    if call.arguments["user_data"]:
        name = call.arguments["repository"]
        yield from _on_repositories([] if name is None else [name], [Action.LIST_COMMITS])
        yield from _on_repositories([] if name is None else [name], [Action.LIST_OBJECTS], whole=True)


def erasure(call: GuardedCall) -> Iterator[Request]:
    """Require `EraseContent` on what the arguments `paths` and `prefix` of an erasure name. To erase shared content,
    require it on every path of every repository, because any of them may share it.
    """
    scope, paths, prefix = Scope(call.scope.repository), call.arguments["paths"], call.arguments["prefix"]
    if paths is not None:
        paths = call.arguments["paths"] = many_paths(paths)
    erasure_rule(paths, prefix)
    if call.arguments["shared"]:
        yield Request(Action.ERASE_CONTENT, repository_resource(""), prefix=True)
    elif paths is None:
        yield scope.on_prefix(Action.ERASE_CONTENT, prefix)
    else:
        yield from on_paths(call, scope, Action.ERASE_CONTENT, paths)


@rule
def checked_data(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on every path of the repository if the argument `data` or `checksums` is true, because findings
    then name paths.
    """
    if call.arguments["data"] or call.arguments["checksums"]:
        yield from map(Scope(call.scope.repository).on_prefix, actions)


@rule
def all_paths(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on every path of the repository, through any ref."""
    yield from map(Scope(call.scope.repository).on_prefix, actions)


@rule
def whole_repository(call: GuardedCall, *actions: Action, named: str) -> Iterator[Request]:
    """Require actions on every path of the repository that an argument names."""
    yield from _on_repositories([call.arguments[named]], actions, whole=True)


def all_content(call: GuardedCall) -> Iterator[Request]:
    """Require access to every object of every repository and object store: for operations whose objects are not known
    in advance.
    """
    yield from all_content_requests()


def given_dump(call: GuardedCall) -> Iterator[Request]:
    """Require access to every object if the argument `dump` is given: reading a dump tells which objects exist."""
    if call.arguments["dump"] is not None:
        yield from all_content_requests()


def all_content_requests() -> Iterator[Request]:
    """Yield requests to read everything that an address may name."""
    yield Request(Action.READ_OBJECT, repository_resource(""), prefix=True)
    yield Request(Action.IMPORT_FROM_STORAGE, namespace_resource(""), prefix=True)


@rule
def committer(
    call: GuardedCall, named: str = "committer", *, options: str = "", repository: str = ""
) -> Iterable[Request]:
    """Set the committer argument to the caller's user name, unless the caller may set another committer.

    Args:
        named: Name of the argument with the committer.
        options: Name of the argument that holds it, if it is an option.
        repository: Name of the argument that names the repository, if the handle has none.
    """
    given: dict[str, str] = call.arguments[options] if options else call.arguments
    scope = Scope(repository_id(call.arguments[repository])) if repository else call.scope
    if not given.get(named) or not call.allows(scope.on_repository(Action.SET_COMMITTER)):
        given[named] = str(call.principal.user)
    return ()


def tagger(call: GuardedCall) -> Iterable[Request]:
    """Replace the tagger by the caller's user name, unless it is empty or the caller may set another committer.

    An empty one stays empty, because a signature covers the tagger.
    """
    if call.arguments["tagger"] and not call.allows(call.scope.on_repository(Action.SET_COMMITTER)):
        call.arguments["tagger"] = str(call.principal.user)
    return ()


def _on_repositories(names: Sequence[str], actions: Sequence[Action], whole: bool = False) -> Iterator[Request]:
    scopes = [Scope(repository_id(name)) for name in names]
    for action in actions:
        if not scopes:
            yield Request(action, repository_resource(""), prefix=True)
        yield from (scope.on_prefix(action) if whole else scope.on_repository(action) for scope in scopes)


def on_paths(call: GuardedCall, scope: Scope, action: Action, given: Iterable[str]) -> Iterator[Request]:
    """Yield requests for an action on each of some paths."""
    return narrowed(call, lambda text: scope.on_path(action, text), lambda text: scope.on_prefix(action, text), given)


def on_keys(call: GuardedCall, scope: Scope, action: Action, keys: pa.ChunkedArray) -> Iterator[Request]:
    """Yield requests for an action on each path of a column of bytes. If the common prefix is allowed, no row is read.

    Raises:
        InvalidInput: a value is not a valid path.
    """
    if not len(keys):
        return
    ends = pc.min_max(keys)
    # A character that is cut in two is left out, which requests more.
    shared = _shared(ends["min"].as_py(), ends["max"].as_py()).decode(errors="ignore")
    if call.allows(scope.on_prefix(action, shared)):
        return
    for chunk in keys.chunks:
        checked_keys(chunk)
    yield from on_paths(call, scope, action, (key.decode() for key in keys.to_pylist()))


def narrowed(
    call: GuardedCall, one: Callable[[str], Request], below: Callable[[str], Request], names: Iterable[str]
) -> Iterator[Request]:
    """Yield requests for each of some names, except those that a request for a common prefix has already proved.

    Allowed and denied names are usually adjacent, so a few requests decide about any number of names. The maximum is
    two requests for each name.

    Args:
        call: The call to check.
        one: Function that returns the request for one name.
        below: Function that returns the request for all names with a prefix.
        names: The names.
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
    """Return the common prefix of the first and the last of some sorted names, and so of all names between them."""
    shorter = min(len(first), len(last))
    return first[: next((n for n in range(shorter) if first[n] != last[n]), shorter)]

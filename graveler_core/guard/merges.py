"""Permission rules of operations that bring content from one ref to another: new names, merges, replays and hard
resets.

A caller must not gain access to content that he may not read at its source. Decision 033 lists the rules and the
attacks that they prevent. There are two ways to prove that a call is allowed:

* A new name for a whole state (a branch, a tag, a hard reset) would require a check of every path. It shows nothing
  new unless policies treat the refs differently. It is therefore allowed if reading is decided alike through both
  refs; otherwise the caller must be allowed to read all of the source.
* A merge or replay brings some paths. It is allowed if the caller may read the whole repository through source and
  destination (a conflict shows both); otherwise each path that the source changed is checked.

The source may move between the check and the flow. The flow therefore receives the commit that was checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graveler_core.committed.diff import KEYS
from graveler_core.engine.reading import snapshot
from graveler_core.engine.reading.history import base_of
from graveler_core.engine.reading.resolve import resolve_commit
from graveler_core.errors import Kind, NotFound
from graveler_core.guard.addresses import of_entries
from graveler_core.guard.call import GuardedCall, rule
from graveler_core.guard.needs import SHOWN, on_paths
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.model.changes import MergeForm
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id, many_prefixes, path_key, tag_id
from graveler_core.model.permission import Action, Request
from graveler_core.model.tag_target import TagTarget

_Sides = tuple[CommitId, CommitId]


@rule
def new_name(call: GuardedCall, source: str, *, branch: str = "") -> Iterator[Request]:
    """Require that a ref's commit may be shown through another name: a branch that an argument names, or the handle's
    branch.

    Args:
        source: Name of the argument with the ref.
        branch: Name of the argument that names a branch.
    """
    pinned = call.pinned(call.arguments[source])
    there = branch_scope(call.scope.repository, branch_id(call.arguments[branch])) if branch else call.scope
    yield from _shown_through(call, pinned.scope, there)
    call.arguments[source] = pinned.commit()


def new_tag(call: GuardedCall) -> Iterator[Request]:
    """Require that what `ref` names may be shown through the tag `name`. If the target is a tag, its texts are shown,
    too.

    A target that is a tag is not pinned: the requests depend on its name alone, and the flow looks for tags only.
    """
    ref, target = call.arguments["ref"], call.arguments["target"]
    there = Scope(call.scope.repository, tag_id(call.arguments["name"]))
    if target == TagTarget.TAG:
        here = Scope(call.scope.repository, tag_id(ref))
        yield here.on_tag(Action.READ_TAG)
        yield from _shown_through(call, here, there)
        return
    pinned = call.pinned(ref)
    yield from _shown_through(call, pinned.scope, there)
    call.arguments["ref"] = pinned.ref if target == TagTarget.TREE else pinned.commit()


def merged(call: GuardedCall) -> Iterator[Request]:
    """Require permission for the changes that a merge of `source` brings `into` a branch, for the entries in `resolve`,
    and for listing the destination below the prefixes in `unchanged`.
    """
    pinned = call.pinned(call.arguments["source"])
    source = pinned.scope
    into = branch_scope(call.scope.repository, branch_id(call.arguments["into"]))
    unchanged = call.arguments["unchanged"] = many_prefixes(call.arguments["unchanged"])
    yield source.on_repository(Action.READ_COMMIT)
    commit = pinned.commit()
    yield from (into.on_prefix(Action.LIST_OBJECTS, prefix) for prefix in unchanged)
    unproved = _unproved(call, source, into)
    if unproved:
        repo = call.handle._active()
        theirs, ours = (resolve_commit(call.stores, repo, ref) for ref in (commit, into.ref))
        try:
            sides = base_of(call.stores, repo, ours, theirs).id, theirs.id
        except NotFound as e:
            if e.kind is not Kind.NoMergeBase or not call.arguments["allow_unrelated"]:
                raise
            yield from (scope.on_prefix(Action.READ_OBJECT) for scope in unproved)
            return
        yield from _each_changed(call, repo, sides, unproved)
    # Otherwise the default message would name the commit. Repeated commits keep their own messages.
    if not call.arguments.get("message", "given") and not call.arguments["replay"]:
        form = MergeForm.SQUASH if call.arguments["squash"] else MergeForm.COMMIT
        call.arguments["message"] = form.message(source.ref, into.ref)
    call.arguments["source"] = commit
    yield from _resolved(call, into)


@rule
def replayed(call: GuardedCall, named: str) -> Iterator[Request]:
    """Require permission for the changes that a replay of commits brings `onto` a branch, or reverts there.

    Args:
        named: Name of the argument with one ref or several refs.
    """
    given = call.arguments[named]
    refs = [given] if isinstance(given, str) else [*given]
    onto = branch_scope(call.scope.repository, branch_id(call.arguments["onto"]))
    commits = list[str]()
    for pinned in map(call.pinned, refs):
        source = pinned.scope
        yield source.on_repository(Action.READ_COMMIT)
        id = pinned.commit()
        unproved = _unproved(call, source, onto)
        commits.append(id)
        if unproved:
            repo = call.handle._active()
            commit = resolve_commit(call.stores, repo, id)
            above = commit.header.parents[call.arguments.get("mainline", 1) - 1 :][:1]
            for parent in above:  # without it the flow refuses the commit
                yield from _each_changed(call, repo, (parent, commit.id), unproved)
    call.arguments[named] = commits[0] if isinstance(given, str) else commits


@rule
def commit_changes(call: GuardedCall, *actions: Action) -> Iterator[Request]:
    """Require actions on the paths under a log's prefix, in a commit of the log and in its first parent."""
    entry = call.handle
    for id in (entry.id, *entry.parents[:1]):
        scope = Scope(call.scope.repository, id)
        yield from (scope.on_prefix(action, call.handle._prefix) for action in actions)


def _shown_through(call: GuardedCall, here: Scope, there: Scope) -> Iterator[Request]:
    yield here.on_repository(Action.READ_COMMIT)
    for request in map(here.on_prefix, SHOWN):
        if not call.principal.alike(request, there.context):
            yield request


def _unproved(call: GuardedCall, *scopes: Scope) -> list[Scope]:
    """Return the scopes in which the caller may not read every path."""
    return [scope for scope in scopes if not call.allows(scope.on_prefix(Action.READ_OBJECT))]


def _each_changed(
    call: GuardedCall, repo: RepositoryRecord, sides: _Sides, scopes: Iterable[Scope]
) -> Iterator[Request]:
    for page in snapshot.diff(call.stores, repo, sides, (b"", None), KEYS):
        paths = [key.decode() for key in page.keys.to_pylist()]
        for scope in scopes:
            yield from on_paths(call, scope, Action.READ_OBJECT, paths)


def _resolved(call: GuardedCall, into: Scope) -> Iterator[Request]:
    given = call.arguments["resolve"] = dict(call.arguments["resolve"] or {})
    for path, resolved in given.items():
        path_key(path)
        if resolved is None:
            yield into.on_path(Action.DELETE_OBJECT, path)
        elif isinstance(resolved, Entry):
            yield into.on_path(Action.WRITE_OBJECT, path)
    yield from of_entries(call, (resolved for resolved in given.values() if isinstance(resolved, Entry)))

"""Rules for what brings content from one place to another: new names for it, merges, replays, resets, imports.

Nobody gets by one of these what could not be read where it came from. What is asked, and the attacks that it stands
against, is decision 033. Two ways to prove it:

* A name for a whole state (a branch, a tag, a hard reset) would take a look at every path. But it shows nobody anything
  new unless policies tell the refs apart. So it passes where reading is allowed alike through both; else only who
  may read all of the source may name it anew.
* A merge or a replay brings some paths. It passes where all of the repository may be read through source and
  destination (a conflict shows both); else each path that the source changed is asked for.

Between the proof and the flow the source may move, or its name be given to something else. So the flow is given the
commit that the proof speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graveler_core.committed.diff import KEYS
from graveler_core.engine import snapshot
from graveler_core.engine.history import base_of
from graveler_core.engine.resolve import resolve_commit
from graveler_core.errors import Kind, NotFound
from graveler_core.facade.addresses import of_entries
from graveler_core.facade.needs import SHOWN, on_paths
from graveler_core.facade.operation import Call, Rule
from graveler_core.facade.place import Place, on_branch
from graveler_core.model.entities import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.model.names import branch_id, path_key, tag_id
from graveler_core.model.permission import Action, Request

_Sides = tuple[CommitId, CommitId]


def named_anew(source: str, *, branch: str = "", tag: str = "") -> Rule:
    """The commit of a ref, shown through another name: of a branch or tag that arguments name, or the handle's branch.

    Args:
        source: The argument that gives the ref.
        branch: The argument that names a branch.
        tag: The argument that names a tag.
    """

    def rule(call: Call) -> Iterator[Request]:
        repo = call.place.repository
        here, call.arguments[source] = call.pinned(call.arguments[source])
        there = call.place
        if branch:
            there = on_branch(repo, branch_id(call.arguments[branch]))
        elif tag:
            there = Place(repo, tag_id(call.arguments[tag]))
        yield here.itself(Action.READ_COMMIT)
        for request in map(here.under, SHOWN):
            if not call.principal.alike(request, there.context):
                yield request

    return rule


def merged(call: Call) -> Iterator[Request]:
    """What the merge of `source` brings `into` a branch, and what `resolve` puts there."""
    source, commit = call.pinned(call.arguments["source"])
    into = on_branch(call.place.repository, branch_id(call.arguments["into"]))
    yield source.itself(Action.READ_COMMIT)
    unproved = _unproved(call, source, into)
    if unproved:
        repo = call.handle._active()
        theirs, ours = (resolve_commit(call.stores, repo, ref) for ref in (commit, into.ref))
        try:
            sides = base_of(call.stores, repo, ours, theirs).id, theirs.id
        except NotFound as e:
            if e.kind is not Kind.NoMergeBase or not call.arguments["allow_unrelated"]:
                raise
            yield from (place.under(Action.READ_OBJECT) for place in unproved)
            return
        yield from _each_changed(call, repo, sides, unproved)
    call.arguments["message"] = call.arguments["message"] or f"Merge {source.ref!r} into {into.ref!r}"
    call.arguments["source"] = commit
    yield from _resolved(call, into)


def replayed(named: str) -> Rule:
    """What the replay of commits brings `onto` a branch, or takes back there.

    Args:
        named: The argument that gives a ref, or several.
    """

    def rule(call: Call) -> Iterator[Request]:
        given = call.arguments[named]
        refs = [given] if isinstance(given, str) else [*given]
        onto = on_branch(call.place.repository, branch_id(call.arguments["onto"]))
        commits = list[str]()
        for source, id in map(call.pinned, refs):
            yield source.itself(Action.READ_COMMIT)
            unproved = _unproved(call, source, onto)
            commits.append(id)
            if unproved:
                repo = call.handle._active()
                commit = resolve_commit(call.stores, repo, id)
                above = commit.header.parents[call.arguments.get("mainline", 1) - 1 :][:1]
                for parent in above:  # without it the flow refuses the commit
                    yield from _each_changed(call, repo, (parent, commit.id), unproved)
        call.arguments[named] = commits[0] if isinstance(given, str) else commits

    return rule


def changed_by_entry(*actions: Action) -> Rule:
    """What a commit of a log changed under the log's prefix, as it was before and after."""

    def rule(call: Call) -> Iterator[Request]:
        entry = call.handle
        for id in (entry.id, *entry.parents[:1]):
            place = Place(call.place.repository, id)
            yield from (place.under(action, call.handle._prefix) for action in actions)

    return rule


def _unproved(call: Call, *places: Place) -> list[Place]:
    """Those of which not everything may be read."""
    return [place for place in places if not call.allows(place.under(Action.READ_OBJECT))]


def _each_changed(call: Call, repo: Repository, sides: _Sides, places: Iterable[Place]) -> Iterator[Request]:
    for page in snapshot.diff(call.stores, repo, sides, (b"", None), KEYS):
        paths = [key.decode() for key in page.keys.to_pylist()]
        for place in places:
            yield from on_paths(call, place, Action.READ_OBJECT, paths)


def _resolved(call: Call, into: Place) -> Iterator[Request]:
    given = call.arguments["resolve"] = dict(call.arguments["resolve"] or {})
    for path, resolved in given.items():
        path_key(path)
        if resolved is None:
            yield into.path(Action.DELETE_OBJECT, path)
        elif isinstance(resolved, Entry):
            yield into.path(Action.WRITE_OBJECT, path)
    yield from of_entries(call, (resolved for resolved in given.values() if isinstance(resolved, Entry)))

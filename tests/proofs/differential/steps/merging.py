"""Steps that merge, and that look at the conflicts before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from graveler_core.errors import Conflict, GravelerError, Kind, PermissionDenied
from graveler_core.facade.history import CommitRecord
from graveler_core.model.changes import MergeForm
from tests.proofs.differential.checks import Unmet
from tests.proofs.differential.model import (
    CHECKS_REQUIRED,
    CONFLICT,
    DIRTY,
    INVALID,
    NO_CHANGES,
    PREFIX_CHANGED,
    Branch,
    Refusals,
    Refused,
)
from tests.proofs.differential.refs import committed, ref
from tests.proofs.differential.steps.committing import key, used, words
from tests.proofs.differential.steps.expected_commits import Link, Made, adopt, base_of, judged
from tests.proofs.differential.steps.writing import pick
from tests.proofs.differential.values import Merged, Sides, Value, changes, merged, put, same, staged_value
from tests.proofs.differential.world import World


@dataclass(frozen=True)
class Merge:
    """A merge that may be made, and what comes of it by the documented rule."""

    branch: Branch
    source: str
    sides: Sides
    resolve: Mapping[str, str | Value | None]
    result: Merged
    moved: Mapping[str, list[str]]
    """Prefixes that the merge depends on and that the destination has changed, with the first ten changed paths."""
    unmet: Unmet


def merge(w: World, r: Random) -> None:
    """Merge a ref into a branch."""
    name, strategy = pick(w, r), r.choice((None, None, "source", "destination"))
    text = _ahead(w, r, name) or ref(w, r)
    form = r.choices([*MergeForm], weights=(4, 2, 4))[0]
    allow_empty, said = r.random() < 0.15, words(w, r)
    unchanged = [w.names.prefix(r) for _ in range(r.randint(1, 2))] if r.random() < 0.25 else []
    chosen, refused, before = key(w, r, name)
    handle, may = w.use(r), w.model.forbidden(name, "merge") | refused
    branch, source = w.model.branches.get(name), None
    if branch is not None and before is None and w.model.dirty(branch):
        may.add(DIRTY)
    try:
        source = w.model.commit_of(text)
    except Refused as unknown:
        may.add(unknown.refusal)
    if before is not None and may:
        return
    wanted: Merge | None = None
    if source is not None and branch is not None and before is None:
        base = base_of(w, handle, source, branch.head)
        sides = Sides(w.model.content(base), w.model.content(source), w.model.head(branch))
        resolve = _resolutions(w, r, sides)
        result, moved = merged(sides, strategy, resolve), _moved(sides, unchanged)
        unmet = w.model.checks.unmet(name, source, sides.source)
        wanted = Merge(branch, source, sides, resolve, result, moved, unmet)
        may |= _refusals(w, wanted, replay=form is MergeForm.REPLAY, allow_empty=allow_empty)
    resolved = {} if wanted is None else dict(wanted.resolve)
    w.said = ("merge", text, name, strategy, form, allow_empty, resolved, said, chosen, unchanged)
    given = {path: value.entry if isinstance(value, Value) else value for path, value in resolved.items()}
    rules = {"strategy": strategy, "resolve": given or None, "allow_empty": allow_empty}
    rules |= words_of(form)
    rules |= {"unchanged": unchanged, "idempotency_key": chosen, "allow_unrelated": r.random() < 0.1}
    hit = {} if wanted is None else wanted.result.conflicts
    if r.random() < 0.25:
        judged(w, may, lambda: handle.repo.check_merge(text, name, **rules), branch, hit)

    def call() -> CommitRecord:
        try:
            return handle.repo.merge(text, name, **rules, **said)
        except (Conflict, PermissionDenied) as error:
            if wanted is not None:
                _same_details(w, wanted, error)
            raise

    record = judged(w, may, call, branch, hit)
    if record is not None and before is not None:
        w.equal("merge of a key", record.id, before)
    if record is None or wanted is None:
        return
    whole = Link(wanted.result.content, form.message(text, name), "", {})
    links = _chain(w, wanted, whole) if form is MergeForm.REPLAY else [whole]
    second = None if form is MergeForm.SQUASH else wanted.source
    adopt(w, handle, record, Made(wanted.branch, [*links[:-1], _said_of(links[-1], said)], second))
    w.require(not changes(w.model.head(wanted.branch), wanted.result.content), "a merge of many commits ends elsewhere")
    used(w, wanted.branch, chosen, record.id)


def words_of(form: MergeForm) -> dict[str, bool]:
    """Return the arguments of a merge that makes these commits."""
    return {} if form is MergeForm.COMMIT else {form.value: True}


def conflicts(w: World, r: Random) -> None:
    """Look at the conflicts of a merge before it."""
    source, into = committed(w, r), committed(w, r)
    prefix, after, limit = w.names.prefix(r), w.names.after(r), w.names.limit(r)
    w.said = ("conflicts", source, into, prefix, after, limit)
    handle = w.use(r)
    theirs, ours = w.model.resolve(source), w.model.resolve(into)
    base = base_of(w, handle, theirs, ours)
    sides = Sides(w.model.content(base), w.model.content(theirs), w.model.content(ours))
    found = merged(sides).conflicts
    wanted = sorted((p, v) for p, v in found.items() if p.startswith(prefix) and p > after)[:limit]
    listed = [*handle.repo.conflicts(source, into, prefix, after, limit)]
    three = [(c.path, (w.optional(c.base), w.optional(c.source), w.optional(c.destination))) for c in listed]
    w.equal("conflicts", three, wanted)


def _resolutions(w: World, r: Random, sides: Sides) -> dict[str, str | Value | None]:
    """What some paths become: a side's state, a value or nothing; rarely of a path that the source did not change."""
    if r.random() < 0.6:
        return {}
    paths = sorted(sides.brought)
    chosen: dict[str, str | Value | None] = {}
    for path in r.sample(paths, min(len(paths), r.randint(0, 4))):
        chosen[path] = r.choice(("source", "destination", None, staged_value(w.names.entry(r))))
    if r.random() < 0.05:
        chosen[w.names.path(r)] = "source"
    return chosen


def _ahead(w: World, r: Random, into: str) -> str:
    """Return a branch with commits that the destination does not have, or nothing."""
    branch = w.model.branches.get(into)
    if branch is None or r.random() < 0.4:
        return ""
    there = w.model.ancestors(branch.head)
    found = [other.name for other in w.model.branches.values() if other.head not in there]
    return r.choice(found) if found else ""


def _same_details(w: World, merge: Merge, error: GravelerError) -> None:
    """Compare what an error says about changed prefixes and about checks."""
    if error.kind is Kind.PrefixChanged:
        w.equal("changed prefixes", error.details["paths"], merge.moved)
    if error.kind is Kind.ChecksRequired:
        w.equal("checks not passed", Unmet(error.details["failed"], error.details["missing"]), merge.unmet)
        w.equal("merged commit", error.details["commit"], merge.source)


def _moved(sides: Sides, unchanged: Sequence[str]) -> dict[str, list[str]]:
    """Return the prefixes below which the destination differs from the merge base, with the first ten changed paths."""
    paths = sorted(changes(sides.base, sides.destination))
    found = {prefix: [path for path in paths if path.startswith(prefix)][:10] for prefix in unchanged}
    return {prefix: changed for prefix, changed in found.items() if changed}


def _refusals(w: World, merge: Merge, *, replay: bool, allow_empty: bool) -> Refusals:
    """Return the refusals of a merge.

    Commits that cancel each other out change nothing in one commit. They are repeated with `replay`.
    """
    if merge.source in w.model.ancestors(merge.branch.head):
        return {NO_CHANGES}
    if merge.unmet != Unmet([], []):
        return {CHECKS_REQUIRED}
    if merge.moved:
        return {PREFIX_CHANGED}
    if any(path not in merge.sides.brought for path in merge.resolve):
        return {INVALID}
    if merge.result.conflicts:
        return {CONFLICT}
    changed = bool(changes(merge.sides.destination, merge.result.content)) or (replay and bool(_repeated(w, merge)))
    return set() if allow_empty or changed else {NO_CHANGES}


def _repeated(w: World, merge: Merge) -> list[Link]:
    """Return the source's commits as the merge repeats them: decision 014.

    A commit's change is taken where the destination left the path as it was in the base, or where the merge as a whole
    takes the source's state. A commit of which nothing has an effect is left out.
    """
    sides = merge.sides
    kept = changes(sides.base, sides.destination).keys() | set(merge.resolve)
    there = w.model.ancestors(merge.branch.head)
    own = [w.model.commits[id] for id in w.model.chain(merge.source) if id not in there][::-1]
    now: dict[str, Value] = dict(sides.destination)
    links: list[Link] = []
    for commit in own:
        after = dict(now)
        for path, (_, new) in commit.changes.items():
            if (path in merge.result.taken or path not in kept) and not same(after.get(path), new):
                put(after, path, new)
        if changes(now, after):
            now = after
            links.append(Link(now, commit.message, commit.committer, commit.metadata))
    return links


def _chain(w: World, merge: Merge, whole: Link) -> list[Link]:
    """Return the repeated commits, and one more commit if they do not hold the whole result."""
    links = _repeated(w, merge)
    before = links[-1].content if links else merge.sides.destination
    rest = changes(before, merge.result.content)
    if links and not rest:
        return links
    after = dict(before)
    for path, (_, new) in rest.items():
        put(after, path, new)
    return [*links, replace(whole, content=after)]


def _said_of(last: Link, said: Mapping[str, Any]) -> Link:
    """Return the last commit with the texts of the call. It keeps the texts and metadata keys that the call omits."""
    return replace(
        last,
        message=said["message"] or last.message,
        committer=said["committer"] or last.committer,
        metadata={**(last.metadata or {}), **said.get("metadata", {})},
    )

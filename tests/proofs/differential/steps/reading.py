"""Steps that read: listings, lookups, what is staged, Arrow, and ids of trees."""

from __future__ import annotations

from random import Random
from typing import Any

from graveler_core.codec.entry import entries
from graveler_core.facade.listing import Listing
from graveler_core.facade.snapshot import Snapshot
from tests.proofs.differential.model import BRANCH_NOT_FOUND, INVALID_REF, PATH_NOT_FOUND, Branch, Refusals, Refused
from tests.proofs.differential.refs import ref
from tests.proofs.differential.steps.writing import look, pick
from tests.proofs.differential.values import Content, changes, grouped, within
from tests.proofs.differential.world import World


def lookups(w: World, r: Random) -> None:
    """Look some paths up on a branch."""
    branch = w.model.branches[r.choice([*w.model.branches])]
    w.said = ("get", branch.name)
    for _ in range(3):
        look(w, r, branch, w.names.path(r))


def listing(w: World, r: Random) -> None:
    """List a branch, whole or in pages, and go on from a token on another handle."""
    name, prefix, after = pick(w, r), w.names.prefix(r), w.names.after(r)
    delimiter, limit = r.choice(w.names.delimiters), w.names.limit(r)
    w.said = ("list", name, prefix, after, delimiter, limit)
    handle = w.use(r)
    branch = w.model.branches.get(name)
    may: Refusals = set() if branch is not None or limit == 0 else {BRANCH_NOT_FOUND}
    opened = w.branch(handle, name)
    found = w.attempt(may, lambda: [*map(w.item, opened.list(prefix, after, delimiter, limit))])
    if found is None or branch is None:
        return
    whole = grouped(branch.shown, prefix, after, delimiter)
    w.equal("list", found, whole[:limit])
    named = opened.list(prefix, after, delimiter, limit)
    of_version = version(w, named, branch.head, branch)
    w.equal("list by version", [*map(w.item, named)], whole[:limit])
    if of_version is not None:
        w.equal("content of the version", grouped(of_version, prefix, after, delimiter), whole)
    if len(whole) > 1:
        size = r.randint(1, 5)
        page = next(opened.list(prefix, after, delimiter).pages(size))
        w.equal("page", [*map(w.item, page.items)], whole[:size])
        w.equal("last page", page.next is None, len(whole) <= size)
        if page.next is not None:
            rest = w.branch(w.use(r), name).list(prefix, page.next, delimiter)
            w.equal("list, resumed", [*map(w.item, rest)], whole[size:])


def snapshot(w: World, r: Random) -> None:
    """Read what a ref shows."""
    text, prefix, after = ref(w, r), w.names.prefix(r), w.names.after(r)
    delimiter, limit, path = r.choice(w.names.delimiters), w.names.limit(r), w.names.path(r)
    w.said = ("snapshot", text, prefix, after, delimiter, limit, path)
    repo, may, content = w.use(r).repo, set(), {}
    try:
        content = shown(w, text)
    except Refused as refused:
        may = {refused.refusal}
    at = w.attempt(may, lambda: repo.at(text))
    if at is None:
        return
    if content and r.random() < 0.5:
        path = r.choice([*content])
    w.equal("commit of a ref", at.commit_id, w.model.resolve(text))
    record = w.attempt({INVALID_REF} if text.endswith("$") else set(), lambda: repo.commit(text))
    w.equal("commit", None if record is None else record.id, None if text.endswith("$") else at.commit_id)
    found = [*map(w.item, at.list(prefix, after, delimiter, limit))]
    w.equal("list", found, grouped(content, prefix, after, delimiter)[:limit])
    named = at.list(prefix, after, delimiter, limit)
    of_version = version(w, named, at.commit_id, w.model.staged_by(text))
    w.equal("list by version", [*map(w.item, named)], grouped(content, prefix, after, delimiter)[:limit])
    if of_version is not None:
        w.equal("content of the version", *(grouped(each, prefix, after, delimiter) for each in (of_version, content)))
    entry = w.attempt(set() if path in content else {PATH_NOT_FOUND}, lambda: at.get(path))
    if entry is not None:
        w.equal("get", w.value(entry), content[path])
        if entry.data is not None:
            w.equal("read", at.read(path), entry.data)
    if r.random() < 0.3:
        rows = [(e.path, w.value(e)) for batch in at.to_arrow(prefix) for e in entries(batch)]
        w.equal("Arrow", rows, within(content, prefix))
    tree(w, at, content)


def version(w: World, named: Listing[Any], commit: str, branch: Branch | None) -> Content | None:
    """Return the content of the version of a listing, or `None` if it has none.

    It has the commit, unless uncommitted changes or a compacted tree are in the way.
    """
    found = named.version()
    if branch is None or not (branch.touched() or branch.base is not None):
        w.equal("a version", found is not None, True)
    if branch is not None and branch.base is not None:
        w.equal("version of a compacted tree", found, None)
    if found is None:
        return None
    w.equal("version", found.rpartition("/")[2], commit)
    return w.model.content(commit)


def tree(w: World, at: Snapshot, content: Content) -> None:
    """Two refs have one id of a tree if and only if they show the same."""
    if len(content) > 500:
        return
    id = at.tree_id()
    known = w.trees.setdefault(id, dict(content))
    w.equal("contents of one tree", dict(content), known)
    for other, there in list(w.trees.items())[-5:]:
        w.require((other == id) == (there == content), "trees", other, id)
    while len(w.trees) > 50:
        del w.trees[next(iter(w.trees))]


def shown(w: World, text: str) -> Content:
    """What a ref shows, or `Refused`."""
    commit = w.model.resolve(text)
    branch = w.model.staged_by(text)
    return w.model.content(commit) if branch is None else branch.shown


def uncommitted(w: World, r: Random) -> None:
    """What differs from the head, and what is staged."""
    name, prefix, after, limit = pick(w, r), w.names.prefix(r), w.names.after(r), w.names.limit(r)
    w.said = ("uncommitted", name, prefix, after, limit)
    handle = w.use(r)
    opened, branch = w.branch(handle, name), w.model.branches.get(name)
    may: Refusals = set() if branch is not None or limit == 0 else {BRANCH_NOT_FOUND}
    found = w.attempt(may, lambda: [*map(w.pair, opened.uncommitted(prefix, after, limit))])
    if found is None or branch is None:
        return
    differing = changes(w.model.head(branch), branch.shown)
    w.equal("uncommitted", found, within(differing, prefix, after)[:limit])
    staged = [(record.path, w.optional(record.entry)) for record in opened.staged(prefix, after, limit)]
    w.equal("staged", staged, within(branch.records, prefix, after)[:limit])


def whole(w: World, r: Random) -> None:
    """Every branch shows what it should, on some handle."""
    w.said = ("whole",)
    for name, branch in w.model.branches.items():
        opened = w.branch(w.use(r), name)
        w.equal(f"list {name}", [*map(w.item, opened.list())], within(branch.shown))
        differing = changes(w.model.head(branch), branch.shown)
        w.equal(f"uncommitted {name}", [*map(w.pair, opened.uncommitted())], within(differing))
        staged = [(record.path, w.optional(record.entry)) for record in opened.staged()]
        w.equal(f"staged {name}", staged, within(branch.records))
        w.equal(f"head of {name}", opened.record().commit_id, branch.head)

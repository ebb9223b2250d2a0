"""A check of everything that is stored for a repository. Changes nothing.

1. What is stored: one listing of the storage namespace, one scan of the objects, which hashes them.
2. Branches and tags; from them headers, layouts, nodes, ranges and runs, each once. A header's id, the generation, and
   the operations digest against the changes that the commit itself holds. Deep, every range and run is read and hashed,
   every digest is found anew from the content of the commit and of its first parent, and staged records are decoded.
3. Branches and tags again, and what they lead to since.
4. What was stored in 1 and was not met in 2 and 3, nor is named by a commit that nothing leads to any more or by a
   layout before it was replaced, is unreachable. Not told where something on the way could not be read: then nobody
   knows what it led to.

Others go on meanwhile. What they make is younger than 1 and never called unreachable; what 2 misses is looked for once
more where it should be; a record that changed since it was read is read again. Commits that are under construction are
unreachable until their branch moves. Damage ends nothing: a store that cannot be reached does.

Memory is bounded by the number of things, not by what they hold: some 250 bytes a blob or small run, 400 a commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from graveler_core.committed.cache import TreeCache
from graveler_core.gc.commits import Commits
from graveler_core.gc.contents import Contents
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.names import Names
from graveler_core.gc.staged import Staged
from graveler_core.gc.stock import CONTENT, Progress, Stock, take_stock
from graveler_core.gc.walk import Walk
from graveler_core.model.entities import Branch, Repository
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores

_HELD_BYTES = 64 << 20
"""What a deep check holds of ranges to find digests anew."""


@dataclass(frozen=True, slots=True)
class _Check:
    """One check: what it looks at, and how far it has come."""

    stores: Stores
    repository: Repository
    deep: bool
    began: datetime
    stock: Stock
    names: Names
    commits: Commits
    walk: Walk
    contents: Contents
    layers: set[str] = field(default_factory=set)
    """Ids of the layers that were looked at."""

    @property
    def blind(self) -> bool:
        """Whether it is not known what all is reachable."""
        return self.names.blind or self.commits.blind or self.contents.blind or bool(self.walk.unread)


def fsck(
    stores: Stores, repo: Repository, *, deep: bool = False, progress: Progress = lambda more: None
) -> Iterator[Finding]:
    """What is wrong with a repository, lazily: damage as it is met, what is unreachable at the end.

    Args:
        deep: Read every range, every run and every staged record; as long as reading the repository, and a comparison
            of each commit with its parent.
        progress: Told how many more things were looked at.

    Raises:
        Unavailable, SlowDown: the stores cannot be read.
    """
    check = _begun(stores, repo, deep, progress)
    yield from check.names.claim()
    yield from check.names.default_branch()
    yield from check.names.read()
    yield from check.commits.read_all()
    yield from _reached(check)
    yield from check.contents.check_all()
    yield from check.names.read()
    yield from _reached(check)
    yield from check.contents.check_rest()
    if deep:
        yield from check.contents.check_operations()
    yield from _unreachable(check)


def _begun(stores: Stores, repo: Repository, deep: bool, progress: Progress) -> _Check:
    began = stores.clock.now()
    # What this process holds in memory says nothing about what is stored.
    trees = replace(stores.trees(repo), cache=TreeCache(_HELD_BYTES if deep else 0), verify=deep)
    indexes = replace(stores.indexes(repo), trees=trees)
    stock = take_stock(stores.kv, trees.blobs, repo, progress)
    commits = Commits(stores.kv, repo, progress)
    walk = Walk(indexes, stock, progress, deep, stores.executor.map)
    names = Names(stores.kv, repo, progress)
    return _Check(stores, repo, deep, began, stock, names, commits, walk, Contents(stores.kv, commits, walk))


def _reached(check: _Check) -> Iterator[Finding]:
    """What branches and tags lead to by themselves: headers, compacted trees, staged layers."""
    for head, named_by in check.names.heads():
        yield from check.commits.reach(head, named_by)
    for branch in check.names.branches.values():
        yield from _on_branch(check, branch)


def _on_branch(check: _Check, branch: Branch) -> Iterator[Finding]:
    found = list(_of_record(check, branch))
    if found:
        # Layers and trees go once their branch has moved on.
        now = access.read(check.stores.kv, keys.branch(check.repository, branch.id))
        if now is None or now.value != branch:
            for finding in found:
                if finding.thing is not Thing.LAYER:
                    check.walk.forget(finding)
            return
    yield from found


def _of_record(check: _Check, branch: Branch) -> Iterator[Finding]:
    staged = Staged(check.stores.kv, check.walk.indexes.trees.blobs, check.deep)
    for layer in layers_of(branch):
        if layer.id in check.layers:
            continue
        check.layers.add(layer.id)
        yield from staged.check(branch.id, layer)
    if branch.compacted_metarange is not None:
        yield from check.walk.metarange(branch.compacted_metarange, f"branch {branch.id}")


def _unreachable(check: _Check) -> Iterator[Finding]:
    """What nothing leads to, once all is noted that something does."""
    check.contents.note_former()
    alone = list(_commits_alone(check))
    for id in check.contents.others:
        if check.commits.headers.get(id) is None:
            check.contents.note_other(id)
            alone.append(_left_over(Thing.LAYOUT, id))
    yield from (finding for finding in alone if finding.damage)
    if check.blind:
        return
    yield from (finding for finding in alone if not finding.damage)
    yield from check.names.left_behind(check.began)
    for object_id, stored in check.stock.objects.items():
        if object_id not in check.walk.objects:
            yield _left_over(Thing.OBJECT, object_id.hex(), stored.size)
    for blob_id, blob in check.stock.blobs.items():
        if blob_id not in check.walk.blobs:
            yield _left_over(Thing.BLOB, CONTENT + blob_id.hex(), blob.size)
    for layer, size in check.stock.staged.items():
        if layer not in check.names.listed:
            yield _left_over(Thing.LAYER, layer, size)
    for address, size in check.stock.foreign.items():
        yield _left_over(Thing.BLOB, address, size)


def _commits_alone(check: _Check) -> Iterator[Finding]:
    """Commits that nothing leads to, and what of their content is damaged.

    One that is not whole is no damage: who made it may have ended on the way.
    """
    for id, header in check.commits.unreachable():
        wrong = check.contents.note_other(id)
        yield from (finding for finding in wrong if finding.trouble is not Trouble.MISSING)
        if header.made < check.began:
            missing = sum(finding.trouble is Trouble.MISSING for finding in wrong)
            rest = f"; of its content {missing} are not there" if missing else ""
            yield Finding(Trouble.UNREACHABLE, Thing.COMMIT, id, f"no branch and no tag leads to it{rest}")


def _left_over(thing: Thing, id: str, size: int | None = None) -> Finding:
    return Finding(Trouble.UNREACHABLE, thing, id, "nothing names it", size=size)

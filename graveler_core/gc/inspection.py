"""One look at a repository from branches and tags down to ranges: what is named, and what is wrong on the way.

What names a tree may change while this goes on: a compacted tree leaves its branch's record once the layout of a commit
names what it shares with it. So branches come first, layouts later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from graveler_core.blobs.cached import CachedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.gc.commits import Commits
from graveler_core.gc.contents import Contents
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.names import Names
from graveler_core.gc.staged import Staged
from graveler_core.gc.stock import Progress, Stock, take_stock
from graveler_core.gc.walk import Walk
from graveler_core.model.entities import Branch, Repository
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.staging.stack import layers_of
from graveler_core.stores import Stores

_HELD_BYTES = 64 << 20
"""What a deep check holds of ranges to find digests anew."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is looked at, and how far that has come."""

    stores: Stores
    repository: Repository
    deep: bool
    began: datetime
    stock: Stock
    names: Names
    commits: Commits
    walk: Walk
    contents: Contents
    log: Contents
    """Of the log of references, whose commits are kept apart."""
    layers: set[str] = field(default_factory=set)
    """Ids of the layers that were looked at."""

    @property
    def blind(self) -> bool:
        """Whether it is not known what all is reachable."""
        histories = any(contents.blind or contents.commits.blind for contents in (self.contents, self.log))
        return self.names.blind or histories or bool(self.walk.unread)

    def walk_all(self) -> Iterator[Finding]:
        """All that branches and tags lead to, also what they led to only when it began, or only when it ended."""
        yield from self.names.read()
        yield from self.commits.read_all()
        yield from self.log.commits.read_all()
        yield from self._reached()
        yield from self.contents.check_all()
        yield from self.log.check_all()
        yield from self.names.read()
        yield from self._reached()
        yield from self.contents.check_rest()
        yield from self.log.check_rest()

    def note_rest(self, since: datetime | None = None) -> Iterator[Finding]:
        """What else is named: by commits that nothing leads to, and by layouts before they were replaced.

        Args:
            since: Only by layouts that were replaced after this.

        Gives the commits and layouts that nothing leads to, and what of their content is damaged. A commit that is not
        whole is no damage: who made it may have ended on the way.
        """
        yield from self._note_rest(self.contents, "no branch and no tag leads to it", since)
        yield from self._note_rest(self.log, "the log of references does not lead to it", since)

    def _note_rest(self, contents: Contents, why: str, since: datetime | None) -> Iterator[Finding]:
        contents.note_former(since)
        for id, header in contents.commits.unreachable():
            wrong = contents.note_other(id, since)
            yield from (finding for finding in wrong if finding.trouble is not Trouble.MISSING)
            if header.made < self.began:
                missing = sum(finding.trouble is Trouble.MISSING for finding in wrong)
                rest = f"; of its content {missing} are not there" if missing else ""
                yield Finding(Trouble.UNREACHABLE, Thing.COMMIT, id, f"{why}{rest}")
        for id in contents.others:
            if contents.commits.headers.get(id) is None:
                contents.note_other(id, since)
                yield Finding(Trouble.UNREACHABLE, Thing.LAYOUT, id, "there is no such commit")

    def _reached(self) -> Iterator[Finding]:
        """What branches and tags lead to by themselves: headers, compacted trees, staged layers."""
        for head, named_by in self.names.heads():
            yield from self.commits.reach(head, named_by)
        for head, named_by in self.names.log():
            yield from self.log.commits.reach(head, named_by)
        for branch in self.names.branches.values():
            yield from self._on_branch(branch)

    def _on_branch(self, branch: Branch) -> Iterator[Finding]:
        found = list(self._of_record(branch))
        if found:
            # Layers and trees go once their branch has moved on.
            now = access.read(self.stores.kv, keys.branch(self.repository, branch.id))
            if now is None or now.value != branch:
                for finding in found:
                    if finding.thing is not Thing.LAYER:
                        self.walk.forget(finding)
                return
        yield from found

    def _of_record(self, branch: Branch) -> Iterator[Finding]:
        staged = Staged(self.stores.kv, self.walk.indexes.trees.blobs, self.deep)
        for layer in layers_of(branch):
            if layer.id in self.layers:
                continue
            self.layers.add(layer.id)
            yield from staged.check(branch.id, layer)
        if branch.compacted_metarange is not None:
            yield from self.walk.metarange(branch.compacted_metarange, f"branch {branch.id}")


def begun(stores: Stores, repo: Repository, *, deep: bool, progress: Progress) -> Inspection:
    """An inspection that has taken stock, and walked nowhere."""
    began = stores.clock.now()
    # What this process holds in memory or on disk says nothing about what is stored.
    blobs = stores.blobs.at(repo.storage_namespace)
    blobs = blobs.beneath if isinstance(blobs, CachedBlobs) else blobs
    trees = replace(stores.trees(repo), blobs=blobs, cache=TreeCache(_HELD_BYTES if deep else 0), verify=deep)
    indexes = replace(stores.indexes(repo), trees=trees)
    stock = take_stock(stores.kv, blobs, repo, progress)
    commits = Commits(stores.kv, keys.history(repo), progress)
    walk = Walk(indexes, stock, progress, deep, stores.executor.map)
    names = Names(stores.kv, repo, progress)
    own = Commits(stores.kv, keys.internal_history(repo), progress)
    contents, log = Contents(stores.kv, commits, walk), Contents(stores.kv, own, walk)
    return Inspection(stores, repo, deep, began, stock, names, commits, walk, contents, log)

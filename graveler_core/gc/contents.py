"""Layouts of commits, each against its header and against what it names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.codec.elements import decode_elements
from graveler_core.codec.records import decode
from graveler_core.committed.index.operations import operations_between, own_operations
from graveler_core.errors import CorruptData
from graveler_core.gc.commits import Commits
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.walk import Walk
from graveler_core.kv.store import Store
from graveler_core.model.entities import OPERATIONS_RULE, Layout
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index

_CHANGES = 3
"""How often a layout is looked at that is replaced meanwhile, which happens once in its life or twice."""


@dataclass(slots=True)
class Contents:
    """The layouts that were looked at so far."""

    kv: Store
    commits: Commits
    walk: Walk
    looked_at: set[CommitId] = field(default_factory=set)
    replaced: list[CommitId] = field(default_factory=list)
    """Commits whose layouts say what they named before."""
    others: list[CommitId] = field(default_factory=list)
    """Layouts of commits that nothing leads to, or that there are not."""
    told: set[str] = field(default_factory=set)
    """Ids of the commits, runs, nodes and ranges that something is wrong with."""
    blind: bool = False
    """A layout could not be read: what it names is not known."""

    def check_all(self) -> Iterator[Finding]:
        """Every layout that is stored: those of commits that branches and tags lead to."""
        folder = self.commits.folders.layouts
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
            if id in self.commits.reachable:
                yield from self._check(id, row.value)
            else:
                self.others.append(id)

    def check_rest(self) -> Iterator[Finding]:
        """Those that the scan passed before they were written, or that are missing."""
        for id in self.commits.reachable - self.looked_at:
            data = self._read(id)
            if data is not None:
                yield from self._check(id, data)
            elif self.commits.headers.get(id) is not None:
                self.blind = True
                yield Finding(Trouble.MISSING, Thing.LAYOUT, id, "is not there", f"commit {id}")

    def note_former(self, since: datetime | None = None) -> None:
        """What layouts named before they were replaced, after `since`: no damage where it is gone."""
        for id in self.replaced:
            layout = self._decoded(id)
            for index in [] if layout is None else _former(layout, since):
                self._note(index, id)

    def note_other(self, id: CommitId, since: datetime | None = None) -> list[Finding]:
        """What the layout of a commit names that nothing leads to; gives what is wrong with it."""
        data = self._read(id)
        if data is None:
            return [Finding(Trouble.MISSING, Thing.LAYOUT, id, "is not there", f"commit {id}")]
        try:
            layout = decode(Layout, data, f"layout of commit {id}")
        except CorruptData as e:
            self.blind = True
            return [Finding(Trouble.CORRUPT, Thing.LAYOUT, id, e.message, f"commit {id}", len(data))]
        return [found for index in (layout.index, *_former(layout, since)) for found in self._note(index, id)]

    def check_operations(self) -> Iterator[Finding]:
        """The operations digest of each commit, against its content and its first parent's."""
        for id in self.commits.reachable:
            header, layout = self.commits.headers.get(id), self._decoded(id)
            parent = self._decoded(header.parents[0]) if header is not None and header.parents else None
            if header is None or layout is None or (header.parents and parent is None):
                continue  # told already
            try:
                before = None if parent is None else parent.index
                found = operations_between(self.walk.indexes, before, layout.index, header.rule)
            except CorruptData:
                continue  # told where it was met
            if found != header.operations and id not in self.told:
                yield _disagrees(id)

    def _check(self, id: CommitId, data: bytes) -> Iterator[Finding]:
        self.looked_at.add(id)
        found = list[Finding]()
        for _ in range(_CHANGES):
            found = list(self._whole(id, data))
            now = self._read(id) if found else data
            if now == data:
                break
            if now is None:
                found = [Finding(Trouble.MISSING, Thing.LAYOUT, id, "is not there", f"commit {id}")]
                break
            for outdated in found:
                if outdated.thing is not Thing.LAYOUT:
                    self.walk.forget(outdated)
            data = now
        self.blind |= any(finding.thing is Thing.LAYOUT for finding in found)
        yield from found

    def _whole(self, id: CommitId, data: bytes) -> Iterator[Finding]:
        name = f"layout of commit {id}"
        try:
            layout = decode(Layout, data, name)
            if layout.index.inline:
                decode_elements(layout.index.inline, f"inline index in {name}")
        except CorruptData as e:
            yield Finding(Trouble.CORRUPT, Thing.LAYOUT, id, e.message, f"commit {id}", len(data))
            return
        if layout.superseded:
            self.replaced.append(id)
        found = list(self.walk.index(layout.index, f"commit {id}"))
        self.told.update(finding.id for finding in found)
        yield from found
        yield from self._own_operations(id, layout.index)

    def _own_operations(self, id: CommitId, index: Index) -> Iterator[Finding]:
        header = self.commits.headers.get(id)
        rule = OPERATIONS_RULE if header is None else header.rule
        try:
            found = own_operations(self.walk.indexes, index, rule)
        except CorruptData as e:
            if index.own_run and index.runs[0].id not in self.told:
                self.told.add(index.runs[0].id)
                yield Finding(Trouble.CORRUPT, Thing.RUN, index.runs[0].id, e.message, f"commit {id}")
            return
        if header is not None and found not in (None, header.operations):
            self.told.add(id)
            yield _disagrees(id)

    def _note(self, index: Index, id: CommitId) -> list[Finding]:
        found = list(self.walk.index(index, f"commit {id}"))
        for finding in found:
            if finding.trouble is Trouble.MISSING:
                self.walk.unread.discard(finding.id)
        return found

    def _decoded(self, id: CommitId) -> Layout | None:
        data = self._read(id)
        try:
            return None if data is None else decode(Layout, data, f"layout of commit {id}")
        except CorruptData:
            return None

    def _read(self, id: CommitId) -> bytes | None:
        where = self.commits.folders.layouts.at(id)
        stored = self.kv.get(where.partition, where.key)
        return None if stored is None else stored.value


def _former(layout: Layout, since: datetime | None) -> list[Index]:
    return [former.index for former in layout.superseded if since is None or former.since >= since]


def _disagrees(id: CommitId) -> Finding:
    why = "its content is not what the operations of its header make of its parent's"
    return Finding(Trouble.INCONSISTENT, Thing.COMMIT, id, why)

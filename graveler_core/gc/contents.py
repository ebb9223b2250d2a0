"""Check of the layouts of commits: each must agree with its header and with the items to which it refers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from graveler_core.codec.elements import decode_elements
from graveler_core.codec.records import decode
from graveler_core.committed.index.operations import operations_between, own_operations
from graveler_core.errors import CorruptData
from graveler_core.gc.commits import Header, HistoryGraph
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.walk import Walk
from graveler_core.kv.store import Store
from graveler_core.model.entities import OPERATIONS_RULE, Layout
from graveler_core.model.ids import CommitId
from graveler_core.model.index import Index

_CHANGES = 3
"""Maximum number of reads of a layout that is replaced concurrently, which happens once or twice in its life."""


@dataclass(slots=True)
class Contents:
    """Layouts that were examined so far."""

    kv: Store
    commits: HistoryGraph
    walk: Walk
    looked_at: set[CommitId] = field(default_factory=set)
    replaced: list[CommitId] = field(default_factory=list)
    """Commits whose layouts were replaced and list former items."""
    others: list[CommitId] = field(default_factory=list)
    """Layouts of commits that are unreachable or missing."""
    told: set[str] = field(default_factory=set)
    """Ids of the commits, runs, nodes and ranges for which a problem was reported."""
    blind: bool = False
    """True if a layout could not be read, so that the reachable items are not completely known."""

    def check_all(self) -> Iterator[Finding]:
        """Check the stored layouts of all reachable commits. Yield problems."""
        folder = self.commits.folders.layouts
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
            if id in self.commits.reachable:
                yield from self._check(id, row.value)
            else:
                self.others.append(id)

    def check_rest(self) -> Iterator[Finding]:
        """Check the layouts that were written behind the position of the scan, or that are missing. Yield problems."""
        for id in sorted(self.commits.reachable - self.looked_at):
            data = self._read(id)
            if data is not None:
                yield from self._check(id, data)
            elif self.commits.headers.get(id) is not None:
                self.blind = True
                yield Finding(Trouble.MISSING, Thing.LAYOUT, id, "is missing", f"commit {id}")

    def note_former(self, since: datetime | None = None) -> Iterator[Finding]:
        """Note the items to which layouts replaced after `since` referred before. Yield their problems."""
        for id in self.replaced:
            layout = self._decoded(id)
            for index in [] if layout is None else _former(layout, since):
                yield from self._note(index, id)

    def note_other(self, id: CommitId, since: datetime | None = None) -> list[Finding]:
        """Note the items to which the layout of an unreachable commit refers. Return the problems of the layout."""
        data = self._read(id)
        if data is None:
            return [Finding(Trouble.MISSING, Thing.LAYOUT, id, "is missing", f"commit {id}")]
        try:
            layout = decode(Layout, data, f"layout of commit {id}")
        except CorruptData as e:
            self.blind = True
            return [Finding(Trouble.CORRUPT, Thing.LAYOUT, id, e.message, f"commit {id}", len(data))]
        return [found for index in (layout.index, *_former(layout, since)) for found in self._note(index, id)]

    def check_operations(self) -> Iterator[Finding]:
        """Compare the operations digest of each commit with its content and that of its first parent. Yield
        problems."""
        for id in sorted(self.commits.reachable):
            header, layout = self.commits.headers.get(id), self._decoded(id)
            if header is None or layout is None:
                continue  # already reported
            if self._operations(header, layout.index) not in (None, header.operations) and id not in self.told:
                yield _disagrees(id)

    def _check(self, id: CommitId, data: bytes) -> Iterator[Finding]:
        self.looked_at.add(id)
        found = list[Finding]()
        for _ in range(_CHANGES):
            self.walk.begin()
            found = list(self._whole(id, data))
            now = self._read(id) if found else data
            self.walk.end(outdated=now != data)
            if now == data:
                break
            if now is None:
                found = [Finding(Trouble.MISSING, Thing.LAYOUT, id, "is missing", f"commit {id}")]
                break
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
            content_is_right = not index.own_run and self._operations(header, index) == header.operations
            yield _unmarked(id) if content_is_right else _disagrees(id)

    def _operations(self, header: Header, index: Index) -> str | None:
        """Return the operations digest from the content of a commit and of its first parent; `None` if it is
        unreadable."""
        parent = self._decoded(header.parents[0]) if header.parents else None
        if header.parents and parent is None:
            return None
        try:
            before = None if parent is None else parent.index
            return operations_between(self.walk.indexes, before, index, header.rule)
        except CorruptData:
            return None  # reported where it was read

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


def _unmarked(id: CommitId) -> Finding:
    why = (
        "it does not mark the changes of its commit (graveler fsck --repair-indexes repairs it); the content is correct"
    )
    return Finding(Trouble.INCONSISTENT, Thing.INDEX, id, why, f"commit {id}")


def _disagrees(id: CommitId) -> Finding:
    why = "its content does not follow from the content of its parent and the operations in its header"
    return Finding(Trouble.INCONSISTENT, Thing.COMMIT, id, why)

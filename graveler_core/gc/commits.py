"""Graph of the commits of a history, and the commits that are reachable from branches and tags, or from the log of
references.

Memory holds about 400 bytes for each commit: its id, its parents, and the fields with which its header must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from graveler_core.codec.records import commit_id, decode
from graveler_core.errors import CorruptData
from graveler_core.gc.findings import Finding, Thing, Trouble
from graveler_core.gc.stock import Progress
from graveler_core.kv.store import Store
from graveler_core.model.entities import Commit
from graveler_core.model.ids import CommitId
from graveler_core.model.migration import ORIGIN
from graveler_core.records.layout import CommitFolders


class Header(NamedTuple):
    """Fields of a commit's header that other records must agree with."""

    parents: tuple[CommitId, ...]
    generation: int
    rule: int
    operations: str
    made: datetime
    migrated: bool
    """True if the commit was migrated, so that another system knows an id of it."""


@dataclass(slots=True)
class HistoryGraph:
    """Headers that were read so far, and the commits that were reached."""

    kv: Store
    folders: CommitFolders
    progress: Progress
    headers: dict[CommitId, Header | None] = field(default_factory=dict)
    """Headers by commit; `None` for a damaged or missing one."""
    reachable: set[CommitId] = field(default_factory=set)
    blind: bool = False
    """True if a header could not be read, so that the reachable commits are not completely known."""

    def read_all(self) -> Iterator[Finding]:
        """Read all stored headers. Yield problems."""
        folder = self.folders.headers
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
            yield from self._keep(id, row.value)
            self.progress(1)

    def reach(self, start: CommitId, named_by: str) -> Iterator[Finding]:
        """Mark a commit and its ancestors as reachable, except those that were reached before. Yield problems."""
        ahead = [(start, named_by)]
        while ahead:
            id, named_by = ahead.pop()
            if id in self.reachable:
                continue
            self.reachable.add(id)
            if id not in self.headers:
                yield from self._read(id, named_by)
            header = self.headers.get(id)
            if header is None:
                self.blind = True
                continue
            ahead += [(parent, f"commit {id}") for parent in header.parents]
            yield from self._generation(id, header)

    def unreachable(self) -> list[tuple[CommitId, Header]]:
        """Return the unreachable commits, ancestors before descendants."""
        items = self.headers.items()
        found = [(id, header) for id, header in items if header is not None and id not in self.reachable]
        return sorted(found, key=lambda item: item[1].generation)

    def _read(self, id: CommitId, named_by: str) -> Iterator[Finding]:
        """Read a commit that is younger than the scan, or missing. Yield problems."""
        where = self.folders.headers.at(id)
        stored = self.kv.get(where.partition, where.key)
        if stored is None:
            self.headers[id] = None
            yield Finding(Trouble.MISSING, Thing.COMMIT, id, "is missing", named_by)
        else:
            yield from self._keep(id, stored.value)

    def _keep(self, id: CommitId, data: bytes) -> Iterator[Finding]:
        self.headers[id] = None
        if commit_id(data) != id:
            yield Finding(Trouble.CORRUPT, Thing.COMMIT, id, "its header does not match its id", size=len(data))
            return
        try:
            commit = decode(Commit, data, f"commit {id}")
        except CorruptData as e:
            yield Finding(Trouble.CORRUPT, Thing.COMMIT, id, e.message, size=len(data))
        else:
            said = commit.version, commit.operations, commit.creation_date, ORIGIN in commit.metadata
            self.headers[id] = Header(commit.parents, commit.generation, *said)

    def _generation(self, id: CommitId, header: Header) -> Iterator[Finding]:
        parents = []
        for parent in header.parents:
            if parent not in self.headers:
                yield from self._read(parent, f"commit {id}")
            parents.append(self.headers.get(parent))
        known = [parent.generation for parent in parents if parent is not None]
        if len(known) == len(parents) and header.generation != 1 + max(known, default=0):
            why = f"its generation is {header.generation}, that of its parents at most {max(known, default=0)}"
            yield Finding(Trouble.INCONSISTENT, Thing.COMMIT, id, why)

"""Commits as rows of a dump: headers, layouts, small runs. `dump` explains why they are complete while others write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from graveler_core.codec.content_hash import DIGEST_BYTES, hex_id
from graveler_core.codec.records import decode, encode
from graveler_core.errors import Conflict, CorruptData, GravelerError, Kind
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Store
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.ids import CommitId, ObjectId
from graveler_core.model.index import RunLocation
from graveler_core.model.migration import ORIGIN
from graveler_core.objects.objects import decode_object
from graveler_core.records import layout as keys
from graveler_core.records.location import Folder
from graveler_core.transfer.commit_graph import CommitGraph, Flags, IdSet, binary_id
from graveler_core.transfer.format import DumpWriter
from graveler_core.transfer.format import RowKind as Rows

OBJECTS_AT_ONCE = 64
"""Number of runs that are read in one round trip, at most 4 MiB."""


@dataclass(frozen=True, slots=True)
class History:
    """History that is dumped: its folders and the kinds of its rows."""

    folders: keys.CommitFolders
    header: Rows
    layout: Rows
    named_by: str
    """Name of its references in error messages."""
    all: bool
    """True if commits that no branch or tag has reached are dumped too."""


def of_users(repo: RepositoryRecord, *, all: bool) -> History:
    """Return the history of users. Without `all`, it leaves out the commits that collections may remove."""
    return History(keys.history(repo), Rows.COMMIT, Rows.LAYOUT, "a branch or tag", all)


def of_log(repo: RepositoryRecord) -> History:
    """Return the history of the log of references. Unreachable commits of failed folds are not dumped."""
    folders = keys.internal_history(repo)
    return History(folders, Rows.LOG_COMMIT, Rows.LOG_LAYOUT, "the log of references", all=False)


@dataclass(slots=True)
class CommitRows:
    """Commits of a repository that are being dumped. Call the methods in the order in which they are defined."""

    kv: Store
    repository: RepositoryRecord
    history: History
    writer: DumpWriter
    step: Callable[[int], object] = lambda commits: None
    """Called after each step with the number of commits so far."""
    heads: bytearray = field(default_factory=bytearray)
    """Ids of the commits to which references point, 32 bytes each."""
    kept: bytearray = field(default_factory=bytearray)
    """Ids of the commits that are former heads or were migrated, 32 bytes each."""
    graph: CommitGraph = field(default_factory=CommitGraph)
    dumped: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Commits that are dumped, because all their ancestors exist."""
    named: IdSet = field(default_factory=IdSet)
    """Runs to which the dumped layouts refer."""
    lacking: bool = False
    """True if a commit has no layout."""

    def name(self, commit: CommitId, named_by: str) -> None:
        """Note a dumped reference to a commit."""
        id = binary_id(commit)
        if id is None:
            raise _corrupt(commit, f"is not a commit id, but {named_by} refers to it")
        self.heads += id

    def read(self) -> None:
        """Find the commits.

        Raises:
            CorruptData: A commit to which a reference leads is missing.
        """
        folder = self.history.folders.headers
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            name = row.key.removeprefix(folder.prefix).decode(errors="backslashreplace")
            if hex_id(row.value) != name:
                raise _corrupt(name, "its header does not match its id")
            header = decode(Commit, row.value, f"commit {name}")
            self.graph.add(bytes.fromhex(name), header)
            if ORIGIN in header.metadata:
                self.kept += bytes.fromhex(name)
            self.step(len(self.graph))
        self.dumped = self.graph.complete()
        places = self.graph.places(self.heads)
        bad = places < 0
        bad[~bad] = ~self.dumped[places[~bad]]
        if bad.any():
            at = int(bad.argmax())
            id = self.heads[DIGEST_BYTES * at : DIGEST_BYTES * (at + 1)]
            raise _corrupt(id.hex(), f"{self.history.named_by} refers to it, but it or an ancestor is missing")
        if not self.history.all:
            kept = self.graph.places(self.kept)
            kept = kept[kept >= 0]
            self.dumped = self.graph.reachable(np.concatenate([places, kept[self.dumped[kept]]]))

    def keep(self, commit: CommitId) -> None:
        """Note a commit that is dumped if all its ancestors exist."""
        self.kept += binary_id(commit) or b""

    def headers(self) -> None:
        """Write headers.

        Raises:
            CorruptData: A commit to which a reference leads was deleted.
            Conflict: A collection has removed a commit to which no reference leads (`LostRace`).
        """
        for place, header in self._of_commits(self.history.folders.headers):
            if self.dumped[place]:
                if header is None:
                    raise self._deleted(place)
                self.writer.row(self.history.header, header)
            self.step(len(self.graph))

    def _deleted(self, place: int) -> GravelerError:
        """Return the error for a commit that was deleted after it was found."""
        id = self.graph.id(place).hex()
        if self.graph.reachable(self.graph.places(self.heads))[place]:
            return _corrupt(id, "was deleted during the dump")
        return Conflict(
            f"repository {self.repository.id!r}: a collection removed commit {id} during the dump; dump again",
            kind=Kind.LostRace,
            commit=id,
        )

    def layouts(self) -> None:
        """Write the current layouts, without superseded indexes."""
        for place, data in self._of_commits(self.history.folders.layouts):
            if self.dumped[place] and data is not None:
                layout = decode(Layout, data, f"layout of commit {self.graph.id(place).hex()}")
                self.writer.row(self.history.layout, self.graph.id(place) + encode(Layout(index=layout.index)))
                for named in _small_runs(layout):
                    self.named.add(named)
            self.lacking |= bool(self.dumped[place]) and data is None
            self.step(len(self.graph))

    def needs(self, missing: set[bytes]) -> set[bytes]:
        """Return the missing runs that are referenced only by layouts of unfinished commits.

        Raises:
            CorruptData: A reference leads to such a commit, or to a commit without a layout.
        """
        reachable = self.graph.reachable(self.graph.places(self.heads))
        named = set[bytes]()
        for place, data in self._of_commits(self.history.folders.layouts):
            id = self.graph.id(place).hex()
            runs = set() if data is None else missing.intersection(_small_runs(decode(Layout, data, f"layout of {id}")))
            if reachable[place] and (data is None or runs):
                what = "its layout is missing" if data is None else f"run {min(runs).hex()} of it is missing"
                raise _corrupt(id, what)
            named |= runs
        return named

    def _of_commits(self, folder: Folder[Any]) -> Iterator[tuple[int, bytes | None]]:
        """Yield the row of a folder for each known commit, in the order of their ids; `None` for a missing row."""
        graph, place = self.graph, 0
        for row in self.kv.scan(folder.partition, prefix=folder.prefix):
            name = row.key.removeprefix(folder.prefix)
            while place < len(graph) and graph.id(place).hex().encode() < name:
                yield place, None
                place += 1
            if place < len(graph) and graph.id(place).hex().encode() == name:
                yield place, row.value
                place += 1
        yield from ((rest, None) for rest in range(place, len(graph)))


def write_runs(histories: Sequence[CommitRows]) -> None:
    """Write the runs in the key-value store to which the layouts of several histories of one repository refer.

    Raises:
        CorruptData: A run that a reachable commit needs is missing or damaged.
        Conflict: A run was swept before it was read (`LostRace`).
    """
    kv, repo, writer = histories[0].kv, histories[0].repository, histories[0].writer
    missing = set[bytes]()
    named = np.unique(np.concatenate([history.named.sorted() for history in histories]))
    wanted = iter(named.astype("V32"))
    while batch := [ObjectId(id.tobytes().hex()) for id in islice(wanted, OBJECTS_AT_ONCE)]:
        found = get_many(kv, [keys.stored_object(repo, id) for id in batch])
        for id, stored in zip(batch, found, strict=True):
            if stored is None:
                missing.add(bytes.fromhex(id))
            else:
                writer.row(Rows.OBJECT, decode_object(stored.value, id)[0])
    if not missing and not any(history.lacking for history in histories):
        return
    if missing.difference(*[history.needs(missing) for history in histories]):
        raise Conflict(f"repository {repo.id!r}: a run was swept before it was read; dump again", kind=Kind.LostRace)


def _small_runs(layout: Layout) -> list[bytes]:
    """Return the ids of the runs in the key-value store to which a layout refers, 32 bytes each."""
    return [bytes.fromhex(run.id) for run in layout.index.runs if run.place is RunLocation.OBJECT]


def _corrupt(id: str, why: str) -> CorruptData:
    return CorruptData(f"commit {id}: {why}", kind=Kind.CorruptCommit, commit=id)

"""Dumping: branches, tags, commits with their layouts and small runs, and settings, into one file. Changes nothing.

1. Branches and tags, one scan each.
2. Headers, one scan: how commits hang together (`commit_graph`).
3. Headers again, as they were found; layouts, one scan; the runs in the key-value store that those name.

All commits are dumped, also those that nothing leads to: commits stay, and who knows an id may read it.

Why the dump is whole while others write. A commit is written before anything names it, and never deleted; so 2 finds
every commit that a branch or tag of 1 leads to. What is made during 2 may be found without its parents: nothing that
was read in 1 leads to it, and it is left out, as is what is first seen in 3. A layout is written with its header, so 3
finds it. It may be replaced before or after, by one of equal content. What it names stays: a replacement says what the
replaced one named, and a sweep counts that as named for the grace, a day at least. So a dump that takes less than that
finds every run; where a run is gone nevertheless, the dump fails, and says whether a repetition will help.

The same holds for the files that layouts name, nodes, ranges and large runs, which are not in a dump: they stay for the
grace after the dump, and as long as nobody replaces the layouts and sweeps. Whoever keeps a dump for longer keeps a
copy of the namespace with it.

Branches are dumped by their heads: what is staged is counted, and is not in the dump. Several branches are not read in
one step; each is as it stood at some moment of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from graveler_core.codec.content_hash import hex_id
from graveler_core.codec.records import decode, encode
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind
from graveler_core.kv.bulk import get_many
from graveler_core.model.dump import DumpedBranch, DumpedRepository
from graveler_core.model.entities import Branch, Commit, Layout, Repository
from graveler_core.model.ids import CommitId, ObjectId
from graveler_core.model.index import Place
from graveler_core.objects.objects import decode_object
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.staging import area
from graveler_core.stores import Stores
from graveler_core.transfer.commit_graph import CommitGraph, IdSet, binary_id
from graveler_core.transfer.files import DumpFile, dump_file
from graveler_core.transfer.format import DumpWriter
from graveler_core.transfer.format import Kind as Rows
from graveler_core.transfer.reading import Progress
from graveler_core.transfer.settings import SETTINGS

OBJECTS_AT_ONCE = 64
"""Runs that are read in one round trip: 4 MiB at most."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """What is in a dump."""

    uri: str
    digest: str
    """64 hex digits: names what was dumped, wherever it is kept."""
    branches: int
    dirty: int
    """Branches that had something staged, which is not in the dump."""
    tags: int
    commits: int
    objects: int
    """Runs of the key-value store."""
    size: int
    """Bytes of the file."""


@dataclass(slots=True)
class _Dump:
    """A dump under way."""

    stores: Stores
    repository: Repository
    writer: DumpWriter
    progress: Progress
    graph: CommitGraph = field(default_factory=CommitGraph)
    heads: bytearray = field(default_factory=bytearray)
    """Ids of what branches and tags name."""
    named: IdSet = field(default_factory=IdSet)
    """Runs that the dumped layouts name."""
    lacking: bool = False
    """A commit has no layout."""
    dirty: int = 0
    done: int = 0

    def advance(self) -> None:
        self.done += 1
        self.progress(self.done, 3 * len(self.graph) if self.done > len(self.graph) else 0)


def dump(stores: Stores, repo: Repository, uri: str, *, progress: Progress = lambda done, total: None) -> Dumped:
    """Dump a repository into a new object at a URI.

    In memory is a frame of the file, some 100 bytes a commit and 32 a run; on the local disk, for a while, the file.

    Args:
        progress: Told of steps, three a commit; the total is 0 until it is known.

    Raises:
        NotUnique: (`BlobExists`) something is at the URI.
        InvalidInput: the repository is bare, or the URI none where an object can be.
        CorruptData: something is damaged or missing that belongs to the dump; nothing was stored.
        Conflict: (`LostRace`) what a layout named was swept before it was read; dump again.
    """
    if repo.bare:
        raise InvalidInput(f"repository {repo.id!r}: is bare, there is nothing to dump", repository=repo.id)
    file = dump_file(stores.blobs, uri)
    with file.created() as target:
        work = _Dump(stores, repo, DumpWriter(target), progress)
        _repository(work)
        _refs(work)
        _graph(work)
        _headers(work)
        _layouts(work)
        _objects(work)
        end = work.writer.end()
    return _report(file, work, end.digest, end.rows)


def _report(file: DumpFile, work: _Dump, digest: str, rows: dict[str, int]) -> Dumped:
    return Dumped(
        uri=file.uri,
        digest=digest,
        branches=rows.get(Rows.BRANCH.name, 0),
        dirty=work.dirty,
        tags=rows.get(Rows.TAG.name, 0),
        commits=rows.get(Rows.COMMIT.name, 0),
        objects=rows.get(Rows.OBJECT.name, 0),
        size=file.size(),
    )


def _repository(work: _Dump) -> None:
    repo = work.repository
    record = DumpedRepository(
        id=repo.id,
        default_branch=repo.default_branch,
        boundary_seed=repo.boundary_seed,
        format_version=repo.format_version,
    )
    work.writer.row(Rows.REPOSITORY, encode(record))
    for name, (_, where) in SETTINGS.items():
        held = access.read(work.stores.kv, where(repo))
        if held is not None:
            work.writer.row(Rows.SETTING, name + b"\0" + encode(held.value))


def _refs(work: _Dump) -> None:
    kv, repo = work.stores.kv, work.repository
    for branch in list_branches(kv, repo):
        work.writer.row(Rows.BRANCH, encode(DumpedBranch(id=branch.id, commit_id=branch.commit_id)))
        work.heads += _id(branch.commit_id, f"branch {branch.id}")
        work.dirty += _is_dirty(work, branch)
    for tag in list_tags(kv, repo):
        work.writer.row(Rows.TAG, encode(tag))
        work.heads += _id(tag.commit_id, f"tag {tag.id}")


def _is_dirty(work: _Dump, branch: Branch) -> bool:
    """Whether something may be staged; layers may be empty."""
    layered = bool(branch.sealed_tokens) or branch.compacted_metarange is not None
    return layered or not area.is_empty(work.stores.kv, branch.staging_token)


def _graph(work: _Dump) -> None:
    folder = keys.commits(work.repository)
    for row in work.stores.kv.scan(folder.partition, prefix=folder.prefix):
        name = row.key.removeprefix(folder.prefix).decode(errors="backslashreplace")
        if hex_id(row.value) != name:
            raise _corrupt(name, "its header is not what the id says")
        work.graph.add(bytes.fromhex(name), decode(Commit, row.value, f"commit {name}"))
        work.advance()
    missing = work.graph.places(work.heads) < 0
    if missing.any():
        at = int(missing.argmax())
        raise _corrupt(work.heads[32 * at : 32 * (at + 1)].hex(), "is named by a branch or tag, and is not there")


def _headers(work: _Dump) -> None:
    complete = work.graph.complete()
    for place, header in _of_commits(work, keys.commits(work.repository)):
        if complete[place]:
            work.writer.row(Rows.COMMIT, _present(header))
        work.advance()


def _layouts(work: _Dump) -> None:
    complete = work.graph.complete()
    for place, data in _of_commits(work, keys.commit_layouts(work.repository)):
        if complete[place] and data is not None:
            layout = decode(Layout, data, f"layout of commit {work.graph.id(place).hex()}")
            work.writer.row(Rows.LAYOUT, work.graph.id(place) + encode(Layout(index=layout.index)))
            for named in small_runs(layout):
                work.named.add(named)
        work.lacking |= bool(complete[place]) and data is None
        work.advance()


def _objects(work: _Dump) -> None:
    missing = set[bytes]()
    wanted = iter(work.named.sorted().astype("V32"))
    while batch := [ObjectId(id.tobytes().hex()) for id in islice(wanted, OBJECTS_AT_ONCE)]:
        found = get_many(work.stores.kv, [keys.stored_object(work.repository, id) for id in batch])
        for id, stored in zip(batch, found, strict=True):
            if stored is None:
                missing.add(bytes.fromhex(id))
            else:
                work.writer.row(Rows.OBJECT, decode_object(stored.value, id)[0])
    if missing or work.lacking:
        _require_unneeded(work, missing)


def _require_unneeded(work: _Dump, missing: set[bytes]) -> None:
    """What is missing may be of commits that were never finished; nothing may lead to these."""
    reachable = work.graph.reachable(work.graph.places(work.heads))
    named = set[bytes]()
    for place, data in _of_commits(work, keys.commit_layouts(work.repository)):
        id = work.graph.id(place).hex()
        runs = set() if data is None else missing.intersection(small_runs(decode(Layout, data, f"layout of {id}")))
        if reachable[place] and (data is None or runs):
            what = "its layout is missing" if data is None else f"run {min(runs).hex()} of it is missing"
            raise _corrupt(id, what)
        named |= runs
    if missing - named:
        raise Conflict(
            f"repository {work.repository.id!r}: what layouts named was swept before it was read; dump again",
            kind=Kind.LostRace,
        )


def small_runs(layout: Layout) -> list[bytes]:
    """The ids of the runs in the key-value store that a layout names, 32 bytes each."""
    return [bytes.fromhex(run.id) for run in layout.index.runs if run.place is Place.OBJECT]


def _of_commits(work: _Dump, folder: keys.Folder[Any]) -> Iterator[tuple[int, bytes | None]]:
    """What a folder holds for each commit that was found, in the order of their ids; None for nothing."""
    graph, place = work.graph, 0
    for row in work.stores.kv.scan(folder.partition, prefix=folder.prefix):
        name = row.key.removeprefix(folder.prefix)
        while place < len(graph) and graph.id(place).hex().encode() < name:
            yield place, None
            place += 1
        if place < len(graph) and graph.id(place).hex().encode() == name:
            yield place, row.value
            place += 1
    yield from ((rest, None) for rest in range(place, len(graph)))


def _present(header: bytes | None) -> bytes:
    if header is None:
        raise CorruptData("a commit was deleted while it was dumped", kind=Kind.CorruptCommit)
    return header


def _id(commit: CommitId, named_by: str) -> bytes:
    id = binary_id(commit)
    if id is None:
        raise _corrupt(commit, f"is named by {named_by}, and is no commit id")
    return id


def _corrupt(id: str, why: str) -> CorruptData:
    return CorruptData(f"commit {id}: {why}", kind=Kind.CorruptCommit, commit=id)

"""Checking a dump whole before anything of it is restored.

Every frame by its checksum, every row against the end (`reading`); every record decoded; commits by their ids, parents
and generations; branches and tags by the commits that they name; layouts and runs: what branches and tags lead to has
all of its own, and the files that its layouts name lie in the namespace. What those files hold is not looked at: `fsck`
does.

What branches and tags do not lead to is taken as it stands: a commit that was never finished may lack its layout or
some of its runs, here as where it was dumped.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graveler_core.blobs.port import Blobs
from graveler_core.codec.content_hash import DIGEST_BYTES, HASH
from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData, InvalidInput, Kind
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd, ForeignCommit
from graveler_core.model.entities import Commit, Layout, Repository, Tag
from graveler_core.model.index import Place
from graveler_core.model.names import branch_id, tag_id
from graveler_core.transfer.commit_graph import CommitGraph, Flags, IdSet, binary_id
from graveler_core.transfer.files import DumpFile
from graveler_core.transfer.format import Kind as Rows
from graveler_core.transfer.named_files import first_missing
from graveler_core.transfer.reading import Progress, Row, rows
from graveler_core.transfer.settings import decoded_setting


@dataclass(frozen=True, slots=True)
class Verified:
    """What a whole dump says of itself."""

    repository: DumpedRepository
    end: DumpEnd


def verify(file: DumpFile, target: Repository, blobs: Blobs, progress: Progress) -> Verified:
    """Read a dump once, and see that it can be restored into a repository. Writes nothing.

    In memory is a frame, some 150 bytes a commit, 32 a small run, 32 a file that layouts name, 200 a foreign commit.

    Args:
        blobs: The storage namespace of the target.

    Raises:
        CorruptData: (`CorruptDump`) the dump is cut off, damaged, altered, or contradicts itself.
        InvalidInput: the namespace lacks what the dump needs.
    """
    check = _Check()
    for row in rows(file, progress):
        try:
            check.take(row)
        except (CorruptData, InvalidInput) as e:
            raise file.corrupt(row.at, e.message) from e
    missing = first_missing(blobs, check.files)
    if missing is not None:
        raise InvalidInput(
            f"dump {file.uri}: needs {missing}, which is not in {target.storage_namespace}; restore where the dumped "
            "repository kept its objects, or where they were copied to",
            kind=Kind.ObjectNotFound,
            uri=file.uri,
            namespace=target.storage_namespace,
        )
    return Verified(check.repository, check.end)


@dataclass(slots=True)
class _Check:
    """What of a dump was checked so far. Errors say what is wrong; where is for the caller to say."""

    repository: DumpedRepository = field(init=False)
    end: DumpEnd = field(init=False)
    last: tuple[Rows, bytes] = (Rows.REPOSITORY, b"")
    """Kind and key of the last row that has a key."""
    default_found: bool = False
    heads: IdSet = field(default_factory=IdSet)
    """What branches and tags name,"""
    foreign_heads: set[str] = field(default_factory=set)
    """and what of it is no commit id."""
    foreign: set[str] = field(default_factory=set)
    """Ids of foreign commits."""
    graph: CommitGraph = field(default_factory=CommitGraph)
    closed: bool = False
    """All commits are there."""
    reachable: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Which of them branches and tags lead to."""
    without_layout: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    needed: IdSet = field(default_factory=IdSet)
    """Runs of the key-value store that these commits name,"""
    objects: IdSet = field(default_factory=IdSet)
    """those that are there,"""
    files: IdSet = field(default_factory=IdSet)
    """and what the namespace must have."""

    def take(self, row: Row) -> None:
        """Check a row against those before it."""
        data = row.data
        if row.kind > Rows.COMMIT and not self.closed:
            self.reachable = self._close_commits()
            self.closed = True
        match row.kind:
            case Rows.REPOSITORY:
                self.repository = decode(DumpedRepository, data, "its repository")
                branch_id(self.repository.default_branch)
            case Rows.SETTING:
                name, _, record = data.partition(b"\0")
                self._follow(row.kind, name)
                decoded_setting(name, record)
            case Rows.BRANCH | Rows.TAG:
                self._ref(row.kind, data)
            case Rows.FOREIGN:
                self._foreign(data)
            case Rows.COMMIT:
                id = HASH(data).digest()
                self.graph.add(id, decode(Commit, data, f"commit {id.hex()}"))
            case Rows.LAYOUT:
                self._layout(data[:DIGEST_BYTES], data[DIGEST_BYTES:])
            case Rows.OBJECT:
                id = HASH(data).digest()
                self._follow(row.kind, id)
                self.objects.add(id)
            case Rows.END:
                self.end = decode(DumpEnd, data, "its end")
                self._close()

    def _follow(self, kind: Rows, key: bytes) -> None:
        if (kind, key) <= self.last:
            raise CorruptData(f"{kind.name} {key!r} does not stand in order")
        self.last = kind, key

    def _ref(self, kind: Rows, data: bytes) -> None:
        if kind is Rows.BRANCH:
            branch = decode(DumpedBranch, data, "a branch")
            self._follow(kind, branch_id(branch.id).encode())
            self.default_found |= branch.id == self.repository.default_branch
            named: str = branch.commit_id
        else:
            tag = decode(Tag, data, "a tag")
            self._follow(kind, tag_id(tag.id).encode())
            named = tag.commit_id
        id = binary_id(named)
        if id is None:
            self.foreign_heads.add(named)
        else:
            self.heads.add(id)

    def _foreign(self, data: bytes) -> None:
        commit = decode(ForeignCommit, data, "a foreign commit")
        tree = binary_id(commit.metarange_id)
        if commit.id in self.foreign or tree is None or not self.foreign.issuperset(commit.parents):
            raise CorruptData(f"foreign commit {commit.id!r}: stands twice, before a parent, or names no tree")
        self.foreign.add(commit.id)
        self.files.add(tree)

    def _close_commits(self) -> Flags:
        """All commits and what names them are there: they must fit together."""
        if not self.default_found:
            raise CorruptData(f"its default branch {self.repository.default_branch!r} is not there")
        self.graph.require_whole()
        heads = self.heads.sorted()
        places = self.graph.places(heads.tobytes())
        absent = {bytes(heads[at : at + 1].tobytes()).hex() for at in np.flatnonzero(places < 0)}
        unknown = (absent | self.foreign_heads) - self.foreign
        if unknown:
            raise CorruptData(f"commit {min(unknown)} is named by a branch or tag, and is not there")
        self.without_layout = np.ones(len(self.graph), np.bool_)
        return self.graph.reachable(places[places >= 0])

    def _layout(self, id: bytes, data: bytes) -> None:
        self._follow(Rows.LAYOUT, id)
        layout = decode(Layout, data, f"layout of commit {id.hex()}")
        place = int(self.graph.places(id)[0]) if len(id) == DIGEST_BYTES else -1
        if place < 0 or layout.superseded:
            raise CorruptData(f"layout of commit {id.hex()}: there is no such commit, or it names what is superseded")
        self.without_layout[place] = False
        if not self.reachable[place]:
            return
        self.files.add(bytes.fromhex(layout.index.metarange_id))
        for run in layout.index.runs:
            (self.needed if run.place is Place.OBJECT else self.files).add(bytes.fromhex(run.id))

    def _close(self) -> None:
        bare = np.flatnonzero(self.without_layout & self.reachable)
        if len(bare):
            raise CorruptData(f"commit {self.graph.id(int(bare[0])).hex()}: its layout is not there")
        lost = np.setdiff1d(self.needed.sorted(), self.objects.sorted(), assume_unique=True)
        if len(lost):
            raise CorruptData(f"run {lost[:1].tobytes().hex()} is not there")

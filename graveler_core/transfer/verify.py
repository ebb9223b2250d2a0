"""Checking a dump whole before anything of it is restored.

Every frame by its checksum, every row against the end (`reading`); every record decoded; commits by their ids, parents
and generations (`dumped_history`); branches, tags and the log of references by the commits that they name; layouts and
runs: what they lead to has all of its own, and the files that its layouts name lie in the namespace. What those files
hold is not looked at: `fsck` does. The log of references is held to the same, and holds nothing that it does not lead
to.

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
from graveler_core.model import past
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd, ForeignCommit
from graveler_core.model.entities import Repository, Tag
from graveler_core.model.index import Place
from graveler_core.model.names import branch_id, is_ref_name, tag_id
from graveler_core.model.protection import protection_rules
from graveler_core.model.references import ReferenceEvent, is_event_id
from graveler_core.transfer.commit_graph import IdSet, binary_id
from graveler_core.transfer.dumped_history import DumpedHistory
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
    foreign_heads: set[str] = field(default_factory=set)
    """What branches and tags name and is no commit id."""
    foreign: set[str] = field(default_factory=set)
    """Ids of foreign commits."""
    users: DumpedHistory = field(default_factory=lambda: DumpedHistory("a branch or tag"))
    log: DumpedHistory = field(default_factory=lambda: DumpedHistory("the log of references"))
    needed: IdSet = field(default_factory=IdSet)
    """Runs of the key-value store that these commits name,"""
    objects: IdSet = field(default_factory=IdSet)
    """those that are there,"""
    files: IdSet = field(default_factory=IdSet)
    """and what the namespace must have."""

    def take(self, row: Row) -> None:
        """Check a row against those before it."""
        data = row.data
        self._close_histories(row.kind)
        match row.kind:
            case Rows.REPOSITORY:
                self._repository(data)
            case Rows.SETTING:
                name, _, record = data.partition(b"\0")
                self._follow(row.kind, name)
                decoded_setting(name, record)
            case Rows.LOG:
                self._log(data)
            case Rows.BRANCH | Rows.TAG:
                self._ref(row.kind, data)
            case Rows.EVENT:
                self._event(data)
            case Rows.FOREIGN:
                self._foreign(data)
            case Rows.COMMIT | Rows.LOG_COMMIT:
                (self.users if row.kind is Rows.COMMIT else self.log).commit(data)
            case Rows.LAYOUT | Rows.LOG_LAYOUT:
                self._layout(row.kind, data[:DIGEST_BYTES], data[DIGEST_BYTES:])
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

    def _repository(self, data: bytes) -> None:
        self.repository = decode(DumpedRepository, data, "its repository")
        branch_id(self.repository.default_branch)
        if protection_rules(self.repository.protection) != self.repository.protection:
            raise CorruptData("its rules of protection do not stand in order")

    def _log(self, data: bytes) -> None:
        if len(data) != DIGEST_BYTES or self.last[0] is Rows.LOG:
            raise CorruptData("its log of references is at no commit, or at several")
        self._follow(Rows.LOG, data)
        self.log.heads.add(data)

    def _ref(self, kind: Rows, data: bytes) -> None:
        if kind is Rows.BRANCH:
            branch = decode(DumpedBranch, data, "a branch")
            self._follow(kind, branch_id(branch.id).encode())
            self.default_found |= branch.id == self.repository.default_branch
            named, said = str(branch.commit_id), branch.past
        else:
            tag = decode(Tag, data, "a tag")
            self._follow(kind, tag_id(tag.id).encode())
            named, said = str(tag.commit_id), tag.past
        past.steps(said, f"{kind.name} {self.last[1].decode()}")
        id = binary_id(named)
        if id is None:
            self.foreign_heads.add(named)
        else:
            self.users.heads.add(id)

    def _event(self, data: bytes) -> None:
        event = decode(ReferenceEvent, data, "an event")
        if event.time.tzinfo is None or not is_ref_name(event.name) or not is_event_id(event.id):
            raise CorruptData(f"an event of {event.name!r}: is of no time or of no reference")
        self._follow(Rows.EVENT, event.id.encode())
        past.steps(event.past, f"event {event.id}")

    def _foreign(self, data: bytes) -> None:
        commit = decode(ForeignCommit, data, "a foreign commit")
        tree = binary_id(commit.metarange_id)
        if commit.id in self.foreign or tree is None or not self.foreign.issuperset(commit.parents):
            raise CorruptData(f"foreign commit {commit.id!r}: stands twice, before a parent, or names no tree")
        self.foreign.add(commit.id)
        self.files.add(tree)

    def _close_histories(self, kind: Rows) -> None:
        """Where all commits of a history and what names them are there, they must fit together."""
        if kind > Rows.COMMIT and not self.users.closed:
            if not self.default_found:
                raise CorruptData(f"its default branch {self.repository.default_branch!r} is not there")
            self.users.close(self.foreign_heads, self.foreign)
        if kind > Rows.LOG_COMMIT and not self.log.closed:
            self.log.close(set(), set())
            if not self.log.reachable.all():
                raise CorruptData("its log of references does not lead to all of its commits")

    def _layout(self, kind: Rows, id: bytes, data: bytes) -> None:
        self._follow(kind, id)
        index = (self.users if kind is Rows.LAYOUT else self.log).layout(id, data)
        if index is None:
            return
        self.files.add(bytes.fromhex(index.metarange_id))
        for run in index.runs:
            (self.needed if run.place is Place.OBJECT else self.files).add(bytes.fromhex(run.id))

    def _close(self) -> None:
        self.users.require_layouts()
        self.log.require_layouts()
        lost = np.setdiff1d(self.needed.sorted(), self.objects.sorted(), assume_unique=True)
        if len(lost):
            raise CorruptData(f"run {lost[:1].tobytes().hex()} is not there")

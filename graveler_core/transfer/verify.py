"""Complete check of a dump before any part of it is restored.

The check covers:

- the checksum of every frame, and all rows against the last record (`reading`)
- every record, which must decode
- ids, parents and generations of commits (`DumpedHistory`)
- branches, tags, the log of references and the ids of migrated commits, which must refer to existing commits
- reachable commits, which must have their layouts and runs, and files in the namespace that their layouts refer to

The content of those files is not checked; `fsck` does that. The log of references follows the same rules, and all its
commits must be reachable.

Commits that no branch or tag reaches are accepted as they are. A commit that was never completed may lack its layout or
some of its runs, as it did in the dumped repository.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np

from graveler_core.blobs.port import Blobs
from graveler_core.codec.content_hash import DIGEST_BYTES, HASH
from graveler_core.codec.records import decode
from graveler_core.errors import CorruptData, InvalidInput, Kind
from graveler_core.model import past
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd, ForeignCommit
from graveler_core.model.entities import Commit, Layout, Tag
from graveler_core.model.erasure import Erasure
from graveler_core.model.index import Index, RunLocation
from graveler_core.model.names import branch_id, is_ref_name, tag_id
from graveler_core.model.protection import protection_rules, required_check_rules
from graveler_core.model.references import ReferenceEvent, is_event_id
from graveler_core.transfer.commit_graph import CommitGraph, Flags, IdSet, binary_id
from graveler_core.transfer.erasures import checked_erasure, checked_mark
from graveler_core.transfer.files import DumpFile
from graveler_core.transfer.format import RowKind as Rows
from graveler_core.transfer.migrated_rows import checked_migrated
from graveler_core.transfer.named_files import first_missing
from graveler_core.transfer.reading import DumpRow, Progress, rows
from graveler_core.transfer.settings import decoded_setting


@dataclass(frozen=True, slots=True)
class Verified:
    """Summary of a complete dump."""

    repository: DumpedRepository
    end: DumpEnd
    erasures: list[Erasure]


def verify(file: DumpFile, blobs: Blobs, place: str, progress: Progress, besides: Container[str] = ()) -> Verified:
    """Read a dump once, and check that it can be restored into a repository. Writes nothing.

    Memory holds one frame, about 150 bytes for each commit, 32 for each small run, 32 for each file to which layouts
    refer, and 200 for each foreign commit.

    Args:
        file: The dump.
        blobs: Storage namespace of the repository to restore into.
        place: URI of that namespace, for error messages.
        progress: Called with the number of bytes that were read, and the total number.
        besides: Addresses of files that the namespace may lack.

    Returns:
        A summary of the dump.

    Raises:
        CorruptData: (`CorruptDump`) The dump is truncated, damaged, altered or inconsistent.
        InvalidInput: The namespace lacks a file that the dump needs.
    """
    check = _Check()
    for row in rows(file, progress):
        try:
            check.take(row)
        except (CorruptData, InvalidInput) as e:
            raise file.corrupt(row.at, e.message) from e
    missing = first_missing(blobs, check.files, besides)
    if missing is not None:
        raise InvalidInput(
            f"dump {file.uri}: needs {missing}, which is not in {place}; restore where the dumped "
            "repository kept its objects, or where they were copied to",
            kind=Kind.ObjectNotFound,
            uri=file.uri,
            namespace=place,
        )
    return Verified(check.repository, check.end, list(check.erasures.values()))


@dataclass(slots=True)
class _Check:
    """State of the verification of a dump. Errors name the problem; the caller adds the position."""

    repository: DumpedRepository = field(init=False)
    end: DumpEnd = field(init=False)
    last: tuple[Rows, bytes] = (Rows.REPOSITORY, b"")
    """Kind and key of the last row that has a key."""
    default_found: bool = False
    foreign_heads: set[str] = field(default_factory=set)
    """Targets of branches and tags that are not commit ids."""
    foreign: set[str] = field(default_factory=set)
    """Ids of foreign commits."""
    users: DumpedHistory = field(default_factory=lambda: DumpedHistory("a branch or tag"))
    log: DumpedHistory = field(default_factory=lambda: DumpedHistory("the log of references"))
    needed: IdSet = field(default_factory=IdSet)
    """Runs in the key-value store to which these commits refer."""
    objects: IdSet = field(default_factory=IdSet)
    """Runs in the key-value store that the dump contains."""
    files: IdSet = field(default_factory=IdSet)
    """Files that the namespace must contain."""
    erasures: dict[str, Erasure] = field(default_factory=dict)
    """Erasures, by id."""

    def take(self, row: DumpRow) -> None:
        """Check a row against the rows before it."""
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
            case Rows.ERASURE | Rows.ERASED:
                self._erasure(row.kind, data)
            case Rows.MIGRATED:
                commit, origin = checked_migrated(data)
                self._follow(row.kind, origin)
                self.users.require(commit)
            case Rows.END:
                self.end = decode(DumpEnd, data, "its end")
                self._close()

    def _follow(self, kind: Rows, key: bytes) -> None:
        if (kind, key) <= self.last:
            raise CorruptData(f"{kind.name} {key!r} is out of order")
        self.last = kind, key

    def _repository(self, data: bytes) -> None:
        self.repository = decode(DumpedRepository, data, "its repository")
        branch_id(self.repository.default_branch)
        if protection_rules(self.repository.protection) != self.repository.protection:
            raise CorruptData("its protection rules are out of order")
        if required_check_rules(self.repository.required_checks) != self.repository.required_checks:
            raise CorruptData("its rules of required checks are out of order")

    def _log(self, data: bytes) -> None:
        if len(data) != DIGEST_BYTES or self.last[0] is Rows.LOG:
            raise CorruptData("its log of references refers to no commit, or to several")
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
            raise CorruptData(f"an event of {event.name!r}: has no valid time or reference")
        self._follow(Rows.EVENT, event.id.encode())
        past.steps(event.past, f"event {event.id}")

    def _foreign(self, data: bytes) -> None:
        commit = decode(ForeignCommit, data, "a foreign commit")
        tree = binary_id(commit.metarange_id)
        if commit.id in self.foreign or tree is None or not self.foreign.issuperset(commit.parents):
            raise CorruptData(
                f"foreign commit {commit.id!r}: is duplicated, precedes one of its parents, or refers to no tree"
            )
        self.foreign.add(commit.id)
        self.files.add(tree)

    def _erasure(self, kind: Rows, data: bytes) -> None:
        if kind is Rows.ERASURE:
            erasure = checked_erasure(data)
            self._follow(kind, erasure.id.encode())
            self.erasures[erasure.id] = erasure
        else:
            self._follow(kind, checked_mark(data, self.erasures).encode())

    def _close_histories(self, kind: Rows) -> None:
        """Check that the commits of each completely read history agree with the references to them."""
        if kind > Rows.COMMIT and not self.users.closed:
            if not self.default_found:
                raise CorruptData(f"its default branch {self.repository.default_branch!r} is missing")
            self.users.close(self.foreign_heads, self.foreign)
        if kind > Rows.LOG_COMMIT and not self.log.closed:
            self.log.close(set(), set())
            if not self.log.reachable.all():
                raise CorruptData("its log of references does not reach all of its commits")

    def _layout(self, kind: Rows, id: bytes, data: bytes) -> None:
        self._follow(kind, id)
        index = (self.users if kind is Rows.LAYOUT else self.log).layout(id, data)
        if index is None:
            return
        self.files.add(bytes.fromhex(index.metarange_id))
        for run in index.runs:
            (self.needed if run.place is RunLocation.OBJECT else self.files).add(bytes.fromhex(run.id))

    def _close(self) -> None:
        self.users.require_layouts()
        self.log.require_layouts()
        lost = np.setdiff1d(self.needed.sorted(), self.objects.sorted(), assume_unique=True)
        if len(lost):
            raise CorruptData(f"run {lost[:1].tobytes().hex()} is missing")


@dataclass(slots=True)
class DumpedHistory:
    """State of the verification of a history. Call the methods in the order of their definition. They raise
    `CorruptData`.
    """

    named_by: str
    """Name for the source of the commits, for error messages."""
    heads: IdSet = field(default_factory=IdSet)
    """Commits to which references point."""
    graph: CommitGraph = field(default_factory=CommitGraph)
    closed: bool = False
    """True once all commits were read."""
    reachable: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Flags of the reachable commits."""
    without_layout: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def commit(self, data: bytes) -> None:
        """Add a header."""
        id = HASH(data).digest()
        self.graph.add(id, decode(Commit, data, f"commit {id.hex()}"))

    def close(self, others: set[str], known: set[str]) -> None:
        """Check that commits and references are consistent, after all of them were read.

        Args:
            others: Further targets of references, which must be in `known`.
            known: Ids of foreign commits.
        """
        self.closed = True
        self.graph.require_whole()
        heads = self.heads.sorted()
        places = self.graph.places(heads.tobytes())
        absent = {bytes(heads[at : at + 1].tobytes()).hex() for at in np.flatnonzero(places < 0)}
        unknown = (absent | others) - known
        if unknown:
            raise CorruptData(f"commit {min(unknown)} is missing, but {self.named_by} refers to it")
        self.without_layout = np.ones(len(self.graph), np.bool_)
        self.reachable = self.graph.reachable(places[places >= 0])

    def require(self, id: bytes) -> None:
        """Check that a commit exists, after all commits were read."""
        if self.graph.places(id)[0] < 0:
            raise CorruptData(f"commit {id.hex()} is missing, but a migrated commit refers to it")

    def layout(self, id: bytes, data: bytes) -> Index | None:
        """Add a layout. Return its index, or `None` if its commit is not reachable."""
        layout = decode(Layout, data, f"layout of commit {id.hex()}")
        place = int(self.graph.places(id)[0]) if len(id) == DIGEST_BYTES else -1
        if place < 0 or layout.superseded:
            raise CorruptData(f"layout of commit {id.hex()}: its commit is missing, or it refers to superseded indexes")
        self.without_layout[place] = False
        return layout.index if self.reachable[place] else None

    def require_layouts(self) -> None:
        """Check that every reachable commit has a layout, after all layouts were read."""
        bare = np.flatnonzero(self.without_layout & self.reachable)
        if len(bare):
            raise CorruptData(f"commit {self.graph.id(int(bare[0])).hex()}: its layout is missing")

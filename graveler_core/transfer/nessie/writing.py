"""Export of a repository in Nessie's format, version 2: an archive, or a directory.

1. Read branches and tags. 2. Find the commits that they reach. 3. Write the commits, parents before children, with the
changes against the first parent as operations. 4. Write heads, references and the description of the repository, and at
last the description of the export. Files without it are no export.

A commit that was imported has its id in Nessie, others have that of graveler. Staged changes are not exported. The
export is complete while others write, because commits that a branch or tag has reached are never changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from graveler_core.codec.entry import entry_from_row
from graveler_core.codec.varint import encode_varint
from graveler_core.committed.diff import STATES, Differences
from graveler_core.committed.index.diff import diff
from graveler_core.errors import Kind, NotUnique
from graveler_core.model.address import namespace
from graveler_core.model.entities import Commit, RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import read_commit, read_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.stores import Stores
from graveler_core.transfer.indexing import EMPTY_INDEX
from graveler_core.transfer.migrated import migrated_commits
from graveler_core.transfer.migration.report import Progress
from graveler_core.transfer.nessie.commits import MAX_ID_BYTES
from graveler_core.transfer.nessie.contents import delete_operation, is_moved, put_operation
from graveler_core.transfer.nessie.export import OWN
from graveler_core.transfer.nessie.files import NewDirectory, NewFiles, new_archive
from graveler_core.transfer.nessie.headers import MISSING, headers_of
from graveler_core.transfer.nessie.messages import (
    DESCRIPTION_FILE,
    EMPTY_ID,
    HEADS_FILE,
    HEADS_PREFIX,
    META_FILE,
    TAGS_PREFIX,
    DescriptionMessage,
    ExportedCommitMessage,
    HeadsMessage,
    MetaMessage,
    RefMessage,
)
from graveler_core.transfer.nessie.names import RENAMED, original_name
from graveler_core.transfer.nessie.report import NessieExported

VERSION = 2
FILE_BYTES = 4 << 20
"""Size of a file of commits or references at which the next file begins."""
COMMITS_AT_ONCE = 250
"""Number of commits that are read in one round trip."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export_nessie(
    stores: Stores, repo: RepositoryRecord, uri: str, *, directory: bool = False, progress: Progress = lambda more: None
) -> NessieExported:
    """Export a repository.

    Memory holds about 500 bytes for each commit, the operations of one commit, and one file.

    Args:
        stores: The stores.
        repo: The repository.
        uri: URI of the new archive, or of the directory.
        directory: Write the files into a directory, instead of an archive.
        progress: Called with the number of commits written since the last call.

    Raises:
        NotUnique: There is an export already (`BlobExists`).
        InvalidInput: The URI is invalid.
        CorruptData: A part of the repository is damaged.
        Unavailable: A store or the local disk cannot be used.
    """
    with _opened(stores, uri, directory=directory) as files:
        return _Writing(stores, repo, files, uri, progress).all()


def _opened(stores: Stores, uri: str, *, directory: bool) -> AbstractContextManager[NewFiles]:
    if not directory:
        return new_archive(stores.blobs, uri)
    blobs = stores.blobs.at(namespace(uri).uri)
    if blobs.head(META_FILE) is not None:
        raise NotUnique(f"directory {uri}: holds an export already", kind=Kind.BlobExists, uri=uri)
    return nullcontext(NewDirectory(blobs))


@dataclass(slots=True)
class _Sequence:
    """Messages in files of limited size."""

    files: NewFiles
    prefix: str
    names: list[str] = field(default_factory=list)
    count: int = 0
    _held: list[bytes] = field(default_factory=list)
    _size: int = 0

    def add(self, message: Any) -> None:
        """Add a message, preceded by its size."""
        data = message.SerializeToString(deterministic=True)
        self._held += (encode_varint(len(data)), data)
        self._size += len(data)
        self.count += 1
        if self._size >= FILE_BYTES:
            self.finish()

    def finish(self) -> None:
        """Write the messages that wait."""
        if self._held:
            self.names.append(f"{self.prefix}-{len(self.names) + 1:08d}")
            self.files.add(self.names[-1], b"".join(self._held))
        self._held, self._size = [], 0


@dataclass(frozen=True, slots=True)
class _Writing:
    stores: Stores
    repository: RepositoryRecord
    files: NewFiles
    uri: str
    progress: Progress

    def all(self) -> NessieExported:
        """Write everything."""
        kv, repo = self.stores.kv, self.repository
        held = access.read(kv, keys.repository_metadata(repo))
        metadata = {} if held is None else held.value.values
        heads: dict[tuple[str, str], CommitId] = {("branch", b.id): b.commit_id for b in list_branches(kv, repo)}
        heads |= {("tag", tag.id): tag.commit_id for tag in list_tags(kv, repo)}
        history = self._history(set(heads.values()))
        names = self._names(history)
        commits, references = _Sequence(self.files, "commits"), _Sequence(self.files, "named-references")
        operations = self._commits(history, names, commits)
        commits.finish()
        self._heads(history, names)
        for (what, name), id in sorted(heads.items()):
            prefix = HEADS_PREFIX if what == "branch" else TAGS_PREFIX
            full = prefix + original_name(what, name, metadata)
            references.add(RefMessage(name=full, pointer=bytes.fromhex(names[id])))
        references.finish()
        self._description(metadata)
        self._meta(commits, references)
        tags = sum(what == "tag" for what, _ in heads)
        return NessieExported(self.uri, len(heads) - tags, tags, commits.count, operations)

    def _history(self, heads: set[CommitId]) -> dict[CommitId, tuple[CommitId, ...]]:
        """Return the parents of all commits that these heads reach, parents before children."""
        found: dict[CommitId, tuple[int, tuple[CommitId, ...]]] = {}
        waiting = sorted(heads)
        while waiting:
            some, waiting = waiting[:COMMITS_AT_ONCE], waiting[COMMITS_AT_ONCE:]
            for commit in read_commits(self.stores.kv, self.stores.commits, self.repository, some):
                found[commit.id] = commit.header.generation, commit.header.parents
            more = {parent for id in some for parent in found[id][1]}
            waiting += sorted(more - found.keys() - {*waiting})
        return {id: found[id][1] for id in sorted(found, key=lambda id: (found[id][0], id))}

    def _names(self, history: Mapping[CommitId, tuple[CommitId, ...]]) -> dict[CommitId, str]:
        """Return the id of each commit in the export."""
        origins = {made: id for id, made in migrated_commits(self.stores, self.repository).items()}
        return {id: origins[id] if _is_id(origins.get(id, "")) else id for id in history}

    def _commits(
        self, history: Mapping[CommitId, tuple[CommitId, ...]], names: Mapping[CommitId, str], target: _Sequence
    ) -> int:
        sequence: dict[CommitId, int] = {}
        operations = 0
        for id, parents in history.items():
            first = parents[0] if parents else None
            if names[id] == EMPTY_ID:
                sequence[id] = 0
                continue
            sequence[id] = 1 + (sequence[first] if first is not None else 0)
            message = self._commit(id, first, names)
            message.sequence = sequence[id]
            operations += len(message.operations)
            target.add(message)
            self.progress(1)
        return operations

    def _commit(self, id: CommitId, first: CommitId | None, names: Mapping[CommitId, str]) -> Any:
        stores, repo = self.stores, self.repository
        stored = read_commit(stores.kv, stores.commits, repo, id)
        header = stored.header
        before = EMPTY_INDEX
        if first is not None:
            before = read_commit(stores.kv, stores.commits, repo, first).layout.index
        message = ExportedCommitMessage(
            id=bytes.fromhex(names[id]),
            parent=bytes.fromhex(EMPTY_ID if first is None else names[first]),
            more_parents=_merged(header, names),
            created_micros=(header.creation_date - _EPOCH) // timedelta(microseconds=1),
            message=header.message,
        )
        for name, values in headers_of(header.committer, header.metadata, header.creation_date).items():
            message.headers.add(name=name, values=values)
        for found in diff(stores.indexes(repo), before, stored.layout.index, wanted=STATES):
            message.operations.extend(self._operations(found))
        return message

    def _operations(self, found: Differences) -> Iterator[Any]:
        blobs = self.stores.blobs.at(self.repository.storage_namespace)
        sides = _entries(found.before), _entries(found.after)
        for row in range(len(found)):
            before, after = (side(row) for side in sides)
            if before is not None and (after is None or is_moved(before, after)):
                yield delete_operation(before)
            if after is not None:
                yield put_operation(after, blobs)

    def _heads(self, history: Mapping[CommitId, tuple[CommitId, ...]], names: Mapping[CommitId, str]) -> None:
        children = dict.fromkeys(history, 0)
        for parents in history.values():
            for parent in parents[:1]:
                children[parent] += 1
        kept = {id: count for id, count in children.items() if names[id] != EMPTY_ID}
        message = HeadsMessage(
            heads=[bytes.fromhex(names[id]) for id, count in kept.items() if not count],
            fork_points=[bytes.fromhex(names[id]) for id, count in kept.items() if count > 1],
            started_micros=self._now() // timedelta(microseconds=1),
        )
        self.files.add(HEADS_FILE, message.SerializeToString(deterministic=True))

    def _description(self, metadata: Mapping[str, str]) -> None:
        created = (self.repository.creation_date - _EPOCH) // timedelta(milliseconds=1)
        message = DescriptionMessage(
            properties={name: text for name, text in metadata.items() if not name.startswith(RENAMED)},
            repository=self.repository.id,
            oldest_millis=created,
            created_millis=created,
            default_branch=original_name("branch", self.repository.default_branch, metadata),
        )
        self.files.add(DESCRIPTION_FILE, message.SerializeToString(deterministic=True))

    def _meta(self, commits: _Sequence, references: _Sequence) -> None:
        message = MetaMessage(
            created_millis=self._now() // timedelta(milliseconds=1),
            version=VERSION,
            references=references.count,
            commits=commits.count,
            reference_files=references.names,
            commit_files=commits.names,
            nessie_version=OWN,
        )
        self.files.add(META_FILE, message.SerializeToString(deterministic=True))

    def _now(self) -> timedelta:
        return self.stores.clock.now() - _EPOCH


def _merged(header: Commit, names: Mapping[CommitId, str]) -> list[bytes]:
    """Return the ids of the further parents, including those that an import has not found.

    A commit whose only parent is the commit that stands for nothing names it here too. Without this, an import could
    not tell it from a commit without parents.
    """
    missing = header.metadata.get(MISSING, "").split()
    found = [*(names[parent] for parent in header.parents[1:]), *filter(_is_id, missing)]
    stands_for_nothing = not found and [names[parent] for parent in header.parents] == [EMPTY_ID]
    return [bytes.fromhex(id) for id in ([EMPTY_ID] if stands_for_nothing else found)]


def _is_id(text: str) -> bool:
    try:
        return 0 < len(bytes.fromhex(text)) <= MAX_ID_BYTES and text == text.lower()
    except ValueError:
        return False


def _entries(side: Any) -> Callable[[int], Entry | None]:
    """Return a function of a row of one side of a difference."""
    columns, present = side.columns, side.column("key").is_valid().to_pylist()
    return lambda row: entry_from_row(columns, row) if present[row] else None

"""Storage of the log of references: an index like that of a commit, under an internal reference.

An event is stored under its id, newest first, and under the name of its reference, with the commit to which the name
pointed then. A deletion is also stored under the uid of the deleted reference (of a tag, with its name), so that it is
logged once. Ids identify events, so an event that is added twice or late changes nothing. `engine.references.events`
explains which events are added and when.

✓ One swap of `refs/int/refs` makes a commit of the log visible. Its commits are stored separately from those of
users, so that no id, no prefix of an id and no listing finds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graveler_core.codec.entry import normalise_record
from graveler_core.codec.records import encode
from graveler_core.committed.apply import apply
from graveler_core.committed.index.lookup import lookup_few
from graveler_core.committed.index.successor import small_successor
from graveler_core.engine.protocol.swap import Write
from graveler_core.errors import CorruptData, Kind, NotFound, PredicateFailed
from graveler_core.model.clock import Instant
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.model.index import Index
from graveler_core.model.references import EventKind, InternalReference, ReferenceEvent, ReferenceType
from graveler_core.objects.build_time import require_in_time
from graveler_core.objects.commits import StoredCommit, prepare, stored_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores

EVENTS = "events/"


@dataclass(frozen=True, slots=True)
class ReferenceLog:
    """Current log, or the empty log before the first event."""

    stores: Stores
    repository: RepositoryRecord
    held: Held[InternalReference] | None
    head: StoredCommit | None
    begun: Instant
    """Moment before the log was read."""

    def require_in_time(self) -> None:
        """Refuse to refer to files that were written since the log was read, if that took too long (`SlowDown`)."""
        require_in_time(self.stores.clock, self.begun, "log of references")

    def entries(self, wanted: Sequence[str]) -> dict[str, Entry]:
        """Return the logged entries of some keys."""
        if self.head is None or not wanted:
            return {}
        sought = sorted({key.encode() for key in wanted})
        found = lookup_few(self.stores.indexes(self.repository), self.head.layout.index, sought)
        return {entry.path: entry for entry in found if entry is not None}


def read_log(stores: Stores, repo: RepositoryRecord) -> ReferenceLog:
    """Read the current log.

    Raises:
        CorruptData: Its commit is missing or damaged. `details["commit"]` names the commit.
    """
    begun = Instant.of(stores.clock)
    held = access.read(stores.kv, keys.reference_log(repo))
    head = None if held is None else read_internal(stores, repo, held.value.commit_id)
    return ReferenceLog(stores, repo, held, head, begun)


def read_internal(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> StoredCommit:
    """Return a commit of the log. Raises `CorruptData`."""
    try:
        return stored_commits(stores.kv, keys.internal_history(repo), [commit], "the log of references")[0]
    except NotFound as e:
        raise CorruptData(
            f"repository {repo.id!r}: commit {commit} of the log of references is missing; `graveler reflog --mend` "
            "(mend_reflog) goes back to one that is whole",
            kind=Kind.CorruptCommit,
            commit=commit,
        ) from e


def name_key(type: ReferenceType, name: str, id: str = "") -> str:
    """Return the key of an event under the name of its reference."""
    return f"names/{type}/{name}/{id}"


def deletion_key(event: ReferenceEvent) -> str:
    """Return the key of the deletion of a reference; "" for other events. The key of a tag contains its name, because
    the uids of tags are not unique.
    """
    if event.kind is not EventKind.DELETED:
        return ""
    return f"deleted/{event.uid}/{event.name}" if event.type is ReferenceType.TAG else f"deleted/{event.uid}"


def put(log: ReferenceLog, events: Sequence[ReferenceEvent]) -> bool:
    """Add events to the log ✓. Return `False` if another swap came first."""
    stores, repo = log.stores, log.repository
    indexes = stores.indexes(repo)
    if log.head is None:
        base = Index(metarange_id=apply(indexes.trees, None, RECORD_SCHEMA.empty_table()).metarange_id)
    else:
        base = log.head.layout.index
    changes = sorted((path.encode(), normalise_record(path, entry)[1]) for e in events for path, entry in _entries(e))
    made = small_successor(indexes, base, changes, mapper=stores.executor.map)
    now = stores.clock.now()
    header = Commit(
        committer="",
        message=f"{len(events)} events of references",
        # Dates ascend along the log regardless of the clocks, because `mending` uses them as order.
        creation_date=now if log.head is None else max(now, log.head.header.creation_date),
        parents=() if log.head is None else (log.head.id,),
        generation=1 if log.head is None else log.head.header.generation + 1,
        nonce=Nonce(stores.ids.fresh()),
        operations=made.operations,
    )
    commit, writes = prepare(repo, header, Layout(index=made.index), keys.internal_history(repo))
    return point(log, commit.id, [*made.writes, *writes])


def point(log: ReferenceLog, commit: CommitId, writes: Sequence[Write] = ()) -> bool:
    """Swap the log's reference to another commit ✓. Return `False` if another swap came first.

    Args:
        log: The log as it was read.
        commit: The commit.
        writes: Records of the commit that are not stored yet.
    """
    log.require_in_time()
    stores, where = log.stores, keys.reference_log(log.repository)
    record = InternalReference(commit_id=commit, nonce=Nonce(stores.ids.fresh()))
    try:
        access.replace(stores.kv, where, log.held, record, before=writes)
    except PredicateFailed:
        return False
    return True


def _entries(event: ReferenceEvent) -> Iterator[tuple[str, Entry]]:
    yield EVENTS + event.id, Entry(data=encode(event))
    yield name_key(event.type, event.name, event.id), Entry(data=(event.after or "").encode())
    if event.kind is EventKind.DELETED:
        yield deletion_key(event), Entry(data=event.id.encode())

"""Writes of single entries. Source: seed 003, writer flow.

1. Read the repository record and the branch record, from the cache if they are cached. If content is uploaded, read
   them again after the upload, unless they are still cached.
2. Set the record in the staging token. A crash after this step leaves a write that was not acknowledged and may be
   visible.
3. Run the closing re-read of both records, bypassing the cache. If repository, branch and staging token are the same,
   no commit began in between, so the write is in a token that every later commit includes. Otherwise, write the record
   again, into the new token. Writing the same entry twice changes nothing.

Each attempt first checks whether the repository permits writes to the branch. The first attempt may check an outdated
copy. If the re-read finds a rule that forbids the write, the next attempt refuses it. A record that an earlier
attempt has set stays, and may be visible. Therefore every failure after a set is an unknown outcome. If nothing was
set, the error is raised as it is.

This includes a repository or branch that turns out to be deleted. A repository that is undeleted has its old staging
tokens again, with the record. A commit may have included the record before the branch was deleted.

A store without atomic bulk writes sets many records in portions. The registers are compared again between them, because
a row that is set long after its token was sealed may come when the token is emptied and forgotten, and would stay for
ever.

There is no swap: the staged area is not linearizable (seed 003, non-guarantees), but the branch head is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graveler_core.codec.entry import normalise_record
from graveler_core.codec.staged_record import encode_tombstone
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh, require_uid, same_token, settled
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.staging.content import Content, upload
from graveler_core.engine.staging.kept_content import require_kept
from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    Kind,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)
from graveler_core.kv.bulk import set_many
from graveler_core.kv.store import Item, Store
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import AddressType, Entry
from graveler_core.model.ids import BranchId, RepositoryId, RepositoryUid, StagingToken
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores

MOST_ROWS = 1_000
"""Maximum number of records that are set between two comparisons of the registers. Slow stores do this in minutes."""


def stage(  # noqa: PLR0913 - the branch, the entry, and the repository of its content
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, entry: Entry, *, uid: RepositoryUid | None = None
) -> Entry:
    """Stage an entry whose content is stored already. Return the entry as it was staged, with path and identity.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the entry.
        entry: The entry.
        uid: Unique id of the repository in which the caller has found the content. `None` if it has not looked.

    Raises:
        NotFound: The repository is another one (`RepositoryNotFound`). Nothing was set.
    """
    staged, record = normalise_record(path, entry)

    def records(registers: Registers) -> list[tuple[bytes, bytes]]:
        if uid is not None:
            require_uid(registers, uid)
        require_kept(stores, registers.repository, [staged], swaps=False)
        return [(path_key(path), record)]

    set_records(stores, repo, branch, records)
    return staged


def put(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, content: Content) -> Entry:
    """Upload content below the repository's storage namespace, then stage its entry."""
    (entry,) = put_many(stores, repo, branch, {path: content})
    return entry


def put_many(
    stores: Stores, repo: RepositoryId, branch: BranchId, contents: Mapping[str, Content], removed: Sequence[str] = ()
) -> list[Entry]:
    """Upload contents, then stage their entries and tombstones of the removed paths together.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        contents: Contents by path.
        removed: Paths to remove, none of which is also a path of a content.

    Returns:
        The staged entries, in the order of the contents.
    """
    tombstones = [(path_key(path), encode_tombstone()) for path in removed]
    for path in contents:
        path_key(path)
    stored: dict[str, list[tuple[Entry, bytes]]] = {}

    def records(registers: Registers) -> list[tuple[bytes, bytes]]:
        uid = registers.repository.uid
        if uid not in stored:
            try:
                made = [
                    normalise_record(path, uploaded(stores, registers.repository, content))
                    for path, content in contents.items()
                ]
            except GravelerError as error:
                for content in contents.values():  # a later attempt cannot read all of them a second time
                    content.failure = error
                raise
            stored.clear()
            stored[uid] = made
        else:  # an erasure may have found the record of an earlier attempt
            require_kept(stores, registers.repository, (entry for entry, _ in stored[uid]), swaps=False)
        staged = zip(map(path_key, contents), (record for _, record in stored[uid]), strict=True)
        return [*staged, *tombstones]

    set_records(stores, repo, branch, records, tombstones=len(tombstones))
    return [entry for entry, _ in next(iter(stored.values()))]


def upload_entry(  # noqa: PLR0913 - the branch, and the entry
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, content: Content, *, to_stage: bool
) -> Entry:
    """Upload content below the repository's storage namespace. Return its entry, which is not staged.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the entry.
        content: The content.
        to_stage: Read no content if the entry could not be staged on the branch now.

    Raises:
        PermissionDenied: With `to_stage`, the branch is protected from writes, or the repository is read-only.
    """
    path_key(path)
    registers = fresh(stores, repo, branch)
    if to_stage:
        require_permitted(registers, BranchAction.WRITE)
    return normalise_record(path, uploaded(stores, registers.repository, content))[0]


def uploaded(stores: Stores, repository: RepositoryRecord, content: Content) -> Entry:
    """Upload content below the storage namespace of a repository. Return its entry."""
    if not content.repeatable():
        if content.failure is not None:
            raise content.failure
        raise NotFound(
            f"repository {repository.id!r} was deleted and created again, and the content cannot be read a second "
            "time; try again",
            kind=Kind.RepositoryNotFound,
        )
    try:
        stored = upload(stores.blobs.at(repository.storage_namespace), f"data/{stores.ids.fresh()}", content)
    except GravelerError as error:
        content.failure = error
        raise
    metadata = content.metadata(stored.checksum) if callable(content.metadata) else content.metadata
    return Entry(
        address=stored.address,
        address_type=AddressType.RELATIVE,
        size=stored.size,
        checksum=stored.checksum,
        content_type=content.content_type,
        metadata=metadata or {},
        mtime=stores.clock.now(),
    )


def set_records(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    records: Callable[[Registers], Sequence[tuple[bytes, bytes]]],
    *,
    tombstones: int = 0,
) -> None:
    """Set records by path in the current staging token, until a closing re-read finds the token still current.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        records: Returns the records to set for the registers of an attempt.
        tombstones: Number of tombstones among the records.

    Raises:
        PermissionDenied: The branch is protected from writes, or the repository is read-only. Nothing was set.
        NotFound: The repository or the branch does not exist. Nothing was set.
        OutcomeUnknown: Some records may have been set, and it is unknown whether they take effect. The cause is the
            error that ended the call, for example `NotFound` if the repository was deleted in the meantime.
    """
    maybe_written = False
    unanswered = set[StagingToken]()

    def attempt(registers: Registers) -> tuple[Registers, int]:
        nonlocal maybe_written
        registers, made = _in_time(stores, registers, records)
        token = registers.branch.staging_token
        if token in unanswered:
            raise may_come_late(repo, branch)
        partition = keys.staging(token)
        rows = [(partition, keys.staged(path), record) for path, record in made]
        for number, portion in enumerate(_portions(stores.kv, rows)):
            if number:
                _require_current(stores, registers)
            try:
                set_many(stores.kv, portion)
            except (SlowDown, Unavailable, PermissionDenied, CorruptData):
                maybe_written |= len(portion) > 1 and not stores.kv.sets_atomically()
                raise
            except OutcomeUnknown:
                maybe_written = True
                unanswered.add(token)
                raise
            maybe_written = True
        return registers, len(rows)

    try:
        used, written = settled(stores, repo, branch, attempt, same=same_token)
    except OutcomeUnknown:
        raise
    except GravelerError as e:
        if not maybe_written:
            raise
        raise OutcomeUnknown(possible_outcome(repo, branch, e), repository=repo, branch=branch) from e
    counting.count(stores, used, written, tombstones)


def _in_time(
    stores: Stores, registers: Registers, records: Callable[[Registers], Sequence[tuple[bytes, bytes]]]
) -> tuple[Registers, Sequence[tuple[bytes, bytes]]]:
    """Return the records to set, and registers that are not too old to set them.

    The records may take hours, if they upload content. Then the staging token of the given registers may be emptied and
    forgotten, and nothing would ever remove a row from it. A collection may have deleted content that was uploaded
    first. The records are therefore made again, which uploads nothing again but checks the content.

    Other registers than the given ones are read from the store. The cache may have older ones, with a token that a
    commit has read already. The closing re-read compares the given registers, so it would not find this.
    """
    require_permitted(registers, BranchAction.WRITE)
    made = records(registers)
    known = stores.registers.get(registers.repository.id, registers.branch.id)
    if known is not None and same_token(registers, known):
        return registers, made
    current = _current(stores, registers)
    require_permitted(current, BranchAction.WRITE)
    return current, records(current)


def _portions(kv: Store, rows: Sequence[Item]) -> list[Sequence[Item]]:
    """Return the rows in portions that are set by one call each. An atomic write is one portion."""
    if kv.sets_atomically():
        return [rows]
    return [rows[offset : offset + MOST_ROWS] for offset in range(0, len(rows), MOST_ROWS)]


def _require_current(stores: Stores, registers: Registers) -> None:
    """Check that the staging token may still be written.

    Raises:
        Conflict: The token or the rules have changed (`LostRace`). The closing re-read finds the same, so the write is
            made again.
    """
    if _current(stores, registers) is not registers:
        name = f"{registers.repository.id}/{registers.branch.id}"
        raise Conflict(f"branch {name} has changed while records were written to it")


def _current(stores: Stores, registers: Registers) -> Registers:
    """Return the given registers if they are as good as others that are not too old, or else registers that are read
    from the store now.
    """
    repo, branch = registers.repository.id, registers.branch.id
    current = stores.registers.get(repo, branch)
    if current is None or not same_token(registers, current):
        current = fresh(stores, repo, branch)
    return registers if same_token(registers, current) else current


def may_come_late(repo: RepositoryId, branch: BranchId) -> OutcomeUnknown:
    """Return the error for records that may be set after the call, and replace what others have written by then."""
    return OutcomeUnknown(
        f"branch {branch!r}: the write was sent, but not confirmed, and may take effect later; read the paths before "
        "you repeat the write",
        repository=repo,
        branch=branch,
    )


def possible_outcome(repo: RepositoryId, branch: BranchId, failure: GravelerError) -> str:
    """Describe the possible state of records that were sent before a write failed."""
    match failure.kind:
        case Kind.RepositoryNotFound | Kind.RepositoryDeleting:
            return (
                f"repository {repo!r} was deleted while a write to its branch {branch!r} was under way "
                f"({failure.message}); the write may be visible if the repository is restored; "
                "read the paths before you repeat the write"
            )
        case Kind.BranchNotFound:
            return (
                f"branch {branch!r} was deleted while a write to it was under way; "
                "a commit may contain the write; read the paths at the last head before you repeat the write"
            )
        case _:
            return (
                f"branch {branch!r}: the write was sent, but not confirmed ({failure.message}); "
                "read the paths before you repeat the write"
            )

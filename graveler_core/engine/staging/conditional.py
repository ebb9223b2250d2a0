"""Conditional write of a single entry: stage it only if the path has a certain entry now, or none. A conditional
removal sets a tombstone in the same way.

1. Read the repository record and the branch record.
2. Read the row of the path in the staging token. If there is none, look the path up in the older layers and the head.
   If the entry that is found is not the expected one, refuse the write.
3. Set the row by compare-and-swap against the row of step 2. ✓ If the swap fails because another write has changed the
   row, begin again. The path may still have the expected entry: the removal of a path that does not exist sets a row,
   too.
4. Run the closing re-read: if any layer, the head, the token or a rule of the repository has changed, begin again.

A removal sets its tombstone also if the branch shows no entry at the path. The entry may be hidden by a tombstone that
another removal has set late in a sealed token. A commit or compaction may leave that tombstone out, and then the branch
would show the entry again.

An attempt that begins again may find the entry of an earlier attempt, in the staging token or below it. Then it asks
whether the condition held when each row was set (`engine.staging.condition`). If it did, the attempt goes on. If that
is unknown, the call ends with an unknown outcome. It also ends so before it sets a row in a token to which an earlier
attempt has sent a request without a response: that request may arrive after the call, and replace what others have
written by then. A row that an earlier attempt has set may be visible, or part of a commit. Therefore each failure after
a set is an unknown outcome, as for unconditional writes (`engine.staging.write`).

`put_if_absent` also looks at the path before it uploads content, so it refuses an existing path without an upload. Two
reads of the branch record, before and after that look, agree.

Of several conditional writes of one path that expect the same entry, only one is acknowledged. Suppose that two were
acknowledged: A set its row in the staging token S, and B in T. If S and T are the same, the swap of the later one fails
unless its step 2 found the row of the earlier one. Otherwise let S be the older token. The re-read of A found S
current, so A had set its row before T existed. B began its last attempt with T, so its step 2 found the row of A, which
was in a sealed token or in a commit by then. A removal, a reset, or an unconditional write in between may restore the
expected entry. Unconditional writes compare nothing, so they may replace the entry of a conditional write at any time.

Other flows do not look for conditional writes. A transaction, merge, import or bulk write that looked at the path
before the row was set, and swaps the branch record after the closing re-read, puts its entry below the row. Both are
acknowledged, and the row hides that entry: see `docs/guarantees.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from graveler_core.codec.entry import normalise_record
from graveler_core.codec.staged_record import decode_record, encode_tombstone
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh, require_uid, same_content, same_token, settled
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.reading.view import lookup, view_of
from graveler_core.engine.staging.condition import SetRow, held
from graveler_core.engine.staging.content import Content
from graveler_core.engine.staging.kept_content import require_kept
from graveler_core.engine.staging.write import may_come_late, possible_outcome, uploaded
from graveler_core.errors import GravelerError, Kind, NotUnique, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Stored
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, RepositoryId, RepositoryUid, StagingToken
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores

Staged = TypeVar("Staged", Entry, None)


def stage_if(  # noqa: PLR0913, PLR0917 - the branch, the entry, and the condition
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, entry: Entry, expected: Entry | None
) -> Entry:
    """Stage an entry if the path has the expected entry.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the entry.
        entry: The entry.
        expected: Entry that the path must have, or `None` if it must have none.

    Returns:
        The staged entry.

    Raises:
        PredicateFailed: The path has another entry, or none. Nothing was set.
        SlowDown: Other writes of the path have changed its row in every attempt (`RetriesExhausted`). Nothing was set.
        OutcomeUnknown: The row may have been set, and it is unknown whether it takes effect.
    """
    made = normalise_record(path, entry)
    return _set(stores, repo, branch, path, expected, lambda registers: made)


def remove_if(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, expected: Entry) -> None:
    """Remove a path if it has the expected entry, or none.

    Raises:
        PredicateFailed: The path has another entry. Nothing was set.
        SlowDown: As for `stage_if`.
        OutcomeUnknown: As for `stage_if`.
    """
    path_key(path)
    _set(stores, repo, branch, path, expected, lambda registers: (None, encode_tombstone()))


def stage_if_absent(  # noqa: PLR0913, PLR0917 - the branch, the entry, and the repository of its content
    stores: Stores, repo: RepositoryId, branch: BranchId, path: str, entry: Entry, uid: RepositoryUid
) -> Entry:
    """Stage an entry as `stage_if` does, unless the path has an entry.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        path: Path of the entry.
        entry: The entry.
        uid: Unique id of the repository in which the caller has found the content.

    Raises:
        NotUnique: The path has an entry (`PathExists`). Nothing was set.
        NotFound: The repository is another one (`RepositoryNotFound`). Nothing was set.
        OutcomeUnknown: As for `stage_if`.
    """
    made = normalise_record(path, entry)

    def prepared(registers: Registers) -> tuple[Entry, bytes]:
        require_uid(registers, uid)
        return made

    try:
        return _set(stores, repo, branch, path, None, prepared)
    except PredicateFailed:
        raise _exists(branch, path) from None


def put_if_absent(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, content: Content) -> Entry:
    """Upload content and stage its entry, unless the path has an entry.

    Raises:
        NotUnique: The path has an entry (`PathExists`). Nothing was set.
        OutcomeUnknown: As for `stage_if`.
    """
    made: dict[RepositoryUid, tuple[Entry, bytes]] = {}

    def prepared(registers: Registers) -> tuple[Entry, bytes]:
        uid = registers.repository.uid
        if uid not in made:  # the first time, or the repository was deleted and created again
            made[uid] = normalise_record(path, uploaded(stores, registers.repository, content))
        return made[uid]

    def look(registers: Registers) -> Registers:
        require_permitted(registers, BranchAction.WRITE)
        _, found = _find(stores, registers, path)
        if found is not None:
            raise _exists(branch, path)
        return registers

    prepared(settled(stores, repo, branch, look, same=_same))
    try:
        return _set(stores, repo, branch, path, None, prepared)
    except PredicateFailed:
        raise _exists(branch, path) from None


def _set(  # noqa: PLR0913, PLR0917 - the branch, the entry, and the condition
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    path: str,
    expected: Entry | None,
    prepared: Callable[[Registers], tuple[Staged, bytes]],
) -> Staged:
    """Set the row of a path if it has the expected entry. `prepared` returns the entry, or `None` for a tombstone, and
    its record.
    """
    wanted = None if expected is None else expected.identity
    earlier = list[SetRow]()
    unanswered = set[StagingToken]()

    def attempt(registers: Registers) -> tuple[Registers, Staged] | None:
        require_permitted(registers, BranchAction.WRITE)
        staged, record = prepared(registers)
        require_kept(stores, registers.repository, [] if staged is None else [staged], swaps=False)
        row, found = _find(stores, registers, path)
        if found == staged and not held(stores, earlier, registers, staged, wanted):
            raise PredicateFailed(f"path {path!r}: it has been changed, too, while its row was set", path=path)
        if row is not None and row.value == record:
            return registers, staged
        if found != staged and (None if found is None else found.identity) != wanted:
            raise PredicateFailed(f"path {path!r}: {_difference(expected, found)}; nothing is staged", path=path)
        token = registers.branch.staging_token
        if token in unanswered:
            raise may_come_late(repo, branch)
        partition, key = keys.staging(token), keys.staged(path_key(path))
        try:
            stores.kv.set_if(partition, key, record, None if row is None else row.predicate)
        except PredicateFailed:
            return None  # another write has changed the row
        except OutcomeUnknown:
            earlier.append(SetRow(registers, path, row is not None))
            unanswered.add(token)
            current = stores.kv.get(partition, key)
            if current is None or current.value != record:
                raise
            unanswered.remove(token)
        else:
            earlier.append(SetRow(registers, path, row is not None))
        return registers, staged

    fresh(stores, repo, branch)  # an old copy would let an attempt set a row that cannot take effect
    try:
        proved = partial(settled, stores, repo, branch, attempt, same=_same)
        used, staged = retry(stores, f"branch {repo}/{branch}", proved)
    except OutcomeUnknown:
        raise
    except GravelerError as e:
        if not earlier:
            raise
        raise OutcomeUnknown(possible_outcome(repo, branch, e), repository=repo, branch=branch) from e
    counting.count(stores, used, 1, int(staged is None))
    return staged


def _find(stores: Stores, registers: Registers, path: str) -> tuple[Stored | None, Entry | None]:
    """Return the row of a path in the staging token, and the entry that the branch shows at the path."""
    row = stores.kv.get(keys.staging(registers.branch.staging_token), keys.staged(path_key(path)))
    if row is not None:
        return row, decode_record(path, row.value)
    return None, lookup(view_of(stores, registers), path)


def _same(used: Registers, now: Registers) -> bool:
    """Compare the fields that a conditional write uses: those of a read, and those of a write."""
    return same_content(used, now) and same_token(used, now)


def _exists(branch: BranchId, path: str) -> NotUnique:
    return NotUnique(f"path {path!r}: exists on branch {branch!r}", kind=Kind.PathExists, path=path)


def _difference(expected: Entry | None, found: Entry | None) -> str:
    if expected is None:
        return "it exists already"
    return "it does not exist any more" if found is None else "it has another entry than the expected one"

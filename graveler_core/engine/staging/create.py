"""Upload content to a path that has no entry: of several concurrent calls, one succeeds.

1. Look at the path: the record in the staging token, and below it the sealed layers and the head. Two reads of the
   branch record, before and after, agree, so what was found was true while the token was current. Refuse a path that
   has an entry.
2. Upload the content, to an address that no other call uses, and look again.
3. Set the record by compare-and-swap in the staging token: the record there must be as step 1 found it, absent or a
   tombstone.
4. Run the closing re-read. If the token is still current, the call has succeeded. Otherwise begin again with the new
   token. An entry with the address of this call counts as absent.

Two calls cannot both succeed, unless the path is removed in between:

* With the same token: the swap of the second one finds the record of the first one.
* With different tokens: the first one's re-read found its token current, so its record was set before the token was
  sealed. The second one looks in step 1 while a later token is current, so it finds the record in a sealed layer, or in
  the commit that includes it.

Writes without a condition, merges and imports do not look at records of this flow. Those that come later replace the
entry, or change the head below it.

Once the record was sent, each failure is an unknown outcome: a commit may have included the record.
"""

from __future__ import annotations

from dataclasses import dataclass

from graveler_core.codec.entry import normalise_record
from graveler_core.codec.staged_record import decode_record
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh, same_content, same_token, settled
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.reading.view import lookup, view_under
from graveler_core.engine.staging.content import Content
from graveler_core.engine.staging.kept_content import require_kept
from graveler_core.engine.staging.write import possible_outcome, uploaded
from graveler_core.errors import GravelerError, Kind, NotUnique, OutcomeUnknown, PredicateFailed
from graveler_core.kv.store import Stored
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, RepositoryId, RepositoryUid
from graveler_core.model.names import path_key
from graveler_core.model.protection import BranchAction
from graveler_core.records import layout as keys
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class _Found:
    """Content of a path on a branch, while its record listed these layers."""

    registers: Registers
    row: Stored | None
    """Record in the staging token."""
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class _Made:
    """Uploaded content."""

    uid: RepositoryUid
    entry: Entry
    record: bytes


def create(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, content: Content) -> Entry:
    """Upload content and stage its entry, unless the path has an entry.

    Raises:
        NotUnique: The path has an entry (`PathExists`).
        OutcomeUnknown: The record was sent, and it is unknown if it takes effect.
    """
    made: _Made | None = None
    sent = False

    def attempt() -> _Made | None:
        nonlocal made, sent
        found = _look(stores, repo, branch, path, made)
        if made is None or made.uid != found.registers.repository.uid:
            made = _upload(stores, found.registers, path, content)
            found = _look(stores, repo, branch, path, made)
            if made.uid != found.registers.repository.uid:
                return None
        if sent:  # an erasure may have found the record of an earlier attempt
            require_kept(stores, found.registers.repository, [made.entry], swaps=False)
        if not _set(stores, found, path, made.record):
            return None
        sent = True
        if not same_token(found.registers, fresh(stores, repo, branch)):
            return None
        counting.count(stores, found.registers, 1, 0)
        return made

    try:
        return retry(stores, f"branch {repo}/{branch}", attempt).entry
    except OutcomeUnknown:
        raise
    except GravelerError as e:
        if not sent:
            raise
        raise OutcomeUnknown(possible_outcome(repo, branch, e), repository=repo, branch=branch) from e


def _look(stores: Stores, repo: RepositoryId, branch: BranchId, path: str, made: _Made | None) -> _Found:
    """Return the content of a path. Refuse an entry that is not this call's."""

    def look(registers: Registers) -> _Found:
        require_permitted(registers, BranchAction.WRITE)
        row = stores.kv.get(keys.staging(registers.branch.staging_token), keys.staged(path_key(path)))
        if row is not None:
            return _Found(registers, row, decode_record(path, row.value))
        return _Found(registers, row, lookup(view_under(stores, registers, registers.branch.sealed_tokens), path))

    found = settled(stores, repo, branch, look, same=_same)
    if found.entry is not None and (made is None or found.entry.address != made.entry.address):
        raise NotUnique(f"path {path!r}: exists on branch {branch!r}", kind=Kind.PathExists, path=path)
    return found


def _same(used: Registers, now: Registers) -> bool:
    return same_content(used, now) and same_token(used, now)


def _upload(stores: Stores, registers: Registers, path: str, content: Content) -> _Made:
    entry, record = normalise_record(path, uploaded(stores, registers.repository, content))
    return _Made(registers.repository.uid, entry, record)


def _set(stores: Stores, found: _Found, path: str, record: bytes) -> bool:
    """Set the record if the row is as it was found. Return false if another call has changed the row.

    If the response is lost, look for the record.
    """
    if found.row is not None and found.row.value == record:
        return True
    partition, key = keys.staging(found.registers.branch.staging_token), keys.staged(path_key(path))
    try:
        stores.kv.set_if(partition, key, record, None if found.row is None else found.row.predicate)
    except PredicateFailed:
        return False
    except OutcomeUnknown:
        now = stores.kv.get(partition, key)
        if now is None or now.value != record:
            raise
    return True

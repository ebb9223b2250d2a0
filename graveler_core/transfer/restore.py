"""Restore a dump into a bare repository, with the storage namespace of the dumped repository or a copy of it.

1. Read and check the whole dump (`verify`). Nothing is written before this check succeeds.
2. Create the record `restored` with the digest of the dump ✓. It is created once, so no other dump can be restored into
this repository.
3. Set boundary_seed, format_version and default branch in the repository record ✓, while the repository has no commit.
4. Write settings, commits, layouts, small runs and the ids of migrated commits, in batches. Set the log of references
to its commit. Create the branches and tags that do not exist. Write the pending events last, because an event for a
branch that does not exist yet means that the branch was deleted. Enter the erasures, and delete the content that they
have erased (`transfer.erasures`).
5. Take over the expired commits and the deleted objects that files of the namespace name (`transfer.collections`). Swap
the repository record ✓: it is no longer bare, and has the read-only flag and the protection of the dump.

A crash leaves a bare repository. It shows nothing until step 4 creates tags and branches, and a sweep refuses it before
step 5. Restoring the same dump again writes the same records and completes it; after step 5 it changes nothing. The
records of step 4 do not depend on the run that writes them, except for branches, whose records are new: the first one
stays. Concurrent restorations of one dump are therefore harmless. If two dumps are restored concurrently, the second
one is refused in step 2.

Each batch begins by reading the repository record. If it is no longer bare, another restoration of the same dump has
ended, and this one stops. A layout that was replaced since is therefore not overwritten, except by a batch that was
already running. This is harmless too: both layouts have equal content, and the files and runs to which the older one
refers stay for the grace period of a sweep. A branch or tag that is deleted before step 5 may reappear. An event that
is written again after it was logged has no effect.

A branch keeps its uid and its past, by which the log identifies it. Its staging token is new, so its record differs
from every earlier record of a branch.

Migrations refuse a bare repository (`transfer.migrated`), although it may have got the records of a migration.

Nothing is restored into a read-only repository. If the repository is made read-only during a restoration, it stays bare
until it is writable again. Protection rules that it got while it was bare are replaced by those of the dump.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from graveler_core.codec.content_hash import DIGEST_BYTES, hex_id
from graveler_core.codec.records import commit_id, decode
from graveler_core.errors import Conflict, InvalidInput, PredicateFailed, SlowDown
from graveler_core.kv.bulk import set_many
from graveler_core.model.dump import DumpedBranch, DumpEnd, Restoration
from graveler_core.model.entities import BranchRecord, RepositoryRecord, Tag
from graveler_core.model.erasure import ErasedContent
from graveler_core.model.ids import CommitId, Nonce, ObjectId, RepositoryId
from graveler_core.model.references import InternalReference, ReferenceEvent
from graveler_core.objects.erased import name_of
from graveler_core.objects.objects import Write, encode_object
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.refs.branches import new_branch
from graveler_core.stores import Stores
from graveler_core.transfer.collections import adopt_collections
from graveler_core.transfer.erasures import obey_erasures
from graveler_core.transfer.files import DumpFile, dump_file
from graveler_core.transfer.foreign import ForeignCommits
from graveler_core.transfer.format import RowKind as Rows
from graveler_core.transfer.migrated_rows import migrated_write
from graveler_core.transfer.reading import DumpRow, Progress, rows
from graveler_core.transfer.settings import SETTINGS
from graveler_core.transfer.verify import verify

BATCH_ROWS = 500
BATCH_BYTES = 1 << 20
"""Limits of a batch. It ends with the row that reaches one of them."""
_SWAPS = 10


@dataclass(frozen=True, slots=True)
class Restored:
    """Result of a restoration."""

    repository: RepositoryRecord
    """Current record of the repository."""
    digest: str
    """Digest of the dump."""
    branches: int
    tags: int
    commits: int
    """Number of commits, including foreign ones."""
    objects: int
    renamed: dict[str, CommitId] = field(default_factory=dict)
    """New ids of foreign commits, by their foreign ids. Empty if the dump was restored before."""


_SETTINGS = ("read_only", "protection", "required_checks", "description", "index_sizes")


def restore(stores: Stores, repo: RepositoryId, uri: str, *, progress: Progress = lambda done, total: None) -> Restored:
    """Restore a dump into a bare repository. Afterwards it is no longer bare. A repetition completes an interrupted
    run.

    Memory use is that of `verify`, one batch, and the rows of branches, tags and pending events.

    Args:
        stores: The stores.
        repo: Name of the repository.
        uri: URI of the dump.
        progress: Called with the number of bytes that were processed, and the total number. The dump is read twice.

    Returns:
        A description of the restored repository.

    Raises:
        CorruptData: (`CorruptDump`) The dump is truncated, damaged or altered; nothing was written. Or (`CorruptRange`,
            `CorruptMetarange`) the content of a foreign commit is damaged; the repository stays bare.
        InvalidInput: The repository is not bare or has commits, or its namespace lacks a file that the dump needs.
            Nothing was written.
        Conflict: Another dump is being restored, or was restored.
        PermissionDenied: The repository is bare and read-only.
        NotFound: The dump or the repository does not exist, or the repository was deleted in the meantime.
        GravelerError: The store refuses to delete erased content; the repository stays bare.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    _require_changeable(repository)
    _require_empty(stores, repository)
    file = dump_file(stores.blobs, uri)
    blobs = stores.blobs.at(repository.storage_namespace)
    found = verify(file, blobs, repository.storage_namespace, lambda done, total: progress(done, 2 * total))
    said = found.repository
    ready = {name: getattr(said, name) for name in ("default_branch", "boundary_seed", "format_version")}
    foreign = ForeignCommits(stores.indexes(repository.model_copy(update=ready)))
    work = _Restore(stores, repository, file, found.end.digest, foreign)
    _register(work)
    references = _contents(work, progress) if _changed(work, ready) else None
    if references is not None and _refs(work, references):
        settings = {name: getattr(said, name) for name in _SETTINGS}
        if obey_erasures(stores, work.now().value, found.erasures):
            settings["erasures"] = 1
        _changed(work, {"bare": False, "addresses_checked": adopt_collections(stores, work.repository), **settings})
        stores.registers.forget_all(repo)
    count = found.end.rows.get
    return Restored(
        repository=repositories.get(stores.kv, stores.clock, stores.ids, repo),
        digest=work.digest,
        branches=count(Rows.BRANCH.name, 0),
        tags=count(Rows.TAG.name, 0),
        commits=count(Rows.COMMIT.name, 0) + count(Rows.FOREIGN.name, 0),
        objects=count(Rows.OBJECT.name, 0),
        renamed={id: commit.id for id, commit in work.foreign.known.items()},
    )


@dataclass(frozen=True, slots=True)
class _Restore:
    """State of a restoration."""

    stores: Stores
    repository: RepositoryRecord
    file: DumpFile
    digest: str
    foreign: ForeignCommits

    def bare(self) -> bool:
        """Return `True` if the repository, which must still exist, is bare."""
        return self.now().value.bare

    def now(self) -> Held[RepositoryRecord]:
        """Read the current repository record.

        Raises:
            NotFound: The repository was deleted.
            PermissionDenied: The repository is bare and read-only.
        """
        held = repositories.find(self.stores.kv, self.repository.id)
        if held is not None and held.value.uid != self.repository.uid:
            held = None
        repositories.usable(self.repository.id, held)
        assert held is not None  # noqa: S101 - usable() raises
        _require_changeable(held.value)
        return held


def _require_changeable(repo: RepositoryRecord) -> None:
    """Refuse a bare repository that is read-only. One that is not bare may be read-only after a complete
    restoration."""
    if repo.bare:
        repositories.require_changeable(repo)


def _require_empty(stores: Stores, repo: RepositoryRecord) -> None:
    """Refuse a repository that is in use, unless a restoration has begun in it. That is checked last."""
    folders = (keys.branches(repo), keys.tags(repo), keys.commits(repo))
    used = any([*stores.kv.scan(folder.partition, prefix=folder.prefix, limit=1)] for folder in folders)
    if (repo.bare and not used) or access.read(stores.kv, keys.restoration(repo)) is not None:
        return
    why = "has commits already" if repo.bare else "is not bare; a dump can only be restored into a bare repository"
    raise InvalidInput(f"repository {repo.id!r}: {why}", repository=repo.id)


def _register(work: _Restore) -> None:
    """Record that this dump is restored into the repository. No other dump can be restored into it."""
    where = keys.restoration(work.repository)
    record = Restoration(digest=work.digest, since=work.stores.clock.now())
    try:
        access.create(work.stores.kv, where, record, mine=lambda standing: standing.digest == work.digest)
    except PredicateFailed:
        standing = access.read(work.stores.kv, where)
        if standing is None or standing.value.digest != work.digest:
            other = "" if standing is None else standing.value.digest
            raise Conflict(
                f"repository {work.repository.id!r}: another dump ({other[:12]}…) is being or was restored into it",
                repository=work.repository.id,
                digest=other,
            ) from None


def _changed(work: _Restore, fields: dict[str, Any]) -> bool:
    """Set fields of the repository record while it is bare. Return `False` if it is no longer bare."""
    for _ in range(_SWAPS):
        held = work.now()
        if not held.value.bare:
            return False
        if all(getattr(held.value, name) == value for name, value in fields.items()):
            return True
        changed = held.value.model_copy(update={**fields, "nonce": Nonce(work.stores.ids.fresh())})
        with suppress(PredicateFailed):
            access.replace(work.stores.kv, keys.repository(held.value.id), held, changed)
            return True
    raise SlowDown(f"repository {work.repository.id!r}: its record changes too often; restore again")


def _contents(work: _Restore, progress: Progress) -> list[DumpRow] | None:
    """Write everything except references and events, and return their rows. They belong to the checked dump, because
    the digest at its end is compared. Return `None` if another restoration has ended.
    """
    references, batch, size = list[DumpRow](), list[Write](), 0
    for row in rows(work.file, lambda done, total: progress(total + done, 2 * total)):
        if row.kind is Rows.END and decode(DumpEnd, row.data, "its end").digest != work.digest:
            raise work.file.corrupt(row.at, "was replaced while it was restored")
        if Rows.LOG <= row.kind <= Rows.EVENT:
            references.append(row)
        for write in _writes(work, row):
            batch.append(write)
            size += len(write[2])
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES or row.kind is Rows.END:
            if not work.bare():
                return None
            set_many(work.stores.kv, batch)
            batch, size = [], 0
    return references


def _writes(work: _Restore, row: DumpRow) -> list[Write]:
    """Return the key-value writes for a row of a dump."""
    repo, data = work.repository, row.data
    log = keys.internal_history(repo)
    match row.kind:
        case Rows.SETTING:
            name, _, record = data.partition(b"\0")
            at: Location[Any] = SETTINGS[name][1](repo)
        case Rows.FOREIGN:
            return work.foreign.take(data)
        case Rows.COMMIT:
            at, record = keys.commit(repo, commit_id(data)), data
        case Rows.LAYOUT:
            at, record = keys.commit_layout(repo, CommitId(data[:DIGEST_BYTES].hex())), data[DIGEST_BYTES:]
        case Rows.LOG_COMMIT:
            at, record = log.headers.at(commit_id(data)), data
        case Rows.LOG_LAYOUT:
            at, record = log.layouts.at(data[:DIGEST_BYTES].hex()), data[DIGEST_BYTES:]
        case Rows.OBJECT:
            where = keys.stored_object(repo, ObjectId(hex_id(data)))
            return [(*where, encode_object(data, work.stores.clock.now()))]
        case Rows.ERASED:
            mark = decode(ErasedContent, data, "erased content")
            at, record = keys.erased(repo.id, repo.uid).at(name_of(mark.address)), data
        case Rows.MIGRATED:
            return [migrated_write(repo, data)]
        case _:
            return []
    return [(at.partition, at.key, record)]


def _refs(work: _Restore, references: list[DumpRow]) -> bool:
    """Set the log to its commit, create missing branches and tags, and write the pending events. Return `False` if
    another restoration has ended.
    """
    kv, repo = work.stores.kv, work.repository
    for number, row in enumerate(references):
        if number % BATCH_ROWS == 0 and not work.bare():
            return False
        with suppress(PredicateFailed):
            if row.kind is Rows.LOG:
                log = InternalReference(commit_id=CommitId(row.data.hex()), nonce=Nonce(work.stores.ids.fresh()))
                access.create(kv, keys.reference_log(repo), log, once=True)
            elif row.kind is Rows.BRANCH:
                branch = _branch(work, decode(DumpedBranch, row.data, "a branch"))
                access.create(kv, keys.branch(repo, branch.id), branch, once=True)
            elif row.kind is Rows.TAG:
                tag = decode(Tag, row.data, "a tag")
                tag = tag.leading_to(work.foreign.named(tag.commit_id))
                access.create(kv, keys.tag(repo, tag.id), tag, once=True)
            elif row.kind is Rows.EVENT:
                event = decode(ReferenceEvent, row.data, "an event")
                access.write(kv, keys.pending_events(repo).at(event.id), event)
    return True


def _branch(work: _Restore, dumped: DumpedBranch) -> BranchRecord:
    commit = work.foreign.named(dumped.commit_id)
    branch = new_branch(work.stores.ids, work.repository, dumped.id, commit, dumped.past)
    return branch.model_copy(update={"uid": dumped.uid}) if dumped.uid else branch

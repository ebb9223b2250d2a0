"""Restoring a dump into a bare repository, on the storage namespace of the dumped one or on a copy of it.

1. The dump is read and checked whole (`verify`). Nothing is written before.
2. The register `restored` := this dump, created once ✓: no other dump ever goes into this repository.
3. boundary_seed, format_version and default branch into the repository's record ✓, while it has no commit.
4. Commits, layouts, small runs and settings, in batches; then the log of references is set to its commit, branches and
   tags are made, each created where none is; at last, what waited to be logged: an event says of a branch that is not
   there yet that it was deleted.
5. The repository is not bare any more, and as read-only and protected as the dumped one ✓.

A crash leaves a bare repository: until 4 comes to tags and branches it shows nothing, and before 5 a sweep refuses it.
Restoring the same dump again writes the same records again and completes it; after 5 it finds that and changes nothing.
What is written in 4 is the same whoever writes it, but for branches, whose records are fresh: the first one stays. So
two restorations of one dump at once do no harm; of two dumps at once the second one is refused in 2.

Each batch begins by reading the repository's record: once it is not bare any more, another restoration of the same dump
has ended, and this one goes no further; so a layout that somebody has replaced since is not set back, except by a batch
that was under way at that moment, which is sound too: both have equal content, and what a layout named before it was
replaced stays for the grace of a sweep. A branch or tag that somebody deletes before 5 may come back. An event that
comes back after it was logged changes nothing.

A branch keeps its uid and its past, by which the log knows it; its staging token is fresh, so no record of it is equal
to one that stood anywhere.

Nothing is restored into a repository that is read-only: one that is made so meanwhile stays bare until it is so no
more. Rules that were given to it while it was bare make place for those of the dump.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from graveler_core.codec.content_hash import DIGEST_BYTES, hex_id
from graveler_core.codec.records import commit_id, decode
from graveler_core.errors import Conflict, InvalidInput, PredicateFailed, SlowDown
from graveler_core.kv.bulk import set_many
from graveler_core.model.dump import DumpedBranch, DumpEnd, Restoration
from graveler_core.model.entities import Branch, Repository, Tag
from graveler_core.model.ids import CommitId, Nonce, ObjectId, RepositoryId
from graveler_core.model.references import InternalReference, ReferenceEvent
from graveler_core.objects.objects import Write, encode_object
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Location
from graveler_core.refs import repositories
from graveler_core.refs.branches import new_branch
from graveler_core.stores import Stores
from graveler_core.transfer.files import DumpFile, dump_file
from graveler_core.transfer.foreign import ForeignCommits
from graveler_core.transfer.format import Kind as Rows
from graveler_core.transfer.reading import Progress, Row, rows
from graveler_core.transfer.settings import SETTINGS
from graveler_core.transfer.verify import verify

BATCH_ROWS = 500
BATCH_BYTES = 1 << 20
"""A batch ends with the row that reaches one of these."""
_SWAPS = 10


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored."""

    repository: Repository
    """Its record, as it stands now."""
    digest: str
    """Of the dump."""
    branches: int
    tags: int
    commits: int
    """Foreign ones too."""
    objects: int
    renamed: dict[str, CommitId] = field(default_factory=dict)
    """The ids that foreign commits got, by their foreign ones; nothing where all was restored before."""


def restore(stores: Stores, repo: RepositoryId, uri: str, *, progress: Progress = lambda done, total: None) -> Restored:
    """Restore a dump into a bare repository, which then is bare no more. Repeatable: a repetition completes it.

    In memory is what `verify` says, and a batch.

    Args:
        progress: Told of bytes of the dump, which is read twice.

    Raises:
        CorruptData: (`CorruptDump`) the dump is cut off, damaged or altered; nothing was written. Or (`CorruptRange`,
            `CorruptMetarange`) the content of a foreign commit is damaged; the repository stays bare.
        InvalidInput: the repository is not bare or has commits, or its namespace lacks what the dump needs; nothing was
            written.
        Conflict: another dump is being restored, or was.
        PermissionDenied: the repository is bare and read-only.
        NotFound: there is no such dump or repository; or the repository was deleted meanwhile.
    """
    repository = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    _require_changeable(repository)
    _require_empty(stores, repository)
    file = dump_file(stores.blobs, uri)
    blobs = stores.blobs.at(repository.storage_namespace)
    found = verify(file, repository, blobs, lambda done, total: progress(done, 2 * total))
    said = found.repository
    ready = {name: getattr(said, name) for name in ("default_branch", "boundary_seed", "format_version")}
    foreign = ForeignCommits(stores.indexes(repository.model_copy(update=ready)))
    work = _Restore(stores, repository, file, found.end.digest, foreign)
    _register(work)
    if _changed(work, ready) and _contents(work, progress) and _refs(work):
        _changed(work, {"bare": False, "read_only": said.read_only, "protection": said.protection})
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
    """A restoration under way."""

    stores: Stores
    repository: Repository
    file: DumpFile
    digest: str
    foreign: ForeignCommits

    def bare(self) -> bool:
        """Whether the repository, which must still be there, is bare."""
        return self.now().value.bare

    def now(self) -> Held[Repository]:
        """The repository's record as it stands.

        Raises:
            NotFound: it was deleted.
            PermissionDenied: it is bare and read-only.
        """
        held = repositories.find(self.stores.kv, self.repository.id)
        if held is not None and held.value.uid != self.repository.uid:
            held = None
        repositories.usable(self.repository.id, held)
        assert held is not None  # noqa: S101 - usable() raises
        _require_changeable(held.value)
        return held


def _require_changeable(repo: Repository) -> None:
    """Refuse a bare repository that is read-only; one that is not bare may be so by the end of a restoration."""
    if repo.bare:
        repositories.require_changeable(repo)


def _require_empty(stores: Stores, repo: Repository) -> None:
    """Refuse a repository in which somebody is at work, unless it is a restoration; this is looked for last."""
    folders = (keys.branches(repo), keys.tags(repo), keys.commits(repo))
    used = any([*stores.kv.scan(folder.partition, prefix=folder.prefix, limit=1)] for folder in folders)
    if (repo.bare and not used) or access.read(stores.kv, keys.restoration(repo)) is not None:
        return
    why = "has commits already" if repo.bare else "is not bare; a dump is restored into one that was created bare"
    raise InvalidInput(f"repository {repo.id!r}: {why}", repository=repo.id)


def _register(work: _Restore) -> None:
    """From here on this is the dump of this repository."""
    where = keys.restoration(work.repository)
    record = Restoration(digest=work.digest, since=work.stores.clock.now())
    try:
        access.create(work.stores.kv, where, record, mine=lambda standing: standing.digest == work.digest)
    except PredicateFailed as e:
        standing = access.read(work.stores.kv, where)
        if standing is None or standing.value.digest != work.digest:
            other = "" if standing is None else standing.value.digest
            raise Conflict(
                f"repository {work.repository.id!r}: another dump ({other[:12]}…) is being restored into it, or was",
                repository=work.repository.id,
                digest=other,
            ) from e


def _changed(work: _Restore, fields: dict[str, Any]) -> bool:
    """Set fields of the repository's record while it is bare; False where it is not any more."""
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
    raise SlowDown(f"repository {work.repository.id!r}: its record changes again and again; restore again")


def _contents(work: _Restore, progress: Progress) -> bool:
    """Write what branches, tags and the log of references lead to; False where another restoration has ended."""
    batch, size = list[Write](), 0
    for row in rows(work.file, lambda done, total: progress(total + done, 2 * total)):
        if row.kind is Rows.END and decode(DumpEnd, row.data, "its end").digest != work.digest:
            raise work.file.corrupt(row.at, "was exchanged while it was restored")
        for write in _writes(work, row):
            batch.append(write)
            size += len(write[2])
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES or row.kind is Rows.END:
            if not work.bare():
                return False
            set_many(work.stores.kv, batch)
            batch, size = [], 0
    return True


def _writes(work: _Restore, row: Row) -> list[Write]:
    """What a row becomes in the key-value store."""
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
        case _:
            return []
    return [(at.partition, at.key, record)]


def _refs(work: _Restore) -> bool:
    """Set the log to its commit, create branches and tags where there are none, and have wait what waited to be logged.

    False where another restoration has ended.
    """
    kv, repo = work.stores.kv, work.repository
    for number, row in enumerate(takewhile(lambda row: row.kind <= Rows.EVENT, rows(work.file))):
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
                tag = tag.model_copy(update={"commit_id": work.foreign.named(tag.commit_id)})
                access.create(kv, keys.tag(repo, tag.id), tag, once=True)
            elif row.kind is Rows.EVENT:
                event = decode(ReferenceEvent, row.data, "an event")
                access.write(kv, keys.pending_events(repo).at(event.id), event)
    return True


def _branch(work: _Restore, dumped: DumpedBranch) -> Branch:
    commit = work.foreign.named(dumped.commit_id)
    branch = new_branch(work.stores.ids, work.repository, dumped.id, commit, dumped.past)
    return branch.model_copy(update={"uid": dumped.uid}) if dumped.uid else branch

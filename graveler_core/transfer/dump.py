"""Dump of a repository into one file: branches, tags, commits with layouts and small runs, the log of references, and
settings. A dump does not change the repository.

1. Read the pending events, the position of the log, branches and tags (one scan each), the pending events again, former
heads, and the ids of migrated commits.
2. Read the headers (one scan) and build the commit graph (`commit_graph`). Do the same for the log.
3. Write the headers that were found, the layouts (one scan), and the runs in the key-value store that they refer to.
4. Write the erasures and the addresses of erased content (`transfer.erasures`), and the ids of the migrated commits in
their source (`transfer.migrated_rows`).

Commits that stay for ever are dumped: those to which a branch, a tag, a former head or a migrated commit leads. They
stay because somebody may know their ids. Other commits are dumped too, until a collection has recorded the former heads
of earlier versions. After that, collections remove them (`gc.unreached`).

The dump is complete while others write, for the following reason. A commit is written before anything refers to it and
is not deleted once a reference has reached it, so step 2 finds every commit to which a branch or tag of step 1 leads.
Former heads are read after step 1, so a branch that was moved since has left a record. A commit created during step 2
may be found without its parents. No branch or tag of step 1 leads to it, so it is left out, and so is a commit that is
first seen in step 3. A layout is written together with its header, so step 3 finds it. It may be replaced before or
after that, by one of equal content. The files and runs to which it refers stay: a replacement records what the replaced
layout referred to, and a sweep counts that as referenced for the grace period, which is at least a day. A dump that
takes less time therefore finds every run. If a run is missing nevertheless, the dump fails, and its error tells whether
a repetition can succeed.

The same is true for the files to which layouts refer (nodes, ranges and large runs), which are not in the dump. They
stay for the grace period after the dump, and longer if the layouts are not replaced and swept. To keep a dump longer,
keep a copy of the namespace with it.

The log agrees with the branches, for the following reason. Every deletion in the log happened before branches are read,
so the log never reports a dumped branch as deleted. An event from before the dump is either pending at the first read,
or in the log by then. A later event is in the dump if it is pending at the end of step 1. An intent may be dumped
together with the branch for which it was written. The restored record has another nonce, so the intent has no effect.
If a reference is deleted and logged during step 1, the dump may omit it; its commits are in the dump.

Pending events are dumped as they are. A fold moves them into a new commit of the log, so a later dump has other bytes
but the same meaning.

Branches are dumped by their heads. Staged changes are counted but not dumped. Branches are not read in one step: each
is as it was at some moment of step 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graveler_core.codec.records import encode
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.references import InternalReference, ReferenceEvent, refuse_damaged_event
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.staging import area
from graveler_core.stores import Stores
from graveler_core.transfer.commit_rows import CommitRows, of_log, of_users, write_runs
from graveler_core.transfer.erasures import write_erasures
from graveler_core.transfer.files import dump_file
from graveler_core.transfer.format import DumpWriter
from graveler_core.transfer.format import RowKind as Rows
from graveler_core.transfer.migrated_rows import read_migrated, write_migrated
from graveler_core.transfer.reading import Progress
from graveler_core.transfer.settings import SETTINGS


@dataclass(frozen=True, slots=True)
class Dumped:
    """Content of a dump."""

    uri: str
    digest: str
    """64 hexadecimal digits that identify the content, independent of the file."""
    branches: int
    dirty: int
    """Number of branches with staged changes, which are not in the dump."""
    tags: int
    commits: int
    objects: int
    """Number of runs in the key-value store."""
    size: int
    """Size of the file in bytes."""


def dump(stores: Stores, repo: RepositoryRecord, uri: str, *, progress: Progress = lambda done, total: None) -> Dumped:
    """Dump a repository into a new object.

    Memory holds one frame of the file, about 150 bytes for each commit, another 200 for each migrated one, 32 for each
    run, and the pending events, usually some hundred. The local disk holds the file temporarily.

    Args:
        stores: The stores.
        repo: The repository.
        uri: URI of the new object.
        progress: Called with the number of steps, three for each commit, and their total; the total is 0 until it is
            known.

    Returns:
        A description of the dump.

    Raises:
        NotUnique: An object exists at the URI (`BlobExists`).
        InvalidInput: The repository is bare, or the URI cannot be that of an object.
        CorruptData: An object that belongs to the dump is damaged or missing. Nothing was stored. If it belongs to the
            log of references, repair the log with `mend_reflog`.
        Conflict: A run was swept, or an unreached commit was removed, before it was read (`LostRace`). Dump again.
        Unavailable: The dump or its temporary file cannot be written (`StoreFull`, …).
        NotFound: The repository was deleted in the meantime.
    """
    if repo.bare:
        raise InvalidInput(f"repository {repo.id!r}: is bare and has nothing to dump", repository=repo.id)
    file = dump_file(stores.blobs, uri)
    with file.created() as target:
        writer = DumpWriter(target)
        try:
            dirty = _rows(stores, repo, writer, progress)
        finally:
            _require_there(stores, repo)
        end = writer.end()
        size = target.size()
    return _report(file.uri, end, dirty, size)


def _rows(stores: Stores, repo: RepositoryRecord, writer: DumpWriter, progress: Progress) -> int:
    """Write all rows except the end, and return the number of branches with staged changes."""
    done = 0

    def step(commits: int) -> None:
        nonlocal done
        done += 1
        progress(done, 3 * commits if done > commits else 0)

    all = not _reached_are_known(stores.kv, repo)
    commits = CommitRows(stores.kv, repo, of_users(repo, all=all), writer, step)
    log = CommitRows(stores.kv, repo, of_log(repo), writer)
    _repository(stores.kv, repo, writer)
    waiting = dict(_waiting(stores, repo))
    _log(access.read(stores.kv, keys.reference_log(repo)), log)
    dirty = _refs(stores.kv, repo, writer, commits)
    _events(waiting | dict(_waiting(stores, repo)), writer)
    if not all:
        former = keys.former_heads(repo)
        for row in stores.kv.scan(former.partition, prefix=former.prefix):
            commits.keep(CommitId(row.key.removeprefix(former.prefix).decode(errors="replace")))
    migrated = read_migrated(stores.kv, repo)
    histories = [commits, log] if log.heads else [commits]
    for history in histories:
        history.read()
    for history in histories:
        history.headers()
        history.layouts()
    write_runs(histories)
    write_erasures(stores.kv, repo, writer)
    write_migrated(migrated, commits)
    return dirty


def _reached_are_known(kv: Store, repo: RepositoryRecord) -> bool:
    """Return `True` if references, former heads and migrated commits lead to all commits that were ever reached."""
    collected = access.read(kv, keys.collections(repo.id, repo.uid)) if repo.former_heads else None
    return collected is not None and collected.value.adopted


def _require_there(stores: Stores, repo: RepositoryRecord) -> None:
    """Check that the repository still exists. Rows that a cleaner has removed are not damage."""
    now = repositories.get(stores.kv, stores.clock, stores.ids, repo.id)
    if now.uid != repo.uid:
        raise NotFound(
            f"repository {repo.id!r}: was deleted during the dump", kind=Kind.RepositoryNotFound, repository=repo.id
        )


def _report(uri: str, end: DumpEnd, dirty: int, size: int) -> Dumped:
    return Dumped(
        uri=uri,
        digest=end.digest,
        branches=end.rows.get(Rows.BRANCH.name, 0),
        dirty=dirty,
        tags=end.rows.get(Rows.TAG.name, 0),
        commits=end.rows.get(Rows.COMMIT.name, 0),
        objects=end.rows.get(Rows.OBJECT.name, 0),
        size=size,
    )


def _repository(kv: Store, repo: RepositoryRecord, writer: DumpWriter) -> None:
    record = DumpedRepository(
        id=repo.id,
        default_branch=repo.default_branch,
        boundary_seed=repo.boundary_seed,
        format_version=repo.format_version,
        read_only=repo.read_only,
        protection=repo.protection,
        required_checks=repo.required_checks,
        description=repo.description,
        index_sizes=repo.index_sizes,
    )
    writer.row(Rows.REPOSITORY, encode(record))
    for name, (_, where) in SETTINGS.items():
        held = access.read(kv, where(repo))
        if held is not None:
            writer.row(Rows.SETTING, name + b"\0" + encode(held.value))


def _refs(kv: Store, repo: RepositoryRecord, writer: DumpWriter, commits: CommitRows) -> int:
    """Write branches and tags. Return the number of branches with staged changes."""
    dirty = 0
    for branch in list_branches(kv, repo):
        writer.row(Rows.BRANCH, encode(_dumped(branch)))
        commits.name(branch.commit_id, f"branch {branch.id}")
        dirty += _is_dirty(kv, branch)
    for tag in list_tags(kv, repo):
        writer.row(Rows.TAG, encode(tag))
        commits.name(tag.commit_id, f"tag {tag.id}")
    return dirty


def _dumped(branch: BranchRecord) -> DumpedBranch:
    return DumpedBranch(id=branch.id, commit_id=branch.commit_id, uid=branch.uid, past=branch.past)


def _log(held: Held[InternalReference] | None, log: CommitRows) -> None:
    """Write the position of the log."""
    if held is not None:
        log.name(held.value.commit_id, "the log of references")
        log.writer.row(Rows.LOG, bytes(log.heads))


def _waiting(stores: Stores, repo: RepositoryRecord) -> Iterator[tuple[str, ReferenceEvent]]:
    """Yield events that may not be in the log of references yet: those in the memory of this process, then pending
    ones.
    """
    yield from ((event.id, event) for event in stores.noted.of(repo))
    pending = access.scan(stores.kv, keys.pending_events(repo), damaged=refuse_damaged_event)
    yield from ((id, held.value) for id, held in pending)


def _events(waiting: dict[str, ReferenceEvent], writer: DumpWriter) -> None:
    for _, event in sorted(waiting.items()):
        writer.row(Rows.EVENT, encode(event))


def _is_dirty(kv: Store, branch: BranchRecord) -> bool:
    """Return true if the branch may have staged changes. Layers may be empty."""
    layered = bool(branch.sealed_tokens) or branch.compacted_metarange is not None
    return layered or not area.is_empty(kv, branch.staging_token)

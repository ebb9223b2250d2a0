"""Dumping: branches, tags, commits with their layouts and small runs, the log of references, and settings, into one
file. Changes nothing.

1. What waits to be logged; where the log stands; branches and tags, one scan each; what waits, once more.
2. Headers, one scan: how commits hang together (`commit_graph`). The same for those of the log.
3. Headers again, as they were found; layouts, one scan; the runs in the key-value store that those name.

All commits are dumped, also those that nothing leads to: commits stay, and who knows an id may read it.

Why the dump is whole while others write. A commit is written before anything names it, and never deleted; so 2 finds
every commit that a branch or tag of 1 leads to. What is made during 2 may be found without its parents: nothing that
was read in 1 leads to it, and it is left out, as is what is first seen in 3. A layout is written with its header, so 3
finds it. It may be replaced before or after, by one of equal content. What it names stays: a replacement says what the
replaced one named, and a sweep counts that as named for the grace, a day at least. So a dump that takes less than that
finds every run; where a run is gone nevertheless, the dump fails, and says whether a repetition will help.

The same holds for the files that layouts name, nodes, ranges and large runs, which are not in a dump: they stay for the
grace after the dump, and as long as nobody replaces the layouts and sweeps. Whoever keeps a dump for longer keeps a
copy of the namespace with it.

Why the log fits the branches. What the log says of deletions when it is read happened before branches are read, so it
never calls deleted what is dumped. An event of before the dump waits when that is first read, or is in the log by then;
one that comes later is in the dump if it waits at the end of 1. An intent may be dumped with the branch that it was
written for: the restored record is another one, by its nonce, so the intent comes to nothing. Of a reference that is
deleted during 1, and logged before its end, the dump may say nothing; its commits are there.

Events are dumped as they wait. A fold moves them into a new commit of the log, so a dump after it has other bytes,
though it says the same.

Branches are dumped by their heads: what is staged is counted, and is not in the dump. Several branches are not read in
one step; each is as it stood at some moment of 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graveler_core.codec.records import encode
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.dump import DumpedBranch, DumpedRepository, DumpEnd
from graveler_core.model.entities import Branch, Repository
from graveler_core.model.references import InternalReference, ReferenceEvent
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.branches import list_branches, list_tags
from graveler_core.staging import area
from graveler_core.stores import Stores
from graveler_core.transfer.commit_rows import CommitRows, of_log, of_users, write_runs
from graveler_core.transfer.files import DumpFile, dump_file
from graveler_core.transfer.format import DumpWriter
from graveler_core.transfer.format import Kind as Rows
from graveler_core.transfer.reading import Progress
from graveler_core.transfer.settings import SETTINGS


@dataclass(frozen=True, slots=True)
class Dumped:
    """What is in a dump."""

    uri: str
    digest: str
    """64 hex digits: names what was dumped, wherever it is kept."""
    branches: int
    dirty: int
    """Branches that had something staged, which is not in the dump."""
    tags: int
    commits: int
    objects: int
    """Runs of the key-value store."""
    size: int
    """Bytes of the file."""


def dump(stores: Stores, repo: Repository, uri: str, *, progress: Progress = lambda done, total: None) -> Dumped:
    """Dump a repository into a new object at a URI.

    In memory is a frame of the file, some 150 bytes a commit and 32 a run, and what waits to be logged, some hundred
    events as a rule; on the local disk, for a while, the file.

    Args:
        progress: Told of steps, three a commit; the total is 0 until it is known.

    Raises:
        NotUnique: (`BlobExists`) something is at the URI.
        InvalidInput: the repository is bare, or the URI none where an object can be.
        CorruptData: something is damaged or missing that belongs to the dump; nothing was stored. If it is the log of
            references: `mend_reflog` goes back to what is whole.
        Conflict: (`LostRace`) what a layout named was swept before it was read; dump again.
        Unavailable: (`StoreFull`, …) the dump, or the temporary file that gathers it, cannot be written.
        NotFound: the repository was deleted meanwhile.
    """
    if repo.bare:
        raise InvalidInput(f"repository {repo.id!r}: is bare, there is nothing to dump", repository=repo.id)
    file = dump_file(stores.blobs, uri)
    done = 0

    def step(commits: int) -> None:
        nonlocal done
        done += 1
        progress(done, 3 * commits if done > commits else 0)

    with file.created() as target:
        writer = DumpWriter(target)
        commits = CommitRows(stores.kv, repo, of_users(repo), writer, step)
        log = CommitRows(stores.kv, repo, of_log(repo), writer)
        try:
            _repository(stores.kv, repo, writer)
            waiting = dict(_waiting(stores.kv, repo))
            _log(access.read(stores.kv, keys.reference_log(repo)), log)
            dirty = _refs(stores.kv, repo, writer, commits)
            _events(waiting | dict(_waiting(stores.kv, repo)), writer)
            histories = [commits, log] if log.heads else [commits]
            for history in histories:
                history.read()
            for history in histories:
                history.headers()
                history.layouts()
            write_runs(histories)
        finally:
            _require_there(stores, repo)
        end = writer.end()
    return _report(file, end, dirty)


def _require_there(stores: Stores, repo: Repository) -> None:
    """What a cleaner has begun to take is not damaged, and no dump."""
    now = repositories.get(stores.kv, stores.clock, stores.ids, repo.id)
    if now.uid != repo.uid:
        raise NotFound(
            f"repository {repo.id!r}: was deleted while it was dumped", kind=Kind.RepositoryNotFound, repository=repo.id
        )


def _report(file: DumpFile, end: DumpEnd, dirty: int) -> Dumped:
    return Dumped(
        uri=file.uri,
        digest=end.digest,
        branches=end.rows.get(Rows.BRANCH.name, 0),
        dirty=dirty,
        tags=end.rows.get(Rows.TAG.name, 0),
        commits=end.rows.get(Rows.COMMIT.name, 0),
        objects=end.rows.get(Rows.OBJECT.name, 0),
        size=file.size(),
    )


def _repository(kv: Store, repo: Repository, writer: DumpWriter) -> None:
    record = DumpedRepository(
        id=repo.id,
        default_branch=repo.default_branch,
        boundary_seed=repo.boundary_seed,
        format_version=repo.format_version,
        read_only=repo.read_only,
        protection=repo.protection,
    )
    writer.row(Rows.REPOSITORY, encode(record))
    for name, (_, where) in SETTINGS.items():
        held = access.read(kv, where(repo))
        if held is not None:
            writer.row(Rows.SETTING, name + b"\0" + encode(held.value))


def _refs(kv: Store, repo: Repository, writer: DumpWriter, commits: CommitRows) -> int:
    """Write branches and tags; gives how many branches are dirty."""
    dirty = 0
    for branch in list_branches(kv, repo):
        writer.row(Rows.BRANCH, encode(_dumped(branch)))
        commits.name(branch.commit_id, f"branch {branch.id}")
        dirty += _is_dirty(kv, branch)
    for tag in list_tags(kv, repo):
        writer.row(Rows.TAG, encode(tag))
        commits.name(tag.commit_id, f"tag {tag.id}")
    return dirty


def _dumped(branch: Branch) -> DumpedBranch:
    return DumpedBranch(id=branch.id, commit_id=branch.commit_id, uid=branch.uid, past=branch.past)


def _log(held: Held[InternalReference] | None, log: CommitRows) -> None:
    """Write where the log stands."""
    if held is not None:
        log.name(held.value.commit_id, "the log of references")
        log.writer.row(Rows.LOG, bytes(log.heads))


def _waiting(kv: Store, repo: Repository) -> Iterator[tuple[str, ReferenceEvent]]:
    """What is not in the log of references yet."""
    return ((id, held.value) for id, held in access.scan(kv, keys.pending_events(repo)))


def _events(waiting: dict[str, ReferenceEvent], writer: DumpWriter) -> None:
    for _, event in sorted(waiting.items()):
        writer.row(Rows.EVENT, encode(event))


def _is_dirty(kv: Store, branch: Branch) -> bool:
    """Whether something may be staged; layers may be empty."""
    layered = bool(branch.sealed_tokens) or branch.compacted_metarange is not None
    return layered or not area.is_empty(kv, branch.staging_token)

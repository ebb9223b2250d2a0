"""Commits as immutable objects: a header by content hash and a layout, both cached without coherency.

A header never changes, so a cached copy is always right. A layout may be replaced by one for the same content. Files to
which the replaced layout refers are kept for a grace period. A cached copy is therefore right for an hour and is then
read again: the grace period of a sweep is longer than one hour plus the longest build.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graveler_core.codec.records import commit_id, decode, encode, identify
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Store, Stored
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.entities import Commit, Layout, RepositoryRecord
from graveler_core.model.forks import ForkSafe
from graveler_core.model.ids import CommitId
from graveler_core.objects.kept_blobs import FRESH
from graveler_core.records import layout as keys
from graveler_core.records.layout import CommitFolders

CACHED_COMMITS = 20_000
_INCOMPLETE = (
    "its layout is missing, so it is incomplete: restore the repository from a dump or a copy of the store,"
    " or reset the branch to an intact commit"
)


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """Stored commit: id, header and layout."""

    id: CommitId
    header: Commit
    layout: Layout


class CommitCache(ForkSafe):
    """Cache of commits by partition and id. The least recently used ones are removed first, and each after an hour.

    Args:
        capacity: Maximum number of commits.
        now: Returns seconds of a clock that continues while the machine sleeps.
    """

    def __init__(self, capacity: int = CACHED_COMMITS, now: Callable[[], float] = time.time) -> None:
        self._capacity = capacity
        self._now = now
        self._held: OrderedDict[tuple[bytes, CommitId], tuple[StoredCommit, float]] = OrderedDict()
        super().__init__()

    def get(self, partition: bytes, wanted: CommitId) -> StoredCommit | None:
        with self._lock:
            found, came = self._held.get((partition, wanted), (None, 0.0))
            if found is None:
                return None
            if not 0 <= self._now() - came < FRESH.total_seconds():
                del self._held[(partition, wanted)]
                return None
            self._held.move_to_end((partition, wanted))
            return found

    @property
    def held(self) -> int:
        """Number of commits in the cache."""
        return len(self._held)

    def forget(self, partition: bytes, commit: CommitId) -> None:
        """Drop a commit that was removed."""
        with self._lock:
            self._held.pop((partition, commit), None)

    def keep(self, partition: bytes, commit: StoredCommit) -> None:
        with self._lock:
            self._held[(partition, commit.id)] = (commit, self._now())
            self._held.move_to_end((partition, commit.id))
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)


def prepare(
    repo: RepositoryRecord, header: Commit, content: Layout, folders: CommitFolders | None = None
) -> tuple[StoredCommit, list[tuple[bytes, bytes, bytes]]]:
    """Return a new commit and the key-value writes (partition, key, value) that store it.

    An id is written only by the attempt that builds the commit, before any swap makes it reachable. Writing header and
    layout without a condition therefore never overwrites a layout that was replaced in the meantime.

    Args:
        repo: Repository.
        header: Header of the commit.
        content: Layout of the commit.
        folders: Folders of another history than that of users.
    """
    stored = StoredCommit(identify(header), header, content)
    folders = folders or keys.history(repo)
    at, layout_at = folders.headers.at(stored.id), folders.layouts.at(stored.id)
    writes = [(at.partition, at.key, encode(header)), (layout_at.partition, layout_at.key, encode(content))]
    return stored, writes


def read_commits(
    kv: Store, cache: CommitCache, repo: RepositoryRecord, wanted: Sequence[CommitId]
) -> list[StoredCommit]:
    """Read commits by id, in the given order. Those that are not cached take one round trip, if the store supports it.

    Raises:
        NotFound: Some commits do not exist; `details["commits"]` lists them.
        CorruptData: A header does not match its id, or its layout is missing.
    """
    partition = keys.partition(repo)
    found = {c: held for c in wanted if (held := cache.get(partition, c)) is not None}
    missing = [c for c in dict.fromkeys(wanted) if c not in found]
    if missing:
        for commit in stored_commits(kv, keys.history(repo), missing, f"repository {repo.id}"):
            cache.keep(partition, commit)
            found[commit.id] = commit
    return [found[c] for c in wanted]


def stored_commits(kv: Store, folders: CommitFolders, wanted: Sequence[CommitId], where: str) -> list[StoredCommit]:
    """Read commits from any history, bypassing the cache.

    Args:
        kv: Key-value store.
        folders: Folders of the history.
        wanted: Ids of the commits.
        where: Name of the history in error messages.
    """
    locations = [at for c in wanted for at in (folders.headers.at(c), folders.layouts.at(c))]
    stored = get_many(kv, [(at.partition, at.key) for at in locations])
    rows = list(zip(wanted, stored[::2], stored[1::2], strict=True))
    half = [c for c, header, content in rows if header is not None and content is None]
    # A collection may have removed a commit after its header was read and before its layout was.
    removed = {c for c in half if kv.get(folders.headers.at(c).partition, folders.headers.at(c).key) is None}
    absent = [c for c, header, _ in rows if header is None or c in removed]
    if absent:
        raise NotFound(
            f"commit {', '.join(absent)} does not exist in {where}",
            kind=Kind.CommitNotFound,
            commit=absent[0],
            commits=absent,
        )
    return [_decoded(*row) for row in rows]


def read_commit(kv: Store, cache: CommitCache, repo: RepositoryRecord, wanted: CommitId) -> StoredCommit:
    """Read one commit; see `read_commits`."""
    held = cache.get(keys.partition(repo), wanted)
    return read_commits(kv, cache, repo, [wanted])[0] if held is None else held


def _decoded(wanted: CommitId, header: Stored | None, content: Stored | None) -> StoredCommit:
    if header is None or content is None or commit_id(header.value) != wanted:
        what = _INCOMPLETE if header is not None and content is None else "its header does not match the id"
        raise CorruptData(f"commit {wanted}: {what}", kind=Kind.CorruptCommit, commit=wanted)
    name = f"commit {wanted}"
    return StoredCommit(wanted, decode(Commit, header.value, name), decode(Layout, content.value, f"layout of {name}"))


def scan_headers(kv: Store, repo: RepositoryRecord, within: Bounds = ALL) -> Iterator[tuple[CommitId, Commit]]:
    """Yield the headers of all commits of a repository, including unreachable ones, in the order of their ids, past the
    cache.

    Args:
        kv: Key-value store.
        repo: Repository.
        within: Yield only ids within these bounds.

    Raises:
        CorruptData: A header cannot be read, or does not match its id.
    """
    folder = keys.commits(repo)
    first, last = within.interval()
    start, end = folder.prefix + first, None if last is None else folder.prefix + last
    for row in kv.scan(folder.partition, prefix=folder.prefix, start=start, end=end):
        id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
        name = f"commit {id}"
        if commit_id(row.value) != id:
            raise CorruptData(f"{name}: its header does not match the id", kind=Kind.CorruptCommit, commit=id)
        yield id, decode(Commit, row.value, name)

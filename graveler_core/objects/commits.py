"""Commits as immutable objects: header by content hash, layout beside it, both cached without coherency.

A header never changes, so its cached copy is right for ever. A layout may be replaced by one that describes the same
content; what the replaced one referred to is kept for a grace. So a cached copy is right for an hour, and read again
then: the grace of a sweep is longer than that and the longest build together.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from graveler_core.codec.records import commit_id, decode, encode, identify
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Store, Stored
from graveler_core.model.entities import Commit, Layout, Repository
from graveler_core.model.ids import CommitId
from graveler_core.objects.kept_blobs import FRESH
from graveler_core.records import layout as keys
from graveler_core.records.layout import CommitFolders

CACHED_COMMITS = 20_000


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A commit as it is kept: its id, its header, and where its content is."""

    id: CommitId
    header: Commit
    layout: Layout


class CommitCache:
    """The commits read last, by partition and id; least recently used ones leave first, and each an hour after it came.

    Args:
        now: Seconds by a clock that goes on while the machine sleeps.
    """

    def __init__(self, capacity: int = CACHED_COMMITS, now: Callable[[], float] = time.time) -> None:
        self._capacity = capacity
        self._now = now
        self._held: OrderedDict[tuple[bytes, CommitId], tuple[StoredCommit, float]] = OrderedDict()
        self._lock = threading.Lock()

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
        """Commits held now."""
        return len(self._held)

    def keep(self, partition: bytes, commit: StoredCommit) -> None:
        with self._lock:
            self._held[(partition, commit.id)] = (commit, self._now())
            self._held.move_to_end((partition, commit.id))
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)


def prepare(
    repo: Repository, header: Commit, content: Layout, folders: CommitFolders | None = None
) -> tuple[StoredCommit, list[tuple[bytes, bytes, bytes]]]:
    """A new commit and the key-value writes that store it (partition, key, value), in the users' history or another.

    An id is written only by the attempt that builds it, before any swap makes it reachable; so writing header and
    layout without a condition never overwrites a layout that was replaced since.
    """
    stored = StoredCommit(identify(header), header, content)
    folders = folders or keys.history(repo)
    at, layout_at = folders.headers.at(stored.id), folders.layouts.at(stored.id)
    writes = [(at.partition, at.key, encode(header)), (layout_at.partition, layout_at.key, encode(content))]
    return stored, writes


def read_commits(kv: Store, cache: CommitCache, repo: Repository, wanted: Sequence[CommitId]) -> list[StoredCommit]:
    """Commits by id, in the order asked for; what is not cached takes one round trip where the store can.

    Raises:
        NotFound: some of them do not exist; `details["commits"]` lists them.
        CorruptData: a stored header is not what its id says, or its layout is missing.
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
    """`read_commits` past the cache, in any history.

    Args:
        where: What to call the history in an error.
    """
    locations = [at for c in wanted for at in (folders.headers.at(c), folders.layouts.at(c))]
    stored = get_many(kv, [(at.partition, at.key) for at in locations])
    absent = [c for c, header in zip(wanted, stored[::2], strict=True) if header is None]
    if absent:
        raise NotFound(
            f"commit {', '.join(absent)} does not exist in {where}",
            kind=Kind.CommitNotFound,
            commit=absent[0],
            commits=absent,
        )
    return [_decoded(*row) for row in zip(wanted, stored[::2], stored[1::2], strict=True)]


def read_commit(kv: Store, cache: CommitCache, repo: Repository, wanted: CommitId) -> StoredCommit:
    """One commit; see `read_commits`."""
    return read_commits(kv, cache, repo, [wanted])[0]


def _decoded(wanted: CommitId, header: Stored | None, content: Stored | None) -> StoredCommit:
    if header is None or content is None or commit_id(header.value) != wanted:
        what = "its layout is missing" if content is None else "its header is not what the id says"
        raise CorruptData(f"commit {wanted}: {what}", kind=Kind.CorruptCommit, commit=wanted)
    name = f"commit {wanted}"
    return StoredCommit(wanted, decode(Commit, header.value, name), decode(Layout, content.value, f"layout of {name}"))


def scan_headers(kv: Store, repo: Repository, *, after: str = "") -> Iterator[tuple[CommitId, Commit]]:
    """The headers of all commits of a repository, whatever leads to them, in order of their ids, lazily; not cached.

    Args:
        after: Only ids greater than this one; "" for all.

    Raises:
        CorruptData: a header is not what its id says, or cannot be read.
    """
    folder = keys.commits(repo)
    start = folder.at(after).key + b"\0" if after else folder.prefix
    for row in kv.scan(folder.partition, prefix=folder.prefix, start=start):
        id = CommitId(row.key.removeprefix(folder.prefix).decode(errors="backslashreplace"))
        name = f"commit {id}"
        if commit_id(row.value) != id:
            raise CorruptData(f"{name}: its header is not what the id says", kind=Kind.CorruptCommit, commit=id)
        yield id, decode(Commit, row.value, name)

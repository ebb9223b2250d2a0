"""Commits that a migration writes, and those that it has written, by their ids in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from graveler_core.codec.records import encode
from graveler_core.errors import Kind, NotUnique
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import CommitId, RepositoryId
from graveler_core.model.migration import MigratedCommit
from graveler_core.objects.objects import Write
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.records.rows import write_rows
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.transfer.kv_copy_loading import resent

BATCH_COMMITS = 250
BATCH_BYTES = 1 << 20
"""Limits of a batch. It ends with the commit that reaches one of them."""


def migrated_commits(stores: Stores, repo: RepositoryRecord) -> dict[str, CommitId]:
    """Return the migrated commits of a repository by their ids in the source."""
    return {id: held.value.commit_id for id, held in access.scan(stores.kv, keys.migrated_commits(repo))}


def require_not_bare(repo: RepositoryRecord) -> None:
    """Refuse a bare repository. A restoration may be writing the records of a migration into it.

    Raises:
        NotUnique: The repository is bare (`RepositoryExists`).
    """
    if repo.bare:
        why = "already exists, and is bare: restore its dump completely first"
        raise NotUnique(f"repository {repo.id!r} {why}", kind=Kind.RepositoryExists, repository=repo.id)


def migrated_repository(stores: Stores, name: RepositoryId, digest: str, source: str) -> Held[RepositoryRecord] | None:
    """Return a repository that was, or is being, migrated from a source. `None` if there is no such name.

    Args:
        stores: The stores.
        name: Name of the repository.
        digest: Digest of the source.
        source: Its name in the error message.

    Raises:
        NotFound: The repository is being deleted (`RepositoryDeleting`).
        NotUnique: It was not migrated from this source, or is bare (`RepositoryExists`).
    """
    standing = repositories.find(stores.kv, name)
    if standing is None:
        return None
    found = standing.value
    if found.state is RepositoryState.DELETING:
        repositories.usable(name, standing)
    require_not_bare(found)
    said = access.read(stores.kv, keys.migration(found))
    if (said.value.digest if said is not None else found.migrating) != digest:
        why = f"already exists, and was not migrated from {source}"
        raise NotUnique(f"repository {name!r} {why}", kind=Kind.RepositoryExists, repository=name)
    return standing


@dataclass(slots=True)
class Batches:
    """Commits that are written in batches. Each batch is followed by one record for each of its commits.

    A commit with such a record is therefore written completely.
    """

    stores: Stores
    repository: RepositoryRecord
    require: Callable[[], object]
    """Called before each batch. It raises an error if this run must stop."""
    written: Callable[[int], object] = lambda more: None
    """Called with the number of commits in each batch, after it was written."""
    _batch: list[Write] = field(default_factory=list)
    _named: list[Write] = field(default_factory=list)
    _size: int = 0

    def put(self, writes: Iterable[Write], last: Write) -> None:
        """Add a commit. Write the batch if it has reached a limit.

        Args:
            writes: Writes that store the commit.
            last: Write of the record that follows them.
        """
        self._named.append(last)
        self._size += len(last[2])
        for write in writes:
            self._batch.append(write)
            self._size += len(write[2])
        if len(self._named) >= BATCH_COMMITS or self._size >= BATCH_BYTES:
            self.flush()

    @property
    def empty(self) -> bool:
        """True if all commits are written."""
        return not self._named

    def flush(self) -> None:
        """Write the commits that wait."""
        self.require()
        for writes in (self._batch, self._named):
            if writes:
                resent(partial(write_rows, self.stores.kv, writes))
        self.written(len(self._named))
        self._batch, self._named, self._size = [], [], 0


@dataclass(slots=True)
class CommitBatches(Batches):
    """Migrated commits that are written in batches, each followed by the records of their ids in the source."""

    def add(self, origin: str, commit: CommitId, writes: Iterable[Write]) -> None:
        """Add a commit. Write the batch if it has reached a limit.

        Args:
            origin: Id of the commit in the source.
            commit: New id of the commit.
            writes: Writes that store the commit.
        """
        where = keys.migrated_commits(self.repository).at(origin)
        self.put(writes, (where.partition, where.key, encode(MigratedCommit(commit_id=commit))))

"""Commits whose content has expired by the retention rules, or is about to. See `gc.collection`.

A flow that makes something depend on the content of a commit (a new branch or tag, a merge, a replay, a hard reset)
calls `require_content` first, with a repository record that it has read from the store:

* If the commit has expired, the flow is refused.
* If the commit is about to expire, a swap of the collection record revives it. The collection swaps the same record
  when it decides that commits have expired, so one of the two swaps fails. A revived commit does not expire together
  with the other commits that were announced at the same time.
* If the commit is announced after the check, the flow ends before the grace period does. The collection therefore finds
  what the flow has made: either the commit does not expire, or its content has other names. Hooks may take days, so
  creations of branches and tags check again after the hooks (`require_again`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import CorruptData, Kind, LimitExceeded, NotFound, PredicateFailed
from graveler_core.model.collection import Collections, Expiry
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId, Nonce
from graveler_core.objects import expired_commits
from graveler_core.objects.commits import stored_commits
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores

T = TypeVar("T")
BATCH = 1_000
"""Maximum number of commits whose expiries are read at once."""
MAX_REVIVED = 250
"""Maximum number of revived commits in a record. If there are more, or the record is full, no commit of the set
expires.
"""


def expiries(stores: Stores, repo: RepositoryRecord, commits: Collection[CommitId]) -> dict[CommitId, Expiry]:
    """Return the expiries of those of some commits that have expired or are about to.

    Takes no round trip before the first collection of the repository, and one afterwards if no rule has ever applied.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read.
        commits: Ids of commits.

    Raises:
        CorruptData: A file that the collection record lists is missing or damaged.
    """
    return _found(stores, repo, commits)[1]


def with_expiries(
    stores: Stores, repo: RepositoryRecord, items: Iterable[T], commit_of: Callable[[T], CommitId]
) -> Iterator[tuple[T, Expiry | None]]:
    """Yield items with the expiries of their commits, lazily. The items are read in batches, which are small at first.
    Takes no round trip before the first collection of the repository, and one for each batch afterwards.
    """
    if not repo.addresses_checked:
        yield from ((item, None) for item in items)
        return
    ahead, size = iter(items), 1
    while batch := list(islice(ahead, size)):
        found = expiries(stores, repo, [commit_of(item) for item in batch])
        yield from ((item, found.get(commit_of(item))) for item in batch)
        size = min(2 * size, BATCH)


def require_content(
    stores: Stores,
    repo: RepositoryRecord,
    commits: Collection[CommitId],
    *,
    parents: Collection[CommitId] = (),
    revive: bool = True,
) -> None:
    """Refuse commits whose content has expired, and revive those that are about to expire.

    Takes the round trips of `expiries`, and one more if a commit is about to expire.

    Args:
        stores: Stores of the flow.
        repo: Repository record that the flow has read, not from a cache.
        commits: Commits on whose content the flow makes something depend.
        parents: Parents of the commits to which the flow makes something lead. They must not be removed, but their
            content may have expired. A writer that paused for days may have stored a child after its parent was
            removed (`gc.unreached`).
        revive: False to leave commits that are about to expire, for a flow that only checks.

    Raises:
        NotFound: The content of a commit has expired (`ContentExpired`). `details` has `commit`, `rule` and `since`.
            Or a commit was removed (`CommitNotFound`).
    """

    def attempt() -> bool | None:
        held, among = _found(stores, repo, [*commits, *parents])
        found = {id: expiry for id, expiry in among.items() if id in commits or expiry.removes}
        for commit in (*commits, *parents):
            if commit in found and found[commit].final:
                raise expired_error(commit, found[commit])
        return True if held is None or not found or not revive else _revived(stores, repo, held, found)

    retry(stores, f"revival of commits in {repo.id}", attempt)


def require_again(
    stores: Stores, repo: RepositoryRecord, commits: Collection[CommitId], parents: Collection[CommitId] = ()
) -> None:
    """Call `require_content` again with the current repository record, if there are commits, after something that may
    have taken days. Read the commits again, too: after a long time, a removal is forgotten.

    Raises:
        NotFound: As for `require_content`, or the repository was deleted.
    """
    if commits:
        current = repositories.get(stores.kv, stores.clock, stores.ids, repo.id)
        require_content(stores, current, commits, parents=parents)
        stored_commits(stores.kv, keys.history(repo), list(commits), f"repository {repo.id}")


def expired_error(commit: CommitId, expiry: Expiry, path: str | None = None) -> NotFound:
    """Return the error for a commit whose content has expired, or for a path in it."""
    where = f"commit {commit}" if path is None else f"path {path!r} in commit {commit}"
    if expiry.removes:
        return NotFound(
            f"{where}: the commit was removed on {expiry.since:%Y-%m-%d}, because {expiry.rule}",
            kind=Kind.CommitNotFound,
            commit=commit,
            commits=[commit],
        )
    return NotFound(
        f"{where}: the content expired on {expiry.since:%Y-%m-%d} ({expiry.rule}); use a newer commit",
        kind=Kind.ContentExpired,
        commit=commit,
        rule=expiry.rule,
        since=expiry.since.isoformat(),
    )


def _found(
    stores: Stores, repo: RepositoryRecord, commits: Collection[CommitId]
) -> tuple[Held[Collections] | None, dict[CommitId, Expiry]]:
    """Return the collection record, and the expiries of some commits that it lists."""
    if not repo.addresses_checked or not commits:
        return None, {}
    where, blobs = keys.collections(repo.id, repo.uid), stores.blobs.at(repo.storage_namespace)
    wanted = pa.array(sorted(set(commits)), pa.string())
    held = access.read(stores.kv, where)
    while held is not None:
        try:
            return held, expired_commits.among(blobs, held.value, wanted)
        except CorruptData:
            before, held = held, access.read(stores.kv, where)
            if held == before:
                raise  # otherwise the files of a former set may be gone
    return None, {}


def _revived(
    stores: Stores, repo: RepositoryRecord, held: Held[Collections], commits: Collection[CommitId]
) -> bool | None:
    """Revive announced commits. Return `None` if another process has changed the record."""
    current = held.value.current
    assert current is not None  # noqa: S101 - it has announced the commits
    none = {"revived": (), "expiring": ()}
    revived = (*current.revived, *sorted(commits))

    def replaced(update: dict[str, Any]) -> None:
        changed = {"current": current.model_copy(update=update), "nonce": Nonce(stores.ids.fresh())}
        access.replace(stores.kv, keys.collections(repo.id, repo.uid), held, held.value.model_copy(update=changed))

    try:
        try:
            replaced({"revived": revived} if len(revived) <= MAX_REVIVED else none)
        except LimitExceeded:  # an earlier version of graveler may have filled the record
            replaced(none)
    except PredicateFailed:
        return None
    return True

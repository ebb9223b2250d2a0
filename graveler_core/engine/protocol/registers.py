"""Read the repository record and the branch record, and run the closing re-read.

A flow that ends in a swap begins with `fresh`. Its swap proves the branch record, and the repository was active
after the flow began. A flow that ends without a swap runs as an attempt under `settled`. The attempt may use a
cached copy. It ends by reading the repository record and the branch record again, together and bypassing the cache. If
they have changed, the attempt is evaluated again and not just repeated, because its result may be wrong for the new
record. Source: seed 003, writer and reader flows.

Both records are read because a writer that knows an old uid could otherwise acknowledge a write into a repository
that was deleted and created again. The cache is never used for this, because two stale copies that agree prove
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TypeVar

from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import GravelerError, Kind, NotFound
from graveler_core.model.ids import BranchId, RepositoryId, RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.stores import Registers, RetryBudget, Stores

T = TypeVar("T")
_content = attrgetter("staging_token", "sealed_tokens", "compacted_metarange", "commit_id")


def fresh(stores: Stores, repo: RepositoryId, branch: BranchId) -> Registers:
    """Read both records from the store: in one round trip if the branch was read before, in two the first time.

    Raises:
        NotFound: The repository is not active, or the branch does not exist in it.
    """
    since = stores.registers.now()
    try:
        registers = stores.reads.read(repo, branch, lambda: _read(stores, repo, branch))
    except NotFound:
        stores.registers.forget(repo, branch)
        raise
    stores.registers.keep(repo, branch, registers, since)
    return registers


def require_repository(stores: Stores, used: Registers) -> None:
    """Check that the repository of a build exists, before records of the build are written into its partition.

    A build may take hours. If its repository is deleted and emptied meanwhile, nothing would ever remove rows that are
    written after that. A cleaner waits for `stores.registers.LATE` after the deletion, which is longer than a write
    takes after this check. Records that were read less than `stores.registers.KEPT` ago are not read again.

    Raises:
        NotFound: The repository was deleted, and possibly created again, or the branch was deleted.
    """
    repo, branch = used.repository.id, used.branch.id
    require_uid(stores.registers.get(repo, branch) or fresh(stores, repo, branch), used.repository.uid)


def require_uid(current: Registers, uid: RepositoryUid) -> None:
    """Check that a repository is still the one that the call has read before.

    Raises:
        NotFound: The repository with this uid was deleted, and another one has its name.
    """
    repo = current.repository.id
    if current.repository.uid != uid:
        raise NotFound(
            f"repository {repo!r} was deleted and created again during the call; nothing was changed, try again",
            kind=Kind.RepositoryNotFound,
            repository=repo,
        )


def settled(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    attempt: Callable[[Registers], T],
    *,
    same: Callable[[Registers, Registers], bool],
) -> T:
    """Run an attempt until the records that it used are unchanged after it.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        branch: The branch.
        attempt: Function of the records. Its errors are checked like its results: an error that a stale record
            caused is not raised.
        same: Function that returns `True` if two reads agree in the fields that the attempt used.
    """
    used = stores.registers.get(repo, branch) or fresh(stores, repo, branch)
    # A pause avoids contention between swaps. A flow that swaps nothing causes no contention, and starves if it pauses.
    budget = stores.retry_budget
    at_once = RetryBudget(budget.total, budget.least, most=budget.least)

    def proved() -> tuple[T] | None:
        nonlocal used
        failure: GravelerError | None = None
        try:
            result = attempt(used)
        except GravelerError as e:
            failure = e
        before, used = used, fresh(stores, repo, branch)
        if not same(before, used):
            return None
        if failure is not None:
            raise failure
        return (result,)

    return retry(stores, f"branch {repo}/{branch}", proved, at_once)[0]


def same_token(used: Registers, now: Registers) -> bool:
    """Compare the fields that a write uses: the repository and its rules, the branch, the staging token."""
    return (
        _same_place(used, now)
        and used.repository.nonce == now.repository.nonce
        and used.branch.staging_token == now.branch.staging_token
    )


def same_content(used: Registers, now: Registers) -> bool:
    """Compare the fields that a read uses: all layers, the compacted tree and the head."""
    return _same_place(used, now) and _content(used.branch) == _content(now.branch)


def _same_place(used: Registers, now: Registers) -> bool:
    return used.repository.uid == now.repository.uid and used.branch.uid == now.branch.uid


def _read(stores: Stores, repo: RepositoryId, branch: BranchId) -> Registers:
    known = stores.registers.get(repo, branch)
    if known is not None:
        repository, held = access.read_many(stores.kv, [keys.repository(repo), keys.branch(known.repository, branch)])
        if repository is not None and repository.value.uid == known.repository.uid:
            current = repositories.usable(repo, repository)
            if held is None:
                raise branches.branch_missing(current, branch)
            return Registers(current, held)
    current = repositories.get(stores.kv, stores.clock, stores.ids, repo)
    return Registers(current, branches.get_branch(stores.kv, current, branch))

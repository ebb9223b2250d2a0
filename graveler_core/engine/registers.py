"""Reading the two registers that every flow on a branch rests on, and the closing re-read.

A flow that ends in a swap begins with `fresh`: its swap proves the branch, and the repository was active after the
flow began. A flow that ends without a swap is an attempt under `settled`: it may work on a cached copy, and ends by
reading repository and branch again, together, past the cache. On change it is evaluated anew, never just repeated:
what was right on the old record may no longer be. Source: seed 003, writer and reader flows.

Why both records: a writer that knows an old uid would otherwise acknowledge a write into a repository that was deleted
and created anew. Why never the cache: two stale copies that agree prove nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TypeVar

from graveler_core.engine.retry import attempts
from graveler_core.errors import GravelerError, NotFound
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import branches, repositories
from graveler_core.stores import Registers, RetryBudget, Stores

T = TypeVar("T")
_content = attrgetter("staging_token", "sealed_tokens", "compacted_metarange", "commit_id")


def fresh(stores: Stores, repo: RepositoryId, branch: BranchId) -> Registers:
    """Both records from the store: one round trip where the branch was read before, two the first time.

    Raises:
        NotFound: the repository is not active, or the branch does not exist in it.
    """
    try:
        registers = stores.reads.read(repo, branch, lambda: _read(stores, repo, branch))
    except NotFound:
        stores.registers.forget(repo, branch)
        raise
    stores.registers.keep(repo, branch, registers)
    return registers


def settled(
    stores: Stores,
    repo: RepositoryId,
    branch: BranchId,
    attempt: Callable[[Registers], T],
    *,
    same: Callable[[Registers, Registers], bool],
) -> T:
    """Run an attempt until the registers it used still stand after it.

    Args:
        attempt: Works on the registers it is given. Its errors are proved like its results: an error that a stale
            record caused is not raised.
        same: Whether two reads agree in the fields that the attempt used.
    """
    used = stores.registers.get(repo, branch) or fresh(stores, repo, branch)
    # A pause keeps out of the way of others' swaps; what swaps nothing is in nobody's way, and starves if it pauses.
    budget = stores.retry_budget
    at_once = RetryBudget(budget.total, budget.least, most=budget.least)
    for _ in attempts(stores, f"branch {repo}/{branch}", at_once):
        failure: GravelerError | None = None
        try:
            result = attempt(used)
        except GravelerError as e:
            failure = e
        now = fresh(stores, repo, branch)
        if same(used, now):
            if failure is not None:
                raise failure
            return result
        used = now
    raise AssertionError("attempts() raises when it ends")


def same_token(used: Registers, now: Registers) -> bool:
    """What a write used: this repository under the same rules, this branch, this staging token."""
    return (
        _same_place(used, now)
        and used.repository.nonce == now.repository.nonce
        and used.branch.staging_token == now.branch.staging_token
    )


def same_content(used: Registers, now: Registers) -> bool:
    """What a read used: all layers, the compacted tree and the head."""
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

"""Mutants of the closing re-read, and of caches of sealed tokens."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from graveler_core.engine.protocol import registers
from graveler_core.engine.reading import branch as read
from graveler_core.engine.reading.listing import CommittedPages
from graveler_core.engine.staging import write
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, LayerId, RepositoryId, StagingToken
from graveler_core.model.layers import PrefixRemoval, SealedToken
from graveler_core.refs import branches
from graveler_core.staging import stack
from graveler_core.staging.segment_layer import Cache
from graveler_core.staging.stack import Stack
from graveler_core.stores import Registers, Stores, shared_reads
from graveler_core.stores.shared_reads import SharedReads
from tests.proofs.simulation.mutants.plant import instead, mutant


def _once(stores: Stores, repo: RepositoryId, branch: BranchId, attempt: Callable[[Registers], Any], **_: Any) -> Any:
    return attempt(stores.registers.get(repo, branch) or registers.fresh(stores, repo, branch))


@mutant(seed=10, breaks="1")
def writers_do_not_read_again() -> Iterator[None]:
    """A write is acknowledged without a closing re-read."""
    with instead((write, "settled", _once)):
        yield


@mutant(seed=14, breaks="2")
def readers_do_not_read_again() -> Iterator[None]:
    """A read returns without a closing re-read."""
    with instead((read, "settled", _once)):
        yield


@mutant(seed=14, breaks="7")
def reads_again_without_the_repository() -> Iterator[None]:
    """The closing re-read reads the branch record under the uid of the cached repository record."""
    real = registers._read

    def branch_only(stores: Stores, repo: RepositoryId, branch: BranchId) -> Registers:
        known = stores.registers.get(repo, branch)
        if known is None:
            return real(stores, repo, branch)
        return Registers(known.repository, branches.get_branch(stores.kv, known.repository, branch))

    with instead((registers, "_read", branch_only)):
        yield


@mutant(seed=10, breaks="1")
def reads_again_from_the_cache() -> Iterator[None]:
    """The closing re-read reads from the cache."""
    real = registers.fresh

    def cached(stores: Stores, repo: RepositoryId, branch: BranchId) -> Registers:
        return stores.registers.get(repo, branch) or real(stores, repo, branch)

    with instead((registers, "fresh", cached)):
        yield


@mutant(seed=81, breaks="2", theme="versions")
def versions_ignore_removed_prefixes() -> Iterator[None]:
    """A listing by its version shows the head although a layer removes or restores a prefix."""
    with instead((read, "is_covered", lambda *_: False)):
        yield


@mutant(seed=10, breaks="2", theme="versions")
def versions_name_the_repository_only() -> Iterator[None]:
    """All commits of a repository have the same version."""
    real = read.committed_pages

    def same(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> CommittedPages:
        return replace(real(stores, repo, commit), version=repo.uid)

    with instead((read, "committed_pages", same)):
        yield


@mutant(seed=178, breaks="2")
def readers_compare_the_token_only() -> Iterator[None]:
    """The closing re-read of a read compares the staging token, but not the sealed layers."""
    with instead((read, "same_content", registers.same_token)):
        yield


@mutant(seed=10, breaks="1")
def writers_compare_no_token() -> Iterator[None]:
    """The closing re-read of a write compares repository and branch, but not the staging token."""
    with instead((write, "same_token", registers._same_place)):
        yield


@mutant(seed=1, breaks="1", theme="branches")
def joins_a_read_in_flight() -> Iterator[None]:
    """A request uses the response of a read that started before the request."""
    real = SharedReads.read

    def joined(self: SharedReads[Any], repository: str, branch: str, fetch: Callable[[], Any]) -> Any:
        line = self._lines.get((repository, branch))
        if line is None:
            return real(self, repository, branch, fetch)
        line.flying = line.flying or shared_reads.Future()
        return line.flying.result()

    with instead((SharedReads, "read", joined)):
        yield


@dataclass(frozen=True, slots=True)
class _KeptTooSoon:
    """A cache that takes pages of the open token too, and gives them once it is sealed."""

    inner: Cache
    opened: StagingToken

    def get(self, id: Hashable) -> Any | None:
        return None if isinstance(id, tuple) and id[0] == self.opened else self.inner.get(id)

    def put(self, id: Hashable, value: Any, size: int) -> None:
        self.inner.put(id, value, size)


@mutant(seed=1756, breaks="1")
def sealed_token_is_kept_from_before_its_seal() -> Iterator[None]:
    """A cached page of a sealed token comes from a scan that started before the token was sealed."""
    real = stack.scan
    above = PrefixRemoval(id=LayerId("nothing"), prefix="\x01nothing/")

    def scan(found: Stack, **window: Any) -> Any:
        newest = found.layers[0] if found.layers else None
        if found.cache is None or not isinstance(newest, SealedToken):
            return real(found, **window)
        cache = _KeptTooSoon(found.cache, newest.token)
        return real(replace(found, layers=(above, *found.layers), cache=cache), **window)

    with instead((stack, "scan", scan)):
        yield

"""Commit: seal, build, advance. Source: seed 003, committer flow; `install` for the advance.

1. Read the records, bypassing the cache. If no layer contains changes and there is no compacted tree, raise
   `NoChanges`. A closing re-read confirms this, and nothing is sealed.
2. Seal ✓: the staging token is put on top of `sealed_tokens`, and a new token replaces it. This step is skipped if
   the token is empty. A crash after it leaves a sealed token, which readers see and the next commit includes.
3. Build: apply all sealed layers, as one sorted stream, to the compacted tree or the head, and write blobs. Nothing
   refers to them. A crash leaves unreferenced blobs.
4. Advance ✓: the header, the layout and the cleanup records of the layers are written before the swap of the branch
   record, or in one step with it if the store supports it. A crash between them leaves unreferenced records. The head
   becomes the commit, the compacted tree becomes none, and exactly the layers that were used are removed, according to
   the install rule. This swap makes the commit visible, and no other step does.
5. Drop the data of the layers. A crash leaves this to the cleaner, which finds the cleanup records.

The flow is lock-free: an attempt fails only because another swap on the branch succeeded. A write that was
acknowledged before the commit began is in a layer that was sealed in step 2 or earlier. It is therefore in this
commit, or in another commit that was built from the layer.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from graveler_core.committed.index.successor import Successor, small_successor, successor
from graveler_core.engine.building.changes import StagedChanges
from graveler_core.engine.building.trees import build_index, compact_view, settle_on_head
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.committing.earlier_attempts import TriedCommits, find_by_key, find_tried
from graveler_core.engine.committing.head import NewHead, advance
from graveler_core.engine.committing.seal import seal
from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict, decide, without_tail
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.restrictions import require_permitted
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.protocol.swap import Write, cleanups, retire, swap, without_layer
from graveler_core.engine.reading.view import BranchView, changes, commit_of, view_under
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind, NoChanges, OutcomeUnknown
from graveler_core.model.clock import Instant
from graveler_core.model.entities import BranchRecord
from graveler_core.model.ids import BranchId, Nonce, RepositoryId
from graveler_core.model.layers import Layer
from graveler_core.model.protection import BranchAction
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.branches import branch_missing
from graveler_core.staging.stack import few_rows
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Commit that is not visible yet: a function of a branch record and of some of its layers."""

    base: BranchRecord
    layers: tuple[Layer, ...]
    commit: StoredCommit | None
    """`None` if the layers change nothing. Then they leave the branch record, and the head stays."""
    writes: list[Write]
    """Records of the commit, and the cleanup records that are required before the layers leave."""
    records: int
    """Number of records in the layers. Only the newest record of each path counts."""

    def result(self) -> StoredCommit:
        """Return the commit, or raise `NoChanges` if there is none."""
        if self.commit is None:
            raise NoChanges(f"branch {self.base.id!r}: the staged changes have no effect", commit=self.base.commit_id)
        return self.commit


def commit(stores: Stores, repo: RepositoryId, branch: BranchId, draft: Draft) -> StoredCommit:
    """Commit all staged changes of a branch.

    Raises:
        NoChanges: Nothing is staged, the staged changes have no effect, or another commit already contains them
            (`details["commit"]`).
        Conflict: A reset discarded the changes in the meantime (`Discarded`).
        NotFound: The repository or the branch does not exist.
        PermissionDenied: The branch is protected from commits, the repository is read-only, or a hook refused the
            commit (`HookRefused`). The changes stay staged.
        OutcomeUnknown: The response of the last step was lost, and the history does not show the outcome.
            `details["commit"]` is the id of the commit.
    """
    with stores.turns.turn(repo, branch):
        tried = TriedCommits(Instant.of(stores.clock))
        with tried.reported():
            try:
                return _commit(stores, (repo, branch), draft, tried)
            except (NoChanges, Conflict):
                found = _found_by_key(stores, repo, branch, draft)
                if found is None:
                    raise
                return found


def _found_by_key(stores: Stores, repo: RepositoryId, branch: BranchId, draft: Draft) -> StoredCommit | None:
    """Return the commit of an earlier call with the same key, which may have committed the changes in another process.
    If the branch was created again since then, no commit on it can be from that call.
    """
    if not draft.idempotency_key:
        return None
    with suppress(InvalidInput):
        return find_by_key(stores, fresh(stores, repo, branch), draft)
    return None


def _commit(stores: Stores, where: tuple[RepositoryId, BranchId], draft: Draft, tried: TriedCommits) -> StoredCommit:
    repo, branch = where
    nonce = Nonce(stores.ids.fresh())
    searched = None
    if draft.idempotency_key:
        now = fresh(stores, repo, branch)
        found = find_by_key(stores, now, draft)
        if found is not None:
            return found
        searched = (now.branch.uid, now.branch.commit_id)
    registers = seal(stores, repo, branch, allow_empty=draft.allow_empty)
    layers, epoch = registers.branch.sealed_tokens, registers.branch.epoch

    def attempt() -> StoredCommit | None:
        nonlocal registers, layers
        tried.bases.append(registers.branch.commit_id)
        if searched != (registers.branch.uid, registers.branch.commit_id):
            found = find_by_key(stores, registers, draft)
            if found is not None:
                return found
        try:
            candidate = _prepare(stores, registers, layers, draft, nonce)
        except CorruptData as missing:
            now = without_layer(stores, registers, missing)
            registers, decision = now, decide(registers.branch, layers, now.branch)
        else:
            registers, decision = _install(stores, registers, candidate, tried)
            if decision.verdict is InstallVerdict.INSTALL:
                return candidate.result()
            # A swap without a response may have taken effect late. Then a commit of this call contains the layers.
            late = None if decision.verdict is InstallVerdict.GONE else find_tried(stores, registers, tried)
            if late is not None:
                return late
        layers = _layers_left(registers, decision, reset=registers.branch.epoch != epoch, allow_empty=draft.allow_empty)
        return None

    return retry(stores, f"commit on {repo}/{branch}", attempt)


def _prepare(stores: Stores, registers: Registers, layers: tuple[Layer, ...], draft: Draft, nonce: Nonce) -> _Candidate:
    """Build the commit of some layers."""
    branch = registers.branch
    parent = commit_of(stores, registers.repository, branch.commit_id)
    view = view_under(stores, registers, layers)
    change = _successor(stores, branch.id, view)
    writes = cleanups(stores, registers, layers)
    if change.effective == 0 and not draft.allow_empty:
        return _Candidate(branch, layers, None, writes, change.given)
    consumed = tuple(layer.id for layer in layers)
    content = CommitContent(change.index, change.operations, (parent,), nonce, consumed)
    commit, stored = new_commit(stores, registers, draft, content)
    return _Candidate(branch, layers, commit, [*change.writes, *stored, *writes], change.given)


def _successor(stores: Stores, branch: BranchId, view: BranchView) -> Successor:
    """Build the index of the commit: the head of the view with all changes that the view shows."""
    if view.compacted is not None:
        return settle_on_head(stores, view, compact_view(stores, branch, view))
    few = few_rows(view.stack, view.indexes.sizes.small_elements)
    if few is not None:
        return small_successor(view.indexes, view.base, few, mapper=stores.executor.map)

    def here() -> Successor:
        return successor(view.indexes, view.base, stores.executor.ahead(changes(view)), mapper=stores.executor.map)

    return build_index(stores, StagedChanges.of(branch, view), view.base, here)


def _install(
    stores: Stores, registers: Registers, candidate: _Candidate, tried: TriedCommits
) -> tuple[Registers, InstallDecision]:
    """Try the swap as long as the rule allows it. Return the last registers and the last decision of the rule."""
    base = candidate.base

    def attempt() -> tuple[Registers, InstallDecision] | None:
        nonlocal registers
        decision = decide(base, candidate.layers, registers.branch)
        if decision.verdict is not InstallVerdict.INSTALL:
            return registers, decision
        if _swapped(stores, registers, candidate, tried):
            retire(stores, registers, candidate.layers, candidate.records)
            return registers, decision
        registers = fresh(stores, registers.repository.id, base.id)
        return None

    return retry(stores, f"commit on {registers.repository.id}/{base.id}", attempt)


def _swapped(stores: Stores, registers: Registers, candidate: _Candidate, tried: TriedCommits) -> bool:
    require_permitted(registers, BranchAction.COMMIT)
    staying = without_tail(registers.branch, candidate.layers)
    update: dict[str, object] = {"sealed_tokens": staying, "compacted_metarange": None}
    if candidate.commit is not None:
        record = registers.branch.model_copy(update=update | {"commit_id": candidate.commit.id})
        return advance(stores, registers, record, NewHead(candidate.commit, candidate.writes), tried)
    # After a lost response, only this exact record proves the swap. Another commit may contain the layers, with
    # changes that this attempt did not see. Otherwise the rule decides from the current record.
    with suppress(OutcomeUnknown):
        record = registers.branch.model_copy(update=update)
        return swap(stores, registers, record, before=candidate.writes) is not None
    return False


def _layers_left(
    registers: Registers, decision: InstallDecision, *, reset: bool, allow_empty: bool
) -> tuple[Layer, ...]:
    """Return the layers to build from next, or raise the error that ends the commit.

    The rule compares the record only with that of the last attempt. `reset` is `True` if the branch was reset since
    the first attempt: the reset may have discarded changes, and another commit may have absorbed only what was staged
    later.
    """
    branch = registers.branch
    if decision.verdict is InstallVerdict.GONE:
        raise branch_missing(registers.repository, branch.id)
    if decision.verdict is InstallVerdict.ABSORBED and not reset:
        if allow_empty:
            return branch.sealed_tokens
        raise NoChanges(
            f"branch {branch.id!r}: another commit took the changes, at or before {branch.commit_id[:12]}",
            commit=branch.commit_id,
        )
    if decision.verdict in (InstallVerdict.ABSORBED, InstallVerdict.DISCARDED):
        raise Conflict(
            f"branch {branch.id!r}: a reset took the changes while they were being committed",
            kind=Kind.Discarded,
            branch=branch.id,
            commit=branch.commit_id,
        )
    return decision.layers

"""Commit: seal, build, advance. Source: seed 003, committer flow; `install` for its third step.

1. Records, fresh. Nothing in any layer and no compacted tree: `NoChanges`, proved by a closing re-read, nothing sealed.
2. Seal ✓: the staging token goes on top of `sealed_tokens`, a new one takes its place. Skipped where the token is
   empty. A crash after it leaves a sealed token that readers see and the next commit takes.
3. Build: all sealed layers as one sorted stream onto the compacted tree or the head. Blobs, then header, layout and the
   cleanup records of the layers, none of them reachable. A crash leaves unreferenced blobs and records.
4. Advance ✓: head := commit, compacted tree := none, exactly the layers that were built from leave, by the install
   rule. This swap makes the commit visible, and it is the only step that does.
5. Drop the layers' data. A crash leaves it to the cleaner, which finds the cleanup records.

Lock freedom: an attempt fails only because another swap on the branch succeeded. A write that was acknowledged before
the commit began is in a layer that was sealed in step 2 or earlier, so it is in this commit or in the one that
absorbed it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from graveler_core.committed.index.successor import Successor, small_successor, successor
from graveler_core.engine.advance import Tried, advance, find_operation
from graveler_core.engine.building import built, compacted_onto, settled_on
from graveler_core.engine.draft import Content, Draft, begin_operation, build
from graveler_core.engine.earlier import made_by_call
from graveler_core.engine.install import Decision, Verdict, decide, without_tail
from graveler_core.engine.permitted import require_permitted
from graveler_core.engine.registers import fresh
from graveler_core.engine.retry import attempts
from graveler_core.engine.seal import seal
from graveler_core.engine.sources import StagedChanges
from graveler_core.engine.swap import cleanups, record_writes, retire, swap, without_layer
from graveler_core.engine.view import View, changes, commit_of, view_under
from graveler_core.errors import Conflict, CorruptData, InvalidInput, Kind, NoChanges, OutcomeUnknown
from graveler_core.model.entities import Branch
from graveler_core.model.ids import BranchId, Nonce, RepositoryId
from graveler_core.model.layers import Layer
from graveler_core.model.protection import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.branches import branch_missing
from graveler_core.staging.stack import few_rows
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class _Built:
    """The result of one build: a function of the branch record it began from and of the layers it took."""

    base: Branch
    layers: tuple[Layer, ...]
    commit: StoredCommit | None
    """None where the layers change nothing: they leave, and the head stays."""
    records: int
    """How many the layers showed."""


def commit(stores: Stores, repo: RepositoryId, branch: BranchId, draft: Draft) -> StoredCommit:
    """Commit everything staged on a branch.

    Raises:
        NoChanges: nothing is staged, what is staged changes nothing, or (`details["commit"]`) another commit took it.
        Conflict: (`Discarded`) a reset took the changes meanwhile.
        NotFound: no such repository or branch.
        PermissionDenied: the branch is protected from commits, or the repository is read-only.
        OutcomeUnknown: the answer of the last step was lost, and history does not tell; `details["commit"]` is its id.
    """
    tried = Tried()
    with stores.turns.turn(repo, branch), tried.told():
        try:
            return _commit(stores, (repo, branch), draft, tried)
        except (NoChanges, Conflict):
            # Who took the changes may have been this very call, made before under the same key by another process.
            made = None
            if draft.idempotency_key:
                with suppress(InvalidInput):  # the branch was made anew since: nothing on it can be this call's
                    made = _made_before(stores, fresh(stores, repo, branch), draft)
            if made is None:
                raise
            return made


def _commit(stores: Stores, where: tuple[RepositoryId, BranchId], draft: Draft, tried: Tried) -> StoredCommit:
    repo, branch = where
    nonce = Nonce(stores.ids.fresh())
    searched = None
    if draft.idempotency_key:
        now = fresh(stores, repo, branch)
        made = _made_before(stores, now, draft)
        if made is not None:
            return made
        searched = (now.branch.uid, now.branch.commit_id)
    registers = seal(stores, repo, branch, allow_empty=draft.allow_empty)
    layers, began = registers.branch.sealed_tokens, registers.branch.commit_id
    for _ in attempts(stores, f"commit on {repo}/{branch}"):
        if searched != (registers.branch.uid, registers.branch.commit_id):
            made = _made_before(stores, registers, draft)
            if made is not None:
                return made
        try:
            built = _build(stores, registers, layers, draft, nonce)
        except CorruptData as missing:
            now = without_layer(stores, registers, missing)
            registers, decision = now, decide(registers.branch, layers, now.branch)
        else:
            registers, decision = _install(stores, registers, built, tried)
            if decision.verdict is Verdict.INSTALL:
                return _made(built)
            # A swap that was taken for lost may have come through late: then it was this call that took the layers.
            late = None if decision.verdict is Verdict.GONE else made_by_call(stores, registers, tried, began)
            if late is not None:
                return late
        layers = _layers_left(registers, decision, allow_empty=draft.allow_empty)
    raise AssertionError("attempts() raises when it ends")


def _made(built: _Built) -> StoredCommit:
    if built.commit is None:
        raise NoChanges(f"branch {built.base.id!r}: what is staged changes nothing", commit=built.base.commit_id)
    return built.commit


def _made_before(stores: Stores, registers: Registers, draft: Draft) -> StoredCommit | None:
    """The commit of an earlier call under the same key, on the chain of the head that would be swapped from."""
    if not draft.idempotency_key:
        return None
    floor = begin_operation(stores, registers, draft.idempotency_key)
    return find_operation(stores, registers, draft.idempotency_key, floor)


def _build(stores: Stores, registers: Registers, layers: tuple[Layer, ...], draft: Draft, nonce: Nonce) -> _Built:
    branch = registers.branch
    parent = commit_of(stores, registers.repository, branch.commit_id)
    view = view_under(stores, registers, layers)
    made = _made_of(stores, branch.id, view)
    writes = cleanups(stores, registers, layers)
    if made.effective == 0 and not draft.allow_empty:
        record_writes(stores, writes)
        return _Built(branch, layers, None, made.given)
    consumed = tuple(layer.id for layer in layers)
    commit, stored = build(stores, registers, draft, Content(made.index, made.operations, (parent,), nonce, consumed))
    record_writes(stores, [*made.writes, *stored, *writes])
    return _Built(branch, layers, commit, made.given)


def _made_of(stores: Stores, branch: BranchId, view: View) -> Successor:
    if view.compacted is not None:
        return settled_on(stores, view, compacted_onto(stores, branch, view))
    few = few_rows(view.stack, view.indexes.sizes.small_elements)
    if few is not None:
        return small_successor(view.indexes, view.base, few, mapper=stores.executor.map)

    def here() -> Successor:
        return successor(view.indexes, view.base, stores.executor.ahead(changes(view)), mapper=stores.executor.map)

    return built(stores, StagedChanges.of(branch, view), view.base, here)


def _install(stores: Stores, registers: Registers, built: _Built, tried: Tried) -> tuple[Registers, Decision]:
    """Try the swap as long as the rule allows it; gives the registers that stood last, and the rule's last word."""
    for _ in attempts(stores, f"commit on {registers.repository.id}/{built.base.id}"):
        decision = decide(built.base, built.layers, registers.branch)
        if decision.verdict is not Verdict.INSTALL or _swapped(stores, registers, built, tried):
            if decision.verdict is Verdict.INSTALL:
                retire(stores, registers, built.layers, built.records)
            return registers, decision
        registers = fresh(stores, registers.repository.id, built.base.id)
    raise AssertionError("attempts() raises when it ends")


def _swapped(stores: Stores, registers: Registers, built: _Built, tried: Tried) -> bool:
    require_permitted(registers, Action.COMMIT)
    staying = without_tail(registers.branch, built.layers)
    update: dict[str, object] = {"sealed_tokens": staying, "compacted_metarange": None}
    if built.commit is not None:
        record = registers.branch.model_copy(update=update | {"commit_id": built.commit.id})
        return advance(stores, registers, record, built.commit.id, tried)
    # After a lost answer only this very record proves the swap: that the layers are gone may be another commit's doing,
    # with changes that this build came too late to see. Else the rule decides on what stands now.
    with suppress(OutcomeUnknown):
        return swap(stores, registers, registers.branch.model_copy(update=update)) is not None
    return False


def _layers_left(registers: Registers, decision: Decision, *, allow_empty: bool) -> tuple[Layer, ...]:
    """The layers to build from next, or the error that ends the commit."""
    branch = registers.branch
    if decision.verdict is Verdict.GONE:
        raise branch_missing(registers.repository, branch.id)
    if decision.verdict is Verdict.ABSORBED:
        if allow_empty:
            return branch.sealed_tokens
        raise NoChanges(
            f"branch {branch.id!r}: another commit took the changes, at or before {branch.commit_id[:12]}",
            commit=branch.commit_id,
        )
    if decision.verdict is Verdict.DISCARDED:
        raise Conflict(
            f"branch {branch.id!r}: a reset took the changes while they were being committed",
            kind=Kind.Discarded,
            branch=branch.id,
            commit=branch.commit_id,
        )
    return decision.layers

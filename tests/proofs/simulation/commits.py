"""Judging heads as what they are, a register under compare-and-swap: chains, answers, digests, who took what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from graveler_core.committed.index.operations import operations_between
from graveler_core.errors import Kind
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from tests.proofs.simulation.cast import ASIDE, ERASURE
from tests.proofs.simulation.history import History, Operation, Outcome
from tests.proofs.simulation.observe import Observer, State, layers

MAKES_COMMITS = ("commit", "merge", "transact", "replay")
MOVES_BY_NAME = ("hard reset", "create branch", "delete branch", "create repository", "delete repository")


def violations(history: History, observer: Observer) -> Iterator[str]:
    """What breaks promises 3, 4 and 5 at the heads."""
    yield from _children(history, observer)
    yield from _answers(history, observer)
    yield from _halves(observer)
    yield from _contents(observer)
    yield from _chains(observer)
    yield from _absorbed(history, observer)
    yield from _present(history, observer)
    yield from _created(history, observer)


def _children(history: History, observer: Observer) -> Iterator[str]:
    """Each head's first parents lead to the head before it, unless somebody moved it by name."""
    for before, after in pairwise(observer.states):
        if before.record is None or after.record is None or before.record.commit_id == after.record.commit_id:
            continue
        if any(operation.kind in MOVES_BY_NAME for operation in _at_work(history, after)):
            continue
        old, new = before.record.commit_id, after.record.commit_id
        if old not in _first_parents(observer, new):
            yield f"at step {after.step}, the head went from {old[:8]} to {new[:8]}, which is no child of it"


def _answers(history: History, observer: Observer) -> Iterator[str]:
    """Who was told of a commit finds it, and who was told that nothing happened finds nothing."""
    made: dict[str, list[CommitId]] = {}
    for commit, (_, header) in observer.heads.items():
        made.setdefault(header.message, []).append(commit)
    seen = {s.record.commit_id: s.step for s in reversed(observer.states) if s.record is not None}
    for operation in history.operations:
        during = list(observer.between(operation.start, operation.end))
        if any(state.repository is None for state in during):
            # What ends in a swap was done before the deletion of the repository, as if nobody had seen it.
            continue
        stood = [state.record.commit_id for state in during if state.record]
        if operation.kind == "hard reset" and operation.outcome is Outcome.DONE and operation.answer not in stood:
            yield f"{operation}: the head was never there"
        if operation.kind not in MAKES_COMMITS or not operation.mark:
            continue
        mine = made.get(operation.mark, [])
        if operation.outcome is Outcome.NOTHING and mine:
            yield f"{operation}: has happened, as {mine[0][:8]}"
        if len(mine) > 1 and not operation.key:
            yield f"{operation}: has happened {len(mine)} times, as {', '.join(commit[:8] for commit in mine)}"
        if operation.outcome is Outcome.DONE and operation.answer is not None:
            assert isinstance(operation.answer, str)
            step = seen.get(CommitId(operation.answer))
            if step is None or step > operation.end or (step < operation.start and not operation.key):
                yield f"{operation}: the commit was not made visible by this call"


def _halves(observer: Observer) -> Iterator[str]:
    """No head is a commit that a merge repeated but for the last, which says what the call said."""
    for head, (_, header) in observer.heads.items():
        if header.message.startswith(ASIDE):
            yield f"head {head[:8]} is half of a merge: {header.message}"


def _contents(observer: Observer) -> Iterator[str]:
    """The operations digest says what leads from the parent's tree to the commit's."""
    for repo, commit in _all_commits(observer):
        header = observer.header(repo, commit)
        if not header.parents or not observer.is_left(repo):
            continue
        before, after = (observer.layout(repo, c).index for c in (header.parents[0], commit))
        if operations_between(observer.indexes(repo), before, after, header.version) != header.operations:
            yield f"commit {commit[:8]} ({header.message}): its digest is not that of what it changed"


def _chains(observer: Observer) -> Iterator[str]:
    """Along no chain is a layer consumed twice, a call's commit repeated, an idempotency key used twice."""
    parents = {header.parents[0] for _, header in observer.heads.values() if header.parents}
    for tip in observer.heads.keys() - parents:
        repo, _ = observer.heads[tip]
        headers = [observer.header(repo, commit) for commit in _first_parents(observer, tip)]
        for what, found in (
            ("layer", [layer for header in headers for layer in header.consumed]),
            ("call", [header.message for header in headers if not header.message.startswith(ERASURE)]),
            ("idempotency key", [header.idempotency_key for header in headers if header.idempotency_key]),
        ):
            for one, times in Counter(found).items():
                if times > 1:
                    yield f"{what} {one} is on the chain of {tip[:8]} {times} times"


def _absorbed(history: History, observer: Observer) -> Iterator[str]:
    """Whoever was told that another commit took the changes was not told so of changes that a reset threw away.

    A token that a late request has sealed does not count. Its caller does not know of it, and begins with the layers
    that the branch has later.
    """
    for operation in history.operations:
        if operation.kind != "commit" or "another commit took" not in str(operation.error):
            continue
        during = list(observer.between(operation.start, operation.end))
        sealed = [s for s in during if s.actor == operation.actor and s.step > operation.start and not s.unheard]
        mine = {layer.id for layer in layers(sealed[0].record)[1:]} if sealed else set()
        for before, after in pairwise(during):
            if before.record is None or after.record is None or before.record.uid != after.record.uid:
                continue
            left = {layer.id for layer in layers(before.record)} - {layer.id for layer in layers(after.record)}
            reset = {at_work.kind for at_work in _at_work(history, after)} == {"reset"}
            if sealed and before.step >= sealed[0].step and left & mine and reset:
                yield f"{operation}: it was a reset, at step {after.step}"


def _present(history: History, observer: Observer) -> Iterator[str]:
    """A branch that was there all the time is never said not to exist, or to have been deleted."""
    for operation in history.operations:
        deleted = operation.kind == "delete branch" and operation.outcome is Outcome.DONE
        missed = operation.error is not None and operation.error.kind is Kind.BranchNotFound
        if not deleted and not (missed and operation.error.details.get("branch") == observer.branch):
            continue
        stood = {s.record and s.record.uid for s in observer.between(operation.start, operation.end)}
        if len(stood) == 1 and None not in stood:
            yield f"{operation}: the branch was there all the time"


def _created(history: History, observer: Observer) -> Iterator[str]:
    """Whoever was told that a branch stood there already has not put it there; and none is put over another."""
    for operation in history.operations:
        if operation.kind != "create branch" or operation.outcome is not Outcome.NOTHING:
            continue
        for before, after in pairwise(observer.between(operation.start, operation.end)):
            if before.record is None and after.record is not None and after.actor == operation.actor:
                yield f"{operation}: has happened, at step {after.step}"
    for before, after in pairwise(observer.states):
        if before.record is None or after.record is None or before.record.uid == after.record.uid:
            continue
        if before.repository and after.repository and before.repository.uid == after.repository.uid:
            yield f"at step {after.step}, {after.actor} put a branch in the place of another"


def _at_work(history: History, state: State) -> list[Operation]:
    """The call that brought a state about, and those of the same actor whose outcome was open."""
    return [o for o in history.operations if o.actor == state.actor and o.start <= state.step <= o.end]


def _first_parents(observer: Observer, head: CommitId) -> list[CommitId]:
    repo, header = observer.heads[head]
    chain = [head]
    while header.parents:
        chain.append(header.parents[0])
        header = observer.header(repo, chain[-1])
    return chain


def _all_commits(observer: Observer) -> Iterator[tuple[RepositoryRecord, CommitId]]:
    seen: set[CommitId] = set()
    for head, (repo, _) in observer.heads.items():
        for commit in _first_parents(observer, head):
            if commit not in seen:
                seen.add(commit)
                yield repo, commit

"""The same history with compactions and without reads the same after every step, and makes commits of the same trees.

What differs by design: a record without effect (a tombstone of an absent path, the same content again) makes a branch
dirty, until a compaction has taken it in; and whether a removal leaves one depends on what lies below. No reader can
see such records, so a run is rid of them before a step that would tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.reading.view import commit_of, view_of
from graveler_core.engine.staging import bulk
from graveler_core.errors import DirtyBranch, GravelerError, NoChanges
from graveler_core.facade import branch as branch_facade
from graveler_core.facade import readable_ref
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import BranchId
from graveler_core.staging import segment_layer, stack
from graveler_core.staging.prefixes import LookupSource
from graveler_core.staging.stack import Stack
from graveler_core.testing.invariants import check_history, check_layers
from tests.examples import examples
from tests.proofs.stateful.verbs import NAMES, NEED_CLEAN, PATHS, PREFIXES, Step, steps
from tests.unit.engine.world import START, World

History = list[tuple[Step, tuple[str, ...]]]
"""Steps, and the branches to compact before each of them."""
IDS_A_STEP = 1_000
"""How many ids a step may draw: the next begins at the same one in all runs."""


@dataclass
class Run:
    """One run of a history."""

    compacts: bool
    world: World = field(default_factory=World)
    step: int = 0
    compactions: int = 0
    trees: dict[str, tuple[object, ...]] = field(default_factory=dict)
    """What is known of each head that was looked at."""

    def __post_init__(self) -> None:
        self.repo: Repository = self.world.repository()
        self.repo.branch("main").commit("root", allow_empty=True)
        self.repo.create_branch("dev", "main")

    def branches(self) -> dict[str, Branch]:
        return {branch.id: self.repo.branch(branch.id) for branch in self.repo.branches()}

    def compact(self, names: tuple[str, ...]) -> None:
        """In this process, or in another one behind its back."""
        repo = self.repo if self.step % 2 else self.world.graveler().repository(self.repo.id)
        for name in names if self.compacts else ():
            if name in self.branches():
                try:
                    repo.branch(name).compact()
                    self.compactions += 1
                except NoChanges:
                    assert not stack.is_dirty(self.stack(name))

    def do(self, step: Step) -> tuple[object, ...]:
        """Do a step at the same time and with the same ids as in another run; how it ended."""
        self.step += 1
        self.world.ids.skip(self.step * IDS_A_STEP)
        self.world.clock.time = START.replace(year=START.year + self.step)
        try:
            step.run(self.repo)
        except GravelerError as e:
            return type(e), e.kind, e.details.get("conflicts")
        return ("done",)

    def stack(self, name: str) -> Stack:
        """The layers of a branch."""
        stores = self.world.stores()
        return view_of(stores, fresh(stores, self.repo.id, BranchId(name))).stack

    def seen(self) -> dict[str, object]:
        """All that a reader can see, to the times and addresses."""
        found: dict[str, object] = {}
        prefix, after = PREFIXES[self.step % len(PREFIXES)], PATHS[self.step % len(PATHS)]
        for name, branch in self.branches().items():
            listed = list(branch.list())
            found[name] = {
                "list": listed,
                "grouped": list(branch.list(delimiter="/")),
                "prefix": list(branch.list(prefix)),
                "after": list(branch.list(prefix, after, limit=2)),
                "get": [self.got(branch, path) for path in PATHS],
                "uncommitted": list(branch.uncommitted()),
                "uncommitted of a prefix": list(branch.uncommitted(prefix, after, limit=2)),
                "head": self.tree(name),
            }
        if "dev" in found:
            found["diff"] = list(self.repo.diff("main", "dev"))
        return found

    def got(self, branch: Branch, path: str) -> object:
        try:
            return branch.get(path)
        except GravelerError as e:
            return e.kind

    def tree(self, name: str) -> tuple[object, ...]:
        """What a head is: not its id, nor its message, which may name other ids."""
        head = self.repo.branch(name).record().commit_id
        if head not in self.trees:
            header = commit_of(self.world.stores(), self.repo._record, head).header
            known = header.generation, len(header.parents), header.operations
            self.trees[head] = (self.repo.at(head).tree_id(), *known)
        return self.trees[head]


def _would_tell(run: Run, step: Step) -> bool:
    """Whether a step is about to be refused for a record without effect."""
    if step.name not in run.branches():
        return False
    changed = {change.path for change in run.repo.branch(step.name).uncommitted()}
    if step.verb in NEED_CLEAN:
        return not changed and stack.is_dirty(run.stack(step.name))
    if step.verb != "transact" or changed & set(step.arguments[0]):
        return False
    said = stack.lookup_many(run.stack(step.name), list(step.arguments[0]))
    return any(answer not in (LookupSource.BASE, LookupSource.HEAD) for answer in said)


def _rid(runs: tuple[Run, Run], step: Step) -> None:
    """Be rid of records without effect, in each of two runs that has any: without a commit where it can be."""
    if step.verb == "transact":
        ended = [run.do(Step("commit", step.name, (False,))) for run in runs]
        assert ended[0] == ended[1], step
        return
    branches = [run.repo.branch(step.name) for run in runs]
    for run, branch in zip(runs, branches, strict=True):
        if stack.is_dirty(run.stack(step.name)):
            with pytest.raises(DirtyBranch):
                branch.hard_reset(step.name)
            branch.reset()
    if list(branches[0].list()) != list(branches[1].list()):  # the same content again, at another time
        for branch in branches:
            branch.reset()


@contextmanager
def _small_pages(segment_rows: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(bulk, "SEGMENT_ROWS", segment_rows)
        patches.setattr(segment_layer, "PIECE_ROWS", 3)
        patches.setattr(readable_ref, "PAGE_ROWS", 3)
        patches.setattr(branch_facade, "PAGE_ROWS", 3)
        yield


def compared(history: History) -> Run:
    """Run a history twice, and compare the runs after each step; gives the one with compactions."""
    plain, compacted = runs = Run(compacts=False), Run(compacts=True)
    for step, compactions in history:
        compacted.compact(compactions)
        if compactions:
            assert compacted.seen() == plain.seen(), f"after a compaction of {compactions}"
        if any(_would_tell(run, step) for run in runs):
            _rid(runs, step)
        ended = [run.do(step) for run in runs]
        assert ended[0] == ended[1], step
        assert plain.seen() == compacted.seen(), step
    for name in plain.branches():
        assert plain.repo.at(name).tree_id() == compacted.repo.at(name).tree_id()
    for run in runs:
        check_history(run.world.stores(), run.repo._record)
        check_layers(run.world.stores(), run.repo._record)
    return compacted


def histories() -> st.SearchStrategy[History]:
    """Steps with compactions of no, one or both branches before them."""
    compactions = st.sampled_from([(), (), ("main",), ("dev",), NAMES])
    rows = st.tuples(st.sampled_from(PATHS), st.tuples(st.integers(0, 2), st.integers(0, 1)))
    prepared = st.builds(_prepared, steps(), compactions, st.integers(0, 3), rows)
    return st.lists(prepared, min_size=3, max_size=10).map(lambda parts: [step for part in parts for step in part])


def _prepared(step: Step, compactions: tuple[str, ...], readiness: int, row: tuple[object, ...]) -> History:
    """A step; one that needs a clean branch perhaps on such a branch, with something new to bring, and where the
    compacted tree is the head.
    """
    if step.verb not in NEED_CLEAN or not readiness:
        return [(step, compactions)]
    source = next((name for name in step.arguments if name in NAMES), step.name)
    ready = [Step("stage", source, row), Step("commit", source, (False,)), Step("commit", step.name, (False,))]
    if readiness > 1:
        return [*((before, compactions) for before in ready), (step, ())]
    return [*((before, ()) for before in ready), (Step("remove", step.name, ("absent",)), ()), (step, NAMES)]


@settings(max_examples=examples(20))
@given(histories(), st.sampled_from([3, 1_000]))
def test_compactions_are_not_seen(history: History, segment_rows: int) -> None:
    with _small_pages(segment_rows):
        compared(history)


@pytest.mark.slow
@settings(max_examples=200)
@given(histories(), st.sampled_from([3, 1_000]))
def test_compactions_are_not_seen_in_many_histories(history: History, segment_rows: int) -> None:
    with _small_pages(segment_rows):
        compared(history)

"""Changes over a tree: a new tree that shares what it can with the old one.

The result depends on the resulting entries alone: equal entries give equal ids, whatever the base and the order of
changes. Costs what is changed: ranges and subtrees that no change falls into are not read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from graveler_core.committed.build import TreeBuilder
from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.joint import Joint
from graveler_core.committed.plan import Keep, Rewrite, plan
from graveler_core.committed.rewrite import Rewritten, rewrite
from graveler_core.committed.trees import Trees
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.operations import OperationsDigest

_WINDOW = 2
"""Pieces of work handed to the mapper at once: few, so that the first begin while the changes of others are read."""
_WINDOWS_UNDER_WAY = 3

Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or an executor's `map`."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The new tree and what made it differ from the base."""

    metarange_id: MetarangeId
    operations: str
    """64 hex digits: hash over the effective changes in key order, all columns, and whether each is a tombstone."""
    added: int
    changed: int
    removed: int
    given: int = field(default=0, compare=False)
    """Changes that were asked for, whether they changed something or not: of the way there, not of the result;"""
    tombstones: int = field(default=0, compare=False)
    """and how many of them were removals."""

    @property
    def effective(self) -> int:
        """Changes that changed something."""
        return self.added + self.changed + self.removed


def apply(
    trees: Trees,
    base: MetarangeId | None,
    changes: pa.Table | Iterable[pa.Table | pa.RecordBatch],
    *,
    mapper: Mapper = map,
    verbatim: bool = False,
) -> Applied:
    """Make the tree that `changes` turn `base` into; its nodes and ranges are kept when this returns.

    Args:
        trees: The repository's trees.
        base: The tree to start from; None: no entries.
        changes: In `RECORD_SCHEMA`, keys rising, over all batches too. Batches are taken as they are needed.
        mapper: Runs the pieces of work: `map`, or the `map` of an executor of threads.
        verbatim: Entries that are equal by identity to those of the base take their places all the same, with mtime
            and address: the changes were judged before.

    Raises:
        InvalidInput: keys do not rise.
        CorruptData: a node or range of the base is missing or damaged.
    """
    operations = OperationsDigest(trees.boundary_seed)
    totals = np.zeros(3, np.int64)
    stream, builder = ChangeStream(changes), TreeBuilder(trees)
    joint = Joint(trees, builder)
    run = partial(rewrite, trees, verbatim=verbatim)
    for done in worked(plan(trees, base, stream), run, joint, mapper=mapper):
        operations.join(done.operations)
        totals += (done.added, done.changed, done.removed)
    joint.close()
    added, changed, removed = totals.tolist()
    return Applied(builder.finish(), operations.hexdigest(), added, changed, removed, stream.taken, stream.tombstones)


def worked(
    steps: Iterator[Keep | Rewrite], run: Callable[[Rewrite], Rewritten], joint: Joint, *, mapper: Mapper = map
) -> Iterator[Rewritten]:
    """Do the steps of a plan and put their results together; gives those of the rewrites."""
    for step in _executed(steps, run, mapper):
        if isinstance(step, Keep):
            joint.keep(step.level, step.row)
        else:
            joint.take(step.head, step.bounded, ((0, row) for row in step.rows), step.tail)
            yield step


def _executed(
    steps: Iterator[Keep | Rewrite], run: Callable[[Rewrite], Rewritten], mapper: Mapper
) -> Iterator[Keep | Rewritten]:
    """Steps in order, rewrites replaced by their results, of which a bounded number is under way."""
    under_way: deque[tuple[list[Keep | Rewrite], Iterator[Rewritten]]] = deque()
    for window in _windows(steps):
        under_way.append((window, iter(mapper(run, [s for s in window if isinstance(s, Rewrite)]))))
        if len(under_way) == _WINDOWS_UNDER_WAY:
            yield from _results(*under_way.popleft())
    while under_way:
        yield from _results(*under_way.popleft())


def _results(window: list[Keep | Rewrite], results: Iterator[Rewritten]) -> Iterator[Keep | Rewritten]:
    for step in window:
        yield step if isinstance(step, Keep) else next(results)


def _windows(steps: Iterator[Keep | Rewrite]) -> Iterator[list[Keep | Rewrite]]:
    window: list[Keep | Rewrite] = []
    rewrites = 0
    for step in steps:
        window.append(step)
        rewrites += isinstance(step, Rewrite)
        if rewrites == _WINDOW:
            yield window
            window, rewrites = [], 0
    if window:
        yield window

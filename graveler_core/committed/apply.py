"""Apply changes to a tree. The new tree shares unchanged ranges and nodes with the old one.

The result depends only on the resulting entries: equal entries give equal ids, for any base and any order of
changes. The cost depends on the number of changes: ranges and subtrees without changed keys are not read.
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
from graveler_core.committed.concatenation import Joint
from graveler_core.committed.plan import Keep, Rewrite, plan
from graveler_core.committed.rewrite import Rewritten, rewrite
from graveler_core.committed.trees import Trees
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.operations import OperationsDigest

_WINDOW = 2
"""Tasks passed to the mapper at once. The number is small, so that the first tasks start while later changes are
read.
"""
_WINDOWS_UNDER_WAY = 3

Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Type of `map` and of an executor's `map`."""


@dataclass(frozen=True, slots=True)
class Applied:
    """New tree and its difference from the base."""

    metarange_id: MetarangeId
    operations: str
    """64 hex digits: hash over the effective changes (those that change the content) in key order, all columns, with a
    tombstone flag for each change.
    """
    added: int
    changed: int
    removed: int
    given: int = field(default=0, compare=False)
    """Number of changes in the input, effective or not. Excluded from comparison, as it does not describe the
    result.
    """
    tombstones: int = field(default=0, compare=False)
    """Number of removals in the input."""

    @property
    def effective(self) -> int:
        """Number of effective changes."""
        return self.added + self.changed + self.removed


def apply(
    trees: Trees,
    base: MetarangeId | None,
    changes: pa.Table | Iterable[pa.Table | pa.RecordBatch],
    *,
    mapper: Mapper = map,
    verbatim: bool = False,
) -> Applied:
    """Apply `changes` to the tree `base` and return the new tree. Its nodes and ranges are stored when this returns.

    Args:
        trees: The repository's trees.
        base: The tree to start from; `None` for no entries.
        changes: Changes in `RECORD_SCHEMA`, with ascending keys across all batches. Batches are read on demand.
        mapper: Runs the tasks: `map`, or the `map` of a thread pool.
        verbatim: Replace entries also by entries with an equal identity, with the new mtime and address. For changes
            that were already compared with the base.

    Raises:
        InvalidInput: Keys are not in ascending order.
        CorruptData: A node or range of the base is missing or damaged.
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
    """Execute the steps of a plan, pass all results to `joint`, and yield the results of the rewrites."""
    for step in _executed(steps, run, mapper):
        if isinstance(step, Keep):
            joint.keep(step.level, step.row)
        else:
            joint.take(step.head, step.bounded, ((0, row) for row in step.rows), step.tail, step.present)
            yield step


def _executed(
    steps: Iterator[Keep | Rewrite], run: Callable[[Rewrite], Rewritten], mapper: Mapper
) -> Iterator[Keep | Rewritten]:
    """Yield the steps in order, with rewrites replaced by their results. A bounded number of rewrites runs
    concurrently.
    """
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
